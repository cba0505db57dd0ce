"""The comparisons that an experiment's claims are about: paired gaps, tested together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from komadori import training
from komadori.lab import student
from komadori.lab.experiment import Claim
from komadori.lab.results import Record
from komadori.lab.size import Size

#: Seeds that every variant runs with.
SEEDS = (1, 2, 3)
#: Measures that are fractions, training's and the laboratory's own.
FRACTIONS = training.FRACTIONS | {
    "root_share",
    "score_first",
    *(f"agreement_{k}" for k in (1, 2, 4, 8)),
}
#: Top-1 accuracy of a policy that has learned nothing: one that gives the commonest labels has
#: 0.02 in the diary's article on optimizers and 0.035 on the teacher's games.
UNLEARNED = 0.04
#: How far a line through sizes may be extended, as a factor.
BEYOND = 1.2
#: Significance level, of all comparisons of a page together.
LEVEL = 0.05

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"
EXPLORATORY = "exploratory: "


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
        """The standard deviation over the seeds; NaN of fewer than two."""
        values = list(self.by_seed.values())
        return statistics.stdev(values) if len(values) > 1 else math.nan


@dataclass(frozen=True)
class Comparison:
    """One gap that a claim is about.

    label: what is compared. gap: paired by seed. low, high: where it lies if the claim holds.
    text: what happened, where that is no gap.
    """

    label: str
    gap: Value
    low: float = 0.0
    high: float = math.inf
    text: str = ""

    @property
    def interval(self) -> student.Interval:
        """The 95 % interval of this gap by itself."""
        return student.Interval.of(list(self.gap.by_seed.values()))

    @property
    def supports(self) -> bool:
        """Whether the mean is where the claim has it."""
        return self.low < self.gap.mean < self.high

    @property
    def p(self) -> float:
        """Of the bound nearest to the mean; NaN without two seeds."""
        values = list(self.gap.by_seed.values())
        if len(values) < 2 or not math.isfinite(self.gap.mean):
            return math.nan
        return student.p_of_bounds(values, self.low, self.high)


@dataclass(frozen=True)
class Finding:
    """A claim, what it compares, p corrected for the claims of the page (Holm), the verdict.

    An exploratory verdict is one by the uncorrected p only: a lead to test anew.
    """

    claim: Claim
    comparisons: tuple[Comparison, ...]
    p: float = math.nan
    verdict: str = OPEN

    @property
    def side(self) -> str:
        """The verdict if the means were exact: a claim holds where every comparison supports it."""
        return HOLDS if all(one.supports for one in self.comparisons) else FAILS

    @property
    def own_p(self) -> float:
        """Not corrected for the other claims; NaN where a comparison lacks two seeds.

        To hold, each comparison has to pass by itself (an intersection-union test); to fail, any
        against it (Bonferroni).
        """
        if any(math.isnan(one.p) for one in self.comparisons):
            return math.nan
        if self.side == HOLDS:
            return max(one.p for one in self.comparisons)
        least = min(one.p for one in self.comparisons if not one.supports)
        return min(1.0, len(self.comparisons) * least)


def judge(claims: Sequence[Claim], records: Sequence[Record]) -> list[Finding]:
    """What the records say of a page's claims, tested together."""
    found = [_finding(claim, records) for claim in claims]
    tested = [i for i, one in enumerate(found) if not math.isnan(one.own_p)]
    corrected = student.holm([found[i].own_p for i in tested])
    for i, p in zip(tested, corrected, strict=True):
        side = found[i].side
        unsure = EXPLORATORY + side if found[i].own_p < LEVEL else OPEN
        found[i] = replace(found[i], p=p, verdict=side if p < LEVEL else unsure)
    return found


def value_of(records: Sequence[Record], variant: str, measure: str) -> Value:
    """The measure of a variant, by seed; a diverged run has none."""
    found = {r.seed: r.measure(measure) for r in records if r.variant == variant}
    return Value({seed: v for seed, v in sorted(found.items()) if math.isfinite(v)})


