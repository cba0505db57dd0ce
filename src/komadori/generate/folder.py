"""A folder of generated games.

    settings.json        the settings of the games and their fingerprint
    000000.hcpe3.xz ...  segments: games by number, a fixed count each, without duplicates
    inner-000000.hcpe3.xz  positions from inside that segment's searches, if enabled
    000000.json ...      counts and file sizes of a segment; written last, marks it as complete
    000012.journal ...   finished games of incomplete segments, in the order they ended

A finished game is appended to its journal at once, so a killed run loses only the games in play. A
journal is deleted when its segment is full. A run that ends earlier also writes its games to a
segment file, which the next run replaces.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from komadori.atomic import write_text
from komadori.generate.counts import Counts
from komadori.generate.file_sizes import changed_file, sizes_of
from komadori.json_file import as_json, dump_json, read_table
from komadori.records import Winner
from komadori.records.files import atomic_writer
from komadori.records.parts import PositionSet
from komadori.run_lock import LOCK_FILE, RunLock
from komadori.wording import names_arguments, setting, what_is_wrong

FORMAT = "komadori-games"
FORMAT_VERSION = 1
SUFFIX = ".hcpe3.xz"


class Facts(Protocol):
    """Facts of a finished game besides its moves (`_core.generate.GameFacts`)."""

    @property
    def number(self) -> int: ...
    @property
    def digest(self) -> int: ...
    @property
    def winner(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def foreseen(self) -> int: ...
    @property
    def plies(self) -> int: ...
    @property
    def scored(self) -> int: ...
    @property
    def differing(self) -> int: ...
    @property
    def with_candidates(self) -> int: ...
    @property
    def nodes(self) -> int: ...


class FinishedGame(Protocol):
    """A finished game as hcpe3; empty if it has no ply to train on.

    inner: positions from inside its searches, as games of one ply in hcpe3.
    """

    @property
    def facts(self) -> Facts: ...
    @property
    def hcpe3(self) -> bytes: ...
    @property
    def inner(self) -> bytes: ...


class FolderError(ValueError):
    """A folder that can't be resumed; the message says why."""


# ---- journals

#: Names of files that segments write, complete ones or in progress.
_SEGMENT_FILE = re.compile(r"[0-9]{6,}\.(hcpe3?\.xz|json|journal)")
_FRAME = struct.Struct("<4sII")  # magic, bytes that follow, their crc32
_MAGIC = b"KGJ1"
_FACTS = struct.Struct("<QQBBBHHHHQII")


@dataclass(frozen=True)
class StoredFacts:
    number: int
    digest: int
    winner: int
    end: int
    foreseen: int
    plies: int
    scored: int
    differing: int
    with_candidates: int
    nodes: int


@dataclass(frozen=True)
class StoredGame:
    """A finished game as stored in a journal."""

    facts: StoredFacts
    hcpe3: bytes
    inner: bytes


def _frame(game: FinishedGame) -> bytes:
    f = game.facts
    hcpe3, inner = game.hcpe3, game.inner
    body = (
        _FACTS.pack(
            f.number,
            f.digest,
            f.winner,
            f.end,
            f.foreseen,
            f.plies,
            f.scored,
            f.differing,
            f.with_candidates,
            f.nodes,
            len(hcpe3),
            len(inner),
        )
        + hcpe3
        + inner
    )
    return _FRAME.pack(_MAGIC, len(body), zlib.crc32(body)) + body


def read_journal(path: Path, begin: int = 0) -> tuple[list[StoredGame], int]:
    """Read the games from byte `begin`; also return the offset after the last complete frame. Games
    after a damaged frame are read, too."""
    with path.open("rb") as file:
        file.seek(begin)
        data = file.read()
    games: list[StoredGame] = []
    at = end = 0
    while 0 <= (at := data.find(_MAGIC, at)) <= len(data) - _FRAME.size:
        _, size, crc = _FRAME.unpack_from(data, at)
        body = data[at + _FRAME.size : at + _FRAME.size + size]
        if not _FACTS.size <= size == len(body) or zlib.crc32(body) != crc:
            at += 1
            continue
        *facts, hcpe3_size, inner_size = _FACTS.unpack_from(body)
        middle = _FACTS.size + hcpe3_size
        hcpe3, inner = body[_FACTS.size : middle], body[middle : middle + inner_size]
        games.append(StoredGame(StoredFacts(*facts), hcpe3, inner))
        at = end = at + _FRAME.size + size
    return games, begin + end


