"""The torture tool covers every command, with valid command lines."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import click
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

pytest.importorskip("resource")

from tools.torture import attacks
from tools.torture.__main__ import HEAD, classes_table
from tools.torture.attacks import CLASSES, command_named
from tools.torture.commands import COMMANDS, LOOP_TOML, arguments, registered

ROOT = Path(__file__).resolve().parent.parent


def test_every_command_is_attacked() -> None:
    assert set(registered()) == set(COMMANDS)
    assert {target for attack in CLASSES.values() for target in attack.targets} == set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "usi"])
def test_its_arguments_are_valid(name: str, tmp_path: Path) -> None:
    command = command_named(name)
    given = arguments(name, tmp_path)[len(name.split()) :]
    command.make_parser(click.Context(command)).parse_args(list(given))  # raises NoSuchOption
    outputs = " ".join(given)
    assert all(
        part.partition("/")[0] in outputs or part == "runs" for part in COMMANDS[name].writes
    )


def test_the_page_uses_the_tools_words() -> None:
    """The classes are those of `--list`; the counts have one row per class."""
    page = (ROOT / "docs" / "results" / "torture.md").read_text(encoding="utf-8")
    assert classes_table() in page
    counts = page.split(HEAD)[1].split("\n\n")[0]
    assert [line.split("|")[1].strip() for line in counts.strip().splitlines()] == list(CLASSES)


def test_damaged_settings_may_be_those_of_longer_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emptied file is a loop of the default size; that it ends when interrupted is enough."""
    monkeypatch.setattr(attacks, "TIMEOUT_S", 6.0)
    monkeypatch.setattr(attacks, "mutated", lambda *_: b"")
    monkeypatch.setattr(attacks, "HOSTILE_NAMES", [b"a"])
    inputs, folder = tmp_path / "inputs", tmp_path / "own"
    inputs.mkdir()
    folder.mkdir()
    (inputs / "loop.toml").write_text(LOOP_TOML)
    attacks.junk(inputs, folder, random.Random(1), "loop run")
    assert (folder / "loop" / "loop.json").exists()
