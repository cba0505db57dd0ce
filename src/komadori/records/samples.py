"""Training samples out of record files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import content, plain_suffix

__all__ = ["Samples", "load_samples"]


@dataclass(slots=True)
class Samples:
    """Positions to learn from, one row each; rows of one game are adjacent, in order.

    hcp      uint8 [N, 32]
    move16   uint16 [N]   the move to learn; 0 where there is none
    score_cp int16 [N]    side to move's view
    result   float32 [N]  side to move's: 1 won, 0 lost, 0.5 drawn
    game     int32 [N]    number of the game, distinct over all files read
    ply      int16 [N]    number of the move to be made, 1 at the start; 0 where unknown
    end_ply  int16 [N]    number of the game's last move; 0 where unknown
    end      uint8 [N]    how the game ended, an `End`
    """

    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    game: NDArray[np.int32]
    ply: NDArray[np.int16]
    end_ply: NDArray[np.int16]
    end: NDArray[np.uint8]
    skipped: list[Skipped] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.move16)

    def __repr__(self) -> str:
        return f"<Samples: {len(self):,} positions, {len(self.skipped)} skipped>"

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Samples:
        """The chosen rows (indices, mask or slice) in the order given."""
        return Samples(
            self.hcp[rows],
            self.move16[rows],
            self.score_cp[rows],
            self.result[rows],
            self.game[rows],
            self.ply[rows],
            self.end_ply[rows],
            self.end[rows],
            self.skipped,
        )


def load_samples(paths: str | Path | Iterable[str | Path]) -> Samples:
    """The samples of one file or of many, in the order given.

    hcpe3: a ply's move to learn is its candidate with the most visits; plies without
    candidates are left out. Damaged games are left out and listed in `skipped`.
    Raises RecordError for a file of no known format, or without a single game.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    parts = [_load_file(Path(path)) for path in paths]
    if not parts:
        raise RecordError("no record files given")
    games = 0
    for part in parts:
        part.game += games
        games = int(part.game[-1]) + 1
    return _concatenate(parts)


def _load_file(path: Path) -> Samples:
    if plain_suffix(path) != ".hcpe3":
        raise RecordError(f"{path}: not a record format that samples are read from")
    columns, faults = _core.hcpe3_samples(content(path))
    samples = Samples(**columns, skipped=[Skipped(path, *fault) for fault in faults])
    if not len(samples):
        detail = f" ({samples.skipped[0]})" if samples.skipped else ""
        raise RecordError(f"{path}: no game with samples{detail}")
    return samples


def _concatenate(parts: Sequence[Samples]) -> Samples:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("hcp", "move16", "score_cp", "result", "game", "ply", "end_ply", "end")
    }
    return Samples(**columns, skipped=[skip for part in parts for skip in part.skipped])
