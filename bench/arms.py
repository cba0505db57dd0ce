"""Matches of the arms of an experiment, for the scripts beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from komadori import arena


def play_arms(
    players: Mapping[str, str], folder: Path, *, games: int, nodes: int, concurrency: int
) -> None:
    """Play a match of every arm against the first one, in folders `match-NAME`; resumes.

    players: the specification of each arm's player. nodes: per move, of both.
    """
    first, *others = players
    for name in others:
        result = arena.play_match(
            players[name],
            players[first],
            games=games,
            seed=7,
            concurrency=concurrency,
            conditions=arena.Conditions(nodes=nodes),
            out=folder / f"match-{name}",
            names=(name, first),
        )
        score = f"+{result.wins} -{result.losses} ={result.draws}"
        print(f"{name} against {first}: {score}, {result.estimate}", flush=True)
