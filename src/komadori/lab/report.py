"""The laboratory's pages: for each experiment the diary's figures beside those measured.

OUT/index.md           every experiment and what came of its claims
OUT/NAME.md, NAME.svg  one experiment
OUT/data/NAME.json     the records that the page was made from
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from komadori.atomic import write_text
from komadori.lab.claims import (
    SHARES,
    Value,
    Verdict,
    at_size,
    beside_sizes,
    error_name,
    judge,
    value_of,
)
from komadori.lab.experiment import Claim, Experiment, Variant
from komadori.lab.figures import DotRow, Mark, dots_svg, trade_svg
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
    "root_share": "share of the most visited",
    "channels": "channels",
    "cpu_us": "µs a sample",
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


#: Measures without a fraction, and those that have no spread worth telling.
_WHOLE = {"channels", "cpu_us", "int8_per_s", "parameters", "weights_touched", "elo_first_error"}
_SPREADLESS = {"channels", "parameters", "time"}


def write_report(
    experiments: Sequence[Experiment], store: Store, out: Path, command: str, machine: str
) -> list[Path]:
    """Write every experiment that has records, the newest size of each; the pages' paths."""
    pages = []
    lines = []
    for experiment in experiments:
        records = store.current(experiment)
        if not records:
            for suffix in (".md", ".svg"):  # of figures that no longer hold
                (out / f"{experiment.name}{suffix}").unlink(missing_ok=True)
            lines.append(_index_row(experiment, [], ()))
            continue
        size = records[-1].size
        records = at_size(records, size)
        verdicts = [judge(claim, records, experiment) for claim in experiment.claims]
        text = page(experiment, records, verdicts, command, machine)
        path = out / f"{experiment.name}.md"
        write_text(path, text)
        write_text(out / f"{experiment.name}.svg", picture(experiment, records))
        copy = out / "data" / f"{experiment.name}.json"
        if copy.resolve() != store.path(experiment.name).resolve():
            write_text(copy, store.path(experiment.name).read_text(encoding="utf-8"))
        pages.append(path)
        lines.append(_index_row(experiment, records, verdicts))
    write_text(out / "index.md", _index(lines, command, machine))
    return pages


def page(
    experiment: Experiment,
    records: Sequence[Record],
    verdicts: Sequence[Verdict],
    command: str,
    machine: str,
) -> str:
    """The Markdown page of one experiment from records of one size."""
    size = records[-1].size
    parts = [
        f"# {experiment.title}",
        f"{experiment.question} ({experiment.source}; `experiments/lab/{experiment.name}.toml`)",
    ]
    if experiment.note:
        parts.append(experiment.note)
    parts += [
        table(experiment, records),
        f"![{experiment.title}]({experiment.name}.svg)",
        "## What the diary concluded, and what was found",
        _claims(experiment, verdicts),
        "## How",
        _how(experiment, records, size, command, machine),
    ]
    return "\n\n".join(parts) + "\n"


def table(experiment: Experiment, records: Sequence[Record]) -> str:
    """The Markdown table: a row a variant, each of the diary's figures beside the one measured;
    first those that have none."""
    diary = [key for key in TITLES if any(key in variant.diary for variant in experiment.variants)]
    columns = experiment.columns or experiment.kind.columns
    ours = [c for c in columns if any(_has(r, c) for r in records)]
    cells: list[tuple[str, bool]] = [(key, True) for key in diary if key not in ours]
    for key in ours:
        cells += [(key, True)] * (key in diary) + [(key, False)]
    seeds = any(len(_seeds(records, v)) > 1 for v in experiment.variants)
    beside: dict[str, dict[str, Claim]] = {}
    for claim in experiment.claims:
        if claim.at_equal:
            beside.setdefault(_beside_head(claim), {})[claim.beside] = claim
    heads = [
        "variant",
        *(f"diary: {TITLES[key]}" if is_diary else TITLES.get(key, key) for key, is_diary in cells),
        *beside,
        *(["seeds"] if seeds else []),
    ]
    rules = ["---", *("---" if is_diary else "--:" for _, is_diary in cells)]
    rows = [heads, rules + ["--:"] * (len(heads) - len(rules))]
    for variant in experiment.variants:
        named = (
            variant.title
            if variant.title == variant.name
            else f"{variant.title} (`{variant.name}`)"
        )
        row = [named]
        for key, is_diary in cells:
            row.append(_diary_cell(variant, key) if is_diary else _cell(records, variant, key))
        row += [_beside_cell(records, claims.get(variant.name)) for claims in beside.values()]
        if seeds:
            row.append(", ".join(map(str, _seeds(records, variant))))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def format_measure(name: str, value: float) -> str:
    """A measure as text, shares in per cent, times as clocks."""
    if not math.isfinite(value):
        return ""
    if name == "time":
        minutes, seconds = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}"
    if name in SHARES:
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


def _beside_head(claim: Claim) -> str:
    at, measure = TITLES.get(claim.at_equal, claim.at_equal), TITLES[claim.measure]
    return f"{measure} beside the {claim.sizes_of} of its {at}"


