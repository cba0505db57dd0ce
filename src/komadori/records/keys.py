"""Positions by a number each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["position_keys"]


def position_keys(hcp: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """uint64 [N] from uint8 [N, 32]: equal positions (board, hands, turn) get equal keys."""
    words = np.ascontiguousarray(hcp).view("<u8").astype(np.uint64)
    keys = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):  # splitmix64's finaliser after each word
        keys = (keys ^ words[:, column]) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys
