"""Whether a sentence about variants holds, judged from the records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from komadori import training
from komadori.lab.experiment import Claim, Experiment
from komadori.lab.results import Record
from komadori.lab.size import Size

#: The measures that are shares, training's and the laboratory's own.
SHARES = training.SHARES | {
    "root_share",
    "score_first",
    *(f"agreement_{k}" for k in (1, 2, 4, 8)),
}
#: What the others are measured in, where that is a unit.
UNITS = {
    "cpu_us": " µs",
    "int8_top1_lost": " points",
    "elo_first": " Elo",
    "result_loss": " nats",
    "teacher_loss": " nats",
    "policy_entropy": " nats",
    "policy_loss": " nats",
    "root_moves": " moves",
}
#: A gap below this asks for more seeds (two points of accuracy, or 2 % of another measure).
SMALL_GAP = 0.02
#: Accuracy below which a policy has not learned: one that tells nothing but the commonest
#: labels has 0.02 in the diary (000, RMSprop at 0.01) and 0.035 on the teacher's games.
UNLEARNED = 0.04
#: Student's t of 95 %, both sides, by the number of seeds; from the last on the normal one's 2.
_STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}
#: How far a line through sizes goes on beyond the outermost, as a factor.
BEYOND = 1.2
#: Seeds that a small gap is measured with.
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Value:
    """A measure of a variant over its seeds; spread: the standard deviation, NaN of one seed."""

    by_seed: dict[int, float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.by_seed.values()) if self.by_seed else math.nan

    @property
    def spread(self) -> float:
        values = list(self.by_seed.values())
        return statistics.stdev(values) if len(values) > 1 else math.nan


@dataclass(frozen=True)
class Verdict:
    """verdict: holds, does not hold, or open; sentence: it and the figures behind it."""

    verdict: str
    sentence: str


def value_of(records: Sequence[Record], variant: str, measure: str) -> Value:
    """The measure of a variant, by seed; a diverged run has none."""
    found = {r.seed: r.measure(measure) for r in records if r.variant == variant}
    return Value({seed: v for seed, v in sorted(found.items()) if math.isfinite(v)})


def difference(records: Sequence[Record], first: str, second: str, measure: str) -> Value:
    """first - second at each seed that both have run with: the same data in the same order."""
    a, b = (value_of(records, name, measure).by_seed for name in (first, second))
    return Value({seed: a[seed] - b[seed] for seed in a if seed in b})


def needs_seeds(claim: Claim, records: Sequence[Record], *, all_seeds: bool = False) -> set[str]:
    """The variants whose gap is too small for the seeds they have run with; with `all_seeds` all
    that the claim compares, where it does by shares."""
    wanted: set[str] = set()
    for pair, gap in () if claim.ratio else gaps_of(claim, records):
        own = _own_error(gap, pair, claim, records)
        small = own or SMALL_GAP * _unit(claim, records)
        is_small = abs(gap.mean) < small + (claim.within if claim.equal else 0.0)
        if (all_seeds and claim.measure in SHARES) or (gap.by_seed and is_small):
            wanted |= set(pair)
    return wanted


def gaps_of(claim: Claim, records: Sequence[Record]) -> list[tuple[tuple[str, ...], Value]]:
    """The differences that the claim is about and the variants of each: first and second, or
    those of `at_equal`; empty ones of what has not run or has no such measure."""
    if claim.at_equal:
        gap = beside_sizes(claim, records)
        if claim.beside in claim.lower:
            gap = Value({seed: -value for seed, value in gap.by_seed.items()})
        return [(claim.variants, gap)]
    return [((a, b), difference(records, a, b, claim.measure)) for a, b in _pairs(claim)]


def beside_sizes(claim: Claim, records: Sequence[Record]) -> Value:
    """By how much the claim's one measures more than a network on the line through the sizes would
    that has its `at_equal`, by the logarithm of that; the line goes on for `BEYOND`."""
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
    """The line's height at a place, NaN where it doesn't reach it, lacks a point, or has two at
    one place or at none that has a logarithm."""
    if not all(math.isfinite(x) for point in line for x in point):
        return math.nan
    if line[0][0] <= 0 or len({x for x, _ in line}) < len(line):
        return math.nan
    if not line[0][0] / BEYOND <= at <= line[-1][0] * BEYOND:
        return math.nan
    after = next((i for i, (x, _) in enumerate(line) if x >= at), len(line) - 1)
    (x0, y0), (x1, y1) = line[max(after, 1) - 1], line[max(after, 1)]
    return y0 + (y1 - y0) * math.log(at / x0) / math.log(x1 / x0)


def judge(claim: Claim, records: Sequence[Record], experiment: Experiment) -> Verdict:
    """What the records say of the claim."""
    if claim.fails:
        return _judge_fails(claim, records, experiment)
    if claim.ratio:
        return _judge_ratio(claim, records)
    gaps = gaps_of(claim, records)
    ran = [(pair, gap) for pair, gap in gaps if gap.by_seed]
    if len(ran) < len(gaps):
        measures = [claim.measure, *([claim.at_equal] if claim.at_equal else [])]
        missing = sorted(
            v
            for v in set(claim.variants)
            if not all(value_of(records, v, measure).by_seed for measure in measures)
        )
        if claim.at_equal and not missing:
            return Verdict("open", f"not decided: no {claim.sizes_of} of its size has run")
        what = "no such figure" if {r.variant for r in records}.issuperset(missing) else "not run"
        have = "have" if len(missing) > 1 else "has"
        return Verdict("open", f"not decided: {', '.join(missing) or 'a variant'} {have} {what}")
    judged = [_gap(gap, pair, claim, records, experiment.all_seeds) for pair, gap in ran]
    return _judge_equal(claim, judged) if claim.equal else _judge_order(claim, judged)


@dataclass(frozen=True)
class _Gap:
    """Between variants.

    error: what its mean must exceed to be decided. is_measured: whether that is its 95 % error,
    by the seeds or the measure's own.
    """

    pair: tuple[str, ...]
    value: Value
    error: float
    is_measured: bool

    @property
    def least(self) -> float:
        return self.value.mean - self.error

    @property
    def most(self) -> float:
        return self.value.mean + self.error

    def undecided(self, shown: str, why: str) -> Verdict:
        return Verdict("open", f"not decided: {shown}{f', {why}' if self.is_measured else ''}")

    def text(self, claim: Claim) -> str:
        """Mean and, where it is measured, error; in points, or the measure's unit."""
        seeds = len(self.value.by_seed)
        of = f"{seeds} seeds" if seeds > 1 else "one seed"
        if claim.measure in SHARES:
            error = f" ± {100 * self.error:.2f}" if self.is_measured else ""
            return f"{100 * self.value.mean:+.2f}{error} points ({of})"
        error = f" ± {self.error:.3g}" if self.is_measured else ""
        return f"{self.value.mean:+.3g}{error}{UNITS.get(claim.measure, '')} ({of})"


