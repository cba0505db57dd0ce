"""Samples: positions with a move, a score and a result, read from and written to files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.array_fields import ComparesArrays
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import AtomicFile, content, paths_of
from komadori.records.formats import FORMATS, Format, find_format, guess_format, valid_fraction
from komadori.records.game import End, Game, Winner
from komadori.records.games import GameReader
from komadori.records.table import table_of
from komadori.rules import Board, Move, RulesError
from komadori.wording import names_arguments, not_expected

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

#: numpy dtypes of the records of one-position formats, with cshogi's field names. The fields are
#: described in cpp/komadori/records/fixed_size.h.
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
    """The target move, None for none."""
    score_cp: int
    """Centipawns, side to move's view."""
    result: float
    """The side to move's result: 1 won, 0 lost, 0.5 drawn."""
    game: int
    ply: int
    end_ply: int
    end: End


@names_arguments
@dataclass(slots=True, eq=False)
class Samples(ComparesArrays):
    """Samples in columns; rows of one game are adjacent and in order.

    hcp      uint8 [N, 32]
    move16   uint16 [N]   the target move; 0 for none
    score_cp int16 [N]    centipawns, side to move's view
    result   float32 [N]  side to move's view: 1 won, 0 lost, 0.5 drawn
    game     int32 [N]    number of the game, unique over all files read
    ply      int16 [N]    number of the next move, 1 at the start; 0 if unknown
    end_ply  int16 [N]    number of the game's last move; 0 if unknown
    end      uint8 [N]    how the game ended, an `End`

    Raises ValueError for a column of another shape.
    """

    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    game: NDArray[np.int32]
    ply: NDArray[np.int16]
    end_ply: NDArray[np.int16]
    end: NDArray[np.uint8]
    skipped: list[Skipped] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        rows = np.shape(self.hcp)[:1]
        for name, column in self.columns().items():
            needed = (*rows, 32) if name == "hcp" else rows
            if not rows or np.shape(column) != needed:
                wanted = needed if rows else "(N, 32)"
                raise ValueError(f"{name} has shape {np.shape(column)}, {wanted} is needed")

    def __len__(self) -> int:
        return len(self.move16)

    @overload
    def __getitem__(self, rows: int) -> Sample: ...

    @overload
    def __getitem__(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Samples: ...

    def __getitem__(self, rows: Any) -> Sample | Samples:
        """A single row as a `Sample`; several (slice, indices, mask) as `Samples`."""
        is_one = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
        if not is_one:
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
        """The columns by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "skipped"}

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Samples:
        """Select rows by indices, mask or slice."""
        if not isinstance(rows, slice):
            dimensions = np.ndim(rows)
            if dimensions == 0:
                raise not_expected("rows", rows, "indices, a mask or a slice")
            if dimensions > 1:
                raise ValueError(f"rows has {dimensions} dimensions, 1 is needed")
        chosen = {name: column[rows] for name, column in self.columns().items()}
        return Samples(**chosen, skipped=self.skipped)

    @classmethod
    def concatenate(cls, parts: Sequence[Samples]) -> Samples:
        """Concatenate the rows of the parts, at least one; game numbers are kept."""
        if not parts:
            raise ValueError("parts: at least one is needed")
        if len(parts) == 1:
            return parts[0]
        columns = {
            name: np.concatenate([part.columns()[name] for part in parts])
            for name in parts[0].columns()
        }
        return cls(**columns, skipped=[skip for part in parts for skip in part.skipped])


@names_arguments
def samples_of(games: Iterable[Game]) -> Samples:
    """The samples of games; games with an unknown winner give none.

    The target is the candidate with the most visits, or the move played if the game has no
    candidates; plies with 0 candidates are left out. A missing score is 0. Raises RulesError for an
    illegal move or a position that hcp can't encode.
    """
    return Samples(**table_of(games).samples())


def samples_by_game(reader: GameReader) -> Iterator[tuple[Game, Samples]]:
    """Yield each game that has samples, with its samples; `game` is counted from 0.

    Games with an illegal move are added to the reader's `skipped`.
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
    """The results of `samples_by_game` in lists of up to GAMES_AT_ONCE."""
    waiting = []
    for one in samples_by_game(reader):
        waiting.append(one)
        if len(waiting) == GAMES_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


@names_arguments
class SampleReader:
    """Iterates over the records of a file of single positions in chunks, skipping damaged ones.

    skipped  parts skipped so far
    offset   byte of the content reached so far; `size` at the end
    note     if the file could be of several formats: the one chosen, and why
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
        """The number of records that fit into the file's size."""
        return self.size // LAYOUTS[self.format.name].itemsize

    @property
    def records(self) -> NDArray[Any]:
        """The file as an array with a dtype of LAYOUTS, unchecked; mapped unless compressed."""
        layout = LAYOUTS[self.format.name]
        return self._data[: len(self) * layout.itemsize].view(layout)

    def __iter__(self) -> Iterator[Samples]:
        record_bytes = LAYOUTS[self.format.name].itemsize
        game = -1
        self.offset = 0
        while self.offset < self.size:
            # Each chunk begins with the last record of the previous one, to detect whether the game
            # continues.
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
    valid = {
        name: valid_fraction(FORMATS[name], data)
        for name, layout in LAYOUTS.items()
        if len(data) and len(data) % layout.itemsize == 0 and name != "hcpe2"
    }
    likely = guess_format(path)
    rivals = [name for name in valid if name not in (taken.name, "hcpe2")]
    if taken.name == "hcpe2":
        rivals = [name for name in rivals if name != "hcpe"]
    if taken is likely and not rivals:
        return ""
    tried = ", ".join(f"{fraction:.0%} as {name}" for name, fraction in valid.items())
    return f"{path}: read as {taken.name}; valid among the first records: {tried}"


@names_arguments
class SampleWriter(AtomicFile):
    """Writes a file of single positions, which appears when the `with` block ends without an
    exception."""

    def __init__(self, path: str | Path, format: str | None = None) -> None:
        """Raises RecordError if the name is of no known format of positions."""
        super().__init__(path)
        self.format = find_format(format) if format else guess_format(self.path)
        if self.format.holds_games:
            raise RecordError(f"{path}: {self.format.name} holds games, not positions")
        self.records = 0

    def write(self, samples: Samples) -> None:
        """Append all rows. Raises RecordError if an hcp is invalid."""
        columns = samples.columns()
        del columns["game"]
        arrays = {name: np.ascontiguousarray(column) for name, column in columns.items()}
        try:
            self._append(_core.write_fixed(self.format.name, **arrays))
        except RulesError as error:
            raise RecordError(str(error)) from error
        self.records += len(samples)

    def write_game(self, game: Game) -> None:
        """Append the samples of a game. Raises RecordError, and writes nothing, for a game without
        a result, an illegal move, or a position that hcp can't encode."""
        if game.winner == Winner.UNKNOWN:
            raise RecordError(f"{self.format.name} needs a result, this game has none")
        try:
            samples = samples_of([game])
        except RulesError as error:
            raise RecordError(str(error)) from error
        self.write(samples)


@names_arguments
def load_samples(paths: str | Path | Iterable[str | Path]) -> Samples:
    """Load the samples of one or several files of any format, in order; of games as by
    `samples_of`.

    Damaged games and records are skipped and listed in `skipped`. Raises RecordError for a file of
    no known format or without a sample; OSError.
    """
    parts = [_load_file(path) for path in paths_of(paths)]
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
        raise no_samples(path, samples.skipped)
    return samples


def check_samples(path: Path) -> None:
    """Raise as `load_samples` does for a file that it can't load, without reading on from the first
    sample."""
    damage: list[Skipped] = []
    data = content(path, damage)
    format = guess_format(path, data)
    if format.holds_games:
        found: Iterator[object] = samples_by_game(GameReader(path, format.name, data=data))
    else:
        found = iter(SampleReader(path, format.name))
    if next(found, None) is None:
        _load_file(path)


def no_samples(path: Path, skipped: Iterable[Skipped]) -> RecordError:
    """The error of a file without a sample: names its first fault, or what a game needs."""
    why = next(
        (str(one) for one in skipped if one.path == path), "a game without a result has none"
    )
    return RecordError(f"{path}: no game with samples ({why})")
