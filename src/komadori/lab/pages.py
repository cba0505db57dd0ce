"""The laboratory's pages: the diary's figures of each experiment next to those measured.

OUT/index.md           every experiment, its claims and their verdicts
OUT/NAME.md, NAME.svg  one experiment
OUT/data/NAME.json     the records of the page
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from komadori.atomic import write_text
from komadori.lab.claims import (
    FAILS,
    HOLDS,
    LEVEL,
    SEEDS,
    Comparison,
    Finding,
    at_size,
    judge,
    seeds_of,
    value_of,
)
from komadori.lab.experiment import FOLDER, Claim, Experiment, Variant
from komadori.lab.measures import MEASURES, PERCENT, measure_of
from komadori.lab.pictures import picture
from komadori.lab.results import Record, Store
from komadori.lab.size import LabError, Size
from komadori.wording import counted, no_such_file


def write_pages(
    experiments: Sequence[Experiment],
    store: Store,
    out: Path,
    command: str,
    machine: str,
    folder: Path = FOLDER,
) -> list[Path]:
    """Write a page per experiment with records, of its newest size; returns their paths.

    folder: that of the experiments' files, as pages name it.

    Pages whose records are of other settings are removed. Raises LabError, and changes nothing, if
    there are no records at all.
    """
    if not store.folder.is_dir():
        raise LabError(f"{store.folder}: no such folder of records") from no_such_file(store.folder)
    if not any(store.records(experiment.name) for experiment in experiments):
        raise LabError(f"{store.folder}: no records of these experiments")
    pages, rows = [], []
    for experiment in experiments:
        records = store.current(experiment)
        if not records:
            stale = out / f"{experiment.name}.md"
            if stale.exists():  # figures that no longer hold
                stale.with_suffix(".svg").unlink(missing_ok=True)
                stale.unlink()
            rows.append((experiment.title, "", "not run", ""))
            continue
        records = at_size(records, records[-1].size)
        findings = judge(experiment.claims, records)
        path = out / f"{experiment.name}.md"
        text = page(experiment, records, findings, command, machine, folder)
        write_text(path, _without_dead_links(text, out))
        write_text(out / f"{experiment.name}.svg", picture(experiment, records))
        copy = out / "data" / f"{experiment.name}.json"
        if copy.resolve() != store.path(experiment.name).resolve():
            write_text(copy, store.path(experiment.name).read_text(encoding="utf-8"))
        pages.append(path)
        runs = f"{len(records)} of {len(seeds_of(records)) * len(experiment.variants)}"
        linked = f"[{experiment.title}]({path.name})"
        for number, one in enumerate(findings or [None]):
            first = ("", "") if number else (linked, runs)
            rows.append((*first, *((one.claim.text, _answer(one)) if one else ("", ""))))
    write_text(out / "index.md", _without_dead_links(_index(rows, command, machine), out))
    return pages


def _without_dead_links(text: str, folder: Path) -> str:
    """Keep the words alone of links to the documentation, where the pages lie outside of it."""

    def linked(link: re.Match[str]) -> str:
        return link[0] if (folder / link[2]).exists() else link[1]

    return re.sub(r"\[([^\]]*)\]\((\.\./[^)#]*)(?:#[^)]*)?\)", linked, text)


def page(
    experiment: Experiment,
    records: Sequence[Record],
    findings: Sequence[Finding],
    command: str,
    machine: str,
    folder: Path = FOLDER,
) -> str:
    """The Markdown page of one experiment from records of one size."""
    file = (folder / f"{experiment.name}.toml").as_posix()
    parts = [
        f"# {experiment.title}",
        f"{experiment.question} ({_source(experiment)}; `{file}`)",
        experiment.note,
        variants_table(experiment, records),
        f"![{experiment.title}]({experiment.name}.svg)",
        "## Claims" if findings else "",
        _claims_text(findings) if findings else "",
        "## How",
        _how(experiment, records, command, machine, folder),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _source(experiment: Experiment) -> str:
    """The source; the diary is linked to the titles and dates of its articles."""
    return experiment.source.replace("diary,", "[diary](../../sources.md#the-diary),")


def variants_table(
    experiment: Experiment, records: Sequence[Record], chosen: Sequence[str] = ()
) -> str:
    """One row per variant: its measures, each beside the diary's figure, and its seeds.

    chosen: measures shown; by default all of the diary's, and the experiment's columns.
    """
    diary = [key for key in chosen or MEASURES if any(key in v.diary for v in experiment.variants)]
    columns = chosen or experiment.columns or experiment.kind.columns
    ours = [c for c in columns if any(math.isfinite(r.measure(c)) for r in records)]
    cells: list[tuple[str, bool]] = [(key, True) for key in diary if key not in ours]
    for key in ours:
        cells += [(key, True)] * (key in diary) + [(key, False)]
    heads = [
        "variant",
        *("diary: " * is_diary + measure_of(key).title for key, is_diary in cells),
        "seeds",
    ]
    rows = []
    for variant in experiment.variants:
        named = f"{variant.title} (`{variant.name}`)"
        row = [variant.title if variant.title == variant.name else named]
        for key, is_diary in cells:
            row.append(_diary_cell(variant, key) if is_diary else _cell(records, variant, key))
        seeds = sorted({r.seed for r in records if r.variant == variant.name})
        runs = f"1 run (seed {seeds[0]})" if len(seeds) == 1 else ", ".join(map(str, seeds))
        rows.append([*row, runs])
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
    measure = measure_of(claim.measure)
    what = f"{one.label}: {measure.title}"
    if claim.at_equal:
        what += f", at equal {measure_of(claim.at_equal).title}"
    if len(one.gap.by_seed) < len(SEEDS):
        return [what, "", "", seeds]
    scale, unit, form = 1.0, measure.unit, "{:+.3g}"
    if claim.ratio:
        unit, form = " times", "{:.3g}"
    elif measure.form == PERCENT:
        scale, unit, form = 100.0, " points", "{:+.2f}"
    interval = one.interval
    shown = " to ".join(form.format(scale * end) for end in (interval.low, interval.high))
    gap = form.format(scale * one.gap.mean) + unit
    return [what, gap, "" if math.isnan(interval.low) else shown, seeds]


def _claims_text(findings: Sequence[Finding]) -> str:
    tested = sum(not math.isnan(one.p) for one in findings)
    table = claims_table(findings)
    if not tested:
        return f"{table}\n\nNo claim was tested: that needs {len(SEEDS)} seeds of each variant."
    return (
        f"{table}\n\n"
        "Gaps are means of differences between runs of one seed; intervals are Student's t over "
        f"the seeds, uncorrected. p is corrected for the {counted(tested, 'claim')} tested on this "
        f"page (Holm); a verdict needs p < {LEVEL:g}. *Exploratory*: significant only without the "
        "correction; a lead for a new test, not a finding. Comparisons of fewer than "
        f"{len(SEEDS)} seeds have no gap."
    )


def _table(heads: Sequence[str], rules: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        f"| {' | '.join(_in_a_table(cell) for cell in row)} |" for row in (heads, rules, *rows)
    )


def _in_a_table(cell: str) -> str:
    """The text of a cell without what would end the cell or the row."""
    return " ".join(cell.split()).replace("|", "\\|")


def _cell(records: Sequence[Record], variant: Variant, key: str) -> str:
    mine = [r for r in records if r.variant == variant.name]
    if not mine:
        return "not run"
    diverged = [r.diverged for r in mine if r.diverged is not None]
    value = value_of(records, variant.name, key)
    if not value.by_seed:
        return f"diverged at step {diverged[0]:,}" if diverged else ""
    measure, spread = measure_of(key), value.spread
    text = measure.format(value.mean)
    if not (measure.has_spread and math.isfinite(spread)):
        return text
    if measure.form == PERCENT:
        return f"{text} ± {100 * spread:.1f}"
    return text + (f" ± {spread:.3g}" if spread < 10 else f" ± {spread:,.0f}")


def _diary_cell(variant: Variant, key: str) -> str:
    value = variant.diary.get(key, "")
    if isinstance(value, str) or key.startswith("train_"):
        return str(value)
    if measure_of(key).form == PERCENT:  # in the diary's digits
        digits = max(0, len(repr(value).partition(".")[2]) - 2)
        return f"{100 * value:.{digits}f} %"
    return measure_of(key).format(float(value))


def _how(
    experiment: Experiment, records: Sequence[Record], command: str, machine: str, folder: Path
) -> str:
    last, kind, size = records[-1], experiment.kind, records[-1].size
    data = "".join(f" --data '{name}'" for name in last.facts.get("files", ()))
    tested = f" --test-positions {size.test_positions}"
    seeds = tuple(seeds_of(records))
    others = "" if seeds == SEEDS else f" --seeds {','.join(map(str, seeds))}"
    own = "" if folder == FOLDER else f" --experiments {shlex.quote(folder.as_posix())}"
    chosen = command or (
        f"komadori lab run {experiment.name}{own}{data} --positions {size.positions}"
        f"{kind.options(size)}{tested if size.test_positions != Size().test_positions else ''}"
        f"{others}"
    )
    where = machine or "; ".join(dict.fromkeys(str(r.facts["machine"]) for r in records))
    return (
        f"`{chosen.replace('NAME', experiment.name)}`\n\n"
        f"{last.facts['train_positions']:,} training positions, {kind.budget_text(last.config)}, "
        f"the same in the same order for all variants of a seed{_proof(records)}; "
        f"{last.facts['test_positions']:,} test positions from other games. "
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
        "The diary's experiments, repeated with `komadori lab`: the diary's figures next to those "
        f"measured here.{how} Commands name the game files without their folder. "
        "`komadori lab report` writes these pages from the records of the runs. Runs: one per "
        f'variant and seed, with at least {len(SEEDS)} seeds; where a page\'s row says "1 run", '
        "the other seeds haven't been run, and nothing is claimed of it. "
        "[Verdicts](../../concepts/laboratory.md#a-verdict) are explained with the method.\n\n"
        + _table(["experiment", "runs", "claim", "verdict"], ["---"] * 4, rows)
        + "\n"
    )