def journal_length(path: Path) -> int:
    """Count the games of a journal, which may be growing, without reading them."""
    count = 0
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            magic, size, _ = _FRAME.unpack(head)
            left -= _FRAME.size + size
            if magic != _MAGIC or left < 0:
                break
            count += 1
            file.seek(size, os.SEEK_CUR)
    return count


class Journal:
    """The journal of a segment: its finished games, appended."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; an incomplete last frame of a killed process is truncated."""
        self.path = path
        games, self._size = read_journal(path) if path.exists() else ([], 0)
        self.numbers = {game.facts.number for game in games}
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        os.ftruncate(self._file, self._size)

    def append(self, game: FinishedGame) -> None:
        """Append a game, whole or (raising OSError) not at all."""
        frame = _frame(game)
        written = 0
        try:
            while written < len(frame):
                written += os.pwrite(self._file, frame[written:], self._size + written)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        self._size += len(frame)
        self.numbers.add(game.facts.number)

    def games(self) -> list[StoredGame]:
        return read_journal(self.path)[0]

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


# ---- the folder


def fingerprint(card: Mapping[str, Any]) -> str:
    """Return a digest of the settings."""
    return hashlib.sha256(dump_json(card, sort_keys=True).encode()).hexdigest()[:16]


def flatten(card: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested tables: {"a": {"b": 1}} to {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for name, value in card.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat


#: Values of settings that older folders lack, because the settings didn't exist yet.
_IMPLICIT = {"candidate_minimum": 0.0, "candidate_steps": 0, "score_step_cp": 0}


def _is_unused(name: str, flat: Mapping[str, Any]) -> bool:
    """Return whether it is a setting of candidates in a card that disables them."""
    before, last = name[: name.rfind(".") + 1], name.rpartition(".")[2]
    is_candidate_setting = last.startswith("candidate_") and last != "candidate_fraction"
    return is_candidate_setting and not flat.get(f"{before}candidate_fraction")


def settings_conflict(
    folder: Path, stored: Mapping[str, Any], given: Mapping[str, Any], ignore: Iterable[str] = ()
) -> str:
    """Return an error message that lists how the given settings differ from those the folder was
    created with; "" if they agree. Settings named in `ignore` (as "a.b" if nested) may differ.
    """
    old, new = (
        # Settings called `..._share` in older folders are `..._fraction` today.
        {re.sub("_share$", "_fraction", key): value for key, value in flatten(card).items()}
        for card in (as_json(stored), as_json(given))
    )
    for name in new.keys() - old.keys():
        if (last := name.rpartition(".")[2]) in _IMPLICIT:
            old[name] = _IMPLICIT[last]
    different = [
        f"{name} was {setting(old.get(name))}, is {setting(new.get(name))}"
        for name in sorted((old.keys() | new.keys()) - set(ignore))
        if old.get(name) != new.get(name) and not (_is_unused(name, old) and _is_unused(name, new))
    ]
    if not different:
        return ""
    return (
        f"{folder}: was created with other settings: {'; '.join(different)}; "
        "resume with those, or choose another folder"
    )


def holds_no_work(folder: Path) -> bool:
    """Return whether a folder of settings holds nothing else: its run ended before it wrote
    anything, and another run may replace the settings.
    """
    names = {path.name for path in folder.iterdir()} - {"settings.json"}
    return all(name.startswith(LOCK_FILE) for name in names)


def check_new(folder: Path) -> None:
    """Raise FolderError if a folder without settings holds a file, such as a source, that a segment
    would replace.
    """
    for path in sorted(folder.iterdir()):
        if _SEGMENT_FILE.fullmatch(path.name):
            raise FolderError(f"{path} is not of a run in this folder; choose another folder")


@names_arguments
class GameFolder:
    """Exclusive access to a folder of games: a context manager that holds its lock."""

    def __init__(self, path: Path, card: Mapping[str, Any], segment_games: int = 1000) -> None:
        """`card`: everything that determines the games, as JSON. Raises FolderError if the folder
        was created with another card or the file of a full segment has changed, InUseError if
        another run is writing to it, OSError.
        """
        self.path = path
        self._lock = RunLock(path)
        self._lock.acquire()
        try:
            self.segment_games = self._begin(card, segment_games)
            self._seen = PositionSet()
            self._journals: dict[int, Journal] = {}
            self._counts: dict[int, Counts] = {}
            self._next = 0  # the first incomplete segment
            while (counts := read_counts(self._counts_path(self._next))) and counts.is_full:
                check_files(path, counts)
                self._counts[self._next] = counts
                self._seen.add(_rows(counts.digests))
                self._next += 1
            for journal in sorted(path.glob("*.journal")):
                self._open_journal(journal)
            self._fill()
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, card: Mapping[str, Any], segment_games: int) -> int:
        path = self.path / "settings.json"
        if path.exists():
            stored = read_settings(self.path)
            conflict = settings_conflict(self.path, stored["settings"], card)
            if not conflict:
                return int(stored["segment_games"])
            if not holds_no_work(self.path):
                raise FolderError(conflict)
        else:
            check_new(self.path)
        about = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "fingerprint": fingerprint(card),
            "segment_games": segment_games,
            "settings": card,
        }
        write_text(path, dump_json(about, indent=2) + "\n")
        return segment_games

    def _open_journal(self, path: Path) -> None:
        try:
            number = int(path.stem)
        except ValueError:
            return
        if number < self._next:
            path.unlink()  # the run ended between writing the segment and deleting its journal
        else:
            self._journals[number] = Journal(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder; journals are kept."""
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()
        self._lock.release()

    # -- queries

    @property
    def games(self) -> int:
        """Number of finished games, duplicates included."""
        full = self._next * self.segment_games
        return full + sum(len(journal.numbers) for journal in self._journals.values())

    def missing(self, games: int) -> Iterator[int]:
        """Numbers below `games` (0: unlimited) of unfinished games, ascending."""
        number = self._next * self.segment_games
        done = {n for journal in self._journals.values() for n in journal.numbers}
        while not games or number < games:
            if number not in done:
                yield number
            number += 1

    def counts(self) -> Counts:
        """Counts over all segments."""
        return Counts.total(self._counts.values())

    # -- adding

    def add(self, games: Iterable[FinishedGame]) -> None:
        """Add finished games to the journals and write segments that are complete.

        Raises OSError, also if the folder was moved, removed or replaced.
        """
        for game in games:
            segment = game.facts.number // self.segment_games
            self._lock.check_place()
            if segment not in self._journals:
                self._journals[segment] = Journal(self.path / f"{segment:06}.journal")
            if game.facts.number not in self._journals[segment].numbers:
                self._journals[segment].append(game)
        self._fill()

    def _fill(self) -> None:
        # In order of segments, so it is deterministic which of two duplicates is dropped.
        while (journal := self._journals.get(self._next)) and len(
            journal.numbers
        ) >= self.segment_games:
            games = sorted(journal.games(), key=lambda game: game.facts.number)
            self._write(self._next, games, self._mark_seen(games), is_full=True)
            journal.close()
            journal.path.unlink()
            del self._journals[self._next]
            self._next += 1

    def write_partial(self) -> None:
        """Also write incomplete segments; their journals are kept."""
        seen: set[int] = set()
        for segment, journal in sorted(self._journals.items()):
            games = sorted(journal.games(), key=lambda game: game.facts.number)
            fresh = []
            for game in games:
                digest = game.facts.digest
                if game.facts.winner == Winner.UNKNOWN:
                    fresh.append(True)
                    continue
                known = bool(self._seen.contains(_rows([digest]))[0]) or digest in seen
                fresh.append(not known)
                seen.add(digest)
            self._write(segment, games, fresh, is_full=False)

    def _mark_seen(self, games: list[StoredGame]) -> list[bool]:
        """Record the games' digests; return which games are new. Failed games count as new."""
        played = [game for game in games if game.facts.winner != Winner.UNKNOWN]
        fresh = iter(self._seen.add(_rows(game.facts.digest for game in played)))
        return [game.facts.winner == Winner.UNKNOWN or bool(next(fresh)) for game in games]

    def _write(
        self, segment: int, games: list[StoredGame], fresh: list[bool], *, is_full: bool
    ) -> None:
        counts = Counts(is_full=is_full)
        kept: list[StoredGame] = []
        for game, is_new in zip(games, fresh, strict=True):
            counts.add(game.facts, is_duplicate=not is_new)
            if is_new and game.hcpe3:
                kept.append(game)
        self._lock.check_place()
        games_file = self.path / f"{segment:06}{SUFFIX}"
        inner_file = self.path / f"inner-{segment:06}{SUFFIX}"
        self._write_games(games_file, [g.hcpe3 for g in kept])
        self._write_games(inner_file, [g.inner for g in kept])
        counts.files = sizes_of((games_file, inner_file))
        write_text(self._counts_path(segment), dump_json(counts.to_json()) + "\n")
        self._counts[segment] = counts

    def _write_games(self, path: Path, games: list[bytes]) -> None:
        if not any(games):
            path.unlink(missing_ok=True)
            return
        with atomic_writer(path) as file:
            for game in games:
                file.write(game)

    def _counts_path(self, segment: int) -> Path:
        return self.path / f"{segment:06}.json"


def other_format(about: Mapping[str, Any], name: str, version: int) -> str:
    """Return what is wrong if a folder's settings are those of another command or version, or "".

    Raises KeyError if they don't say what they are.
    """
    found = about["format"], about["format_version"]
    if found == (name, version):
        return ""
    return (
        f"the folder is of another kind: {found[0]} {found[1]}, not {name} {version}; "
        "choose another folder"
    )


def read_settings(folder: Path) -> dict[str, Any]:
    """Read the folder's settings.json. Raises FolderError if it is missing or invalid."""
    path = folder / "settings.json"
    try:
        about: dict[str, Any] = read_table(path)
        if problem := other_format(about, FORMAT, FORMAT_VERSION):
            raise FolderError(f"{path}: {problem}")
        if not isinstance(about["settings"], dict) or about["segment_games"] < 1:
            raise FolderError(f"{path}: damaged")
    except FolderError:
        raise
    except FileNotFoundError as error:
        raise FolderError(f"{folder}: holds no generated games (no settings.json)") from error
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{path}: damaged: {what_is_wrong(error)}") from error
    return about


def read_counts(path: Path) -> Counts | None:
    """Read the counts of a segment, None if it isn't complete. Raises FolderError if damaged."""
    try:
        return Counts.from_json(read_table(path))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{path}: damaged: {what_is_wrong(error)}") from error


def check_files(folder: Path, counts: Counts) -> None:
    """Raise FolderError if a file of a full segment was cut, replaced or removed since.

    Those of other segments are rewritten by the run that completes them.
    """
    if counts.is_full and (change := changed_file(folder, counts.files)):
        raise FolderError(f"{change}; restore it, or use another folder")


def games_so_far(folder: Path) -> int:
    """Count the games of a folder that may still be written: those of its segments, and of the
    journals of segments that aren't full.
    """
    done = 0
    journals = {path.stem: path for path in folder.glob("[0-9]*.journal")}
    for path in folder.glob("[0-9]*.json"):
        counts = read_counts(path)
        if counts is not None and (counts.is_full or path.stem not in journals):
            done += counts.games
            journals.pop(path.stem, None)
    return done + sum(journal_length(path) for path in journals.values())


@names_arguments
def segment_files(folder: Path | str) -> list[Path]:
    """Return the game files of a folder, in order."""
    return sorted(Path(folder).glob(f"[0-9]*{SUFFIX}"))


def _rows(digests: Iterable[int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    column = np.fromiter(digests, np.uint64)
    rows = np.zeros((len(column), 4), np.uint64)
    rows[:, 0] = column
    return rows.view(np.uint8)
