"""The wheels of `make wheel` in a bare environment: they play, analyse, train.

Each wheel is tried with a Python that it is for: this one, a `python3.N` of the path, or one that
KOMADORI_PYTHONS names (paths, separated as in PATH).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WHEELS = sorted(ROOT.glob("dist/komadori-*.whl"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WHEELS, reason="no wheel: make wheel"),
]


@cache
def pythons() -> dict[str, int]:
    """Interpreters that run, and the N of their 3.N."""
    named = [path for path in os.environ.get("KOMADORI_PYTHONS", "").split(os.pathsep) if path]
    found = {}
    for name in (sys.executable, *named, *(f"python3.{minor}" for minor in range(11, 20))):
        path = shutil.which(name)
        if path:
            asked = [path, "-c", "import sys; print(sys.version_info[1])"]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                found[path] = int(done.stdout)
    return found


def python_for(wheel: Path) -> str | None:
    tag = re.search(r"-cp3(\d+)-(abi3|cp3\d+)-", wheel.name)
    assert tag is not None, wheel.name
    least, is_stable = int(tag[1]), tag[2] == "abi3"
    fits = (path for path, minor in pythons().items() if minor == least or
            (is_stable and minor > least))  # fmt: skip
    return next(fits, None)


@pytest.fixture(scope="module", params=WHEELS, ids=lambda path: path.name.split("-", 2)[2])
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """An environment with the wheel as it is, and nothing else on the path."""
    wheel = request.param
    python = python_for(wheel)
    if python is None:
        pytest.skip(f"no Python for {wheel.name}; KOMADORI_PYTHONS may name one")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE",
                                                "SYSTEMROOT") if name in os.environ}  # fmt: skip
    environment = {**kept, "PATH": str(binaries), "CC": "/nowhere/cc", "CXX": "/nowhere/c++"}
    install(folder, environment, str(wheel))
    return folder, {**environment, "WHEEL": str(wheel)}


def install(folder: Path, environment: dict[str, str], *what: str) -> None:
    python = shutil.which("python", path=environment["PATH"])
    words = [python or "", "-m", "pip", "install", "-q", "--only-binary=:all:"]
    subprocess.run(
        [*words, "-c", str(ROOT / "constraints.txt"), *what],
        check=True,
        env=environment,
        cwd=folder,
    )


@pytest.fixture(scope="module")
def with_web(environment: tuple[Path, dict[str, str]]) -> tuple[Path, dict[str, str]]:
    folder, variables = environment
    install(folder, variables, f"{variables['WHEEL']}[web]")
    return environment


@pytest.fixture(scope="module")
def with_train(environment: tuple[Path, dict[str, str]]) -> tuple[Path, dict[str, str]]:
    folder, variables = environment
    install(folder, variables, "torch==2.13.0", f"{variables['WHEEL']}[train]")
    return environment


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
    run(environment, "komadori", "analyse", "game.kif", "--nodes", "200")
    page = (environment[0] / "game.html").read_text("utf-8")
    assert "font/woff2" in page
    assert "kmd-kanji-P" in page


def test_missing_packages_are_named(environment: tuple[Path, dict[str, str]]) -> None:
    """Before the extras are there: the line that installs them."""
    folder, variables = environment
    for words, package in (
        (("web", "--no-browser", "--port", "0"), "fastapi"),
        (("train", "resnet5x64"), "torch"),
        (("export", ".", "-o", "x.onnx"), "torch"),
    ):
        program = shutil.which("komadori", path=variables["PATH"])
        done = subprocess.run(
            [program or "", *words],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert re.search(rf"pip install .*{package}", done.stderr), done.stderr


def test_it_serves(with_web: tuple[Path, dict[str, str]]) -> None:
    folder, variables = with_web
    server = subprocess.Popen(
        [shutil.which("komadori", path=variables["PATH"]) or "",
         "web", "--no-browser", "--port", "0", "--library", "library"],
        cwd=folder, env={**variables, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert server.stdout
        output = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+\S*", output)):
            line = server.stdout.readline()
            assert line, output
            output += line
        with urllib.request.urlopen(found[0], timeout=60) as answer:
            assert b"<script" in answer.read()
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_it_trains(with_train: tuple[Path, dict[str, str]]) -> None:
    run(with_train, "komadori", "records", "sample", "games.hcpe3", "--games", "30")
    tiny = ("--set=loop.max_steps=2", "--set=loop.batch_size=16", "--set=data.test_limit=64")
    run(with_train, "komadori", "train", "resnet5x64", "--data", "games.hcpe3", *tiny)
    run(with_train, "komadori", "export", "runs/resnet5x64", "-o", "model.onnx")
    run(with_train, "komadori", "usi", "--model", "model.onnx", stdin="usi\nisready\nquit\n")
    assert "hand-input" in run(with_train, "komadori", "lab", "list")
    run(with_train, "komadori", "report", "runs/resnet5x64", "--data", "games.hcpe3")
