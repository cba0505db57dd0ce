"""`komadori web`: serve the browser interface."""

from __future__ import annotations

import os
from pathlib import Path

import click

from komadori.cli.console import say
from komadori.cli.numbers import THREADS_OR_AUTO
from komadori.extras import missing, need


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--model", default="", help="Default network. [default: the engine's]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on. [default: the first free port from 8624]",
)
@click.option("--lan", is_flag=True, help="Allow other devices on the network, with a token.")
@click.option("--no-browser", is_flag=True, help="Don't open the browser.")
@click.option("--player", multiple=True, metavar="SPEC", help="Additional opponent; repeatable.")
@click.option(
    "--library",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the game library. [default: the user's]",
)
@click.option("--threads", default=0, type=THREADS_OR_AUTO, help="Threads of the network.")
def command(
    folders: tuple[Path, ...],
    model: str,
    port: int | None,
    lan: bool,
    no_browser: bool,
    player: tuple[str, ...],
    library: Path | None,
    threads: int,
) -> None:
    """Serve the pages at 127.0.0.1 and open the browser.

    FOLDERS are searched for networks, training runs, loops, matches and ladders. [default: the
    working directory]
    """
    try:
        need("fastapi", "uvicorn", "websockets", "segno")  # the server imports some when it runs
    except ModuleNotFoundError as error:
        raise click.ClickException(f"the pages need {missing(error)}") from error
    from komadori.players import PlayerSpecError, check, check_files
    from komadori.web.errors import RefusedError
    from komadori.web.folders import Folders
    from komadori.web.library import Library
    from komadori.web.models import Models
    from komadori.web.serve import bind, serve
    from komadori.web.session import Hub

    try:
        for spec in player:
            check(spec)
            check_files(spec)
    except PlayerSpecError as error:
        raise click.UsageError(f"--player: {error}") from error
    name = str(Path(model).resolve()) if model and Path(model).exists() else model
    places = Folders(folders or (Path.cwd(),))
    try:
        models = Models(places, name, threads)
    except (ValueError, OSError) as error:  # of the default's card
        raise click.ClickException(str(error)) from error
    if model and models.default() is None:
        raise click.ClickException(f"no model {model}")
    if model:
        try:
            models.release(models.acquire(None))
        except RefusedError as error:
            raise click.ClickException(str(error.__cause__ or error)) from error
    try:
        hub = Hub(models, places, Library(library), players=player, is_lan=lan)
    except RefusedError as error:  # of the library
        hint = "" if library else "; --library names another folder"
        raise click.ClickException(f"{error}{hint}") from error.__cause__ or error
    try:
        address = bind(port, lan)
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror or error}") from error
    serve(hub, address, not no_browser, say)
    os._exit(0)  # backend threads must not keep the process alive
