"""The laboratory's pages: for each experiment the diary's figures beside those measured.

OUT/index.md           every experiment, its claims and their verdicts
OUT/NAME.md, NAME.svg  one experiment
OUT/data/NAME.json     the records that the page was made from
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from komadori.atomic import write_text
from komadori.lab.claims import (
    FAILS,
    FRACTIONS,
    HOLDS,
    LEVEL,
    SEEDS,
    Comparison,
    Finding,
    Value,
    at_size,
    judge,
    value_of,
)
from komadori.lab.experiment import Claim, Experiment, Variant
from komadori.lab.pictures import DotRow, Mark, dots_svg, trade_svg
from komadori.lab.results import Record, Store
from komadori.lab.size import LabError, Size

#: Heading of each measure; the diary's column has the same name.
TITLES = {
    "train_loss": "train loss",
    "train_result_loss": "train result loss",
    "train_score_loss": "train score loss",
    "train_total_loss": "total train loss",
    "loss": "total test loss",
    "policy_top1": "policy accuracy",
    "policy_top3": "top 3",
    "policy_loss": "policy test loss",
    "weighted_loss": "total test loss",
    "weighted_policy_loss": "weighted policy test loss",
    "value_accuracy": "value accuracy",
    "value_result_loss": "result loss",
    "value_score_loss": "score loss",
    "best_is_legal": "best label legal",
    "policy_entropy": "policy entropy",
    "policy_top1_mass": "largest probability",
    "root_moves": "root moves",
    "root_share": "visits of the most visited move",
    "channels": "channels",
    "cpu_us": "µs per sample",
    "time": "time",
    "int8_per_s": "int8 positions/s",
    "int8_time": "int8 time",
    "int8_top1_lost": "int8: points lost",
    "parameters": "parameters",
    "result_loss": "result loss above floor (nats)",
    "teacher_loss": "teacher loss above floor (nats)",
    "agreement_1": "best move in the first 1",
    "agreement_2": "2",
    "agreement_4": "4",
    "agreement_8": "8",
    "weights_touched": "weights touched",
    "elo_first": "Elo against the first",
    "elo_first_error": "± (95 %)",
    "score_first": "score against the first",
    "strength": "strength",
    "positions": "positions",
}


#: Units of measures that are neither fractions nor losses.
_UNITS = {
    "cpu_us": " µs",
    "int8_top1_lost": " points",
    "elo_first": " Elo",
    "result_loss": " nats",
    "teacher_loss": " nats",
    "policy_entropy": " nats",
    "policy_loss": " nats",
    "root_moves": " moves",
}
#: Measures shown as whole numbers, and those whose spread isn't shown.
_WHOLE = {"channels", "cpu_us", "int8_per_s", "parameters", "weights_touched", "elo_first_error"}
_SPREADLESS = {"channels", "parameters", "time"}


def write_pages(
    experiments: Sequence[Experiment], store: Store, out: Path, command: str, machine: str
) -> list[Path]:
    """Write every experiment that has records, the newest size of each; the pages' paths."""
    pages, rows = [], []
    for experiment in experiments:
        records = store.current(experiment)
        if not records:
            for suffix in (".md", ".svg"):  # of figures that no longer hold
                (out / f"{experiment.name}{suffix}").unlink(missing_ok=True)
            rows.append((experiment.title, "", "not run", ""))
            continue
        records = at_size(records, records[-1].size)
        findings = judge(experiment.claims, records)
        path = out / f"{experiment.name}.md"
        write_text(path, page(experiment, records, findings, command, machine))
        write_text(out / f"{experiment.name}.svg", picture(experiment, records))
        copy = out / "data" / f"{experiment.name}.json"
        if copy.resolve() != store.path(experiment.name).resolve():
            write_text(copy, store.path(experiment.name).read_text(encoding="utf-8"))
        pages.append(path)
        runs = f"{len(records)} of {len(SEEDS) * len(experiment.variants)}"
        linked = f"[{experiment.title}]({path.name})"
        for number, one in enumerate(findings or [None]):
            first = ("", "") if number else (linked, runs)
            rows.append((*first, *((one.claim.text, _answer(one)) if one else ("", ""))))
    write_text(out / "index.md", _index(rows, command, machine))
    return pages


