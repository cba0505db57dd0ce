"""Soft policy targets: what share of a position's visits each move had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori import records
from komadori.training.config import ConfigError
from komadori.training.data import MoveShares, Part


@dataclass
class _Moves:
    count: NDArray[np.int64]
    move16: NDArray[np.uint16]
    visits: NDArray[np.float32]


def load_visits(paths: Iterable[Path | str]) -> Part:
    """The samples of games with candidates (hcpe3) and the shares of their moves' visits.

    Their rows are those of `records.load_samples`, its `skipped` too. A position without
    candidates has its move.
    Raises ConfigError for files that hold no candidates, RecordError as `records.GameReader`.
    """
    samples: list[records.Samples] = []
    moves: list[_Moves] = []
    skipped: list[records.Skipped] = []
    games = 0
    for path in paths:
        reader = records.GameReader(path)
        before = games
        for game, found in records.samples_by_game(reader):
            found.game += before
            games += 1
            samples.append(found)
            moves.append(_moves_of(game, found))
        skipped += reader.skipped
    if not samples:
        raise ConfigError("loss.policy_target = visits: no games with candidates (hcpe3)")
    count, move16, visits = (
        np.concatenate([getattr(one, name) for one in moves])
        for name in ("count", "move16", "visits")
    )
    shares = MoveShares.of_weights(count, move16, visits)
    whole = records.Samples.concatenate(samples)
    whole.skipped = skipped
    return Part.whole(whole, shares)


def _moves_of(game: records.Game, samples: records.Samples) -> _Moves:
    known = game.candidates
    if known is None:
        ones = np.ones(len(samples))
        return _Moves(ones.astype(np.int64), samples.move16, ones.astype(np.float32))
    count = known.count[known.count > 0].astype(np.int64)
    if len(count) != len(samples):
        raise ConfigError(
            f"{game.source}: {len(count)} plies with candidates, {len(samples)} samples"
        )
    return _Moves(count, known.move16, known.visits.astype(np.float32))
