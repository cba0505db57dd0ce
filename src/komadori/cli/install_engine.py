"""`komadori install-engine`: a file that a GUI can register, with a model and options inside."""

from __future__ import annotations

import shlex
import stat
import sys
from pathlib import Path

import click

from komadori.atomic import write_text
from komadori.cli.usi import PLAYERS
from komadori.usi.models import LAUNCHER_FOLDER


@click.command()
@click.argument("model", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The launcher. [default: by the model]"
)
@click.option(
    "--player",
    default="model",
    show_default=True,
    type=click.Choice(PLAYERS),
    help="As in `komadori usi`.",
)
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="Another default; repeatable.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(
    model: str | None, out: Path | None, player: str, option: tuple[str, ...], force: bool
) -> None:
    """Write a launcher that ShogiHome, Shogidokoro and ShogiGUI can register.

    GUIs start an engine's file without arguments, in that file's folder. The launcher starts this
    installation of komadori with MODEL (the package's network where left out) and the options
    given, files by their full paths: it goes on working wherever it is moved, as long as they
    stay where they are. Models and books that a GUI names without a path are looked for beside
    the launcher first.
    """
    from komadori.usi.options import option_table

    arguments = ["--player", player]
    table = option_table(player)
    files = {line.name.lower() for line in table.declared() if line.kind == "filename"}
    for pair in option:
        name, sign, value = pair.partition("=")
        if not sign:
            raise click.ClickException(f"--option {pair}: expected NAME=VALUE")
        try:
            table.preset({name: value})
        except ValueError as error:
            raise click.ClickException(str(error)) from error
        if value and table.canonical(name).lower() in files and Path(value).exists():
            pair = f"{name}={Path(value).resolve()}"
        arguments += ["--option", pair]
    if model is not None:
        path = Path(model)
        if not path.exists():
            raise click.ClickException(f"no model {model}")
        arguments += ["--model", str(path.resolve())]
    suffix = ".bat" if sys.platform == "win32" else ".sh"
    target = out or Path(f"{_name(model, player)}{suffix}")
    if target.exists() and not force:
        raise click.ClickException(f"{target} is there already; --force replaces it")
    write_launcher(target, [sys.executable, "-m", "komadori", "usi", *arguments])
    click.echo(f"Register this file as an engine: {target.resolve()}")


def _name(model: str | None, player: str) -> str:
    """Of the launcher, without its suffix."""
    if model is not None:
        return f"komadori-{Path(model).stem}"
    return "komadori" if player == "model" else f"komadori-{player}"


def launcher_text(words: list[str], platform: str) -> str:
    """A script that runs the words, by the manner of the platform."""
    if platform == "win32":
        for word in words:
            if any(character in word for character in '"\r\n'):
                raise click.ClickException(f"{word!r} can't stand in a batch file")
        line = " ".join(f'"{word.replace("%", "%%")}"' for word in words)
        folder = f'set "{LAUNCHER_FOLDER}=%~dp0"'
        return f"@echo off\r\nchcp 65001 >nul\r\n{folder}\r\n{line}\r\n"
    folder = f'export {LAUNCHER_FOLDER}="$(cd "$(dirname "$0")" && pwd)"'
    return f"#!/bin/sh\n{folder}\nexec {shlex.join(words)}\n"


def write_launcher(target: Path, words: list[str]) -> None:
    """Write the script whole or not at all, and let it be started."""
    text = launcher_text(words, sys.platform)
    write_text(target, text)
    target.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
