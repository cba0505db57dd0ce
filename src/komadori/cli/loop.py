"""`komadori loop`: games, training, gating match and promotion, in a loop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from komadori.atomic import write_text
from komadori.cli.config_path import ConfigPath
from komadori.cli.console import console, say
from komadori.cli.interrupt import InterruptError, hint, interrupt_sets
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import OutputFolder
from komadori.cpus import available_threads
from komadori.shipped import experiment_names

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from komadori.generate.loop import Event, Loop

_CONFIG = click.argument("config", type=ConfigPath("loop"))
_FOLDER = click.option(
    "-o",
    "--out",
    "folder",
    type=OutputFolder(),
    help="Folder of the loop. [default: runs/NAME of the config]",
)
#: Seconds for a stage to end after a signal; then it is killed.
GRACE_S = 4.0
#: ... and for work that is lost however long it is given, as the creation of the first player.
LOSSY_GRACE_S = 0.8
_THREADS = click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]")


@click.group()
def command() -> None:
    """Run a reinforcement learning loop from one TOML file: games, training, match, promotion.

    The state is the files of one folder: each command resumes from it, can be killed at any
    time, and can run on any machine that sees the folder.
    """


@command.command(
    "run",
    help="Run every stage of every generation, one after the other. CONFIG is a TOML file, or the "
    f"name of a bundled one: {', '.join(experiment_names('loop'))}.",
)
@_CONFIG
@_FOLDER
@_THREADS
def run_command(config: Path, folder: Path | None, threads: int | None) -> None:
    def work_on(loop: Loop, **how: Any) -> bool:
        from komadori.generate.loop import run

        return run(loop, **how)

    _run_config(config, folder, threads, work_on)


@command.command("stage")
@click.argument("name", type=click.Choice(["games", "relabel", "train", "gate", "references"]))
@_CONFIG
@_FOLDER
@_THREADS
@click.option("--wait", is_flag=True, help="Wait for the outputs of other processes.")
def stage_command(
    name: str, config: Path, folder: Path | None, threads: int | None, wait: bool
) -> None:
    """Run one stage of every generation; several of these with --wait make up a loop."""

    def work_on(loop: Loop, **how: Any) -> bool:
        from komadori.generate.loop import run_stage

        return run_stage(loop, name, wait=wait, **how)

    _run_config(config, folder, threads, work_on)


@command.command("status")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def status_command(folder: Path) -> None:
    """Show the state of each generation. The folder's index.html adds a plot."""
    from komadori.generate.loop import open_loop
    from komadori.generate.loop.page import page

    try:
        loop = open_loop(folder)
        text = page(loop)
        console().print(_table(loop))
        write_text(folder / "index.html", text)  # last: the folder may be another user's
    except FileNotFoundError as error:
        raise click.ClickException(f"{folder}: holds no loop (no loop.json)") from error
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error


def hint_of_loop(folder: Path) -> None:
    """Set the hint of interrupts: how to resume the loop."""
    hint(f"the same command resumes ({folder})")


def work(loop: Loop, threads: int | None, run: Callable[..., bool]) -> None:
    """Run part of a loop with a live table. Raises InterruptError after a signal."""
    from komadori.generate.loop.learners import LEARNERS

    stop = threading.Event()
    latest: Event | None = None
    is_lossy = not LEARNERS[loop.config.learner].saves_when_stopped

    def grace_s() -> float:
        # Games report their number as they begin, after the first player was created.
        is_starting = latest is None or (latest.stage == "games" and not latest.total)
        is_lost = is_starting or (is_lossy and latest is not None and latest.stage == "train")
        return LOSSY_GRACE_S if is_lost else GRACE_S

    with interrupt_sets(stop, grace_s), _display(console(err=True), loop) as show:

        def observe(event: Event) -> None:
            nonlocal latest
            if not event.text or latest is None or event.stage != latest.stage:  # no message
                latest = event
            show(event)

        is_done = run(
            loop,
            threads=threads or available_threads(),
            observer=observe,
            stop=stop.is_set,
        )
    if not is_done:
        raise InterruptError
    console().print(_table(loop))
    say(loop.folder / "index.html")


def _run_config(
    config: Path, folder: Path | None, threads: int | None, run: Callable[..., bool]
) -> None:
    folder = folder or Path("runs") / config.stem
    hint_of_loop(folder)
    from komadori.generate.loop import Loop, load_config

    with errors():
        loop = Loop(load_config(config), folder)
        work(loop, threads, run)


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Convert a loop's errors to the command's."""
    from komadori.linear.weights_file import WeightsError

    try:
        yield
    except (ValueError, WeightsError, OSError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


@contextlib.contextmanager
def _display(terminal: Console, loop: Loop) -> Iterator[Callable[[Event], None]]:
    from rich.live import Live

    def words(event: Event) -> str:
        return f"generation {event.generation}, {event.stage}: {event.text}"

    if not terminal.is_terminal:
        yield lambda event: terminal.print(words(event), soft_wrap=True) if event.text else None
        return
    with Live(_table(loop), console=terminal, refresh_per_second=4) as live:

        def observe(event: Event) -> None:
            if event.text:
                live.console.print(words(event), soft_wrap=True)
            live.update(_table(loop, event))

        yield observe


def _table(loop: Loop, event: Event | None = None) -> RenderableType:
    from rich.table import Table

    from komadori.generate.loop.page import elo_with_error, result_text

    table = Table(box=None, header_style="bold")
    for name in ("generation", "games", "positions", "by", "match", "Elo", "", "Elo vs. 0"):
        table.add_column(name, justify="right")
    ratings = {rating.generation: rating for rating in loop.ratings()}
    number = 1
    while loop.generation(number).exists():
        games, verdict = loop.facts(number, "games"), loop.verdict(number)
        row = [str(number)]
        row += (
            [f"{games['games']:,}", f"{games['positions']:,}", str(games["by"])]
            if games
            else [""] * 3
        )
        if verdict is None:
            row += ["", "", _current_stage(event, number), ""]
        else:
            rating = ratings.get(number)
            row += [
                result_text(verdict.wins, verdict.draws, verdict.losses) if verdict.games else "",
                "" if verdict.elo is None else elo_with_error(verdict.elo, verdict.error),
                "promoted" if verdict.promoted else "rejected",
                elo_with_error(rating.elo, rating.error) if rating else "",
            ]
        table.add_row(*row)
        number += 1
    return table


def _current_stage(event: Event | None, number: int) -> str:
    if event is None or event.generation != number:
        return ""
    return f"{event.stage} {event.done:,}/{event.total:,}" if event.total else event.stage
