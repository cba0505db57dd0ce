"""Tests of an experiment's claims: paired gaps over seeds, corrected for multiple testing."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from komadori.lab import student
from komadori.lab.experiment import Claim
from komadori.lab.results import Record
from komadori.lab.size import Size

#: Seeds of every variant.
SEEDS = (1, 2, 3)
#: Top-1 accuracy below which a policy has learned nothing: the most frequent labels reach 0.02 in
#: the diary's article on optimizers and 0.035 on the teacher games.
UNLEARNED = 0.04
#: Largest extrapolation beyond the sizes of a network, as a factor.
BEYOND = 1.2
#: Family-wise significance level of a page's claims.
LEVEL = 0.05

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"
EXPLORATORY = "exploratory: "


def seeds_of(records: Iterable[Record]) -> list[int]:
    """The seeds that every variant should have: SEEDS and those that any of the records has."""
    return sorted({*SEEDS, *(record.seed for record in records)})


@dataclass(frozen=True)
class Value:
    """A measure of a variant, or a gap between variants, by seed."""

    by_seed: dict[int, float]

    @property
    def mean(self) -> float:
        """NaN without a seed."""
        return statistics.fmean(self.by_seed.values()) if self.by_seed else math.nan

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds; NaN for fewer than two."""
        values = list(self.by_seed.values())
        return statistics.stdev(values) if len(values) > 1 else math.nan


@dataclass(frozen=True)
class Comparison:
    """One comparison of a claim.

    label: the variants compared. gap: paired by seed. low, high: bounds of the gap if the claim
    holds. text: the result, if it isn't a gap.
    """

    label: str
    gap: Value
    low: float = 0.0
    high: float = math.inf
    text: str = ""

    @property
    def interval(self) -> student.Interval:
        """The 95 % confidence interval of the gap, without correction."""
        return student.interval(list(self.gap.by_seed.values()))

    @property
    def supports(self) -> bool:
        """Whether the mean gap is within the claim's bounds."""
        return self.low < self.gap.mean < self.high

    @property
    def p(self) -> float:
        """The p value against the bound nearest to the mean; NaN without as many seeds as SEEDS."""
        values = list(self.gap.by_seed.values())
        if len(values) < len(SEEDS) or not math.isfinite(self.gap.mean):
            return math.nan
        return student.p_of_bounds(values, self.low, self.high)


@dataclass(frozen=True)
class Finding:
    """A tested claim. p: corrected for the claims of the page (Holm).

    An exploratory verdict is significant only without the correction: a lead for a new test.
    """

    claim: Claim
    comparisons: tuple[Comparison, ...]
    p: float = math.nan
    verdict: str = OPEN

    @property
    def side(self) -> str:
        """The verdict if the means were exact: a claim holds if every comparison supports it."""
        return HOLDS if all(one.supports for one in self.comparisons) else FAILS

    @property
    def own_p(self) -> float:
        """p without correction; NaN if a comparison lacks a seed.

        The claim holds if every comparison passes (an intersection-union test), and fails if any
        comparison contradicts it (Bonferroni).
        """
        if any(math.isnan(one.p) for one in self.comparisons):
            return math.nan
        if self.side == HOLDS:
            return max(one.p for one in self.comparisons)
        least = min(one.p for one in self.comparisons if not one.supports)
        return min(1.0, len(self.comparisons) * least)


def judge(claims: Sequence[Claim], records: Sequence[Record]) -> list[Finding]:
    """Test a page's claims on the records."""
    found = [_finding(claim, records) for claim in claims]
    tested = [i for i, one in enumerate(found) if not math.isnan(one.own_p)]
    corrected = student.holm([found[i].own_p for i in tested])
    for i, p in zip(tested, corrected, strict=True):
        side = found[i].side
        unsure = EXPLORATORY + side if found[i].own_p < LEVEL else OPEN
        found[i] = replace(found[i], p=p, verdict=side if p < LEVEL else unsure)
    return found


def value_of(records: Sequence[Record], variant: str, measure: str) -> Value:
    """The measure of a variant by seed; diverged runs are left out."""
    found = {r.seed: r.measure(measure) for r in records if r.variant == variant}
    return Value({seed: v for seed, v in sorted(found.items()) if math.isfinite(v)})


def at_size(records: Sequence[Record], size: Size) -> list[Record]:
    """The records of one size."""
    return [record for record in records if record.size == size]


