"""Finished work as lines of JSON: the first line says under which terms, each other one what.

Each line is fsynced before the next piece of work counts, so interrupted work resumes where it
stopped. A last line that was cut off is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from komadori.run_lock import RunLock

FORMAT = 2


class MatchStoreError(ValueError):
    """A folder that holds other work, or damaged work. The message names file and line."""


class Journal:
    """A file of finished work in a folder, and a context manager: one process at a time."""

    def __init__(
        self, folder: Path | str, name: str, terms: Mapping[str, Any], work: str = "tuning"
    ) -> None:
        """Resume the work in `folder`, or begin it there. `work` names it in messages.

        Raises MatchStoreError where the folder holds work under other terms, and InUseError
        where another process is at it.
        """
        self.folder = Path(folder)
        self.path = self.folder / name
        self._work = work
        self._terms = {"format": FORMAT, **json.loads(json.dumps(terms))}
        self._lock = RunLock(self.folder).acquire()
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _begin(self) -> None:
        first = b""
        if self.path.exists():
            with self.path.open("rb") as file:
                first = file.readline()
        if not first.endswith(b"\n"):  # cut off before it was whole, so nothing came after it
            self.path.unlink(missing_ok=True)
            self.append(self._terms)
            return
        try:
            found = json.loads(first)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise MatchStoreError(f"{self.path}, line 1: no terms of a {self._work}")
        for key, value in self._terms.items():
            if what := _difference(key, found.get(key), value):
                raise MatchStoreError(
                    f"{self.folder} holds another {self._work}: {what}; choose another folder"
                )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The work already done. A line cut off at the end is removed from the file.

        Raises MatchStoreError for a damaged line elsewhere.
        """
        good_bytes = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    if not line.endswith(b"\n"):
                        raise ValueError("the line is cut off")
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("no table")
                except ValueError as error:
                    if file.read(1):
                        raise self.damage(number, error) from error
                    break
                good_bytes += len(line)
                if number > 1:
                    yield row
        if good_bytes < self.path.stat().st_size:
            os.truncate(self.path, good_bytes)

    def damage(self, line: int, error: Exception) -> MatchStoreError:
        """What to raise for a line that can't be used."""
        return MatchStoreError(f"{self.path}, line {line}: {error}")

    def append(self, row: Mapping[str, Any]) -> None:
        """Put a finished piece of work on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _difference(key: str, found: Any, wanted: Any) -> str:
    """What differs between the terms found and those wanted, "" where nothing that matters does.

    The number of openings may grow or shrink; those that both have must be equal.
    """
    if key == "openings" and isinstance(found, list):
        for number, (a, b) in enumerate(zip(found, wanted, strict=False), 1):
            if a != b:
                return f"its opening {number} differs"
        return ""
    if key == "files" and isinstance(found, list) and len(found) == len(wanted):
        for side, a, b in zip("AB", found, wanted, strict=False):
            for name in sorted(a.keys() | b.keys()):
                if a.get(name) != b.get(name):
                    return f"{name} (player {side}) has changed since it began"
        return ""
    return f"its {key} is {found!r}, not {wanted!r}" if found != wanted else ""
