"""Ratings of many players from all their games: a Bayesian ordinal logistic model.

Of a game between Black at rating b and White at w, with the first move worth f and the width of
the draw d (all in logits, 400 / ln 10 Elo each):

    P(Black wins) = s(b - w + f - d),   P(White wins) = s(w - b - f - d),   the rest are draws

s is the logistic function. Ratings, f and ln d have wide normal priors, so that all ratings are
finite. The mode is found by Newton's method, errors come from the curvature there (Laplace).

Sources: P. V. Rao and L. L. Kupper, "Ties in paired-comparison experiments" (1967), which is this
model; R. Coulom's Bayeselo for its use with a first-move advantage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from komadori.arena.elo import Z95, normal_cdf

#: Elo of one logit.
LOGIT = 400.0 / math.log(10.0)

#: Standard deviations of the priors: ratings about their mean, the first move (Elo), ln d.
PRIOR_ELO = 1000.0
PRIOR_FIRST_MOVE_ELO = 50.0
PRIOR_LN_DRAW = 1.5

#: Maximum step of Newton's method, in logits.
MAX_STEP = 1.0

#: Median of d's prior: about 3 % draws between equals, as in shogi.
DRAW_CENTRE = 0.06


@dataclass(frozen=True)
class Tally:
    """Results of all games between two players with these colours."""

    black: str
    white: str
    black_wins: int = 0
    draws: int = 0
    white_wins: int = 0

    @property
    def games(self) -> int:
        return self.black_wins + self.draws + self.white_wins


@dataclass(frozen=True)
class Rating:
    """A player's rating; `error` is half its 95 % interval, 0 for anchors."""

    name: str
    elo: float
    error: float
    games: int
    wins: int
    draws: int
    losses: int

    @property
    def score(self) -> float:
        """Points per game."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


@dataclass(frozen=True)
class Fit:
    """Fitted ratings in descending order, with the covariance of their errors."""

    ratings: tuple[Rating, ...]
    first_move_elo: float
    """Advantage of playing Black, in Elo."""
    draw_fraction: float
    """Fraction of draws between equal players."""
    covariance: Mapping[tuple[str, str], float]
    """Covariance of the ratings, in Elo squared; both orders of a pair are keys."""

    def of(self, name: str) -> Rating:
        """Return a player's rating. Raises KeyError."""
        for rating in self.ratings:
            if rating.name == name:
                return rating
        raise KeyError(name)

    def difference_error(self, a: str, b: str) -> float:
        """Return the standard error of the difference of two ratings, in Elo."""
        c = self.covariance
        return math.sqrt(max(0.0, c[a, a] + c[b, b] - 2 * c[a, b]))

    def superiority(self, a: str, b: str) -> float:
        """Return P(a is stronger than b)."""
        gap = self.of(a).elo - self.of(b).elo
        error = self.difference_error(a, b)
        return normal_cdf(gap / error) if error else float(gap > 0)


def fit(
    names: Sequence[str], tallies: Iterable[Tally], anchors: Mapping[str, float] | None = None
) -> Fit:
    """Fit ratings to results. `anchors` have fixed ratings; without any the mean is 0.

    Raises ValueError for a tally of an unknown player, or of a player against itself.
    """
    anchors = anchors or {}
    rows = [tally for tally in tallies if tally.games]
    index = {name: i for i, name in enumerate(names)}
    for tally in rows:
        if tally.black not in index or tally.white not in index or tally.black == tally.white:
            raise ValueError(f"no players for a result of {tally.black!r} and {tally.white!r}")
    if not names:
        return Fit((), 0.0, 0.0, {})
    problem = _Problem(index, rows, anchors)
    values, covariance = problem.solve()
    n = len(names)
    elo = values[:n] * LOGIT
    covariance_elo = covariance[:n, :n] * LOGIT**2
    ratings = [_rating(name, elo[i], covariance_elo[i, i], rows) for name, i in index.items()]
    ratings.sort(key=lambda rating: -rating.elo)
    width = math.exp(values[n + 1])
    pairs = {
        (a, b): float(covariance_elo[i, j]) for a, i in index.items() for b, j in index.items()
    }
    return Fit(tuple(ratings), float(values[n] * LOGIT), math.tanh(width / 2), pairs)


