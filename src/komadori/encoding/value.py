"""Scores in centipawns and win probabilities, both the side to move's.

The coefficient depends on the engine that made the scores: it is the score at which the odds are
e to 1. Models and data sets carry their own.
"""

from __future__ import annotations

import math
from typing import Any, Final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from komadori._core import encoding as _core
from komadori._core.records import MATE_CP
from komadori.wording import names_arguments, not_expected

#: dlshogi's training data (dlshogi, hcpe_decoder and --eval_coef).
DLSHOGI_COEF: Final = _core.DLSHOGI_COEF
#: elmo, Apery and pydlshogi.
ELMO_COEF: Final = _core.ELMO_COEF

#: Rounding error by which a win rate, such as a mean of rates, may exceed its range.
ROUNDING: Final = 1e-6


@overload
def win_rate_from_score(score_cp: float, coef: float = DLSHOGI_COEF) -> float: ...
@overload
def win_rate_from_score(
    score_cp: ArrayLike, coef: float = DLSHOGI_COEF
) -> NDArray[np.floating]: ...
@names_arguments
def win_rate_from_score(
    score_cp: ArrayLike, coef: float = DLSHOGI_COEF
) -> float | NDArray[np.floating]:
    """1 / (1 + exp(-score / coef)): float32 for a float32 array, float64 otherwise.

    Raises ValueError unless coef is above 0 and finite.
    """
    _check_coef(coef)
    score = _numbers("score_cp", score_cp)
    # tanh doesn't overflow where exp would.
    rate = 0.5 * (1.0 + np.tanh(score / (2.0 * coef)))
    return float(rate) if score.ndim == 0 else rate


@overload
def score_from_win_rate(
    win_rate: float, coef: float = DLSHOGI_COEF, limit_cp: float = ...
) -> float: ...
@overload
def score_from_win_rate(
    win_rate: ArrayLike, coef: float = DLSHOGI_COEF, limit_cp: float = ...
) -> NDArray[np.floating]: ...
@names_arguments
def score_from_win_rate(
    win_rate: ArrayLike, coef: float = DLSHOGI_COEF, limit_cp: float = MATE_CP
) -> float | NDArray[np.floating]:
    """The inverse, coef * log(rate / (1 - rate)), within -limit_cp..limit_cp.

    win_rate: in [0, 1], up to a rounding error of 1e-6; 0 and 1 give the limits.
    Raises ValueError for other rates and NaN, and unless coef is above 0 and finite.
    """
    _check_coef(coef)
    given = _numbers("win_rate", win_rate)
    outside = ~((given >= -ROUNDING) & (given <= 1 + ROUNDING))
    if outside.any():
        raise ValueError(f"win_rate must be from 0 to 1, not {given[outside].flat[0]}")
    rate = np.clip(given, 0, 1)
    with np.errstate(divide="ignore"):
        score = np.clip(coef * (np.log(rate) - np.log1p(-rate)), -limit_cp, limit_cp)
    return float(score) if rate.ndim == 0 else score


def _check_coef(coef: float) -> None:
    if not 0 < coef < math.inf:
        raise ValueError(f"coef must be above 0 and finite, not {coef}")


def _numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array. Raises TypeError, which names the argument, unless it holds numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise not_expected(name, values, "numbers")
    return array
