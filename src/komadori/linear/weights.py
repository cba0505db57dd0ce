"""Two-piece weights, in memory and in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.linear.weights_file import WeightsError, WeightsFormat, check_array
from komadori.rules import Board
from komadori.wording import names_arguments

FEATURES: int = _core.FEATURES
#: Piece types with a value: all but the king.
VALUED_TYPES = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14)

_FORMAT = WeightsFormat(
    "komadori-two-piece",
    1,
    "the two-piece evaluation",
    max_bytes=FEATURES * (FEATURES + 1),  # int16 of a triangle
    compressed=True,
)
#: Maximum value of a piece in a file, in centipawns; the sum of 40 of them is a score.
MAX_VALUE = 30_000


@names_arguments
@dataclass(frozen=True)
class TwoPieceWeights:
    """Weights of shogi686's evaluation (docs/sources.md).

    pairs: int16 [FEATURES, FEATURES] in units of 1/32 centipawn, Black's view; symmetric, with a
    diagonal of 0 for features on the board. piece_values: int32 [16], centipawns by piece type.
    """

    pairs: NDArray[np.int16]
    piece_values: NDArray[np.int32]

    @classmethod
    def material(cls) -> TwoPieceWeights:
        """Pair weights of 0 and the default piece values."""
        values = np.array(_core.piece_values(), np.int32)
        return cls(np.zeros((FEATURES, FEATURES), np.int16), values)

    def core(self) -> _core.TwoPieceWeights:
        """The weights for the C++ core. Raises WeightsError if they break a symmetry, or for arrays
        of another shape or type.
        """
        check_array("pairs", self.pairs, (FEATURES, FEATURES), np.int16)
        values = np.asarray(self.piece_values)
        if (
            values.shape != (16,)
            or values.dtype.kind not in "iu"
            or np.any(np.abs(values.astype(np.float64)) > MAX_VALUE)
        ):
            raise WeightsError(
                f"piece_values: 16 whole numbers of {MAX_VALUE:,} at most are needed"
            )
        try:
            return _core.TwoPieceWeights(np.ascontiguousarray(self.pairs), [int(v) for v in values])
        except (ValueError, TypeError) as error:
            raise WeightsError(str(error)) from error

    def evaluate(self, board: Board) -> int:
        """The static evaluation, centipawns, Black's view."""
        return int(self.core().evaluate(board))

    def save(self, path: Path | str) -> None:
        """Write a compressed file atomically, with the upper triangle of the pairs. Raises
        WeightsError as `core` does.
        """
        self.core()
        triangle = self.pairs[np.triu_indices(FEATURES)]
        _FORMAT.write(path, triangle=triangle, piece_values=self.piece_values)

    @classmethod
    def load(cls, path: Path | str) -> TwoPieceWeights:
        """Read a file. Raises WeightsError for other files, OSError for unreadable ones."""
        triangle, values = _FORMAT.read(path, "triangle", "piece_values")
        half = np.triu_indices(FEATURES)
        try:
            check_array("triangle", triangle, half[0].shape, np.int16)
            pairs = np.zeros((FEATURES, FEATURES), np.int16)
            pairs[half] = triangle
            pairs.T[half] = triangle
            cls(pairs, values).core()
        except WeightsError as error:
            raise WeightsError(f"{path}: {error}") from error
        return cls(pairs, values.astype(np.int32))
