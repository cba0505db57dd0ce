"""Every command of the READMEs and the documentation runs as written, in order."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

_TINY = ("--set=loop.max_steps=2", "--set=loop.batch_size=16", "--set=data.test_limit=64",
         "--set=data.train_limit=2000")  # fmt: skip
#: Options appended to a command so that the test takes seconds; later options win.
SHORTENED: dict[str, tuple[str, ...]] = {
    "train": _TINY,
    "match": ("--games", "2", "--nodes", "2", "--max-plies", "20"),
    "analyse": ("--nodes", "2"),
    "bench alphabeta": ("--nodes", "2000"),
    "lab run": ("--positions", "600", "--width", "8", "--test-positions", "200", "--seeds", "1"),
    "linear train two-piece": ("--iterations", "1", "--positions", "20", "--set=updates=1"),
    "linear train kpp": ("--epochs", "1"),
    "linear train nnue": ("--epochs", "1"),
    "linear distill": ("--set=chunks=1", "--set=draws=20", "--set=test_positions=20"),
    "linear loop": (
        "--rounds",
        "1",
        "--games",
        "4",
        "--nodes",
        "20",
        "--set=iterations=1",
        "--set=positions=20",
        "--set=updates=1",
    ),
}
#: Slow parts of a command, and their replacements.
REPLACED = {
    "--time 2": "--time 0.05",
    "--playouts 200": "--playouts 2",
    "--nodes 5000": "--nodes 3",
    "--nodes 20000": "--nodes 20",
    "movetime=50": "movetime=5",
    "--device cuda": "--device cpu",
    "--all": "hand-input/1x1",
    "sample games.hcpe3": "sample games.hcpe3 --games 30",
}
#: Commands that the test can't run, and why.
LEFT_OUT = {
    "make ": "the build itself",
    "git clone": "needs the repository's address",
    "cd ": "follows git clone",
    "pip install": "test_wheel.py installs",
    "komadori csa": "plays on a public server",
    "komadori import": "needs weights of dlshogi",
    "komadori export model ": "follows import",
    "gnushogi": "an external engine",
    "komadori ladder": "tests/arena has its own",
    "komadori tune": "tests/arena has its own",
    "torchrun": "tests/training has its own",
    "data.window": "takes no train_limit; tests/training/test_streamed.py has its own",
    "python bench/": "measures for minutes",
    "usi:/opt/engine": "an external engine",
    "python:my_module": "the reader's own function",
    "python -m komadori.training": "tests/training has its own",
}
#: Input of the USI engine: a GUI that quits at once.
STANDARD_INPUT = {"usi": "usi\nquit\n"}
TUTORIAL = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/tutorial").glob("*.md"))
#: Pages whose commands run; the workplace has the reader's files that they name.
DOCS = (
    "docs/start.md",
    "docs/concepts/analysis.md",
    "docs/concepts/records.md",
    "docs/concepts/training.md",
    "docs/concepts/laboratory.md",
    "docs/concepts/matches.md",
    "docs/concepts/alphabeta.md",
    "docs/concepts/linear.md",
    "docs/concepts/nnue.md",
    *TUTORIAL,
)


def commands(page: str | Path) -> list[str]:
    """The lines after `$ ` in the console blocks, broken lines joined."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line[2:] for line in lines if line.startswith("$ ")]


def test_the_japanese_readme_names_the_same_commands() -> None:
    assert commands("README.ja.md") == commands("README.md")
    english, japanese = (
        re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
        for name in ("README.md", "README.ja.md")
    )
    assert english == japanese


def test_the_japanese_readme_states_the_same_strength() -> None:
    english, japanese = (
        set(
            re.findall(
                r"\d+(?:[.,]\d+)*",
                (ROOT / name).read_text("utf-8").split(begin)[1].split("\n\n")[0],
            )
        )
        for name, begin in (("README.md", "How strong is it?"), ("README.ja.md", "棋力の目安"))
    )
    assert len(english) >= 8
    assert english <= japanese


def test_the_japanese_readme_reads_as_one() -> None:
    """Full-width punctuation between Japanese characters, polite sentences, the agreed words."""
    text = (ROOT / "README.ja.md").read_text("utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    for line in prose.splitlines():
        for left, mark, right in zip(line, line[1:], line[2:], strict=False):
            if mark in ",.():;!?" and all(
                unicodedata.east_asian_width(c) == "W" for c in left + right
            ):
                pytest.fail(f"half-width {mark!r}: {line}")
    sentences = re.findall(r"[^。\n]+。", prose)
    assert len(sentences) >= 8
    for sentence in sentences:
        assert re.search(
            r"(です|ます|ました|ません|ください|付き|学習)(（[^）]*）)?。$", sentence
        ), sentence
    for words in ("ネットワークを学習させ", "棋力を測定できます", "エンジン同士の対局棋譜",
                  "駒得だけを見る1手読みのプレイヤー"):  # fmt: skip
        assert words in text.replace("\n", ""), words


def test_every_exception_is_needed() -> None:
    """Commands change; an exception that no page needs any more would hide the next one."""
    lines = [line for page in ("README.md", *DOCS) for line in commands(page)]
    for words in SHORTENED:
        assert any(line.startswith(f"komadori {words} ") for line in lines), words
    for part in (*REPLACED, *LEFT_OUT):
        assert any(part in line for line in lines), part


def test_make_targets_exist() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([\w-]+):", text, re.MULTILINE)
    pages = ["README.md", "docs/start.md"]
    named = [line.split()[1] for page in pages for line in commands(page) if line[:5] == "make "]
    named += re.findall(r"`make ([\w-]+)`", (ROOT / "README.md").read_text("utf-8"))
    assert {"quickstart", "test", "docs", "wheel"} <= set(named)
    assert set(named) <= set(targets)


def test_links_lead_somewhere() -> None:
    for readme in ("README.md", "README.ja.md"):
        targets = re.findall(r"\]\(([^)#:]+)\)", (ROOT / readme).read_text("utf-8"))
        assert len(targets) >= 10
        for target in targets:
            assert (ROOT / target).exists(), f"{readme}: {target}"


def test_configurations_named_on_the_pages_are_bundled() -> None:
    bundled = {path.stem for path in (ROOT / "experiments").glob("*.toml")}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"komadori train ([a-z][\w-]*) ", page.read_text("utf-8"))
    }
    assert named
    assert named <= bundled


