"""A file of results, so that an interrupted analysis resumes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import NoneType, TracebackType
from typing import IO, Any, Self

from komadori.analysis.positions import Found, Line
from komadori.atomic import atomic_writer
from komadori.json_file import dump_json, parse_table
from komadori.rules import Board
from komadori.run_lock import RunLock
from komadori.wording import names_arguments

#: The key of the version in a journal's settings.
_FORMAT = "komadori-analysis"
VERSION = 1


@names_arguments
class Journal:
    """A file of one JSON object per line: first the settings, then one position each.

    Opened with the same settings it keeps its results; with others, or with `fresh`, it starts
    over. Truncated and damaged lines are dropped. Raises ValueError if the file holds
    something else, unless `fresh`. Only one process may write to it; others get an InUseError.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self.known: dict[str, Found] = {}
        self.is_resumed = False
        self.damage = ""
        """What is wrong with the first damaged line, with the file and the line; "" if none is."""
        self._lock = RunLock.of_file(path).acquire()
        try:
            if fresh:
                path.unlink(missing_ok=True)
            self._file = self._open(settings)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, settings: Mapping[str, Any]) -> IO[str]:
        header = dump_json({_FORMAT: VERSION, **settings}, sort_keys=True)
        lines, size = self._read(header)
        try:
            if not self.is_resumed:
                with atomic_writer(self.path) as file:  # a torn header would be no journal's
                    file.write(header.encode() + b"\n")
            elif size is not None:
                os.truncate(self.path, size)
            else:
                with atomic_writer(self.path) as file:
                    file.write(b"".join(line + b"\n" for line in lines))
            return self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def _read(self, header: str) -> tuple[list[bytes], int | None]:
        """Read the results if the settings match. Return the valid lines, and the size of the file
        up to the last of them, None if damaged lines are between them."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return [], 0
        first, *lines = data.split(b"\n")
        if first != header.encode():
            if data and not is_journal(self.path):
                raise ValueError(f"{self.path}: holds something other than an analysis")
            return [], 0
        self.is_resumed = True
        kept = [first]
        for number, line in enumerate(lines[:-1], 2):  # the last line is incomplete
            try:
                key, found = _from_json(parse_table(line))
            except ValueError as error:
                self.damage = self.damage or f"{self.path}, line {number}: {error}"
                continue
            self.known[key] = found
            kept.append(line)
        size = sum(len(line) + 1 for line in kept)
        return kept, size if data[:size] == b"".join(line + b"\n" for line in kept) else None

    def add(self, key: str, found: Found) -> None:
        """Store a result. Raises OSError with the file name if the disk is full."""
        row = dump_json({"position": key, **_to_json(found)}) + "\n"
        try:
            self._file.write(row)
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        self.known[key] = found

    def close(self) -> None:
        with contextlib.suppress(OSError):  # after a failed write in `add`
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@names_arguments
def is_journal(path: Path | str) -> bool:
    """Return whether a file is a journal of any settings. Raises OSError."""
    with Path(path).open("rb") as file, contextlib.suppress(ValueError):
        return _FORMAT in parse_table(file.readline())
    return False


def read_journal(path: Path) -> dict[str, Found]:
    """Read a journal's results, even while it is being written. Raises OSError."""
    known = {}
    for line in path.read_bytes().split(b"\n")[1:-1]:
        with contextlib.suppress(ValueError):
            key, found = _from_json(parse_table(line))
            known[key] = found
    return known


def _to_json(found: Found) -> dict[str, Any]:
    row = asdict(found)
    for line in row["lines"]:
        if line["depth"] is None:
            del line["depth"]
    return row


#: The types of a line's and a position's values; a bool is no number.
_LINE = {
    "win_rate": (int, float),
    "mate_plies": (int, NoneType),
    "score_cp": (int, NoneType),
    "visits": (int,),
    "pv": (list,),
    "depth": (int, NoneType),
}
_POSITION = {
    "position": (str,),
    "win_rate": (int, float),
    "visits": (int,),
    "lines": (list,),
    "declares": (bool,),
}


def _from_json(row: dict[str, Any]) -> tuple[str, Found]:
    """Raises ValueError, which names the value, unless all have the right types and each line is
    legal from its position."""
    values = _checked(row, _POSITION)
    board = Board(f"{values['position']} 1")
    lines = []
    for given in values["lines"]:
        if not isinstance(given, dict):
            raise ValueError(f"a line is {dump_json(given)[:40]}")
        line = _checked({"depth": None, **given}, _LINE)
        if not all(isinstance(move, str) for move in line["pv"]):
            raise ValueError("pv holds something other than moves")
        after = board.copy()
        for move in line["pv"]:
            after.push_usi(move)
        lines.append(Line(**{**line, "pv": tuple(line["pv"])}))
    found = Found(float(values["win_rate"]), values["visits"], tuple(lines), values["declares"])
    return values["position"], found


def _checked(row: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    if missing := types.keys() ^ row.keys():
        raise ValueError(f"{min(missing)} is {'unknown' if min(missing) in row else 'missing'}")
    for name, value in row.items():
        if type(value) not in types[name]:
            raise ValueError(f"{name} is {dump_json(value)[:40]}")
        if name == "win_rate" and not 0 <= value <= 1:  # nor NaN
            raise ValueError(f"{name} is {value}, not between 0 and 1")
    return dict(row)