def _judge_equal(claim: Claim, gaps: Sequence[_Gap]) -> Verdict:
    """Holds where every gap, whatever its error, is within the limit."""
    limit = claim.within
    widest = max(gaps, key=lambda gap: max(-gap.least, gap.most))
    beyond = [gap for gap in gaps if gap.least > limit or gap.most < -limit]
    if beyond:
        widest = max(beyond, key=lambda gap: abs(gap.value.mean))
    shown = f"the widest gap, {widest.pair[0]} to {widest.pair[1]}, is {widest.text(claim)}"
    if beyond:
        return Verdict("does not hold", f"does not hold: {shown}")
    if -widest.least <= limit and widest.most <= limit:
        return Verdict("holds", f"holds: {shown}")
    alike = f"{100 * limit:.1f} points" if claim.measure in SHARES else f"{limit:g}"
    return widest.undecided(shown, f"its error reaching beyond the {alike} of alike ones")


def _judge_order(claim: Claim, gaps: Sequence[_Gap]) -> Verdict:
    """Holds where every gap is above its error; doesn't where one is below it."""
    least = min(gaps, key=lambda gap: gap.least)
    below = [gap for gap in gaps if gap.most < 0]
    if below:
        least = min(below, key=lambda gap: gap.value.mean)
    sides = list(least.pair)
    if claim.at_equal:
        sides = [claim.beside, f"the {claim.sizes_of}"]
        if claim.beside in claim.lower:
            sides.reverse()
    shown = f"{sides[0]} to {sides[1]}: {least.text(claim)}"
    if below:
        return Verdict("does not hold", f"{'no' if claim.is_open else 'does not hold'}: {shown}")
    if least.least > 0:
        return Verdict("holds", f"{'yes' if claim.is_open else 'holds'}: {shown}")
    return least.undecided(shown, "within its error")


