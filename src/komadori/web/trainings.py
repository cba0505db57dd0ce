"""Training runs and matches, read from the folders on the command line."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from komadori.arena.game import Conditions, GameRecord
from komadori.arena.match import MatchResult
from komadori.json_file import parse_encodable
from komadori.model_folder import CHECKPOINTS
from komadori.run_lock import was_released
from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.http_shapes import LogPart, MatchGame, MatchInfo, RunInfo, Terms

#: A log without an end entry counts as running if it was written this recently.
ALIVE_S = 180.0
#: Maximum entries per response.
MAX_ENTRIES = 20_000
#: Largest number of steps, that of JSON in browsers; a damaged file can have more.
MAX_STEP = 1 << 53

RUN_LOG = "log.jsonl"
MATCH_LOG = "games.jsonl"


class Tail:
    """Reads each complete line of a growing JSONL file once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._inode = -1
        self.number = 0
        """Entries read so far."""

    def read(self) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of the first new entry, and the new entries. A file that shrank or was
        replaced is read again from entry 0. Lines that aren't objects are skipped.
        """
        try:
            stat = self.path.stat()
            if stat.st_size < self._offset or stat.st_ino != self._inode:
                self._offset, self._inode, self.number = 0, stat.st_ino, 0
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(64 << 20)
        except OSError:
            return self.number, []
        end = data.rfind(b"\n") + 1
        self._offset += end
        entries = []
        for line in data[:end].splitlines():
            try:
                entry = parse_encodable(line.decode())
            except ValueError:
                continue
            if isinstance(entry, dict):
                entries.append(entry)
        first = self.number
        self.number += len(entries)
        return first, entries


class Trainings:
    """The training runs and matches of the folders."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def path(self, what: str, name: str) -> Path:
        """Return the log of a run or match. Raises RefusedError."""
        scan = self._folders.scan()
        folders = {"run": scan.runs, "match": scan.matches}[what]
        if name not in folders:
            raise RefusedError("unknown_name", f"no {what} {name!r}")
        return folders[name] / {"run": RUN_LOG, "match": MATCH_LOG}[what]

    # -- runs

    def runs(self) -> list[RunInfo]:
        """Return all runs, newest first."""
        found = [self._run(name, path) for name, path in self._folders.scan().runs.items()]
        return sorted(found, key=lambda run: -run.updated)

    def _run(self, name: str, folder: Path) -> RunInfo:
        _, entries = Tail(folder / RUN_LOG).read()
        header = next((entry for entry in entries if entry.get("kind") == "run"), {})
        tests = [entry for entry in entries if entry.get("kind") == "test"]
        models = self._folders.scan().model_folders
        loop = read_json(folder / "config.json").get("loop", {})
        steps = loop.get("max_steps") if isinstance(loop, dict) else None
        step = _step(entries[-1]) if entries else 0
        return RunInfo(
            name=name,
            title=name.removesuffix("/run") if "/" in name else name,
            is_running=is_alive(folder / RUN_LOG, entries[-1] if entries else {}),
            step=step,
            # A resumed run may have passed a limit that was lowered.
            steps=max(steps, step) if isinstance(steps, int) and steps > 0 else None,
            net=str(header.get("net", "")),
            started=modified_at(folder / "config.json") or None,
            updated=modified_at(folder / RUN_LOG),
            last=json_safe(tests[-1]) if tests else {},
            checkpoints=sorted(n for n in models if n.startswith(f"{name}/{CHECKPOINTS}/")),
            has_report=(folder / "report" / "index.html").is_file(),
        )

    def log(self, what: str, name: str, since: int) -> LogPart:
        """Return the entries of a log from number `since` on. Raises RefusedError."""
        path = self.path(what, name)
        _, entries = Tail(path).read()
        return LogPart(
            name=name,
            since=since,
            entries=[json_safe(entry) for entry in entries[since : since + MAX_ENTRIES]],
            total=len(entries),
            is_running=is_alive(path, entries[-1] if entries else {}),
        )

    # -- matches

    def matches(self) -> list[MatchInfo]:
        """Return all matches, newest first."""
        found = []
        for name, path in self._folders.scan().matches.items():
            info = _match(name, path)
            if info is not None:
                found.append(info)
        return sorted(found, key=lambda match: -match.updated)

    def match_games(self, name: str, offset: int, limit: int) -> list[MatchGame]:
        """Return a page of a match's games. Raises RefusedError."""
        records = list(_records(self.path("match", name)))
        return [match_game(record) for record in records[offset : offset + limit]]


