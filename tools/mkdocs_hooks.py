"""MkDocs hooks: add every page to the navigation and generate missing API pages."""

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


def _packages(docs: Path) -> list[str]:
    """Return the packages without an API page."""
    source = docs.parent / "src" / "komadori"
    names = [path.parent.name for path in source.glob("*/__init__.py")]
    public = sorted(name for name in names if not name.startswith("_") and name != "cli")
    return [name for name in public if not (docs / "api" / f"{name}.md").exists()]


def on_files(files: Any, config: Any) -> Any:
    """Generate missing API pages."""
    from mkdocs.structure.files import File

    for name in _packages(Path(config.docs_dir)):
        text = f"# komadori.{name}\n\n::: komadori.{name}\n"
        files.append(File.generated(config, f"api/{name}.md", content=text))
    return files


def on_config(config: Any) -> Any:
    """Add the result pages, the laboratory's pages and unlisted concept pages to the navigation."""
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
        elif isinstance(entry, dict) and "API" in entry:
            entry = {"API": [*entry["API"], *(f"api/{name}.md" for name in _packages(docs))]}
        nav.append(entry)
    config.nav = nav
    return config
