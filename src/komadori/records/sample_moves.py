"""Samples with all candidate moves of a search (hcpe3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.array_fields import ComparesArrays
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import content, paths_of
from komadori.records.formats import guess_format
from komadori.records.game import Game
from komadori.records.games import GameReader
from komadori.records.samples import Samples, few_games, no_samples
from komadori.wording import names_arguments

__all__ = ["SampleMoves", "load_sample_moves", "samples_with_moves", "to_hcpe3"]


@names_arguments
@dataclass(frozen=True, slots=True, eq=False)
class SampleMoves(ComparesArrays):
    """The candidate moves of samples, row by row.

    first  int64 [N + 1]  the moves of row i are first[i] to first[i + 1] - 1
    move16 uint16 [M]     the moves
    visits uint16 [M]     their visits
    played uint16 [N]     the move played in the game
    """

    first: NDArray[np.int64]
    move16: NDArray[np.uint16]
    visits: NDArray[np.uint16]
    played: NDArray[np.uint16]

    @classmethod
    def of_game(cls, game: Game, samples: Samples) -> SampleMoves:
        """The candidates of a game, or the samples' moves if it has none. Raises RecordError if the
        samples aren't those of its plies with candidates."""
        known = game.candidates
        if known is None:
            ones = np.ones(len(samples), np.uint16)
            return cls(_edges(ones), samples.move16, ones, samples.move16)
        count, played = known.count[known.count > 0], game.moves[known.count > 0]
        if len(count) != len(samples):
            raise RecordError(
                f"{game.source}: {len(count)} plies with candidates, {len(samples)} samples"
            )
        return cls(_edges(count), known.move16, known.visits, played)

    @classmethod
    def of_counts(
        cls,
        count: NDArray[np.uint16],
        move16: NDArray[np.uint16],
        visits: NDArray[np.uint16],
        played: NDArray[np.uint16],
    ) -> SampleMoves:
        """From the number of moves of each row, uint16 [N]."""
        return cls(_edges(count), move16, visits, played)

    def take(self, rows: NDArray[np.int64]) -> SampleMoves:
        """Select rows."""
        begin, count = self.first[rows], np.diff(self.first)[rows]
        edges = _edges(count)
        place = np.repeat(begin - edges[:-1], count) + np.arange(edges[-1])
        return SampleMoves(edges, self.move16[place], self.visits[place], self.played[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[SampleMoves]) -> SampleMoves:
        """Concatenate the rows of the parts."""
        return cls(
            _edges(np.concatenate([np.diff(part.first) for part in parts])),
            np.concatenate([part.move16 for part in parts]),
            np.concatenate([part.visits for part in parts]),
            np.concatenate([part.played for part in parts]),
        )


def to_hcpe3(samples: Samples, moves: SampleMoves) -> bytes:
    """The games of the samples, with their moves as candidates, as the content of an hcpe3 file.

    A game is a run of rows with the same `game`; they must be its consecutive plies, which isn't
    checked, nor is legality. Raises RecordError for a game of more than 513 plies, or for columns
    whose lengths differ.
    """
    columns = {name: np.ascontiguousarray(column) for name, column in samples.columns().items()}
    return _core.write_hcpe3(
        **columns,
        first=np.ascontiguousarray(moves.first),
        candidates=np.ascontiguousarray(moves.move16),
        visits=np.ascontiguousarray(moves.visits),
        played=np.ascontiguousarray(moves.played),
    )


def _edges(count: NDArray[np.uint16] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(count, dtype=np.int64)))


def samples_with_moves(reader: GameReader) -> Iterator[tuple[Samples, SampleMoves]]:
    """Yield the samples of `samples_by_game` with their moves, some games at a time."""
    for games in few_games(reader):
        moves = SampleMoves.concatenate([SampleMoves.of_game(*one) for one in games])
        yield Samples.concatenate([samples for _, samples in games]), moves


@names_arguments
def load_sample_moves(
    paths: str | Path | Iterable[str | Path],
) -> tuple[Samples, SampleMoves]:
    """Load the samples of files of games as `load_samples` does, with their moves.

    Raises RecordError for a file that holds no games or no sample; OSError.
    """
    parts: list[tuple[Samples, SampleMoves]] = []
    skipped: list[Skipped] = []
    games = 0
    for path in paths_of(paths):
        before = len(parts)
        for samples, moves in _load_file(path, skipped):
            samples.game += games
            parts.append((samples, moves))
        if len(parts) == before:
            raise no_samples(Path(path), skipped)
        games = int(parts[-1][0].game[-1]) + 1
    if not parts:
        raise RecordError("no record files given")
    whole = Samples.concatenate([samples for samples, _ in parts])
    whole.skipped = skipped
    return whole, SampleMoves.concatenate([moves for _, moves in parts])


def _load_file(path: Path, skipped: list[Skipped]) -> Iterator[tuple[Samples, SampleMoves]]:
    damage: list[Skipped] = []
    data = content(path, damage)
    format = guess_format(path, data)
    if format.name != "hcpe3":
        reader = GameReader(path, data=data)
        yield from samples_with_moves(reader)
        skipped += reader.skipped + damage
        return
    columns, moves, faults = _core.hcpe3_sample_moves(data)
    skipped += [Skipped(path, *fault) for fault in faults] + damage
    if len(moves[-1]):
        yield Samples(**columns), SampleMoves(*moves)