def at_size(records: Sequence[Record], size: Size) -> list[Record]:
    """Those of one size."""
    return [record for record in records if record.size == size]


def _finding(claim: Claim, records: Sequence[Record]) -> Finding:
    if claim.fails:
        return _failures(claim, records)
    return Finding(claim, tuple(_comparisons(claim, records)))


def _comparisons(claim: Claim, records: Sequence[Record]) -> list[Comparison]:
    if claim.at_equal:
        gap, what = beside_sizes(claim, records), f"{claim.beside} - {claim.sizes_of}"
        if claim.beside in claim.lower:
            gap = Value({seed: -value for seed, value in gap.by_seed.items()})
            what = f"{claim.sizes_of} - {claim.beside}"
        return [Comparison(what, gap)]
    if claim.equal:
        pairs = [(a, b) for i, a in enumerate(claim.equal) for b in claim.equal[i + 1 :]]
        low, high = -claim.within, claim.within
    else:
        pairs = [(a, b) for a in claim.higher for b in claim.lower]
        low, high = 0.0, math.inf
    if claim.ratio:
        low, high = claim.ratio - claim.within, claim.ratio + claim.within
        return [Comparison(f"{a} / {b}", _ratio(records, a, b, claim), low, high) for a, b in pairs]
    return [Comparison(f"{a} - {b}", _gap(records, a, b, claim), low, high) for a, b in pairs]


def _gap(records: Sequence[Record], first: str, second: str, claim: Claim) -> Value:
    """first - second at each seed of both, which learned from the same data in the same order."""
    a, b = (value_of(records, name, claim.measure).by_seed for name in (first, second))
    return Value({seed: a[seed] - b[seed] for seed in a if seed in b})


def _ratio(records: Sequence[Record], first: str, second: str, claim: Claim) -> Value:
    a, b = (value_of(records, name, claim.measure).by_seed for name in (first, second))
    return Value({seed: a[seed] / b[seed] for seed in a if b.get(seed)})


def _failures(claim: Claim, records: Sequence[Record]) -> Finding:
    """Whether the variants diverged, or learned nothing, with every seed."""
    comparisons, failed, is_decided = [], [], True
    for name in claim.fails:
        runs = sorted((r for r in records if r.variant == name), key=lambda r: r.seed)
        accuracy = [r.measure("policy_top1") for r in runs]
        failed += [
            r.diverged is not None or a < UNLEARNED for r, a in zip(runs, accuracy, strict=True)
        ]
        is_decided = is_decided and len(runs) >= len(SEEDS)
        told = (
            f"{100 * a:.1f} %" if r.diverged is None else f"diverged at step {r.diverged:,}"
            for r, a in zip(runs, accuracy, strict=True)
        )
        seeds = Value({r.seed: math.nan for r in runs})
        comparisons.append(Comparison(name, seeds, text=", ".join(told)))
    side = HOLDS if all(failed) else FAILS
    return Finding(claim, tuple(comparisons), verdict=side if is_decided else OPEN)


def beside_sizes(claim: Claim, records: Sequence[Record]) -> Value:
    """What the claim's one network measures above the line through the sizes of the other, at
    its own `at_equal`, on a logarithmic axis; the line is extended by `BEYOND` at most."""
    name = claim.beside
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
    """The line's height at `at`; NaN beyond its reach, where a point is missing, and where two
    share an x or one has no logarithm."""
    if not all(math.isfinite(x) for point in line for x in point):
        return math.nan
    if line[0][0] <= 0 or len({x for x, _ in line}) < len(line):
        return math.nan
    if not line[0][0] / BEYOND <= at <= line[-1][0] * BEYOND:
        return math.nan
    after = next((i for i, (x, _) in enumerate(line) if x >= at), len(line) - 1)
    (x0, y0), (x1, y1) = line[max(after, 1) - 1], line[max(after, 1)]
    return y0 + (y1 - y0) * math.log(at / x0) / math.log(x1 / x0)
