"""A match on disk: the games as they finish, and the result at the end.

    games.jsonl    first line the terms of the match, then one finished game per line
    result.json    the figures, written when the match ends
    index.html     the page: result, graphs, every game on a board
    games/         the games as records in the requested formats

Each game is fsynced before it counts, so an interrupted match resumes where it stopped; a truncated
last line is dropped. The terms contain fingerprints of everything that affects a game: the players,
the contents of their files (wherever these are), the conditions, every opening.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.arena.game import GameRecord
from komadori.arena.journal import Journal, MatchStoreError
from komadori.atomic import write_text
from komadori.json_file import dump_json

__all__ = ["MatchStore", "MatchStoreError", "check_record_suffix", "to_game"]

if TYPE_CHECKING:
    from komadori.arena.openings import Opening
    from komadori.records import Game


_RESULT = "result.json"


class MatchStore(Journal):
    """The folder of one match; a context manager that admits one writing process."""

    def __init__(self, folder: Path | str, terms: Mapping[str, Any]) -> None:
        """Resume or start a match in `folder`. Raises like `Journal`."""
        super().__init__(folder, "games.jsonl", terms, "match", ("index.html", _RESULT))

    def finished(self) -> Iterator[GameRecord]:
        """Yield the games already played."""
        seen: set[int] = set()
        for number, row in enumerate(self.rows(), 2):
            try:
                record = GameRecord.from_json(row)
                to_game(record)  # its moves can be made
                if record.index in seen:
                    raise ValueError(f"game {record.index + 1} is there already")
                seen.add(record.index)
            except (TypeError, ValueError, OverflowError) as error:
                raise self.damage(number, error) from error
            yield record

    def add(self, record: GameRecord) -> None:
        """Append a finished game and fsync."""
        self.append(record.to_json())

    def check_opening(self, record: GameRecord, opening: Opening) -> None:
        """Raise MatchStoreError if a finished game began with another opening."""
        begun = record.sfen, tuple(record.moves[: record.opening_plies])
        if begun != (opening.sfen, opening.moves):
            what = f"its opening {record.index // 2 + 1} differs"
            raise MatchStoreError(
                f"{self.folder} holds another match: {what}; choose another folder"
            )

    def check_records(self, index: int, suffixes: Iterable[str]) -> None:
        """Raise MatchStoreError if a file has the name of the record of a game not played yet."""
        for suffix in suffixes:
            path = self._record(index, suffix)
            if os.path.lexists(path):
                raise MatchStoreError(f"{path} isn't of this match; move it or name another folder")

    def write_records(self, record: GameRecord, suffixes: Iterable[str]) -> None:
        """Write the game to files of its own, games/NNNNN.SUFFIX (kif, csa, usi, ...), where they
        don't exist or are empty."""
        from komadori.records import write_games

        for suffix in suffixes:
            path = self._record(record.index, suffix)
            if not path.exists() or not path.stat().st_size:
                path.parent.mkdir(exist_ok=True)
                write_games(path, [to_game(record)])

    def _record(self, index: int, suffix: str) -> Path:
        return self.folder / "games" / f"{index + 1:05}.{suffix}"

    def write_result(self, figures: Mapping[str, Any]) -> None:
        """Write result.json atomically; infinite figures become null."""
        text = dump_json(_finite(figures), indent=2, ensure_ascii=False)
        write_text(self.folder / _RESULT, text + "\n")


def check_record_suffix(suffix: str) -> None:
    """Raise ValueError unless games can be written to a file of that suffix."""
    from komadori.records import GameWriter

    path = Path(f"game.{suffix}")
    if path.name != f"game.{suffix}":
        raise ValueError("a suffix is expected, such as kif, not a path")
    try:
        GameWriter(path)
    except ValueError as error:
        raise ValueError(str(error).removeprefix(f"{path}: ")) from error


#: The reasons' names in `komadori.records`.
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
    """Convert a finished game to `komadori.records.Game`."""
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