def _beside_cell(records: Sequence[Record], claim: Claim | None) -> str:
    if claim is None:
        return ""
    gap = beside_sizes(claim, records)
    if not gap.by_seed:
        return ""
    text = f"{100 * gap.mean:+.1f}" if claim.measure in SHARES else f"{gap.mean:+.3g}"
    return text + _spread(claim.measure, gap) if math.isfinite(gap.spread) else text


def _spread(key: str, value: Value) -> str:
    if key in _SPREADLESS:
        return ""
    if key in SHARES:
        return f" ± {100 * value.spread:.1f}"
    return f" ± {value.spread:.3g}" if value.spread < 10 else f" ± {value.spread:,.0f}"


def _diary_cell(variant: Variant, key: str) -> str:
    value = variant.diary.get(key, "")
    if isinstance(value, str) or key.startswith("train_"):
        return str(value)
    if key in SHARES:  # in the diary's digits
        digits = max(0, len(repr(value).partition(".")[2]) - 2)
        return f"{100 * value:.{digits}f} %"
    return format_measure(key, float(value))


def _claims(experiment: Experiment, verdicts: Sequence[Verdict]) -> str:
    lines = []
    for claim, verdict in zip(experiment.claims, verdicts, strict=True):
        who = "Left open" if claim.is_open else "Diary"
        lines.append(
            f"- {who}: {claim.text} **{verdict.sentence[0].upper()}{verdict.sentence[1:]}**."
        )
    return "\n".join(lines) if lines else "Nothing."


def _how(
    experiment: Experiment, records: Sequence[Record], size: Size, command: str, machine: str
) -> str:
    last, kind = records[-1], experiment.kind
    amount = f"{last.facts['train_positions']:,}"
    data = "".join(f" --data '{name}'" for name in last.facts.get("files", ()))
    tested = f" --test-positions {size.test_positions}"
    chosen = command or (
        f"komadori lab run {experiment.name}{data} --positions {size.positions}"
        f"{kind.options(size)}{tested if size.test_positions != Size().test_positions else ''}"
    )
    return (
        f"`{chosen.replace('NAME', experiment.name)}`\n\n"
        f"{amount} positions to learn from, {kind.budget_text(last.config)}, the same ones in the "
        f"same order for all variants of a seed{_proof(records)}; {last.facts['test_positions']:,} "
        "positions of other games to measure on, none of them learned from. "
        f"{kind.how(size, last.facts, scale=experiment.scale, machine=_machine(records, machine))} "
        f"{_rule(experiment, records)}"
    )


def _machine(records: Sequence[Record], machine: str) -> str:
    """As given, or of the records, the newest last."""
    return machine or "; ".join(dict.fromkeys(str(r.facts["machine"]) for r in records))


def _rule(experiment: Experiment, records: Sequence[Record]) -> str:
    """What ± means, and which gaps decide nothing."""
    own = any(_has(r, error_name(claim.measure)) for r in records for claim in experiment.claims)
    mine = " or, where it has one, within its own 95 % error" if own else ""
    alone = (
        "decides nothing here, as such runs differ by several points"
        if experiment.all_seeds
        else f"decides nothing under two points (2 % of what is no share){mine}"
    )
    return (
        "± after a figure of the table is the standard deviation over the seeds, after a gap its "
        f"95 % error (Student's t), beyond which it decides. A gap of one seed {alone}."
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


def _index_row(
    experiment: Experiment, records: Sequence[Record], verdicts: Sequence[Verdict]
) -> str:
    ran = sum(any(r.variant == v.name for r in records) for v in experiment.variants)
    found = "<br>".join(
        f"{claim.text} **{verdict.sentence[0].upper()}{verdict.sentence[1:]}**"
        for claim, verdict in zip(experiment.claims, verdicts, strict=False)
    )
    name = f"[{experiment.title}]({experiment.name}.md)" if records else experiment.title
    return f"| {name} | {ran} of {len(experiment.variants)} | {found or 'not run'} |"


def _index(rows: list[str], command: str, machine: str) -> str:
    how = f" `{command}`, {machine}." if command else ""
    return "\n".join(
        [
            "# The laboratory",
            "",
            "Each question of the diary as an experiment that can be run again "
            f"(`komadori lab list`), the diary's figures beside ours.{how} Commands name the "
            "games' files without their folder; `komadori lab report` makes these pages of the "
            "records that runs leave.",
            "",
            "| experiment | variants run | claims |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def picture(experiment: Experiment, records: Sequence[Record]) -> str:
    """The SVG of one experiment: a dot a seed, or what is had for what it costs."""
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
    """Every variant by what the claim compares at equal, its sizes as a line."""
    marks = []
    for variant in experiment.variants:
        x = value_of(records, variant.name, claim.at_equal).mean
        values = list(value_of(records, variant.name, claim.measure).by_seed.values())
        if math.isfinite(x) and values:
            marks.append(Mark(variant.name, x, values, variant.name in claim.sizes))
    at, measure = TITLES.get(claim.at_equal, claim.at_equal), TITLES[claim.measure]
    return trade_svg(marks, f"{measure} by {at}", at, claim.sizes_of, claim.measure in SHARES)


def _has(record: Record, key: str) -> bool:
    return math.isfinite(record.measure(key))


def _seeds(records: Sequence[Record], variant: Variant) -> list[int]:
    return sorted({r.seed for r in records if r.variant == variant.name})