def page(
    experiment: Experiment,
    records: Sequence[Record],
    findings: Sequence[Finding],
    command: str,
    machine: str,
) -> str:
    """The Markdown page of one experiment from records of one size."""
    parts = [
        f"# {experiment.title}",
        f"{experiment.question} ({experiment.source}; `experiments/lab/{experiment.name}.toml`)",
        experiment.note,
        variants_table(experiment, records),
        f"![{experiment.title}]({experiment.name}.svg)",
        "## Claims" if findings else "",
        _claims_text(findings) if findings else "",
        "## How",
        _how(experiment, records, command, machine),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def variants_table(experiment: Experiment, records: Sequence[Record]) -> str:
    """One row per variant: its measures, each beside the diary's figure, and its seeds."""
    diary = [key for key in TITLES if any(key in variant.diary for variant in experiment.variants)]
    columns = experiment.columns or experiment.kind.columns
    ours = [c for c in columns if any(_has(r, c) for r in records)]
    cells: list[tuple[str, bool]] = [(key, True) for key in diary if key not in ours]
    for key in ours:
        cells += [(key, True)] * (key in diary) + [(key, False)]
    heads = [
        "variant",
        *(f"diary: {TITLES[key]}" if is_diary else TITLES.get(key, key) for key, is_diary in cells),
        "seeds",
    ]
    rows = []
    for variant in experiment.variants:
        named = f"{variant.title} (`{variant.name}`)"
        row = [variant.title if variant.title == variant.name else named]
        for key, is_diary in cells:
            row.append(_diary_cell(variant, key) if is_diary else _cell(records, variant, key))
        seeds = sorted({r.seed for r in records if r.variant == variant.name})
        rows.append([*row, ", ".join(map(str, seeds))])
    return _table(heads, ["---", *("---" if d else "--:" for _, d in cells), "---"], rows)


def claims_table(findings: Sequence[Finding]) -> str:
    """One row per comparison: the paired gap, its 95 % interval, and the claim's verdict."""
    rows = []
    for one in findings:
        who = "Open question" if one.claim.is_open else "Diary"
        p = "" if math.isnan(one.p) else f"{one.p:.2g}" if one.p >= 0.001 else "< 0.001"
        for number, comparison in enumerate(one.comparisons):
            first = not number
            rows.append(
                [
                    f"{who}: {one.claim.text}" if first else "",
                    *_comparison_cells(one.claim, comparison),
                    p if first else "",
                    f"**{_answer(one)}**" if first else "",
                ]
            )
    heads = ["claim", "compared", "gap", "95 % interval", "seeds", "p, corrected", "verdict"]
    return _table(heads, ["---", "---", "--:", "--:", "--:", "--:", "---"], rows)


def _answer(finding: Finding) -> str:
    """The verdict; of an open question yes or no."""
    if not finding.claim.is_open:
        return finding.verdict
    return finding.verdict.replace(FAILS, "no").replace(HOLDS, "yes")


def _comparison_cells(claim: Claim, one: Comparison) -> list[str]:
    """compared, gap, 95 % interval, seeds."""
    seeds = str(len(one.gap.by_seed))
    if one.text:
        return [one.label, one.text, "", seeds]
    what = f"{one.label}: {TITLES.get(claim.measure, claim.measure)}"
    if claim.at_equal:
        what += f", at equal {TITLES.get(claim.at_equal, claim.at_equal)}"
    if not one.gap.by_seed:
        return [what, "", "", seeds]
    unit, form = _UNITS.get(claim.measure, ""), "{:+.3g}"
    scale = 1.0
    if claim.ratio:
        unit, form = " times", "{:.3g}"
    elif claim.measure in FRACTIONS:
        scale, unit, form = 100.0, " points", "{:+.2f}"
    interval = one.interval
    shown = " to ".join(form.format(scale * end) for end in (interval.low, interval.high))
    gap = form.format(scale * one.gap.mean) + unit
    return [what, gap, "" if math.isnan(interval.low) else shown, seeds]


def _claims_text(findings: Sequence[Finding]) -> str:
    tested = sum(not math.isnan(one.p) for one in findings)
    return (
        f"{claims_table(findings)}\n\n"
        "Gaps are means of differences between runs of one seed; intervals are Student's t over "
        f"the seeds, of each gap by itself. p is corrected for the {tested} claims tested on this "
        f"page (Holm); a verdict needs p < {LEVEL:g}. *Exploratory*: p is below that before the "
        "correction only; a lead to test anew, not a finding. A single seed decides nothing."
    )


def _table(heads: Sequence[str], rules: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, rules, *rows))


def format_measure(name: str, value: float) -> str:
    """A measure as text: fractions in per cent, times as h:mm:ss."""
    if not math.isfinite(value):
        return ""
    if name == "time":
        minutes, seconds = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}"
    if name in FRACTIONS:
        return f"{100 * value:.1f} %"
    if name in _WHOLE:
        return f"{value:,.0f}"
    if name == "int8_top1_lost":  # in points
        return f"{value:+.2f}"
    if name == "elo_first":
        return f"{value:+.0f}" if value else "0"
    if name in ("result_loss", "teacher_loss"):
        return f"{value:.4f}"
    return f"{value:.1f}" if name == "root_moves" else f"{value:.3f}"


