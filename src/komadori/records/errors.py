"""What can go wrong with a record, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from komadori._core.records import RecordError

__all__ = ["RecordError", "Skipped"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """One piece of a file that was left out: the bytes [begin, end), how many games or records
    they held, and why.

    `offset` is where in the file the reason lies. Offsets count bytes of the file's
    content, after decompression where it is compressed.
    """

    path: Path
    begin: int
    end: int
    offset: int
    reason: str
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} records)" if self.count > 1 else ""
        return f"{self.path}: byte {self.offset}: {self.reason}{times}"