def _judge_ratio(claim: Claim, records: Sequence[Record]) -> Verdict:
    ((first, second),) = _pairs(claim)
    a, b = (value_of(records, name, claim.measure) for name in (first, second))
    if not (a.by_seed and b.by_seed):
        return Verdict("open", "not decided: not run")
    ratio = a.mean / b.mean
    holds = abs(ratio - claim.ratio) <= claim.within
    word = "holds" if holds else "does not hold"
    return Verdict(word, f"{word}: {first} takes {ratio:.2f} times what {second} does")


def _judge_fails(claim: Claim, records: Sequence[Record], experiment: Experiment) -> Verdict:
    shown, failed = [], True
    for name in claim.fails:
        runs = [r for r in records if r.variant == name]
        if not runs:
            return Verdict("open", f"not decided: {name} has not run")
        if any(r.diverged is not None for r in runs):
            step = next(r.diverged for r in runs if r.diverged is not None)
            shown.append(f"{name} diverged at step {step}")
            continue
        accuracy = value_of(records, name, "policy_top1").mean
        learned = accuracy >= UNLEARNED
        failed = failed and not learned
        shown.append(f"{name} learned{'' if learned else ' nothing'} ({100 * accuracy:.1f} %)")
    text = "; ".join(shown)
    return Verdict(
        "holds" if failed else "does not hold",
        f"{'holds' if failed else 'does not hold'}: {text}",
    )


def at_size(records: Sequence[Record], size: Size) -> list[Record]:
    """Those of one size."""
    return [record for record in records if record.size == size]


def _pairs(claim: Claim) -> list[tuple[str, str]]:
    if claim.equal:
        return [(a, b) for i, a in enumerate(claim.equal) for b in claim.equal[i + 1 :]]
    return [(a, b) for a in claim.higher for b in claim.lower]


def _unit(claim: Claim, records: Sequence[Record]) -> float:
    """What a gap is measured by: shares by themselves, other measures by their size."""
    if claim.measure in SHARES:
        return 1.0
    values = [abs(value_of(records, v, claim.measure).mean) for v in claim.variants]
    finite = [v for v in values if math.isfinite(v)]
    return statistics.fmean(finite) if finite else 1.0


def _gap(
    value: Value,
    pair: tuple[str, ...],
    claim: Claim,
    records: Sequence[Record],
    all_seeds: bool,
) -> _Gap:
    """With its 95 % error by the seeds, or that of the measure where it is larger; of a single seed
    the latter, or else `SMALL_GAP`; infinite of a share where all seeds are asked for."""
    seeds, own = len(value.by_seed), _own_error(value, pair, claim, records)
    if seeds > 1:
        error = max(_STUDENT.get(seeds, 2.0) * value.spread, own) / math.sqrt(seeds)
        return _Gap(pair, value, error, is_measured=True)
    if all_seeds and claim.measure in SHARES:
        return _Gap(pair, value, math.inf, is_measured=False)
    error = own or SMALL_GAP * _unit(claim, records)
    return _Gap(pair, value, error, is_measured=own > 0)


def error_name(measure: str) -> str:
    """The measure that holds a measure's own 95 % error, where a record has one."""
    return f"{measure}_error"


def _own_error(gap: Value, pair: tuple[str, ...], claim: Claim, records: Sequence[Record]) -> float:
    """The error of a gap of one seed by the errors of its measures, 0.0 where they have none."""
    errors = [value_of(records, name, error_name(claim.measure)).by_seed for name in pair]
    widest = [math.hypot(*(error.get(seed, 0.0) for error in errors)) for seed in gap.by_seed]
    return max(widest, default=0.0)
