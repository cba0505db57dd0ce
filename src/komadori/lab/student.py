"""Student's t distribution, and Holm's correction for multiple tests."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple


def p_value(t: float, freedom: int) -> float:
    """Two-sided: P(|T| >= |t|), for a whole number of degrees of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(abs(t), math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = 1.0 if freedom % 2 == 0 else cosine
    for k in range(freedom % 2 + 1, freedom - 2, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    if freedom % 2 == 0:
        return 1 - sine * total
    return 1 - 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))


@cache
def quantile(freedom: int, level: float = 0.95) -> float:
    """The two-sided quantile: t with P(|T| < t) = level."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


class Interval(NamedTuple):
    """The 95 % confidence interval of a mean."""

    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """The interval of the mean of the values; NaN for fewer than two."""
    if len(values) < 2:
        return Interval(math.nan, math.nan)
    mean, half = statistics.fmean(values), quantile(len(values) - 1) * error(values)
    return Interval(mean - half, mean + half)


def error(values: Sequence[float]) -> float:
    """The standard error of the mean of two or more values."""
    return statistics.stdev(values) / math.sqrt(len(values))


def p_of_bounds(values: Sequence[float], low: float, high: float) -> float:
    """The p value of the hypothesis that the true mean is at the nearest bound or beyond it.

    Two-sided, so p < 0.05 exactly if the 95 % interval excludes the bound.
    """
    mean, spread = statistics.fmean(values), error(values)
    distance = min(abs(mean - low), abs(high - mean))
    if not spread:
        return 0.0 if distance else 1.0
    return p_value(distance / spread, len(values) - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, which control the family-wise error rate.

    S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
