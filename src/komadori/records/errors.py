"""Errors in records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from komadori._core.records import RecordError

__all__ = ["RecordError", "Skipped"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped part of a file: bytes [begin, end), the number of games or records in it, and the
    reason.

    `offset` is the position of the error. Offsets count bytes of the file's content, after
    decompression.
    """

    path: Path
    begin: int
    end: int
    offset: int
    reason: str
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} records)" if self.count > 1 else ""
        path = " ".join(str(self.path).splitlines())  # one line whatever the name
        return f"{path}: byte {self.offset}: {self.reason}{times}"
