"""Positions with a move, a score and a result: read for training, converted, written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import atomic_writer, content
from komadori.records.formats import FORMATS, Format, find_format, guess_format, share_of_sound
from komadori.records.game import End, Game, Winner
from komadori.records.games import GameReader
from komadori.records.table import table_of
from komadori.rules import Board, Move, RulesError

__all__ = [
    "LAYOUTS",
    "Sample",
    "SampleReader",
    "SampleWriter",
    "Samples",
    "load_samples",
    "samples_by_game",
    "samples_of",
]

#: The records of the one-position formats, for a numpy view of a file; field names are cshogi's.
#: What each field means stands in cpp/komadori/records/fixed_size.h.
LAYOUTS = {
    name: np.dtype(
        [
            (field, type_, (count,)) if count > 1 else (field, type_)
            for field, type_, count in _core.fixed_fields(name)
        ]
    )
    for name in ("hcpe", "hcpe2", "apery", "psv")
}

CHUNK_RECORDS = 1 << 16
GAMES_AT_ONCE = 1 << 10


class Sample(NamedTuple):
    """One row of `Samples`."""

    board: Board
    move: Move | None
    """The move to learn; None where there is none."""
    score_cp: int
    """In the side to move's view."""
    result: float
    """The side to move's: 1 won, 0 lost, 0.5 drawn."""
    game: int
    ply: int
    end_ply: int
    end: End


