"""Splitting games into parts and dropping repeats."""

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
    """Whether the game of that number belongs to the test part, `ratio` of all on average.

    Depends on nothing but the arguments.
    """
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < ratio * 2.0**64


class SeenGames:
    """Games, told apart by initial position and moves."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def add(self, game: Game) -> bool:
        """Whether the game wasn't there before."""
        data = game.initial_sfen.encode() + game.moves.tobytes()
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True


def untrain(game: Game, drop: NDArray[np.bool_]) -> Game:
    """The game with the samples marked in `drop` (one a row of `samples_of([game])`) left out
    of training: their plies have no candidates."""
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
    """The game without training on positions that are in `seen`, and how many those are.

    Adds its positions to the set. Raises RulesError for positions that hcp can't hold.
    """
    fresh = seen.add(samples_of([game]).hcp)
    repeats = int((~fresh).sum())
    return (untrain(game, ~fresh), repeats) if repeats else (game, 0)


def fresh_rows(samples: Samples, seen: PositionSet) -> Samples:
    """The rows whose position isn't in `seen`; adds them to it."""
    return samples.take(seen.add(samples.hcp))
