"""Files of games, read and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from komadori.records.errors import RecordError, Skipped
from komadori.records.files import atomic_writer, content
from komadori.records.formats import FORMATS, Format, find_format, guess_format
from komadori.records.game import Game
from komadori.rules import RulesError

__all__ = ["GameReader", "GameWriter", "Games", "read_games", "write_games"]


class GameReader:
    """The games of a file, one after the other; damaged ones are left out and kept account of.

    skipped  what was left out so far
    offset   the byte of the content that reading has reached; `size` at the end
    """

    def __init__(
        self,
        path: str | Path,
        format: str | None = None,
        *,
        data: NDArray[np.uint8] | None = None,
    ) -> None:
        """`data`: the file's content where it has been read already.

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


class Games(list[Game]):
    """Games read from files, and what was left out of them."""

    def __init__(self, games: Iterable[Game] = (), skipped: Iterable[Skipped] = ()) -> None:
        super().__init__(games)
        self.skipped = list(skipped)

    def __repr__(self) -> str:
        return f"<Games: {len(self):,} games, {len(self.skipped)} skipped>"


def read_games(path: str | Path, format: str | None = None) -> Games:
    """All games of a file; what was left out is in its `skipped`.

    Raises RecordError for a file of no known format of games, or without a single one that can be
    read; OSError.
    """
    reader = GameReader(path, format)
    games = list(reader)
    if not games:
        found = reader.skipped[0] if reader.skipped else f"{path}: nothing in it"
        raise RecordError(f"no game of {reader.format.name} can be read: {found}")
    return Games(games, reader.skipped)


class GameWriter:
    """A file of games that appears, whole, when the `with` block ends without an exception."""

    def __init__(
        self, path: str | Path, format: str | None = None, *, encoding: str = "utf-8"
    ) -> None:
        """`encoding` is that of text formats: "utf-8" or "cp932" (Shift-JIS).

        Raises RecordError for no known format of games.
        """
        self.path = Path(path)
        self.format: Format = find_format(format) if format else guess_format(self.path)
        if not self.format.holds_games:
            names = ", ".join(name for name, known in FORMATS.items() if known.holds_games)
            raise RecordError(f"{path}: {self.format.name} holds no games; {names} do")
        self.encoding = encoding
        self.games = 0
        self.plies = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._context = atomic_writer(self.path)
        self._file = self._context.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._context.__exit__(kind, error, trace)

    def write(self, game: Game) -> None:
        """Append a game. Raises RecordError for what the format can't hold; nothing is written
        of it then, and the file stays sound."""
        assert self._file is not None
        assert self.format.write is not None
        try:
            data = self.format.write(game, self.encoding)
        except RulesError as error:
            raise RecordError(str(error)) from error
        if self.games and self.format.between:
            self._file.write(self.format.between)
        self._file.write(data)
        self.games += 1
        self.plies += len(game)


def write_games(
    path: str | Path,
    games: Iterable[Game],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
) -> int:
    """Write games to a file, whole or not at all; returns how many.

    Raises RecordError for a game that the format can't hold.
    """
    with GameWriter(path, format, encoding=encoding) as writer:
        for game in games:
            writer.write(game)
    return writer.games
