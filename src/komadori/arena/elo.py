"""Elo differences from match results: estimates, errors, tests, and the sequential test.

All functions work on counts. Results are counted from the view of player A. Scores are A's points
per game, in [0, 1].

Games come in pairs: one opening, both colours. The two games of a pair are correlated, so errors
are computed from the five possible results of a pair (pentanomial) if complete pairs were played,
otherwise from single games (trinomial).

Sources: the logistic Elo model; the generalized sequential probability ratio test with the
maximum-likelihood distribution for a given mean (M. Van den Bergh, "A practical introduction
to the GSPRT"; the equation solved is (2.1) of his "Comments on normalized Elo").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from komadori.wording import names_arguments

#: Two-sided 95 % quantile of the standard normal distribution.
Z95 = 1.959963984540054

#: A's points in a pair of games, divided by two: the five outcomes of a pair.
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)

#: Largest difference in a sequential test; much larger ones are scores of exactly 0 or 1.
MAX_SPRT_ELO = 2000


def elo_from_score(score: float) -> float:
    """Return the Elo difference at which A's expected score is `score`; infinite at 0 and 1."""
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"a score lies in [0, 1], not {score}")
    if score == 0.0:
        return -math.inf
    if score == 1.0:
        return math.inf
    return 400.0 * math.log10(score / (1.0 - score))


def score_from_elo(elo: float) -> float:
    """Return A's expected score at an Elo difference."""
    exponent = -elo / 400.0
    return 0.0 if exponent > 300.0 else 1.0 / (1.0 + math.pow(10.0, exponent))


def normal_cdf(z: float) -> float:
    """Standard normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@names_arguments
def sign_test(wins: int, losses: int) -> float:
    """One-sided exact p-value of "A is better": P(at least `wins` of wins + losses) at even odds.

    Draws carry no information here and are left out. Without a decisive game it is 1.
    """
    n = wins + losses
    if wins < 0 or losses < 0:
        raise ValueError(f"counts can't be negative: {wins} wins, {losses} losses")
    # Sum the shorter tail with integers: exact at any n.
    if wins > losses:
        return _first_binomials(n, losses + 1) / (1 << n)
    return 1.0 - _first_binomials(n, wins) / (1 << n)


def _first_binomials(n: int, count: int) -> int:
    """Return the sum of C(n, 0) to C(n, count - 1), each computed from the one before."""
    total, binomial = 0, 1
    for k in range(count):
        total += binomial
        binomial = binomial * (n - k) // (k + 1)
    return total


@dataclass(frozen=True)
class EloEstimate:
    """An Elo difference with its 95 % interval.

    `error` is half the width of the interval: report `elo +- error`. If A won or lost every
    game, `elo`, `error` and one bound are infinite and the other bound is exact
    (Clopper-Pearson).
    """

    elo: float
    low: float
    high: float
    error: float
    los: float
    """Likelihood of superiority: P(A better), normal approximation."""

    def __str__(self) -> str:
        if math.isinf(self.elo):
            bound, sign = (self.low, ">") if self.elo > 0 else (self.high, "<")
            return f"{sign} {bound:+.0f} (95 %)"
        if math.isinf(self.error):
            return f"{self.elo:+.0f} in ({self.low:+.0f}, {self.high:+.0f}) (95 %)"
        return f"{self.elo:+.0f} ± {self.error:.0f} (95 %)"


def _moments(counts: Sequence[float], scores: Sequence[float]) -> tuple[float, float]:
    """Return mean and variance (of one observation) of a distribution given by counts."""
    n = sum(counts)
    mean = sum(c * s for c, s in zip(counts, scores, strict=True)) / n
    variance = sum(c * (s - mean) ** 2 for c, s in zip(counts, scores, strict=True)) / n
    return mean, variance


def _error_without_variance(mean: float, games: int) -> float:
    """Return the standard error of a mean strictly between 0 and 1 without observed variance.

    One win and one loss are added to the games, so the error shrinks as 1 / games, like
    Clopper-Pearson's bound without a failure.
    """
    n = games + 2
    centre = (games * mean + 1) / n
    squares = games * (mean - centre) ** 2 + centre**2 + (1 - centre) ** 2
    return math.sqrt(squares) / n


def _estimate(mean: float, standard_error: float, games: int) -> EloEstimate:
    if standard_error == 0.0:
        if mean in (0.0, 1.0):
            bound = 0.025 ** (1.0 / games)  # Clopper-Pearson with no failure
            far = elo_from_score(bound)
            if mean == 1.0:
                return EloEstimate(math.inf, far, math.inf, math.inf, 1.0 - 0.5**games)
            return EloEstimate(-math.inf, -math.inf, -far, math.inf, 0.5**games)
        standard_error = _error_without_variance(mean, games)
    low = max(0.0, mean - Z95 * standard_error)
    high = min(1.0, mean + Z95 * standard_error)
    elo_low, elo_high = elo_from_score(low), elo_from_score(high)
    return EloEstimate(
        elo_from_score(mean),
        elo_low,
        elo_high,
        (elo_high - elo_low) / 2.0,
        normal_cdf((mean - 0.5) / standard_error),
    )


@names_arguments
def trinomial(wins: int, draws: int, losses: int) -> EloEstimate:
    """Elo from single games, assumed independent. Raises ValueError without games."""
    n = wins + draws + losses
    if n <= 0 or min(wins, draws, losses) < 0:
        raise ValueError(f"no Elo from {wins} wins, {draws} draws, {losses} losses")
    mean, variance = _moments((losses, draws, wins), (0.0, 0.5, 1.0))
    return _estimate(mean, math.sqrt(variance / n), n)


@names_arguments
def pentanomial(pairs: Sequence[int]) -> EloEstimate:
    """Elo from pairs of games: `pairs[k]` pairs in which A made k half points (0 to 4)."""
    if len(pairs) != 5 or min(pairs) < 0 or sum(pairs) == 0:
        raise ValueError(f"five counts of pairs are needed, not {list(pairs)}")
    n = sum(pairs)
    mean, variance = _moments(pairs, PAIR_SCORES)
    return _estimate(mean, math.sqrt(variance / n), 2 * n)


@names_arguments
@dataclass(frozen=True)
class Sprt:
    """Sequential test of H1 (A is `elo1` stronger) against H0 (`elo0`).

    Pass it the counts after each finished pair. It accepts H1 when the log-likelihood ratio
    reaches `upper`, H0 when it falls to `lower`. `alpha` and `beta` are the probabilities of
    accepting H1 and H0 wrongly. Elo is logistic.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    lower: float = field(init=False)
    upper: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 must be below elo1, not {self.elo0} and {self.elo1}")
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            if not -MAX_SPRT_ELO <= elo <= MAX_SPRT_ELO:
                raise ValueError(f"{name} lies within ±{MAX_SPRT_ELO:,}, not {elo:g}")
        for name, risk in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0.0 < risk < 0.5:
                raise ValueError(f"{name} lies between 0 and 0.5, not {risk}")
        object.__setattr__(self, "lower", math.log(self.beta / (1.0 - self.alpha)))
        object.__setattr__(self, "upper", math.log((1.0 - self.beta) / self.alpha))

    def llr(self, counts: Sequence[int]) -> float:
        """Log-likelihood ratio: five counts are pairs, three are (losses, draws, wins)."""
        if len(counts) not in (3, 5):
            raise ValueError(f"three or five counts are needed, not {len(counts)}")
        if sum(counts) == 0:
            return 0.0
        scores = [k / (len(counts) - 1) for k in range(len(counts))]
        return log_likelihood_ratio(
            counts, scores, score_from_elo(self.elo0), score_from_elo(self.elo1)
        )

    def decision(self, counts: Sequence[int]) -> str | None:
        """ "H0", "H1", or None while more games are needed."""
        llr = self.llr(counts)
        if llr >= self.upper:
            return "H1"
        return "H0" if llr <= self.lower else None