def test_every_block_of_commands_is_a_console() -> None:
    """Blocks of other kinds would not be run by these tests."""
    for page in (ROOT / "docs").rglob("*.md"):
        assert "```sh\n" not in page.read_text("utf-8"), page


def test_commands_are_quoted_for_zsh() -> None:
    """zsh refuses a word with brackets, ? or * that matches no file, and takes a comment behind a
    command for its arguments."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    for page in (ROOT / "README.md", ROOT / "README.ja.md", ROOT / "CONTRIBUTING.md", *pages):
        for line in commands(page):
            assert " #" not in line, f"{page}: {line}"
            bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
            assert not re.search(r"[\[\]?]", bare), f"{page}: {line}"
            if "komadori.training" not in line:  # whose options take several words
                assert not re.search(r"--?[\w-]+[ =]\S*\*", bare), f"{page}: {line}"


def after_quickstart(folder: Path) -> Path:
    """A checkout's folder after `make quickstart`, without the sources."""
    from komadori.inference.synthetic import write_random_resnet

    shutil.copytree(ROOT / "experiments", folder / "experiments")
    (folder / "runs/quickstart").mkdir(parents=True)
    write_random_resnet(folder / "runs/quickstart/model.onnx", 1, 8)
    return folder


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's workplace: it asks for nothing but the quickstart."""
    return after_quickstart(tmp_path_factory.mktemp("student"))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after `make quickstart`, with a reader's own games for the pages on those."""
    from komadori import records
    from komadori.inference.synthetic import write_random_resnet

    folder = after_quickstart(tmp_path_factory.mktemp("readme"))
    for name in ("my.onnx", "large.onnx"):
        write_random_resnet(folder / name, 1, 8)
    bundled = resources.files("komadori") / "data" / "nnue-k-p.bin"
    (folder / "stronger.bin").write_bytes(bundled.read_bytes())
    games = []
    for game in records.read_games(records.sample_path()):
        games.append(game)
        if len(games) == 24:
            break
    for name in ("games", "floodgate"):
        (folder / name).mkdir()
    records.write_games(folder / "games/own.hcpe3.xz", games)
    records.write_games(folder / "floodgate/own.csa", games)
    for name in ("games.csa", "new.hcpe3", "other.hcpe3"):
        records.write_games(folder / name, games)
    with records.SampleWriter(folder / "games.hcpe") as writer:
        writer.write(records.samples_of(games[:1]))
    for game in games:
        game.end = records.End.RESIGN
    records.write_games(folder / "games/own.csa", games)
    page = (ROOT / "docs/concepts/laboratory.md").read_text("utf-8")
    (example,) = re.findall(r"For example, `(.*)`:\n\n```toml\n(.*?)```", page, re.DOTALL)
    (folder / example[0]).parent.mkdir()
    (folder / example[0]).write_text(example[1])
    rated = games[0]
    rated.headers = {"black_rating": "3100", "white_rating": "3200"}
    records.write_games(folder / "floodgate/rated.csa", [rated])
    return folder


def run(line: str, workplace: Path) -> None:
    for long, short in REPLACED.items():
        line = line.replace(long, short)
    words = []
    for word in shlex.split(line):
        found = (
            sorted(str(p.relative_to(workplace)) for p in workplace.glob(word))
            if "*" in word
            else []
        )
        words += [word] if f"'{word}'" in line or not found else found
    program, *rest = words
    assert program == "komadori", line
    for length in (3, 2, 1):
        name = " ".join(rest[:length])
        if name == "analyse" and ("--time" in rest or "--from-comments" in rest):
            break
        if name in SHORTENED:
            rest += SHORTENED[name]
            break
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    process = subprocess.Popen(
        [str(BIN / program), *rest],
        cwd=workplace,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(STANDARD_INPUT.get(rest[0], ""), timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, f"{line}\n{output[-3000:]}"
    assert "Traceback" not in output, output
    if rest[0] == "usi":
        assert "usiok" in output


def test_readme_commands_run(workplace: Path) -> None:
    pytest.importorskip("torch")
    lines = [line for line in commands("README.md") if line.startswith("komadori ")]
    assert len(lines) >= 10
    for line in lines:
        run(line, workplace)
    assert (workplace / "game.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", DOCS)
def test_documented_commands_run(page: str, student: Path, workplace: Path) -> None:
    pytest.importorskip("torch")
    if page in TUTORIAL:
        workplace = student
    elif not (workplace / "model.onnx").exists():  # the README comes first
        for line in commands("README.md"):
            if line.startswith("komadori "):
                run(line, workplace)
    for line in commands(page):
        if not any(part in line for part in LEFT_OUT):
            run(line, workplace)


def test_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert examples
    for text in examples:
        exec(compile(text, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].endswith(" 30")
    assert re.fullmatch(r"[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i]", printed[-1])
