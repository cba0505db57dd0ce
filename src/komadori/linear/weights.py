"""Weights of the two-piece evaluation, in memory and in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.linear.weights_file import WeightsError, WeightsFormat
from komadori.rules import Board

FEATURES: int = _core.FEATURES
#: Piece types with a value: all but the king.
VALUED_TYPES = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14)

_FORMAT = WeightsFormat("komadori-two-piece", 1, "the two-piece evaluation", compressed=True)


@dataclass(frozen=True)
class TwoPieceWeights:
    """shogi686's evaluation (docs/sources.md).

    pairs: int16 [FEATURES, FEATURES] in units of 1/32 centipawn, Black's view, symmetric, 0 where
    a feature on the board meets itself. piece_values: int32 [16], centipawns by piece type.
    """

    pairs: NDArray[np.int16]
    piece_values: NDArray[np.int32]

    @classmethod
    def material(cls) -> TwoPieceWeights:
        """No pairs, the usual piece values."""
        values = np.array(_core.piece_values(), np.int32)
        return cls(np.zeros((FEATURES, FEATURES), np.int16), values)

    def core(self) -> _core.TwoPieceWeights:
        """For the C++ core. Raises WeightsError for a broken symmetry."""
        try:
            return _core.TwoPieceWeights(
                np.ascontiguousarray(self.pairs), [int(v) for v in self.piece_values]
            )
        except (ValueError, TypeError) as error:
            raise WeightsError(str(error)) from error

    def evaluate(self, board: Board) -> int:
        """The static evaluation, centipawns, Black's view."""
        return int(self.core().evaluate(board))

    def save(self, path: Path | str) -> None:
        """Write a compressed file atomically; of the symmetric pairs one half."""
        triangle = self.pairs[np.triu_indices(FEATURES)]
        _FORMAT.write(path, triangle=triangle, piece_values=self.piece_values)

    @classmethod
    def load(cls, path: Path | str) -> TwoPieceWeights:
        """Raises WeightsError for other files, OSError for unreadable ones."""
        triangle, values = _FORMAT.read(path, "triangle", "piece_values")
        half = np.triu_indices(FEATURES)
        if triangle.shape != half[0].shape or triangle.dtype != np.int16 or values.shape != (16,):
            raise WeightsError(f"{path}: arrays of another shape or type")
        pairs = np.zeros((FEATURES, FEATURES), np.int16)
        pairs[half] = triangle
        pairs.T[half] = triangle
        return cls(pairs, values.astype(np.int32))
