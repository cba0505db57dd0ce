"""Soft policy targets from the visits of a search."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from komadori import records
from komadori.records.files import paths_of
from komadori.training.data import MoveProbs, Part
from komadori.wording import names_arguments


@names_arguments
def load_visits(paths: Path | str | Iterable[Path | str], cache: Path | str | None = None) -> Part:
    """The samples of one or several game files, with their candidates' visits (hcpe3) as policy
    targets.

    cache: a folder to memory-map them from. A game without candidates has its moves as targets.
    Raises as `records.load_sample_moves`, with `cache` as `records.map_sample_moves`.
    """
    paths = paths_of(paths)
    samples, moves = (
        records.map_sample_moves(paths, cache) if cache else records.load_sample_moves(paths)
    )
    return Part.whole(
        samples, MoveProbs(moves.first, moves.move16, moves.visits, played=moves.played)
    )
