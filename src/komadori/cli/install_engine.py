"""`komadori install-engine`: a launcher with a model and options that a GUI can register."""

from __future__ import annotations

import io
import os
import platform
import re
import shlex
import stat
import sys
import zipfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.atomic import atomic_writer
from komadori.cli.console import say
from komadori.cli.outputs import OutputFile, check_outputs
from komadori.cli.usi import PLAYERS, default_player
from komadori.usi.models import DEFAULT_PLAYER, LAUNCHER_FOLDER, ModelNotFoundError, find_model

if TYPE_CHECKING:
    from komadori.usi.options import OptionTable


@click.command()
@click.argument("model", required=False)
@click.option(
    "-o",
    "--out",
    type=OutputFile("launcher"),
    help="Path of the launcher. [default: by the model]",
)
@click.option(
    "--player",
    type=click.Choice(PLAYERS),
    help="As in `komadori usi`.",
)
@click.option(
    "--option", multiple=True, metavar="NAME=VALUE", help="Change an option's default; repeatable."
)
@click.option("--name", default="", help="Engine name shown in GUIs. [default: by the model]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def command(
    model: str | None,
    out: Path | None,
    player: str | None,
    option: tuple[str, ...],
    name: str,
    force: bool,
) -> None:
    """Write a launcher that ShogiHome, Shogidokoro and ShogiGUI can register.

    GUIs start an engine's file without arguments, in that file's folder. The launcher starts this
    installation of komadori with MODEL (default: the strongest player of the package) and the
    options. It contains full paths, so it can be moved, but the files it names can't. The model and
    the book are loaded once now, to detect errors. Models and books that a GUI names without a path
    are first looked up in the launcher's folder.
    """
    from komadori.players.fingerprint import model_files
    from komadori.usi.options import option_table

    presets = dict(pair.partition("=")[::2] for pair in option)
    if model is not None:
        presets["DNN_Model"] = model
    player = player or default_player(presets)
    arguments = ["--player", player]
    table = option_table(player)
    files = {line.name.lower() for line in table.declared() if line.kind == "filename"}
    read: list[Path] = []
    if model is not None:
        try:
            found = find_model(model, is_typed=True)
        except ModelNotFoundError as error:
            raise click.UsageError(str(error)) from error
        if not table.has("DNN_Model"):
            raise click.UsageError(f"--player {player} takes no network: leave out {model}")
        read += model_files(found)
        arguments += ["--model", found]
        _preset(table, "DNN_Model", found)
    for pair in option:
        option_name, sign, value = pair.partition("=")
        if not sign:
            raise click.UsageError(f"--option {pair}: expected NAME=VALUE")
        is_file = table.canonical(option_name).lower() in files
        if value and is_file and Path(value).exists():
            value = str(Path(value).resolve())
            read += model_files(value)
        _preset(table, option_name, value)
        arguments += ["--option", f"{option_name}={value}"]
    if name:
        arguments += ["--name", name]
    suffix = ".exe" if sys.platform == "win32" else ".sh"
    target = out or Path(f"{_name(name, model, player)}{suffix}")
    if target.is_dir():
        raise click.UsageError(f"{target} is a folder; name a file for the launcher")
    check_outputs({target: ("launcher", lambda _: True)}, read, force=force)
    if target.exists() and not force:
        another = "--out names another file" if out else "--name gives this one another name"
        raise click.UsageError(f"{target} exists; --force replaces it, {another}")
    _check_loads(player, table, target)
    write_launcher(target, arguments)
    say(f"Register this file as an engine: {os.path.realpath(target)}")


def _preset(table: OptionTable, name: str, value: str) -> None:
    try:
        table.preset({name: value})
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _check_loads(player: str, table: OptionTable, target: Path) -> None:
    """Load the searcher and the book as the launcher will, to detect broken files now."""
    from komadori.players.searchers import SearcherBuilder
    from komadori.usi.book import Book
    from komadori.usi.options import ServerOptions

    previous = os.environ.get(LAUNCHER_FOLDER)
    os.environ[LAUNCHER_FOLDER] = os.path.dirname(os.path.realpath(target))  # noqa: PTH120
    builder = SearcherBuilder(player)
    server = table.group(ServerOptions)
    try:
        if server.plays_from_book:
            Book.find(server.book_file)
        builder.build(table).close()
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        raise click.ClickException(f"the engine wouldn't start: {error}") from error
    finally:
        builder.close()
        if previous is None:
            del os.environ[LAUNCHER_FOLDER]
        else:
            os.environ[LAUNCHER_FOLDER] = previous


def _name(name: str, model: str | None, player: str) -> str:
    """Return the launcher's name without suffix."""
    if name:
        return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "komadori"
    words = ["komadori"]
    if model is not None:
        words.append(Path(model).stem.replace(":", "-"))
    if player != (DEFAULT_PLAYER if model is None else "model"):
        words.append(player)
    return "-".join(words)


def script(arguments: list[str]) -> str:
    """Return a POSIX shell script that starts this installation's engine."""
    # CDPATH would lead `cd` elsewhere; -P: Python files beside the launcher aren't imported.
    folder = f'export {LAUNCHER_FOLDER}="$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)"'
    words = [sys.executable, "-P", "-m", "komadori", "usi", *arguments]
    return f"#!/bin/sh\n{folder}\nexec {shlex.join(words)}\n"


def windows_program(arguments: list[str], python: str, machine: str) -> bytes:
    """Return an .exe that starts this installation's engine; ShogiHome (Electron) can't start .bat.

    It is distlib's launcher, as for pip's console scripts: the launcher's code, a line with the
    interpreter, and a zip archive with `__main__.py`.
    """
    name = "t64-arm.exe" if machine.lower() in ("arm64", "aarch64") else "t64.exe"
    launcher = resources.files("distlib").joinpath(name).read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(
            "__main__.py",
            "import os, sys\n"
            f"os.environ[{LAUNCHER_FOLDER!r}] = os.path.dirname(os.path.abspath(sys.argv[0]))\n"
            "from komadori.cli import serve_usi\n"
            f"serve_usi({arguments!r})\n",
        )
    return launcher + f'#!"{python}"\r\n'.encode() + archive.getvalue()


def write_launcher(target: Path, arguments: list[str]) -> None:
    """Write the launcher atomically and make it executable."""
    if sys.platform == "win32":
        with atomic_writer(target) as file:
            file.write(windows_program(arguments, sys.executable, platform.machine()))
        return
    with atomic_writer(target) as file:
        file.write(os.fsencode(script(arguments)))  # names of files may not be UTF-8
    target.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
