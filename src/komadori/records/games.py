"""Readers and writers of files of games."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori.records.errors import RecordError, Skipped
from komadori.records.files import AtomicFile, content
from komadori.records.formats import FORMATS, Format, find_format, guess_format
from komadori.records.game import Game
from komadori.rules import RulesError
from komadori.wording import names_arguments

__all__ = ["GameReader", "GameWriter", "Games", "read_games", "write_games"]

#: Encodings that text formats are written in.
ENCODINGS = ("utf-8", "cp932")


@names_arguments
class GameReader:
    """Iterates over the games of a file; damaged ones are skipped and recorded.

    skipped  parts skipped so far
    offset   byte of the content reached so far; `size` at the end
    """

    def __init__(
        self,
        path: str | Path,
        format: str | None = None,
        *,
        data: NDArray[np.uint8] | None = None,
    ) -> None:
        """data: the file's content, if already read.

        Raises RecordError for a file of no known format of games, OSError.
        """
        self.path = Path(path)
        self.format = find_format(format) if format else guess_format(self.path)
        if not self.format.holds_games:
            raise RecordError(f"{path}: {self.format.name} holds positions, not games")
        self._damage: list[Skipped] = []
        self._data = content(self.path, self._damage) if data is None else data
        self.size = len(self._data)
        self.offset = 0
        self.skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[Game]:
        assert self.format.read is not None
        for chunk in self.format.read(self._data, self.path):
            self.skipped += chunk.skipped
            self.offset = chunk.offset
            yield from chunk.games
        self.skipped += self._damage
        self.offset = self.size


@names_arguments
class Games(list[Game]):
    """Games read from files, and the parts skipped."""

    def __init__(self, games: Iterable[Game] = (), skipped: Iterable[Skipped] = ()) -> None:
        super().__init__(games)
        self.skipped = list(skipped)

    def __repr__(self) -> str:
        return f"<Games: {len(self):,} read, {len(self.skipped):,} skipped>"


@names_arguments
def read_games(path: str | Path, format: str | None = None) -> Games:
    """Read all games of a file; parts skipped are in `skipped` of the result.

    Raises RecordError for a file of no known format of games or without a readable game; OSError.
    """
    reader = GameReader(path, format)
    games = list(reader)
    if not games:
        found = reader.skipped[0] if reader.skipped else f"{path}: nothing in it"
        raise RecordError(f"no game of {reader.format.name} can be read: {found}")
    return Games(games, reader.skipped)


@names_arguments
class GameWriter(AtomicFile):
    """Writes a file of games, which appears when the `with` block ends without an exception.

    games, plies  written so far
    replaced      characters written as ? so far, because the encoding lacks them
    """

    def __init__(
        self, path: str | Path, format: str | None = None, *, encoding: str = "utf-8"
    ) -> None:
        """encoding: of text formats, "utf-8" or "cp932" (Shift-JIS).

        Raises RecordError if the name is of no known format of games, or for another encoding.
        """
        if encoding not in ENCODINGS:
            raise RecordError(f"no encoding {encoding!r} of records: one of {', '.join(ENCODINGS)}")
        super().__init__(path)
        self.format: Format = find_format(format) if format else guess_format(self.path)
        if not self.format.holds_games:
            names = ", ".join(name for name, known in FORMATS.items() if known.holds_games)
            raise RecordError(f"{path}: {self.format.name} holds no games; {names} do")
        self.encoding = encoding
        self.games = 0
        self.plies = 0
        self.replaced = 0

    def write(self, game: Game) -> None:
        """Append a game. Raises RecordError, writing nothing, if the format can't represent it."""
        assert self.format.write is not None
        try:
            data = self.format.write(game, self.encoding)
        except RulesError as error:
            raise RecordError(str(error)) from error
        if self.games and self.format.between:
            self._append(self.format.between)
        self._append(data)
        if self.encoding != "utf-8" and (marks := data.count(b"?")):
            # No multi-byte character of Shift-JIS contains the byte of a question mark.
            self.replaced += marks - self.format.write(game, "utf-8").count(b"?")
        self.games += 1
        self.plies += len(game)


@names_arguments
def write_games(
    path: str | Path,
    games: Iterable[Game],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
) -> int:
    """Write games to a file atomically; returns their number.

    Raises RecordError for a game that the format can't represent, and as `GameWriter`.
    """
    with GameWriter(path, format, encoding=encoding) as writer:
        for game in games:
            writer.write(game)
    return writer.games