def _step(entry: dict[str, Any]) -> int:
    """Return the step of a log entry; logs of linear evaluations have iterations, epochs or chunks
    instead.
    """
    for name in ("step", "iteration", "epoch", "chunk"):
        step = entry.get(name)
        if isinstance(step, int | float) and abs(step) <= MAX_STEP:
            return int(step)
    return 0


def match_game(record: GameRecord) -> MatchGame:
    return MatchGame(
        index=record.index,
        black=record.names[0],
        white=record.names[1],
        sfen=record.sfen,
        moves=record.moves,
        scores_cp=record.scores_cp,
        times_ms=record.times_ms,
        opening_plies=record.opening_plies,
        winner=record.winner,
        reason=record.reason,
    )


def is_alive(path: Path, last: dict[str, Any]) -> bool:
    """Return whether a log with this last entry is probably still being written."""
    if last.get("kind") == "end" or was_released(path.parent):
        return False
    return is_recent(modified_at(path))


def is_recent(modified: float) -> bool:
    """Return whether a file's modification time is less than ALIVE_S away, in the past or, where a
    clock was set back, in the future."""
    return abs(time.time() - modified) < ALIVE_S


def modified_at(path: Path) -> float:
    """Return a file's modification time; 0 if there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _records(path: Path) -> Iterator[GameRecord]:
    """Yield the finished games of a match; damaged lines are skipped."""
    _, entries = Tail(path).read()
    for entry in entries[1:]:
        try:
            yield GameRecord.from_json(entry)
        except (TypeError, ValueError, KeyError, IndexError):
            continue


def _match(name: str, folder: Path) -> MatchInfo | None:
    path = folder / MATCH_LOG
    _, entries = Tail(path).read()
    if not entries:
        return None
    header = entries[0]
    result: MatchResult | None = None
    for record in _records(path):
        if result is None:
            a, b = record.names if record.first_is_black else record.names[::-1]
            result = MatchResult((a, b), Conditions())
        result.add(record)
    planned = header.get("games")
    players = header.get("players")
    names = result.names if result else players if isinstance(players, list) else ()
    return MatchInfo(
        name=name,
        players=[str(player) for player in names],
        # A match that is resumed still has the result of the games before.
        is_running=is_alive(path, {}) and modified_at(folder / "result.json") < modified_at(path),
        games=result.played if result else 0,
        planned=planned if isinstance(planned, int) else None,
        wins=result.wins if result else 0,
        draws=result.draws if result else 0,
        losses=result.losses if result else 0,
        elo=_finite_or_none(result.elo) if result and result.played else None,
        elo_error=_finite_or_none(result.elo_error) if result and result.played else None,
        elo_low=_finite_or_none(result.estimate.low) if result and result.played else None,
        elo_high=_finite_or_none(result.estimate.high) if result and result.played else None,
        los=_finite_or_none(result.los) if result and result.played else None,
        terms=_parse_terms(header.get("conditions")),
        updated=modified_at(path),
    )


def terms_of(conditions: Conditions) -> Terms:
    return Terms(**{name: getattr(conditions, name) for name in Terms.model_fields})


def _parse_terms(value: Any) -> Terms:
    try:
        return terms_of(Conditions(**value))
    except (TypeError, ValueError):
        return Terms()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; {} if the file is missing or damaged."""
    try:
        found = parse_encodable(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def json_safe(value: Any) -> Any:
    """Replace infinities and NaN, which JSON can't represent, by null."""
    if isinstance(value, dict):
        return {key: json_safe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_safe(item) for item in value]
    return _finite_or_none(value) if isinstance(value, float) else value