@dataclass(slots=True)
class Samples:
    """Positions to learn from, one row each; rows of one game are adjacent, in order.

    hcp      uint8 [N, 32]
    move16   uint16 [N]   the move to learn; 0 where there is none
    score_cp int16 [N]    side to move's view
    result   float32 [N]  side to move's: 1 won, 0 lost, 0.5 drawn
    game     int32 [N]    number of the game, distinct over all files read
    ply      int16 [N]    number of the move to be made, 1 at the start; 0 where unknown
    end_ply  int16 [N]    number of the game's last move; 0 where unknown
    end      uint8 [N]    how the game ended, an `End`
    """

    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    game: NDArray[np.int32]
    ply: NDArray[np.int16]
    end_ply: NDArray[np.int16]
    end: NDArray[np.uint8]
    skipped: list[Skipped] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.move16)

    @overload
    def __getitem__(self, rows: int) -> Sample: ...

    @overload
    def __getitem__(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Samples: ...

    def __getitem__(self, rows: Any) -> Sample | Samples:
        """A row as a `Sample`, for looking at; several (slice, indices, mask) as `Samples`."""
        if not isinstance(rows, int | np.integer):
            return self.take(rows)
        ply, move16 = int(self.ply[rows]), int(self.move16[rows])
        board = Board.from_hcp(self.hcp[rows].tobytes(), max(ply, 1))
        return Sample(
            board,
            board.move_from_move16(move16) if move16 else None,
            int(self.score_cp[rows]),
            float(self.result[rows]),
            int(self.game[rows]),
            ply,
            int(self.end_ply[rows]),
            End(int(self.end[rows])),
        )

    def __repr__(self) -> str:
        return f"<Samples: {len(self):,} positions, {len(self.skipped)} skipped>"

    def columns(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "skipped"}

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Samples:
        """The chosen rows (indices, mask or slice) in the order given."""
        chosen = {name: column[rows] for name, column in self.columns().items()}
        return Samples(**chosen, skipped=self.skipped)

    @classmethod
    def concatenate(cls, parts: Sequence[Samples]) -> Samples:
        """The rows of one after the other's; game numbers stay as they are."""
        if len(parts) == 1:
            return parts[0]
        columns = {
            name: np.concatenate([part.columns()[name] for part in parts])
            for name in parts[0].columns()
        }
        return cls(**columns, skipped=[skip for part in parts for skip in part.skipped])


def samples_of(games: Iterable[Game]) -> Samples:
    """The samples of games whose winner is known (or that are drawn); others give none.

    The move to learn is the candidate with the most visits, or the move played where there
    are no candidates; plies with none are left out. A missing score is 0.
    Raises RulesError for a move that isn't legal or a position that hcp can't hold.
    """
    return Samples(**table_of(games).samples())


def samples_by_game(reader: GameReader) -> Iterator[tuple[Game, Samples]]:
    """Each game that has samples, and those (`samples_of`), its `game` counted from 0 on.

    A game with an illegal move is added to the reader's `skipped`.
    """
    number = 0
    for game in reader:
        try:
            found = samples_of([game])
        except RulesError as error:
            at = game.source.offset if game.source else 0
            reader.skipped.append(Skipped(reader.path, at, at, at, str(error)))
            continue
        if len(found):
            found.game += number
            number += 1
            yield game, found


def few_games(reader: GameReader) -> Iterator[list[tuple[Game, Samples]]]:
    """What `samples_by_game` gives, some games at a time."""
    waiting = []
    for one in samples_by_game(reader):
        waiting.append(one)
        if len(waiting) == GAMES_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


class SampleReader:
    """The records of a file of positions, chunk after chunk; damaged ones are left out.

    skipped  what was left out so far
    offset   the byte of the content that reading has reached; `size` at the end
    note     where the file could be in more than one format: which was taken, and why
    """

    def __init__(self, path: str | Path, format: str | None = None) -> None:
        """Raises RecordError for a file of no known format of positions, OSError."""
        self.path = Path(path)
        self.skipped: list[Skipped] = []
        data = content(self.path, self.skipped)
        self.format = find_format(format) if format else guess_format(self.path, data)
        if self.format.holds_games:
            raise RecordError(f"{path}: {self.format.name} holds games, not positions")
        self._data = data
        self.size = len(data)
        self.offset = 0
        self.note = "" if format else _note(self.path, self.format, data)

    def __len__(self) -> int:
        """How many records the file has room for."""
        return self.size // LAYOUTS[self.format.name].itemsize

    @property
    def records(self) -> NDArray[Any]:
        """The file as an array of LAYOUTS, unchecked, mapped where it isn't compressed."""
        layout = LAYOUTS[self.format.name]
        return self._data[: len(self) * layout.itemsize].view(layout)

    def __iter__(self) -> Iterator[Samples]:
        record_bytes = LAYOUTS[self.format.name].itemsize
        game = -1
        self.offset = 0
        while self.offset < self.size:
            # Each chunk begins with the last record of the one before, which tells whether the
            # game goes on.
            again = 0 if game < 0 else 1
            columns, faults, self.offset = _core.fixed_samples(
                self.format.name,
                self._data,
                self.offset - again * record_bytes,
                CHUNK_RECORDS + again,
            )
            self.skipped += [Skipped(self.path, *fault) for fault in faults]
            samples = Samples(**columns)
            samples.game += max(game, 0)
            if len(samples):
                game = int(samples.game[-1])
            if len(samples) > again:
                yield samples.take(slice(again, None))


def _note(path: Path, taken: Format, data: NDArray[np.uint8]) -> str:
    shares = {
        name: share_of_sound(FORMATS[name], data)
        for name, layout in LAYOUTS.items()
        if len(data) and len(data) % layout.itemsize == 0 and name != "hcpe2"
    }
    likely = guess_format(path)
    rivals = [name for name in shares if name not in (taken.name, "hcpe2")]
    if taken.name == "hcpe2":
        rivals = [name for name in rivals if name != "hcpe"]
    if taken is likely and not rivals:
        return ""
    tried = ", ".join(f"{share:.0%} as {name}" for name, share in shares.items())
    return f"{path}: read as {taken.name}; of the first records are sound: {tried}"


class SampleWriter:
    """A file of positions that appears, whole, when the `with` block ends without an exception."""

    def __init__(self, path: str | Path, format: str | None = None) -> None:
        """Raises RecordError for no known format of positions."""
        self.path = Path(path)
        self.format = find_format(format) if format else guess_format(self.path)
        if self.format.holds_games:
            raise RecordError(f"{path}: {self.format.name} holds games, not positions")
        self.records = 0
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

    def write(self, samples: Samples) -> None:
        """Append all rows. Raises RecordError where an hcp is no position."""
        assert self._file is not None
        columns = samples.columns()
        del columns["game"]
        arrays = {name: np.ascontiguousarray(column) for name, column in columns.items()}
        try:
            self._file.write(_core.write_fixed(self.format.name, **arrays))
        except RulesError as error:
            raise RecordError(str(error)) from error
        self.records += len(samples)

    def write_game(self, game: Game) -> None:
        """Append a game's samples. Raises RecordError for a game without a result, an illegal
        move, or a position that hcp can't hold; nothing is written of it then."""
        if game.winner == Winner.UNKNOWN:
            raise RecordError(f"{self.format.name} needs a result, this game has none")
        try:
            samples = samples_of([game])
        except RulesError as error:
            raise RecordError(str(error)) from error
        self.write(samples)


def load_samples(paths: str | Path | Iterable[str | Path]) -> Samples:
    """The samples of one file or of many of any format, in the order given.

    Of games as `samples_of`. Damaged games and records are left out and listed in `skipped`.
    Raises RecordError for a file of no known format, or without a single sample; OSError.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    parts = [_load_file(Path(path)) for path in paths]
    if not parts:
        raise RecordError("no record files given")
    games = 0
    for part in parts:
        part.game += games
        games = int(part.game[-1]) + 1
    return Samples.concatenate(parts)


def _load_file(path: Path) -> Samples:
    damage: list[Skipped] = []
    data = content(path, damage)
    format = guess_format(path, data)
    if format.name == "hcpe3":
        columns, faults = _core.hcpe3_samples(data)
        samples = Samples(**columns, skipped=[Skipped(path, *fault) for fault in faults])
    elif format.read is None:
        columns, faults, _ = _core.fixed_samples(format.name, data)
        samples = Samples(**columns, skipped=[Skipped(path, *fault) for fault in faults])
    else:
        reader = GameReader(path, format.name, data=data)
        samples = Samples.concatenate(
            [samples_of([]), *(found for _, found in samples_by_game(reader))]
        )
        samples.skipped = reader.skipped
    samples.skipped += damage
    if not len(samples):
        detail = f" ({samples.skipped[0]})" if samples.skipped else ""
        raise RecordError(f"{path}: no game with samples{detail}")
    return samples