def _cell(records: Sequence[Record], variant: Variant, key: str) -> str:
    mine = [r for r in records if r.variant == variant.name]
    if not mine:
        return "not run"
    diverged = [r.diverged for r in mine if r.diverged is not None]
    value = value_of(records, variant.name, key)
    if not value.by_seed:
        return f"diverged at step {diverged[0]:,}" if diverged else ""
    text = format_measure(key, value.mean)
    return text + _spread(key, value) if math.isfinite(value.spread) else text


def _spread(key: str, value: Value) -> str:
    if key in _SPREADLESS:
        return ""
    if key in FRACTIONS:
        return f" ± {100 * value.spread:.1f}"
    return f" ± {value.spread:.3g}" if value.spread < 10 else f" ± {value.spread:,.0f}"


def _diary_cell(variant: Variant, key: str) -> str:
    value = variant.diary.get(key, "")
    if isinstance(value, str) or key.startswith("train_"):
        return str(value)
    if key in FRACTIONS:  # in the diary's digits
        digits = max(0, len(repr(value).partition(".")[2]) - 2)
        return f"{100 * value:.{digits}f} %"
    return format_measure(key, float(value))


def _how(experiment: Experiment, records: Sequence[Record], command: str, machine: str) -> str:
    last, kind, size = records[-1], experiment.kind, records[-1].size
    data = "".join(f" --data '{name}'" for name in last.facts.get("files", ()))
    tested = f" --test-positions {size.test_positions}"
    chosen = command or (
        f"komadori lab run {experiment.name}{data} --positions {size.positions}"
        f"{kind.options(size)}{tested if size.test_positions != Size().test_positions else ''}"
    )
    where = machine or "; ".join(dict.fromkeys(str(r.facts["machine"]) for r in records))
    return (
        f"`{chosen.replace('NAME', experiment.name)}`\n\n"
        f"{last.facts['train_positions']:,} training positions, {kind.budget_text(last.config)}, "
        f"the same ones in the same order for all variants of a seed{_proof(records)}; "
        f"{last.facts['test_positions']:,} test positions, of other games. "
        f"{kind.how(size, last.facts, scale=experiment.scale, machine=where)} "
        "± is the standard deviation over the seeds."
    )


def _proof(records: Sequence[Record]) -> str:
    by_seed: dict[int, set[str]] = {}
    for record in records:
        by_seed.setdefault(record.seed, set()).add(record.facts["data"])
    for seed, found in by_seed.items():
        if len(found) > 1:
            raise LabError(
                f"seed {seed}: the variants learned from different positions ({', '.join(found)})"
            )
    return f" (fingerprint {by_seed[min(by_seed)].pop()})"


def _index(rows: Sequence[Sequence[str]], command: str, machine: str) -> str:
    how = f" `{command}`, {machine}." if command else ""
    return (
        "# The laboratory\n\n"
        "The diary's questions as experiments that can be run again (`komadori lab list`), its "
        f"figures beside ours.{how} Commands name the games' files without their folder. "
        "`komadori lab report` makes these pages from the records of the runs. Runs: one per "
        f"variant and seed, {len(SEEDS)} seeds each; what a verdict means is "
        "[explained here](../../concepts/laboratory.md#a-verdict).\n\n"
        + _table(["experiment", "runs", "claim", "verdict"], ["---"] * 4, rows)
        + "\n"
    )


def picture(experiment: Experiment, records: Sequence[Record]) -> str:
    """The SVG of one experiment: a dot per seed, or accuracy over cost for `at_equal` claims."""
    traded = [claim for claim in experiment.claims if claim.at_equal]
    if traded:
        return _trade(experiment, records, traded[0])
    measure = experiment.kind.picture
    rows = []
    for variant in experiment.variants:
        value = value_of(records, variant.name, measure)
        diary = variant.diary.get(measure)
        rows.append(
            DotRow(
                variant.title,
                list(value.by_seed.values()),
                diary if isinstance(diary, float) else None,
            )
        )
    return dots_svg(rows, f"{TITLES[measure]}, held-out games")


def _trade(experiment: Experiment, records: Sequence[Record], claim: Claim) -> str:
    """Every variant over the claim's `at_equal`, the sizes as a line."""
    marks = []
    for variant in experiment.variants:
        x = value_of(records, variant.name, claim.at_equal).mean
        values = list(value_of(records, variant.name, claim.measure).by_seed.values())
        if math.isfinite(x) and values:
            marks.append(Mark(variant.name, x, values, variant.name in claim.sizes))
    at, measure = TITLES.get(claim.at_equal, claim.at_equal), TITLES[claim.measure]
    return trade_svg(marks, f"{measure} by {at}", at, claim.sizes_of, claim.measure in FRACTIONS)


def _has(record: Record, key: str) -> bool:
    return math.isfinite(record.measure(key))
