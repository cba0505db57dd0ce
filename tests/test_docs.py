"""The examples of the documentation run, its links lead somewhere, its site is complete."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "```python" in path.read_text("utf-8"))

#: Settings made smaller so that a page takes seconds.
SMALLER = {
    "loop.max_seconds=60": "loop.max_steps=2",
    "games=60": "games=2",
    "nodes=50": "nodes=2",
    "nodes=800": "nodes=40",
    "nodes=100_000": "nodes=2_000",
    "hash_mb=256": "hash_mb=16",
}


def examples(path: Path) -> list[str]:
    blocks = re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    for long, short in SMALLER.items():
        blocks = [block.replace(long, short) for block in blocks]
    return blocks


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that the pages use: games of every format, a model, the experiments."""
    from komadori import records
    from komadori.inference.synthetic import write_random_resnet

    folder = tmp_path_factory.mktemp("docs")
    games = []
    for game in records.read_games(records.sample_path()):
        games.append(game)
        if len(games) == 8:
            break
    for name in ("games.hcpe3", "games.hcpe3.xz", "games.csa"):
        records.write_games(folder / name, games)
    short = records.Game.from_usi(games[0].usi_moves()[:12])
    records.write_games(folder / "game.kif", [short])
    write_random_resnet(folder / "model.onnx", 1, 8)
    shutil.copytree(ROOT / "experiments", folder / "experiments")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_examples_run(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(
        word in page.read_text("utf-8") for word in ("import torch", "komadori.nets", "training")
    ):
        pytest.importorskip("torch")
    monkeypatch.chdir(workplace)
    for block in examples(page):  # each can be pasted by itself
        exec(compile(block, str(page), "exec"), {})


def links(path: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads]
    return {re.sub(r"[\s]+", "-", head) for head in plain}


def test_links_lead_somewhere() -> None:
    broken = []
    for page in [*DOCS.rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]:
        for link in links(page):
            if link.startswith(("http:", "https:", "mailto:")):
                continue
            target, _, anchor = link.partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.exists() or (
                anchor and path.suffix == ".md" and anchor not in anchors(path)
            ):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def resolved(name: str) -> Any:
    """The module or object of a dotted name; None if there is none."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        try:
            found = importlib.import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:]:
            found = getattr(found, word, None)
        return found
    return None


def documented(page: Path) -> list[Any]:
    """What a page of the API shows: objects, and the public names of modules."""
    found = []
    for name in re.findall(r"^::: (\S+)", page.read_text("utf-8"), re.MULTILINE):
        shown = resolved(name)
        assert shown is not None, f"{page.name}: {name}"
        names = getattr(shown, "__all__", None) if inspect.ismodule(shown) else None
        if names is not None:
            found += [getattr(shown, one) for one in names]
        elif inspect.ismodule(shown):
            own = [value for key, value in vars(shown).items() if not key.startswith("_")]
            found += [v for v in own if getattr(v, "__module__", None) == shown.__name__]
        else:
            found.append(shown)
    return found


def names_used(page: Path) -> set[str]:
    """The names of komadori that a page's examples use and its text names."""
    text = page.read_text("utf-8")
    found = set(re.findall(r"`(komadori(?:\.\w+)+)`", text))
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        known = {}
        nodes = list(ast.walk(ast.parse(block)))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("komadori"):
                known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        attributes = (ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute))
        for name in attributes:
            first, _, rest = name.partition(".")
            if first in known and re.fullmatch(r"[\w.]+", rest):
                found.add(f"{known[first]}.{rest}")
        found |= set(known.values())
    return found


def test_the_api_shows_what_the_pages_use() -> None:
    pytest.importorskip("torch")
    pages = {page.stem: documented(page) for page in (DOCS / "api").glob("*.md")}
    # The index is a table; the server of the browser interface has no Python API.
    assert {name for name, shown in pages.items() if not shown} == {"index", "web"}
    shown = {id(one) for page in pages.values() for one in page}
    used = {name for page in [*DOCS.rglob("*.md"), ROOT / "README.md"] for name in names_used(page)}
    assert len(used) > 50
    for name in sorted(used):
        found = resolved(name)
        assert found is not None, name
        if inspect.isclass(found) or inspect.isfunction(found):
            owner = resolved(name.rpartition(".")[0])
            assert id(found) in shown or id(owner) in shown, name


@pytest.mark.slow
def test_the_site_is_complete(tmp_path: Path) -> None:
    """Every page in the navigation, every public name with its members, nothing from elsewhere."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site/index.html").read_text("utf-8")
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix("")
        folder = name.parent if name.name == "index" else name
        assert f'href="{folder}/"' in index or str(folder) == ".", page
    missing = []
    packages = {path.parent.name for path in (ROOT / "src/komadori").glob("*/__init__.py")}
    for package in sorted(packages - {"_core", "cli", "data"}):
        html = (tmp_path / "site/api" / package / "index.html").read_text("utf-8")
        module = importlib.import_module(f"komadori.{package}")
        for name in getattr(module, "__all__", ()):
            # A function of its module's name stands under both: training.export.export.
            ids = (f'id="komadori.{package}.{name}"', f'id="komadori.{package}.{name}.{name}"')
            if not any(one in html for one in ids):
                missing.append(f"{package}.{name}")
    assert missing == []
    rules = (tmp_path / "site/api/rules/index.html").read_text("utf-8")
    for name in ("Board.push", "Board.legal_moves", "Board.kif", "Move.usi"):
        assert f'id="komadori.rules.{name}"' in rules
    loaded = re.compile(r'<(?:script|link rel="stylesheet"|img)[^>]*(?:src|href)="https?://')
    for html_page in (tmp_path / "site").rglob("*.html"):
        assert not loaded.search(html_page.read_text("utf-8")), html_page


def test_tables_of_messages_name_the_bounds_that_there_are() -> None:
    pytest.importorskip("fastapi")
    from komadori.web.reference import messages_markdown

    types = re.findall(r"^\| `\w+` \| ([^|]*) \|", messages_markdown(), re.MULTILINE)
    assert "integer from 0" in types
    assert "integer 1 to 32" in types
    assert not any("None" in name for name in types)


def test_functions_of_the_example_of_a_table_exist() -> None:
    """The C++ of `extending.md` isn't compiled here; a name that doesn't exist is found."""
    page = (DOCS / "concepts/extending.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```cpp\n(FeatureTable .*?)```", page, re.DOTALL)
    code = (DOCS.parent / "cpp/komadori/encoding/features.cpp").read_text(encoding="utf-8")
    own, *called = re.findall(r"(?<![.\w])(\w+)\(", example)
    assert own == "pydlshogi_check"
    assert called == ["pydlshogi", "flag"]
    for name in called:
        assert re.search(rf"^\w+ {name}\(", code, re.MULTILINE), name
