"""Write the generated tables of the documentation, or with --check report outdated ones.

Pages of docs/concepts have tables of the core between `<!-- tables -->` and `<!-- /tables -->`.
Pages of docs/tutorial have, between `<!-- measured NAME MEASURE... -->` and `<!-- /measured -->`,
the diary's figures of an experiment and those in docs/results/lab/data.
"""

import argparse
import json
import re
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Any

from komadori.encoding.tables import features_markdown, labels_markdown
from komadori.usi.option_tables import markdown as options_markdown
from komadori.web.reference import messages_markdown

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = ROOT / "docs" / "concepts"
TUTORIAL = ROOT / "docs" / "tutorial"
PAGES = {
    "encoding.md": features_markdown,
    "labels.md": labels_markdown,
    "usi.md": options_markdown,
    "web.md": messages_markdown,
}
BEGIN, END = "<!-- tables -->", "<!-- /tables -->"


MEASURED = re.compile(r"<!-- measured (\S+) (.*?) -->\n.*?<!-- /measured -->", re.DOTALL)
#: Measure -> title, whether it is a fraction (shown in percent), digits.
MEASURES = {
    "policy_top1": ("policy accuracy", True, 1),
    "value_accuracy": ("value accuracy", True, 1),
    "best_is_legal": ("best label legal", True, 1),
    "train_loss": ("train loss", False, 2),
    "policy_loss": ("policy test loss", False, 3),
    "policy_entropy": ("policy entropy, nats", False, 2),
    "root_moves": ("root moves visited", False, 1),
    "cpu_us": ("µs per sample", False, 0),
    "elo_first": ("Elo against the first", False, 0),
    "result_loss": ("loss on results", False, 4),
}


def measured(name: str, measures: list[str]) -> str:
    """One row per variant: the diary's figure, and the mean and deviation over the seeds."""
    experiment = tomllib.loads((ROOT / f"experiments/lab/{name}.toml").read_text("utf-8"))
    data = json.loads((ROOT / f"docs/results/lab/data/{name}.json").read_text("utf-8"))
    newest = data["records"][-1]["size"]
    records = [r for r in data["records"] if r["size"] == newest]
    heads = ["variant"]
    for measure in measures:
        if any(measure in v.get("diary", {}) for v in experiment["variants"]):
            heads.append(f"diary: {MEASURES[measure][0]}")
        heads.append(MEASURES[measure][0])
    rows = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    for variant in experiment["variants"]:
        mine = [with_time(r) for r in records if r["variant"] == variant["name"]]
        row = [variant.get("title", variant["name"])]
        for measure in measures:
            if f"diary: {MEASURES[measure][0]}" in heads:
                given = variant.get("diary", {}).get(measure)
                row.append("" if given is None else figure(measure, given))
            row.append(mean(measure, [m[measure] for m in mine if measure in m]))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def with_time(record: dict[str, Any]) -> dict[str, float]:
    """The record's measures, plus CPU time per sample in microseconds."""
    measures: dict[str, float] = dict(record["measures"])
    if record.get("cpu_samples"):
        measures["cpu_us"] = 1e6 * record["cpu_seconds"] / record["cpu_samples"]
    return measures


def figure(measure: str, value: Any) -> str:
    _, is_fraction, digits = MEASURES[measure]
    if isinstance(value, str):
        return value
    return f"{100 * value:.{digits}f} %" if is_fraction else f"{value:.{digits}f}"


def mean(measure: str, values: list[float]) -> str:
    if not values:
        return ""
    text = figure(measure, statistics.mean(values))
    if len(values) == 1:
        return f"{text} (one seed)"
    factor = 100 if MEASURES[measure][1] else 1
    return f"{text} ± {factor * statistics.stdev(values):.{MEASURES[measure][2]}f}"


def with_measured(page: str) -> str:
    def table(match: re.Match[str]) -> str:
        head = f"<!-- measured {match[1]} {match[2]} -->"
        return f"{head}\n\n{measured(match[1], match[2].split())}\n\n<!-- /measured -->"

    return MEASURED.sub(table, page)


def renewed(page: str, tables: str) -> str:
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = False
    pages = [(CONCEPTS / name, tables) for name, tables in PAGES.items()]
    for path, tables in [*pages, *((path, None) for path in sorted(TUTORIAL.glob("*.md")))]:
        text = path.read_text(encoding="utf-8")
        new = with_measured(text) if tables is None else renewed(text, tables())
        if check and new != text:
            print(f"{path.name} is outdated: run python tools/docs_tables.py", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(new, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
