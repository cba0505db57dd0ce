"""Splits games into training and test parts and removes repeated positions."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from komadori._core.records import PositionSet
from komadori.records.game import Candidates, Game
from komadori.records.samples import Samples, samples_of

__all__ = ["PositionSet", "SeenGames", "fresh_rows", "is_for_test", "untrain", "untrained_repeats"]


def is_for_test(number: int, ratio: float, seed: int) -> bool:
    """Whether a game belongs to the test part, by its number; `ratio` of all on average.

    Deterministic.
    """
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < ratio * 2.0**64


class SeenGames:
    """A set of games, identified by initial position and moves."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def add(self, game: Game) -> bool:
        """Add a game; returns whether it is new."""
        data = game.initial_sfen.encode() + game.moves.tobytes()
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True


def untrain(game: Game, drop: NDArray[np.bool_]) -> Game:
    """Remove samples from a game: plies marked in `drop` (one row of `samples_of([game])` each)
    lose their candidates."""
    known = game.candidates
    if known is None:
        count = np.ones(len(game), np.uint16)
        known = Candidates(count, game.moves, count)
    trained = np.flatnonzero(known.count)
    count = known.count.copy()
    count[trained[drop]] = 0
    keep = np.repeat(count > 0, known.count)
    return replace(game, candidates=Candidates(count, known.move16[keep], known.visits[keep]))


def untrained_repeats(game: Game, seen: PositionSet) -> tuple[Game, int]:
    """Remove the samples of a game whose positions are in `seen`; also returns their number.

    Adds the game's positions to the set. Raises RulesError for positions that hcp can't encode.
    """
    fresh = seen.add(samples_of([game]).hcp)
    repeats = int((~fresh).sum())
    return (untrain(game, ~fresh), repeats) if repeats else (game, 0)


def fresh_rows(samples: Samples, seen: PositionSet) -> Samples:
    """The rows whose position isn't in `seen`; adds their positions to it."""
    return samples.take(seen.add(samples.hcp))
