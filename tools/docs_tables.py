"""Write the tables of docs/concepts from the core, or with --check tell whether they are current.

A page holds its generated part between `<!-- tables -->` and `<!-- /tables -->`.
"""

import argparse
import sys
from pathlib import Path

from komadori.encoding.tables import features_markdown, labels_markdown
from komadori.usi.option_tables import markdown as options_markdown
from komadori.web.reference import messages_markdown

CONCEPTS = Path(__file__).resolve().parent.parent / "docs" / "concepts"
PAGES = {
    "encoding.md": features_markdown,
    "labels.md": labels_markdown,
    "usi.md": options_markdown,
    "web.md": messages_markdown,
}
BEGIN, END = "<!-- tables -->", "<!-- /tables -->"


def renewed(page: str, tables: str) -> str:
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = False
    for name, tables in PAGES.items():
        path = CONCEPTS / name
        text = path.read_text(encoding="utf-8")
        new = renewed(text, tables())
        if check and new != text:
            print(f"{name} is not current: run python tools/docs_tables.py", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(new, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
