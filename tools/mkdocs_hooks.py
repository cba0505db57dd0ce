"""Hooks of the documentation site: every page of docs/ is in the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def _listed(nav: list[Any]) -> set[str]:
    found: set[str] = set()
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found |= _listed(value) if isinstance(value, list) else {value}
    return found


def _title(path: Path) -> str:
    head = next((line for line in path.read_text("utf-8").splitlines() if line[:2] == "# "), "")
    return head[2:].strip() or path.stem


def on_config(config: Any) -> Any:
    """Fill in `Results` with its pages, the laboratory's below it; append concepts not listed."""
    docs = Path(config.docs_dir)

    def pages(folder: str, first: tuple[str, ...] = ("index.md",)) -> list[str]:
        names = sorted(path.name for path in (docs / folder).glob("*.md"))
        names = [*(n for n in first if n in names), *(n for n in names if n not in first)]
        return [f"{folder}/{name}" for name in names]

    nav = []
    listed = _listed(config.nav)
    for entry in config.nav:
        if entry == {"Results": "results/"}:
            entry = {"Results": [*pages("results"), {"Laboratory": pages("results/lab")}]}
        elif isinstance(entry, dict) and "Concepts" in entry:
            more = [page for page in pages("concepts") if page not in listed]
            entry = {"Concepts": [*entry["Concepts"], *more]}
        nav.append(entry)
    config.nav = nav
    return config
