"""KPP weights, in memory and in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.cpus import available_threads
from komadori.linear.weights_file import WeightsError, WeightsFormat, check_array
from komadori.rules import Board
from komadori.wording import names_arguments

#: The tables of the learner's parameters by name: (start, size) in the flat array.
TABLES: dict[str, tuple[int, int]] = {
    name: (start, size) for name, start, size in _core.kpp_tables()
}
PARAMETERS: int = _core.KPP_PARAMETERS
#: Memory of the weights during play.
MEMORY_BYTES: int = _core.KPP_BYTES

_FORMAT = WeightsFormat("komadori-kpp", 1, "the KPP evaluation", max_bytes=2 * TABLES["KPP"][1])
_KINGS = 81


@names_arguments
@dataclass(frozen=True)
class KppWeights:
    """Weights of elmo's evaluation (cpp/komadori/linear/kpp.h), in units of 1/32 centipawn.

    kpp: int16 [45 * 1198926], a king on files 1 to 5 and a pair of pieces, Black's view.
    kkp: int16 [81 * 81 * 1548 * 2] and kk: int32 [81 * 81 * 2], each weight followed by its bonus
    for the side to move.
    """

    kpp: NDArray[np.int16]
    kkp: NDArray[np.int16]
    kk: NDArray[np.int32]

    @classmethod
    def material(cls) -> KppWeights:
        """Weights of 0: the evaluation is material only."""
        return cls(
            np.zeros(TABLES["KPP"][1], np.int16),
            np.zeros(TABLES["KKP"][1], np.int16),
            np.zeros(TABLES["KK"][1], np.int32),
        )

    @classmethod
    def of_parameters(cls, parameters: NDArray[np.float32], threads: int = 1) -> KppWeights:
        """Round a learner's parameters, float32 [PARAMETERS]."""
        weights = cls.material()
        _core.kpp_quantise(parameters, weights.kpp, weights.kkp, weights.kk, threads)
        return weights

    def core(self) -> _core.KppWeights:
        """The weights for the C++ core. Raises WeightsError if they break a symmetry, or for arrays
        of another shape or type.
        """
        weights = _core.KppWeights()
        self._pass_to(weights.assign)
        return weights

    def evaluate(self, board: Board) -> int:
        """The static evaluation, centipawns, side to move's view."""
        return int(self.core().evaluate(board))

    def save(self, path: Path | str) -> None:
        """Write a file of about 120 MB atomically; KKP is stored with one weight per orbit. Raises
        WeightsError as `core` does, and if the weights of an orbit differ.
        """
        self._pass_to(_core.KppWeights.check)
        places = np.asarray(_core.kkp_places())
        kkp = np.stack([self.kkp[places], self.kkp[places + 1]], axis=1)
        if not np.array_equal(_spread(kkp, places), self.kkp):
            raise WeightsError("kkp isn't symmetric: a file stores one weight per orbit")
        _FORMAT.write(path, kpp=self.kpp, kkp=kkp, kk=self.kk)

    def _pass_to(self, use: Callable[..., None]) -> None:
        self._check_arrays()
        try:
            use(self.kpp, self.kkp, self.kk, available_threads())
        except (ValueError, TypeError) as error:
            raise WeightsError(str(error)) from error

    def _check_arrays(self, kkp_shape: tuple[int, ...] = (TABLES["KKP"][1],)) -> None:
        check_array("kpp", self.kpp, (TABLES["KPP"][1],), np.int16)
        check_array("kkp", self.kkp, kkp_shape, np.int16)
        check_array("kk", self.kk, (TABLES["KK"][1],), np.int32)

    @classmethod
    def load(cls, path: Path | str) -> KppWeights:
        """Read a file. Raises WeightsError for other files, OSError for unreadable ones."""
        kpp, compact, kk = _FORMAT.read(path, "kpp", "kkp", "kk")
        places = np.asarray(_core.kkp_places())
        try:
            cls(kpp, compact, kk)._check_arrays((len(places), 2))
        except WeightsError as error:
            raise WeightsError(f"{path}: {error}") from error
        return cls(kpp, _spread(compact, places), kk)


def _spread(compact: NDArray[np.int16], places: NDArray[np.uint32]) -> NDArray[np.int16]:
    """KKP for all pairs of kings, from one weight per orbit."""
    images, signs = (np.asarray(array) for array in _core.kkp_images())
    kkp = np.zeros((_KINGS * _KINGS * _core.BONA_PIECES, 2), np.int16)
    one = np.zeros_like(kkp)
    one[places // 2] = compact
    kkp[:, 0] = one[images // 2, 0] * signs
    kkp[:, 1] = one[images // 2, 1] * np.abs(signs)
    return kkp.ravel()
