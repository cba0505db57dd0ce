"""Orbits of feature pairs under symmetries: pairs that share a weight, so gradients are summed.

Three symmetries act on an ordered pair (a, b) of two-piece features: the exchange P (b, a), the
mirror image M, and the exchange of colours C with the board turned, which changes the sign.
Pairs mapped to each other form an orbit; if a pair is mapped to itself with the opposite sign, its
weight is 0. Source: shogi686の学習について その2 (docs/sources.md); the counts are tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.wording import names_arguments

FEATURES: int = _core.FEATURES
FIRST_ON_BOARD: int = _core.FIRST_ON_BOARD
SQUARES = 81


@names_arguments
@dataclass(frozen=True)
class Orbits:
    """A partition of the ordered pairs of features.

    of: int32 [FEATURES, FEATURES], the orbit of each pair, -1 for none. sign: int8 of the same
    shape, relative to the orbit's first pair; 0 without an orbit or if the weight is forced to 0.
    size: number of orbits. forced: bool [size], orbits whose weight is forced to 0.
    """

    of: NDArray[np.int32]
    sign: NDArray[np.int8]
    size: int
    forced: NDArray[np.bool_]

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Flat indices, orbits and signs of the pairs with a weight."""
        places = np.flatnonzero(self.sign)
        return (
            places,
            self.of.ravel()[places].astype(np.intp),
            self.sign.ravel()[places].astype(np.float64),
        )

    def gather(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Sum values over each orbit, with signs: [FEATURES, FEATURES] to float64 [size]."""
        places, of, sign = self._places
        signed: NDArray[np.float64] = values.ravel()[places] * sign
        return np.bincount(of, signed, self.size).astype(np.float64, copy=False)

    def scatter(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Copy the values [size] to the pairs, with signs: float64 [FEATURES, FEATURES]."""
        places, of, sign = self._places
        spread = np.zeros(self.of.size)
        spread[places] = values[of] * sign
        return spread.reshape(self.of.shape)

    def first_pairs(self) -> NDArray[np.int64]:
        """The first pair of each orbit in row-major order, int64 [size, 2]."""
        flat = self.of.ravel()
        inside = np.flatnonzero(flat >= 0)
        _, first = np.unique(flat[inside], return_index=True)
        return np.stack(np.divmod(inside[first], self.of.shape[1]), axis=1)


def feature_images() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The images (mirrored, swapped) of each feature, int64 [FEATURES] each."""
    return (
        np.array(_core.mirrored_features(), np.int64),
        np.array(_core.swapped_features(), np.int64),
    )


def _partition(keys: NDArray[np.int64], images: list[tuple[NDArray[np.int64], int]]) -> Orbits:
    """Compute the orbits of pairs under a group.

    keys: identifies each pair; -1 belongs to no orbit. images: the keys' images with their signs,
    including the identity. An orbit is identified by its smallest image.
    """
    smallest = np.full(keys.shape, np.iinfo(np.int64).max)
    for image, _ in images:
        np.minimum(smallest, image, out=smallest)
    plus = np.zeros(keys.shape, np.bool_)
    minus = np.zeros(keys.shape, np.bool_)
    for image, direction in images:
        (plus if direction > 0 else minus)[image == smallest] = True
    present = keys >= 0
    names, numbers = np.unique(smallest[present], return_inverse=True)
    of = np.full(keys.shape, -1, np.int32)
    of[present] = numbers
    forced = np.zeros(len(names), np.bool_)
    forced[of[present & plus & minus]] = True
    sign = np.where(plus, 1, -1).astype(np.int8)
    sign[~present] = 0
    sign[present] *= ~forced[of[present]]
    return Orbits(of, sign, len(names), forced)


@cache
def absolute_orbits() -> Orbits:
    """The orbits of all ordered pairs under P, M and C."""
    mirrored, swapped = feature_images()
    a, b = np.meshgrid(np.arange(FEATURES), np.arange(FEATURES), indexing="ij")
    images = []
    for first, second in ((a, b), (b, a)):
        for mirror in (False, True):
            for swap in (False, True):
                x, y = first, second
                if mirror:
                    x, y = mirrored[x], mirrored[y]
                if swap:
                    x, y = swapped[x], swapped[y]
                images.append((x * FEATURES + y, -1 if swap else 1))
    return _partition(a * FEATURES + b, images)


@cache
def relative_orbits() -> Orbits:
    """The orbits of pairs on the board with the same kinds and displacement.

    Pairs with a piece in hand, or of two pieces on one square, belong to no orbit.
    """
    board = np.arange(FIRST_ON_BOARD, FEATURES) - FIRST_ON_BOARD
    kind, square = np.divmod(board, SQUARES)
    file, rank = np.divmod(square, 9)
    kinds = 2 * int(_core.KINDS)
    kind_a, kind_b = kind[:, None], kind[None, :]
    dx, dy = file[None, :] - file[:, None], rank[None, :] - rank[:, None]
    other = np.r_[kinds // 2 : kinds, 0 : kinds // 2]

    def key(
        a: NDArray[np.int64], b: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return ((a * kinds + b) * 17 + x + 8) * 17 + y + 8

    images = []
    for exchange in (False, True):
        for mirror in (False, True):
            for swap in (False, True):
                a, b, x, y = kind_a + 0 * dx, kind_b + 0 * dx, dx, dy
                if exchange:
                    a, b, x, y = b, a, -x, -y
                if mirror:
                    x = -x
                if swap:
                    a, b, x, y = other[a], other[b], -x, -y
                images.append((key(a, b, x, y), -1 if swap else 1))
    keys = images[0][0]
    apart = (dx != 0) | (dy != 0)
    part = _partition(np.where(apart, keys, -1), images)
    of = np.full((FEATURES, FEATURES), -1, np.int32)
    sign = np.zeros((FEATURES, FEATURES), np.int8)
    of[FIRST_ON_BOARD:, FIRST_ON_BOARD:] = part.of
    sign[FIRST_ON_BOARD:, FIRST_ON_BOARD:] = part.sign
    return Orbits(of, sign, part.size, part.forced)
