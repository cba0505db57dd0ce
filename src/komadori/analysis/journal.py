"""What was found so far, kept in a file, so that an analysis goes on where it was broken off."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from komadori.analysis.positions import Found, Line

VERSION = 1


class Journal:
    """A file of one JSON object a line: first the settings, then a position each.

    Opened with the settings it was begun with, it knows what it holds; with others it begins
    anew. A line that a crash cut off is dropped.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.known: dict[str, Found] = {}
        self.is_resumed = False
        header = json.dumps({"komadori-analysis": VERSION, **settings}, sort_keys=True)
        kept = self._read(header)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not self.is_resumed:
            path.write_text(header + "\n", encoding="utf-8")
        else:
            os.truncate(path, kept)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def _read(self, header: str) -> int:
        """Take in what the file holds, if it is of these settings; the bytes that are sound."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        lines = data.split(b"\n")
        if lines[0] != header.encode():
            return 0
        self.is_resumed = True
        kept = len(lines[0]) + 1
        for line in lines[1:-1]:  # the last has no end
            try:
                key, found = _from_json(json.loads(line))
            except (ValueError, KeyError, TypeError):
                break
            self.known[key] = found
            kept += len(line) + 1
        return kept

    def add(self, key: str, found: Found) -> None:
        self.known[key] = found
        self._file.write(json.dumps({"position": key, **asdict(found)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _from_json(row: dict[str, Any]) -> tuple[str, Found]:
    lines = tuple(Line(**{**line, "pv": tuple(line["pv"])}) for line in row["lines"])
    found = Found(float(row["win_rate"]), int(row["visits"]), lines, bool(row["declares"]))
    return str(row["position"]), found
