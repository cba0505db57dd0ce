"""64-bit keys of positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core

__all__ = ["position_keys"]


def position_keys(hcp: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash positions, uint8 [N, 32], to uint64 [N]: equal positions (board, hands, turn) get equal
    keys."""
    return _core.position_keys(np.ascontiguousarray(hcp))
