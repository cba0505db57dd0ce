"""Comparison of dataclasses with arrays, which the one that dataclasses generate fails on."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class ComparesArrays:
    """A base of dataclasses with `eq=False`: equal if of one class and all fields are equal."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = (field.name for field in fields(self) if field.compare)  # type: ignore[arg-type]
        return all(_is_equal(getattr(self, name), getattr(other, name)) for name in names)


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
