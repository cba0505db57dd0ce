"""A match on disk: the games as they finish, and the result at the end.

    games.jsonl    first line the terms of the match, then one finished game per line
    result.json    the figures, written when the match ends
    index.html     the page: result, graphs, every game on a board
    games/         the games as records in the formats asked for

Each game is fsynced before the next is counted, so an interrupted match resumes where it stopped;
a last line that was cut off is dropped. The terms hold fingerprints of all that decides a game:
the players, the content of the files they name, the conditions, every opening.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.arena.game import GameRecord
from komadori.atomic import write_text
from komadori.run_lock import RunLock

if TYPE_CHECKING:
    from komadori.records import Game

FORMAT = 2


class MatchStoreError(ValueError):
    """A folder that holds another match, or a damaged one. The message names file and line."""


class MatchStore:
    """The folder of one match, and a context manager: only one process writes to it at a time."""

    def __init__(self, folder: Path | str, terms: Mapping[str, Any]) -> None:
        """Take up the match in `folder`, or begin one there.

        Raises MatchStoreError where the folder holds a match under other terms, and InUseError
        where another process plays one there.
        """
        self.folder = Path(folder)
        self._lock = RunLock(self.folder).acquire()
        self.path = self.folder / "games.jsonl"
        self._terms = {"format": FORMAT, **json.loads(json.dumps(terms))}
        try:
            if self.path.exists() and self.path.stat().st_size:
                self._check_terms()
            else:
                self._append(self._terms)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> MatchStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _check_terms(self) -> None:
        with self.path.open(encoding="utf-8") as file:
            first = file.readline()
        try:
            found = json.loads(first)
        except ValueError:
            raise MatchStoreError(f"{self.path}, line 1: no terms of a match") from None
        if not isinstance(found, dict):
            raise MatchStoreError(f"{self.path}, line 1: no terms of a match")
        for key, value in self._terms.items():
            if what := _difference(key, found.get(key), value):
                raise MatchStoreError(
                    f"{self.folder} holds another match: {what}; choose another folder"
                )

    def finished(self) -> Iterator[GameRecord]:
        """The games already played. A line cut off at the end is removed from the file."""
        good_bytes = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    if not line.endswith(b"\n"):
                        raise ValueError("the line is cut off")
                    record = GameRecord.from_json(json.loads(line)) if number > 1 else None
                except (ValueError, TypeError) as error:
                    if file.read(1):
                        raise MatchStoreError(f"{self.path}, line {number}: {error}") from error
                    break
                good_bytes += len(line)
                if record is not None:
                    yield record
        if good_bytes < self.path.stat().st_size:
            os.truncate(self.path, good_bytes)

    def append(self, record: GameRecord) -> None:
        """Put a finished game on the disk."""
        self._append(record.to_json())

    def _append(self, data: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def write_records(self, record: GameRecord, suffixes: Iterable[str]) -> None:
        """Write the game to files of its own, games/NNNNN.SUFFIX (kif, csa, usi, ...), where they
        don't exist."""
        from komadori.records import write_games

        folder = self.folder / "games"
        for suffix in suffixes:
            path = folder / f"{record.index + 1:05}.{suffix}"
            if not path.exists():
                folder.mkdir(exist_ok=True)
                write_games(path, [to_game(record)])

    def write_result(self, figures: Mapping[str, Any]) -> None:
        """Write result.json at once or not at all; infinite figures become null."""
        text = json.dumps(_finite(figures), indent=2, ensure_ascii=False)
        write_text(self.folder / "result.json", text + "\n")


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
        for side, a, b in zip("AB", found, wanted, strict=True):
            for name in sorted(a.keys() | b.keys()):
                if a.get(name) != b.get(name):
                    return f"{name} (player {side}) has changed since it began"
        return ""
    return f"its {key} is {found!r}, not {wanted!r}" if found != wanted else ""


def check_record_suffix(suffix: str) -> None:
    """Raise ValueError unless games can be written to a file of that suffix."""
    from komadori.records import GameWriter

    GameWriter(Path(f"game.{suffix}"))


#: What `komadori.records` calls the reasons.
ENDS = {
    "checkmate": "MATE",
    "resignation": "RESIGN",
    "declaration": "DECLARATION",
    "repetition": "SENNICHITE",
    "perpetual_check": "PERPETUAL_CHECK",
    "max_plies": "MAX_MOVES",
    "illegal_move": "ILLEGAL_MOVE",
    "false_declaration": "ILLEGAL_MOVE",
    "time": "TIME_UP",
    "engine_failure": "ADJUDICATION",
    "adjudication": "ADJUDICATION",
}


def to_game(record: GameRecord) -> Game:
    """A finished game as `komadori.records` holds games."""
    from komadori.records import End, Game, Winner

    before = [None] * record.opening_plies
    plies = len(record.moves)
    game = Game.from_usi(
        record.moves,
        record.sfen,
        winner=Winner[record.winner.upper()],
        end=End[ENDS[record.reason]],
        scores_cp=[*before, *record.scores_cp, *[None] * plies][:plies],
        times_ms=[*before, *record.times_ms, *[None] * plies][:plies],
        headers={"black": record.names[0], "white": record.names[1]},
    )
    if record.detail:
        game.comments[plies] = f"{record.reason.replace('_', ' ')}: {record.detail}"
    return game


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
