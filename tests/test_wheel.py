"""The wheel of `make wheel` where there is nothing else: it plays, analyses, trains."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
WHEELS = [*ROOT.glob(f"dist/komadori-*-{TAG}-*.whl"), *ROOT.glob("dist/komadori-*-abi3-*.whl")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WHEELS, reason="no wheel of this Python: make wheel"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """An environment with the wheel and its training extra, and nothing else on the path."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE",
                                                "SYSTEMROOT") if name in os.environ}  # fmt: skip
    environment = {**kept, "PATH": str(binaries), "CC": "/nowhere/cc", "CXX": "/nowhere/c++"}
    wheel = max(WHEELS, key=lambda path: path.stat().st_mtime)
    install = [str(binaries / "python"), "-m", "pip", "install", "-q", "--only-binary=:all:"]
    subprocess.run(
        [*install, "-c", str(ROOT / "constraints.txt"), "torch==2.13.0", f"{wheel}[train]"],
        check=True,
        env=environment,
        cwd=folder,
    )
    return folder, environment


def run(environment: tuple[Path, dict[str, str]], *words: str, stdin: str = "") -> str:
    folder, variables = environment
    program = shutil.which(words[0], path=variables["PATH"])
    assert program, words[0]
    done = subprocess.run(
        [program, *words[1:]],
        cwd=folder,
        env=variables,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_it_plays(environment: tuple[Path, dict[str, str]]) -> None:
    assert "719,731" in run(environment, "komadori", "perft", "4")
    go = "usi\nisready\nposition startpos\ngo nodes 50\n"
    engine = subprocess.Popen(
        [shutil.which("komadori-usi", path=environment[1]["PATH"]) or ""],
        cwd=environment[0], env=environment[1], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert engine.stdin
    assert engine.stdout
    engine.stdin.write(go)
    engine.stdin.flush()
    answer = next(line for line in engine.stdout if line.startswith("bestmove"))
    engine.communicate("quit\n", timeout=60)
    assert len(answer.split()[1]) in (4, 5)
    run(environment, "komadori", "match", "material", "random", "--games", "2", "--max-plies", "20")


def test_it_analyses(environment: tuple[Path, dict[str, str]]) -> None:
    run(environment, "komadori", "records", "sample", "game.kif", "--games", "1")
    run(environment, "komadori", "analyse", "game.kif", "--nodes", "2")
    page = (environment[0] / "game.html").read_text("utf-8")
    assert "font/woff2" in page
    assert "kmd-kanji-P" in page


def test_it_trains(environment: tuple[Path, dict[str, str]]) -> None:
    run(environment, "komadori", "records", "sample", "games.hcpe3", "--games", "30")
    tiny = ("--set=loop.max_steps=2", "--set=loop.batch_size=16", "--set=data.test_limit=64")
    run(environment, "komadori", "train", "resnet5x64", "--data", "games.hcpe3", *tiny)
    run(environment, "komadori", "export", "runs/resnet5x64", "-o", "model.onnx")
    run(environment, "komadori", "usi", "--model", "model.onnx", stdin="usi\nisready\nquit\n")
    assert "hand-input" in run(environment, "komadori", "lab", "list")
    run(environment, "komadori", "report", "runs/resnet5x64", "--data", "games.hcpe3")
