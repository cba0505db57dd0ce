"""The README's commands run, and both READMEs name the same ones."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: What is added to a README command so that the test takes seconds; later options win.
SHORTENED = {
    "perft": [],
    "train": [
        "--set=loop.max_steps=2",
        "--set=loop.batch_size=16",
        "--set=data.test_limit=64",
    ],
    "match": ["--games", "2", "--nodes", "2", "--max-plies", "20"],
    "quickstart": ["--help"],
}
#: The USI engine waits for a GUI: this is one that leaves at once.
STANDARD_INPUT = {"usi": "usi\nquit\n"}


def commands(readme: str) -> list[str]:
    """The lines after `$ ` in the console blocks, comments removed."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line[2:]) for line in lines if line.startswith("$ ")]


def test_the_japanese_readme_names_the_same_commands() -> None:
    assert commands("README.ja.md") == commands("README.md")


def test_make_targets_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [line.split()[1] for line in commands("README.md") if line.startswith("make ")]
    assert named
    assert set(named) <= set(targets)


def test_links_lead_somewhere() -> None:
    for readme in ("README.md", "README.ja.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / readme).read_text()):
            assert (ROOT / target).exists(), f"{readme}: {target}"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the README supposes: game files, and the repository's experiments."""
    from komadori import records

    folder = tmp_path_factory.mktemp("readme")
    games = []
    for game in records.read_games(records.sample_path()):
        games.append(game)
        if len(games) == 12:
            break
    records.write_games(folder / "games.hcpe3", games)
    records.write_games(folder / "games.csa", games[:3])
    shutil.copytree(ROOT / "experiments", folder / "experiments")
    return folder


def test_console_commands_run(workplace: Path) -> None:
    pytest.importorskip("torch")
    program = Path(sys.executable).with_name("komadori")
    lines = [shlex.split(line) for line in commands("README.md") if line.startswith("komadori ")]
    assert len(lines) >= 8
    for words in lines:
        name = words[1]
        done = subprocess.run(
            [str(program), *words[1:], *SHORTENED.get(name, [])],
            cwd=workplace,
            input=STANDARD_INPUT.get(name, ""),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        if name == "usi":
            assert "usiok" in done.stdout


def test_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for text in example:
        exec(compile(text, "README.md", "exec"), {})
    assert "30" in capsys.readouterr().out
