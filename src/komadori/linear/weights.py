"""Weights of the two-piece evaluation, in memory and in files."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.atomic import atomic_writer
from komadori.rules import Board

FEATURES: int = _core.FEATURES
#: The piece types that have a value: all but the king.
VALUED_TYPES = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14)

_FORMAT = "komadori-two-piece"
_FORMAT_VERSION = 1


class WeightsError(ValueError):
    """A file that holds no weights, or weights that break the evaluation's symmetries."""


@dataclass(frozen=True)
class TwoPieceWeights:
    """shogi686's evaluation (diary 003).

    pairs: int16 [FEATURES, FEATURES] in units of 1/32 centipawn, Black's view, symmetric, 0 where
    a feature on the board meets itself. piece_values: int32 [16], centipawns by piece type.
    """

    pairs: NDArray[np.int16]
    piece_values: NDArray[np.int32]

    @classmethod
    def material(cls) -> TwoPieceWeights:
        """No pairs, the usual values of the pieces."""
        values = np.array(_core.piece_values(), np.int32)
        return cls(np.zeros((FEATURES, FEATURES), np.int16), values)

    def core(self) -> _core.TwoPieceWeights:
        """For the compiled core. Raises WeightsError where a symmetry is broken."""
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
        """Write a compressed file, whole or not at all; of the pairs one half, which tells all."""
        with atomic_writer(Path(path)) as file:
            np.savez_compressed(
                file,
                format=np.array(_FORMAT),
                format_version=np.array(_FORMAT_VERSION),
                triangle=self.pairs[np.triu_indices(FEATURES)],
                piece_values=self.piece_values,
            )

    @classmethod
    def load(cls, path: Path | str) -> TwoPieceWeights:
        """Raises WeightsError where the file holds no such weights, OSError where it can't be
        read.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                if str(file["format"]) != _FORMAT:
                    raise WeightsError(f"{path}: not weights of the two-piece evaluation")
                version = int(file["format_version"])
                if version > _FORMAT_VERSION:
                    raise WeightsError(
                        f"{path}: format version {version}; this komadori reads up to "
                        f"{_FORMAT_VERSION}, a newer one is needed"
                    )
                triangle, values = file["triangle"], file["piece_values"]
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, WeightsError):
                raise
            raise WeightsError(f"{path}: not weights of the two-piece evaluation") from error
        half = np.triu_indices(FEATURES)
        if triangle.shape != half[0].shape or triangle.dtype != np.int16 or values.shape != (16,):
            raise WeightsError(f"{path}: arrays of another shape or type")
        pairs = np.zeros((FEATURES, FEATURES), np.int16)
        pairs[half] = triangle
        pairs.T[half] = triangle
        return cls(pairs, values.astype(np.int32))