#: Added to each empty cell, so that unseen results keep a positive probability.
EMPTY_CELL = 1e-3


def log_likelihood_ratio(
    counts: Sequence[float], scores: Sequence[float], mean0: float, mean1: float
) -> float:
    """log of the likelihood with mean `mean1` over that with mean `mean0`, both maximal.

    Each hypothesis fixes only the mean; the distribution is the most likely one with that mean.
    """
    filled = [max(float(c), EMPTY_CELL) for c in counts]
    n = sum(filled)
    observed = [c / n for c in filled]
    p0 = _most_likely(observed, scores, mean0)
    p1 = _most_likely(observed, scores, mean1)
    return sum(c * math.log(b / a) for c, a, b in zip(filled, p0, p1, strict=True))


def _most_likely(observed: Sequence[float], scores: Sequence[float], mean: float) -> list[float]:
    """Return the distribution with the given mean under which `observed` is most likely.

    It is observed / (1 + theta (score - mean)), where theta is the root of a decreasing function.
    """
    low = -1.0 / (max(scores) - mean)
    high = -1.0 / (min(scores) - mean)
    width = high - low
    low, high = low + 1e-12 * width, high - 1e-12 * width
    for _ in range(200):
        theta = 0.5 * (low + high)
        slope = sum(
            p * (s - mean) / (1.0 + theta * (s - mean))
            for p, s in zip(observed, scores, strict=True)
        )
        if slope > 0.0:
            low = theta
        else:
            high = theta
        if high - low < 1e-14 * width:
            break
    theta = 0.5 * (low + high)
    return [p / (1.0 + theta * (s - mean)) for p, s in zip(observed, scores, strict=True)]
