"""A match on disk: the games as they finish, and the result at the end.

    games.jsonl    first line the terms of the match, then one finished game a line
    result.json    the figures, written when the match ends
    games/         the games as records in a format of the user's choice, where one is named

Each game is on the disk before the next is counted, so a match that was cut off goes on where
it stopped; a last line that was cut off is dropped.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.arena.game import GameRecord
from komadori.atomic import write_text
from komadori.run_lock import RunLock

if TYPE_CHECKING:
    from komadori.records import Game

FORMAT = 1


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
        for key, value in self._terms.items():
            if found.get(key) != value:
                raise MatchStoreError(
                    f"{self.folder} holds another match: its {key} is {found.get(key)!r}, "
                    f"not {value!r}; choose another folder"
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

    def write_record(self, record: GameRecord, suffix: str) -> None:
        """Write the game as a file of its own, games/NNNNN.SUFFIX (kif, csa, usi, ...)."""
        from komadori.records import write_games

        folder = self.folder / "games"
        folder.mkdir(exist_ok=True)
        write_games(folder / f"{record.index + 1:05}.{suffix}", [to_game(record)])

    def write_result(self, figures: Mapping[str, Any]) -> None:
        """Write result.json at once or not at all; infinite figures become null."""
        text = json.dumps(_finite(figures), indent=2, ensure_ascii=False)
        write_text(self.folder / "result.json", text + "\n")


def check_record_suffix(suffix: str) -> None:
    """Raise ValueError unless games can be written to a file of that suffix."""
    from komadori.records import GameWriter

    GameWriter(Path(f"game.{suffix}"))


#: What `komadori.records` calls the reasons.
_ENDS = {
    "checkmate": "MATE",
    "resignation": "RESIGN",
    "declaration": "DECLARATION",
    "repetition": "SENNICHITE",
    "perpetual_check": "PERPETUAL_CHECK",
    "max_plies": "MAX_MOVES",
    "illegal_move": "ILLEGAL_MOVE",
    "false_declaration": "ILLEGAL_MOVE",
    "time": "TIME_UP",
    "engine_failure": "INTERRUPTED",
}


def to_game(record: GameRecord) -> Game:
    """A finished game as `komadori.records` holds games."""
    from komadori.records import End, Game, Winner

    before = [None] * record.opening_plies
    plies = len(record.moves)
    return Game.from_usi(
        record.moves,
        record.sfen,
        winner=Winner[record.winner.upper()],
        end=End[_ENDS[record.reason]],
        scores_cp=[*before, *record.scores_cp, *[None] * plies][:plies],
        times_ms=[*before, *record.times_ms, *[None] * plies][:plies],
        headers={"black": record.names[0], "white": record.names[1]},
    )


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
