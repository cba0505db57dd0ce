"""Write the generated tables of the documentation, or with --check report outdated ones.

Pages of docs/concepts contain tables of the core between `<!-- tables -->` and `<!-- /tables -->`.
Pages of docs/tutorial have, between `<!-- measured NAME MEASURE... -->` and `<!-- /measured -->`,
the diary's figures of an experiment and those in docs/results/lab/data.
"""

import argparse
import re
import sys
from pathlib import Path

from komadori.encoding.tables import features_markdown, labels_markdown
from komadori.lab.claims import at_size
from komadori.lab.experiment import load
from komadori.lab.pages import variants_table
from komadori.lab.results import Store
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
LAB = ROOT / "docs" / "results" / "lab" / "data"


def measured(name: str, measures: list[str]) -> str:
    """Return one row per variant: the diary's figure, the mean over the seeds and its spread."""
    experiment = load(ROOT / "experiments" / "lab" / f"{name}.toml")
    records = Store(LAB).current(experiment)
    return variants_table(experiment, at_size(records, records[-1].size), measures)


def with_measured(page: str) -> str:
    def table(match: re.Match[str]) -> str:
        head = f"<!-- measured {match[1]} {match[2]} -->"
        return f"{head}\n\n{measured(match[1], match[2].split())}\n\n<!-- /measured -->"

    return MEASURED.sub(table, page)


def with_tables(page: str, tables: str) -> str:
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
        new = with_measured(text) if tables is None else with_tables(text, tables())
        if check and new != text:
            print(f"{path.name} is outdated: run python tools/docs_tables.py", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(new, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
