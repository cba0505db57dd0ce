"""Samples with all moves that a search weighed (hcpe3's candidates)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import content
from komadori.records.formats import guess_format
from komadori.records.game import Game
from komadori.records.games import GameReader
from komadori.records.samples import Samples, few_games

__all__ = ["SampleMoves", "load_sample_moves", "samples_with_moves"]


@dataclass(frozen=True, slots=True)
class SampleMoves:
    """The moves of samples, one row's after another's.

    first  int64 [N + 1]  the moves of row i are first[i] to first[i + 1] - 1
    move16 uint16 [M]     visits uint16 [M]
    played uint16 [N]     the move that was made in the game
    """

    first: NDArray[np.int64]
    move16: NDArray[np.uint16]
    visits: NDArray[np.uint16]
    played: NDArray[np.uint16]

    @classmethod
    def of_game(cls, game: Game, samples: Samples) -> SampleMoves:
        """Its candidates; where it has none, the moves of its samples. Raises RecordError where
        the samples aren't those of its plies with candidates.
        """
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

    def take(self, rows: NDArray[np.int64]) -> SampleMoves:
        """The moves of the chosen rows, in that order."""
        begin, count = self.first[rows], np.diff(self.first)[rows]
        edges = _edges(count)
        place = np.repeat(begin - edges[:-1], count) + np.arange(edges[-1])
        return SampleMoves(edges, self.move16[place], self.visits[place], self.played[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[SampleMoves]) -> SampleMoves:
        """The rows of one after the other's."""
        return cls(
            _edges(np.concatenate([np.diff(part.first) for part in parts])),
            np.concatenate([part.move16 for part in parts]),
            np.concatenate([part.visits for part in parts]),
            np.concatenate([part.played for part in parts]),
        )


def _edges(count: NDArray[np.uint16] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(count, dtype=np.int64)))


def samples_with_moves(reader: GameReader) -> Iterator[tuple[Samples, SampleMoves]]:
    """The samples of `samples_by_game` and their moves, of some games at a time."""
    for games in few_games(reader):
        moves = SampleMoves.concatenate([SampleMoves.of_game(*one) for one in games])
        yield Samples.concatenate([samples for _, samples in games]), moves


def load_sample_moves(
    paths: str | Path | Iterable[str | Path],
) -> tuple[Samples, SampleMoves]:
    """The samples of files of games, as `load_samples` gives them, and their moves.

    Raises RecordError for a file that holds no games, or without a single sample; OSError.
    """
    parts: list[tuple[Samples, SampleMoves]] = []
    skipped: list[Skipped] = []
    games = 0
    for path in [paths] if isinstance(paths, str | Path) else paths:
        before = len(parts)
        for samples, moves in _load_file(Path(path), skipped):
            samples.game += games
            parts.append((samples, moves))
        if len(parts) == before:
            raise RecordError(f"{path}: no game with samples")
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