def _finding(claim: Claim, records: Sequence[Record]) -> Finding:
    if claim.fails:
        return _failures(claim, records)
    return Finding(claim, tuple(_comparisons(claim, records)))


def _comparisons(claim: Claim, records: Sequence[Record]) -> list[Comparison]:
    if claim.at_equal:
        gap, what = gap_to_sizes(claim, records), f"{claim.network} - {claim.sizes_of}"
        if claim.network in claim.lower:
            gap = Value({seed: -value for seed, value in gap.by_seed.items()})
            what = f"{claim.sizes_of} - {claim.network}"
        return [Comparison(what, gap)]
    if claim.equal:
        pairs = [(a, b) for i, a in enumerate(claim.equal) for b in claim.equal[i + 1 :]]
        low, high = -claim.within, claim.within
    else:
        pairs = [(a, b) for a in claim.higher for b in claim.lower]
        low, high = 0.0, math.inf
    sign, compare = "-", operator.sub
    if claim.ratio:
        low, high = claim.ratio - claim.within, claim.ratio + claim.within
        sign, compare = "/", _ratio
    return [
        Comparison(f"{a} {sign} {b}", _paired(records, a, b, claim, compare), low, high)
        for a, b in pairs
    ]


def _paired(
    records: Sequence[Record],
    first: str,
    second: str,
    claim: Claim,
    compare: Callable[[float, float], float],
) -> Value:
    """compare(first, second) by seed; runs of a seed trained on the same data in the same order."""
    a, b = (value_of(records, name, claim.measure).by_seed for name in (first, second))
    found = {seed: compare(a[seed], b[seed]) for seed in a if seed in b}
    return Value({seed: gap for seed, gap in found.items() if math.isfinite(gap)})


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def _failures(claim: Claim, records: Sequence[Record]) -> Finding:
    """Whether the variants diverged or learned nothing, with every seed."""
    comparisons, failed, is_decided = [], [], True
    for name in claim.fails:
        runs = sorted((r for r in records if r.variant == name), key=lambda r: r.seed)
        accuracy = [r.measure("policy_top1") for r in runs]
        failed += [
            r.diverged is not None or a < UNLEARNED for r, a in zip(runs, accuracy, strict=True)
        ]
        is_decided = is_decided and len(runs) >= len(SEEDS)
        texts = (
            f"{100 * a:.1f} %" if r.diverged is None else f"diverged at step {r.diverged:,}"
            for r, a in zip(runs, accuracy, strict=True)
        )
        seeds = Value({r.seed: math.nan for r in runs})
        comparisons.append(Comparison(name, seeds, text=", ".join(texts)))
    side = HOLDS if all(failed) else FAILS
    return Finding(claim, tuple(comparisons), verdict=side if is_decided else OPEN)


def gap_to_sizes(claim: Claim, records: Sequence[Record]) -> Value:
    """The gap by seed between the claim's network and the other network's sizes, interpolated at
    the first one's `at_equal` on a logarithmic axis and extrapolated by up to `BEYOND`."""
    name = claim.network
    at = value_of(records, name, claim.at_equal).mean
    gaps: dict[int, float] = {}
    for seed, value in value_of(records, name, claim.measure).by_seed.items():
        line = []
        for size in claim.sizes:
            x = value_of(records, size, claim.at_equal).mean
            y = value_of(records, size, claim.measure).by_seed.get(seed, math.nan)
            line.append((x, y))
        gap = value - _on_line(sorted(line), at)
        if math.isfinite(gap):
            gaps[seed] = gap
    return Value(gaps)


def _on_line(line: Sequence[tuple[float, float]], at: float) -> float:
    """Interpolate the points (x, y) at `at`; NaN out of range or for unusable points."""
    if not all(math.isfinite(x) for point in line for x in point):
        return math.nan
    if line[0][0] <= 0 or len({x for x, _ in line}) < len(line):
        return math.nan
    if not line[0][0] / BEYOND <= at <= line[-1][0] * BEYOND:
        return math.nan
    after = next((i for i, (x, _) in enumerate(line) if x >= at), len(line) - 1)
    (x0, y0), (x1, y1) = line[max(after, 1) - 1], line[max(after, 1)]
    return y0 + (y1 - y0) * math.log(at / x0) / math.log(x1 / x0)
