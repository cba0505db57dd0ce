"""Soft policy targets: what share of a position's visits each move had."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from komadori import records
from komadori.training.data import MoveShares, Part


def load_visits(paths: Iterable[Path | str], cache: Path | str | None = None) -> Part:
    """The samples of files of games and the shares of their candidates' visits (hcpe3), mapped
    from the folder `cache` where one is given.

    A game without candidates has its moves. Raises as `records.load_sample_moves`, and
    `records.map_sample_moves` of a cache.
    """
    paths = list(paths)
    samples, moves = (
        records.map_sample_moves(paths, cache) if cache else records.load_sample_moves(paths)
    )
    return Part.whole(
        samples, MoveShares(moves.first, moves.move16, moves.visits, played=moves.played)
    )
