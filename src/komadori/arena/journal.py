"""Journal of finished work as JSON lines: first the terms, then one item per line.

Each line is fsynced before the next item counts, so interrupted work resumes where it stopped. A
truncated last line is dropped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from komadori.atomic import is_stream
from komadori.json_file import as_json, dump_json, parse_json, parse_table
from komadori.run_lock import RunLock
from komadori.wording import setting

FORMAT = 2
#: How a journal begins, by which a truncated one is told from a file of something else.
_START = b'{"format": '


class MatchStoreError(ValueError):
    """The folder contains other or damaged work. The message names file and line."""


class Journal:
    """A folder's journal: a context manager that holds the folder's lock."""

    def __init__(
        self,
        folder: Path | str,
        name: str,
        terms: Mapping[str, Any],
        work: str = "tuning",
        results: Sequence[str] = ("index.html",),
    ) -> None:
        """Resume or start the work in `folder`. `work` names it in messages; `results`: the files
        that it writes beside the journal.

        Raises MatchStoreError if the folder contains work under other terms, or before the first
        work one of `results`, and InUseError if another process uses it.
        """
        self.folder = Path(folder)
        self.path = self.folder / name
        self._work = work
        self._results = results
        self._terms = {"format": FORMAT, **as_json(terms)}
        self._lock = RunLock(self.folder).acquire()
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _open(self) -> None:
        first, has_items = b"", False
        if is_stream(self.path):
            raise MatchStoreError(f"{self.path} is not a regular file")
        if self.path.exists():
            with self.path.open("rb") as file:
                first = file.readline()
                has_items = bool(file.read(1))
        elif held := next((n for n in self._results if (self.folder / n).exists()), ""):
            raise MatchStoreError(
                f"{self.folder} holds {held}, which the {self._work} would replace; choose another "
                "folder"
            )
        if not first.endswith(b"\n") and first[: len(_START)] == _START[: len(first)]:
            self._begin()  # truncated, so nothing follows it
            return
        try:
            found = parse_json(first)
        except ValueError:
            found = None
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise MatchStoreError(f"{self.path}, line 1: no terms of a {self._work}")
        found = _with_current_paths(found, self._terms)
        for key in [*(key for key in found if key not in self._terms), *self._terms]:
            if what := _difference(key, found.get(key), self._terms.get(key)):
                if not has_items:  # the other work failed before its first item
                    self._begin()
                    return
                raise MatchStoreError(
                    f"{self.folder} holds another {self._work}: {what}; choose another folder"
                )

    def _begin(self) -> None:
        """Write the terms as the only line."""
        self.path.unlink(missing_ok=True)
        self.append(self._terms)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the finished items. A truncated last line is removed from the file.

        Raises MatchStoreError for a damaged line elsewhere.
        """
        good_bytes = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    if not line.endswith(b"\n"):
                        raise ValueError("the line is cut off")
                    row = parse_table(line)
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
        """Return the exception for an invalid line."""
        return MatchStoreError(f"{self.path}, line {line}: {error}")

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a finished item and fsync. Raises OSError that names the file."""
        line = dump_json(row, ensure_ascii=False) + "\n"
        try:
            with self.path.open("ab") as file:
                # Names of files may not be UTF-8; JSON has the same escapes as Python.
                file.write(line.encode(errors="backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error


def _with_current_paths(found: dict[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """The terms found, with the expected paths of files that have moved or are named from another
    folder: a player whose files have the same contents is the same."""
    old, new = _sides(found), _sides(expected)
    if len(old) != len(new):
        return found
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        if _contents(*one) == _contents(*other):
            old[number] = other
    specs = [spec for spec, _ in old]
    if not specs:
        return found
    named: dict[str, Any] = {"players": specs}
    if "players" not in found:  # a tuning
        named = dict(zip(("player", "opponent"), specs, strict=False))
    return {**found, **named, "files": [files for _, files in old]}


def _sides(terms: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The specification and the files of each player; [] if the terms are damaged."""
    tuned = [terms[key] for key in ("player", "opponent") if key in terms]
    specs, files = terms.get("players", tuned), terms.get("files", [])
    if not isinstance(specs, list) or not _are_tables(files) or len(specs) != len(files):
        return []
    return list(zip(map(str, specs), files, strict=True))


def _contents(player: str, files: Mapping[str, str]) -> tuple[str, list[tuple[str, str]]]:
    """A player's specification with the contents of its files and folders in place of their paths,
    and the contents of all files."""
    paths = {Path(file): digest for file, digest in files.items()}
    named = {
        str(place): str(
            sorted(
                (str(path.relative_to(place)), digest)
                for path, digest in paths.items()
                if path.is_relative_to(place)
            )
        )
        for place in {*paths, *(path.parent for path in paths)}
    }
    any_name = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
    pattern = rf"(?:(?<=[:=\s\"'])|^)(?:\./)?({any_name})(?=[?&\s\"']|$)"
    if named:
        player = re.sub(pattern, lambda name: named[name[1]], player)
    return player, sorted((path.suffix, digest) for path, digest in paths.items())


def _difference(key: str, found: Any, expected: Any) -> str:
    """Describe the difference between the terms found and expected; "" if they agree.

    The number of openings may change; common ones must be equal.
    """
    if key == "openings" and isinstance(found, list):
        for number, (a, b) in enumerate(zip(found, expected, strict=False), 1):
            if a != b:
                return f"its opening {number} differs"
        return ""
    if key == "files" and _are_tables(found) and len(found) == len(expected):
        for side, a, b in zip("AB", found, expected, strict=False):
            for name in sorted(a.keys() | b.keys()):
                if a.get(name) != b.get(name):
                    what = "has changed since it began" if name in b else "is missing now"
                    return f"{name} (player {side}) {what}"
        return ""
    if _are_tables(found) and _are_tables(expected) and len(found) == len(expected):
        tables = zip(found, expected, strict=True)
        parts = [
            _difference(f"{key} ({b['name']})" if "name" in b else key, a, b) for a, b in tables
        ]
        return "; ".join(part for part in parts if part)
    if isinstance(found, dict) and isinstance(expected, dict):
        names = [name for name in found | expected if found.get(name) != expected.get(name)]
        return "; ".join(
            _difference(f"{key}, {name}", found.get(name), expected.get(name)) for name in names
        )
    if found == expected:
        return ""
    return f"{key}: {setting(found)} there, {setting(expected)} here"


def _are_tables(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, dict) for one in found)