def _rating(name: str, elo: float, variance: float, rows: Sequence[Tally]) -> Rating:
    wins = sum(t.black_wins for t in rows if t.black == name)
    wins += sum(t.white_wins for t in rows if t.white == name)
    losses = sum(t.white_wins for t in rows if t.black == name)
    losses += sum(t.black_wins for t in rows if t.white == name)
    draws = sum(t.draws for t in rows if name in (t.black, t.white))
    error = Z95 * math.sqrt(max(0.0, variance))
    return Rating(name, float(elo), error, wins + draws + losses, wins, draws, losses)


class _Problem:
    """The negative log posterior over (ratings, f, ln d), in logits."""

    def __init__(
        self, index: Mapping[str, int], rows: Sequence[Tally], anchors: Mapping[str, float]
    ) -> None:
        self.n = len(index)
        self.black = np.array([index[t.black] for t in rows], np.int64)
        self.white = np.array([index[t.white] for t in rows], np.int64)
        counts = [(t.black_wins, t.draws, t.white_wins) for t in rows]
        self.counts = np.array(counts, np.float64).reshape(-1, 3)
        self.fixed = {index[name]: elo / LOGIT for name, elo in anchors.items() if name in index}
        centre = sum(self.fixed.values()) / len(self.fixed) if self.fixed else 0.0
        self.prior_mean = np.array([centre] * self.n + [0.0, math.log(DRAW_CENTRE)])
        deviations = [PRIOR_ELO / LOGIT] * self.n + [PRIOR_FIRST_MOVE_ELO / LOGIT, PRIOR_LN_DRAW]
        self.prior_precision = np.array(deviations) ** -2.0

    def value(self, x: NDArray[np.float64]) -> float:
        delta, width = self._terms(x)
        a, b = _logistic(delta + width), _logistic(delta - width)
        likely = self.counts * np.log(np.maximum(np.stack([b, a - b, 1 - a], 1), 1e-300))
        return float(
            -likely.sum() + 0.5 * (self.prior_precision * (x - self.prior_mean) ** 2).sum()
        )

    def _terms(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        return x[self.black] - x[self.white] + x[self.n], math.exp(x[self.n + 1])

    def gradient(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        delta, width = self._terms(x)
        a, b = _logistic(delta + width), _logistic(delta - width)
        won, drawn, lost = self.counts.T
        by_delta = won * (1 - b) + drawn * (1 - a - b) - lost * a
        inner = (a * (1 - a) + b * (1 - b)) / np.maximum(a - b, 1e-300)
        by_width = -won * (1 - b) + drawn * inner - lost * a
        gradient = np.zeros(self.n + 2)
        np.add.at(gradient, self.black, by_delta)
        np.add.at(gradient, self.white, -by_delta)
        gradient[self.n] = by_delta.sum()
        gradient[self.n + 1] = by_width.sum() * width
        result: NDArray[np.float64] = self.prior_precision * (x - self.prior_mean) - gradient
        return result

    def solve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mode and its covariance, which is 0 for fixed ratings."""
        x = self.prior_mean.copy()
        for i, rating in self.fixed.items():
            x[i] = rating
        free = np.array([i for i in range(self.n + 2) if i not in self.fixed])
        for _ in range(200):
            gradient = self.gradient(x)[free]
            step = np.linalg.solve(self._hessian(x, free), gradient)
            before, size = self.value(x), min(1.0, MAX_STEP / max(np.abs(step).max(), 1e-12))
            while True:
                tried = x.copy()
                tried[free] -= size * step
                if self.value(tried) <= before or size < 1e-6:
                    break
                size /= 2
            x = tried
            if np.abs(size * step).max() < 1e-10:
                break
        covariance = np.zeros((self.n + 2, self.n + 2))
        covariance[np.ix_(free, free)] = np.linalg.inv(self._hessian(x, free))
        if not self.fixed:
            centring = np.eye(self.n + 2)
            centring[: self.n, : self.n] -= 1.0 / self.n
            covariance = centring @ covariance @ centring.T
            x[: self.n] -= x[: self.n].mean()
        return x, covariance

    def _hessian(self, x: NDArray[np.float64], free: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the Hessian by central differences, adjusted to be positive definite."""
        size = 1e-5
        columns = []
        for i in free:
            shift = np.zeros_like(x)
            shift[i] = size
            both = self.gradient(x + shift) - self.gradient(x - shift)
            columns.append(both[free] / (2 * size))
        hessian = np.stack(columns, 1)
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        result: NDArray[np.float64] = (vectors * np.maximum(np.abs(values), 1e-6)) @ vectors.T
        return result


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(0.5 * x))
    return result
