"""The rules of ARCHITECTURE.md that import-linter cannot see."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "cpp" / "komadori"

#: The folders of the core, and the folders each may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "rules": {"base"},
    "encoding": {"rules", "threads"},
    "records": {"base", "rules"},
    "tree": {"base", "rules", "encoding", "mate", "alphabeta"},
    "mate": {"base", "rules"},
    "alphabeta": {"base", "rules"},
    "threads": set(),
    "linear": {"base", "rules", "alphabeta", "threads"},
    "attention": {"base", "threads"},
    "generate": {"base", "rules", "encoding", "records", "alphabeta", "threads"},
}


def test_every_core_folder_has_a_row() -> None:
    assert {path.name for path in CORE.iterdir() if path.is_dir()} <= set(MAY_INCLUDE)


@pytest.mark.parametrize("source", sorted(CORE.rglob("*.[hc]*")), ids=lambda path: path.name)
def test_core_includes_go_downward(source: Path) -> None:
    folder = source.relative_to(CORE).parts[0]
    for line_number, line in enumerate(source.read_text().splitlines(), 1):
        included = re.match(r'#include "komadori/(\w+)/', line)
        if included and included[1] != folder:
            assert included[1] in MAY_INCLUDE[folder], f"{source}:{line_number}: {line}"
        assert "nanobind" not in line, f"{source}:{line_number}: the core knows no Python"


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("komadori", {"numpy", "torch", "openvino", "onnxruntime", "rich", "click"}),
        ("komadori.cli.usi", {"numpy", "torch", "openvino", "onnxruntime", "rich", "click"}),
        ("komadori.rules", {"numpy", "torch", "openvino", "onnxruntime", "rich", "click"}),
        ("komadori.records", {"torch", "openvino", "onnxruntime"}),
        ("komadori.search", {"torch", "openvino", "onnxruntime"}),
        ("komadori.cli", {"torch", "openvino", "onnxruntime", "numpy"}),
    ],
)
def test_importing_loads_nothing_heavy(module: str, unwanted: set[str]) -> None:
    program = f"import sys, {module}; print(*[m for m in sys.modules if '.' not in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & unwanted


def test_no_file_is_large() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listing.stdout.split("\0")):
        limit = 10_000_000 if name.startswith("src/komadori/data/models/") else 1_100_000
        assert (ROOT / name).stat().st_size <= limit, name


#: Packages that `.github/workflows/tests.yml` doesn't install on macOS and Windows.
NOT_THERE = ("cshogi", "shogiarena", "safetensors", "playwright", "fastapi", "nncf", "resource")


def test_the_tests_of_other_systems_need_only_what_their_job_installs(tmp_path: Path) -> None:
    job = (ROOT / ".github" / "workflows" / "tests.yml").read_text().partition("other-systems:")[2]
    line = re.search(r"python -m pytest -q -m \"(.+)\" (.+)", job)
    assert line is not None
    (tmp_path / "without.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({NOT_THERE}, None))\n"
    )
    arguments = ["-p", "without", "-q", "--collect-only", "-m", line[1], *line[2].split()]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
