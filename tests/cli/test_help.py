"""Help texts: every option is described, and defaults are shown in one form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from komadori.cli import usi
from komadori.cli._group import group


def _commands(command: click.Command, words: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, f"{words} {name}".strip())
    else:
        yield words, command


COMMANDS = dict(_commands(group))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_is_described(words: str) -> None:
    unclear = [
        option.opts[-1]
        for option in COMMANDS[words].params
        if isinstance(option, click.Option)
        and not option.hidden
        and not re.search(r"\w", re.sub(r"\[.*?\]", "", option.help or ""))
    ]
    assert unclear == [], words


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_help_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    pages = {"usi": usi._parser().format_help()}
    for words, command in COMMANDS.items():
        if words not in pages:
            context = click.Context(
                command, info_name=f"komadori {words}", max_content_width=columns
            )
            context.terminal_width = columns
            pages[words] = command.get_help(context)
    wide = [
        f"{words}: {line}"
        for words, page in pages.items()
        for line in page.splitlines()
        if len(line) > columns
    ]
    assert wide == []


@pytest.mark.parametrize("columns", [60, 200])
def test_help_takes_the_terminals_width(columns: int) -> None:
    for words in (["match"], ["usi"]):
        command = [sys.executable, "-m", "komadori", *words, "--help"]
        environment = {**os.environ, "COLUMNS": str(columns)}
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        widest = max(map(len, shown.stdout.splitlines()))
        assert 0.75 * columns < widest <= columns, words


@pytest.mark.parametrize("words", COMMANDS)
def test_defaults_are_shown_once_and_plainly(words: str) -> None:
    """Click puts texts as defaults into parentheses; objects would show their repr."""
    for option in COMMANDS[words].params:
        if not isinstance(option, click.Option):
            continue
        context = click.Context(COMMANDS[words], info_name=words)
        record = option.get_help_record(context)
        shown = re.findall(r"\[[^\[]*\bdefault\b[^\]]*\]+", record[1] if record else "")
        assert len(shown) <= 1, (words, option.opts)
        for text in shown:
            assert not re.search(r"\[default: \(|\]\]|Sentinel|Path\(|  ", text), (words, text)
            assert text.endswith("]"), text


def test_a_folder_is_not_named_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--out game.html` is a mistake where a folder is written, in every command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    folders = 0
    for words, command in COMMANDS.items():
        for option in command.params:
            if not isinstance(option, click.Option) or "--out" not in option.opts:
                continue
            if "folder" not in (option.help or "").lower():
                continue
            folders += 1
            context = click.Context(command, info_name=words)
            for name in ("game.html", "x/NET.ONNX", "games.hcpe3"):
                with pytest.raises(click.BadParameter, match="would be a folder"):
                    option.type.convert(name, option, context)
            for name in ("folder.html", "runs/v1.2", "x.y"):
                assert option.type.convert(name, option, context) == Path(name), words
    assert folders >= 15


@pytest.mark.parametrize(
    ("words", "settings", "others"),
    [
        ("generate teacher", "komadori.generate.settings:TeacherSettings", {"searches": "1500"}),
        ("generate selfplay", "komadori.generate.selfplay_settings:SelfPlaySettings", {}),
        ("linear train two-piece", "komadori.linear.two_piece:Settings", {}),
        ("linear train kpp", "komadori.linear.kpp:Settings", {"batch": "a million, or"}),
        ("linear train nnue", "komadori.linear.nnue:Settings", {}),
    ],
)
def test_the_help_names_the_defaults_of_settings(words: str, settings: str, others: dict) -> None:
    from dataclasses import fields
    from importlib import import_module

    context = click.Context(group)
    command = group
    for word in words.split():
        command = command.get_command(context, word)
    output = CliRunner().invoke(group, [*words.split(), "--help"], terminal_width=200).output
    rows = [" ".join(row.split()).replace("- ", "-") for row in output.split("\n  -")]
    module, _, name = settings.partition(":")
    defaults = {field.name: field.default for field in fields(getattr(import_module(module), name))}
    defaults |= others
    defaults["nodes"] = defaults.pop("searches", defaults.get("nodes"))
    tested = 0
    for option in command.params:
        value = defaults.get(option.name)
        if value is None or value == () or option.name in ("threads", "leaf_file"):
            continue
        text = ":".join(map(str, value)) if isinstance(value, tuple) else value
        text = "prune-targets" if value is True else text
        text = f"{text:g}" if isinstance(text, float) else text
        shown = next(row for row in rows if f"-{row.split()[0]}" == option.opts[0])
        assert f"[default: {text}" in shown, option.name
        tested += 1
    assert tested >= 2
