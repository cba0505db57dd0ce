"""A run of `komadori generate`: its progress, its signals, its last words."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from komadori.generate.folder import GameFolder
    from komadori.generate.sources import GameSource
    from komadori.generate.teacher import Progress

#: Seconds between lines where the output is no terminal.
LINE_SECONDS = 60.0


class Signals:
    """Which of SIGINT and SIGTERM has come; the second one interrupts as usual."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.number = 0

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        def handle(number: int, _frame: FrameType | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            self.number = number
            self.stop.set()

        old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """As a shell reports a process that the signal ended."""
        return 128 + self.number


def run(folder: GameFolder, source: GameSource, games: int, threads: int) -> None:
    """Generate, show how far it is, and what the folder holds at the end.

    Ends the process with 130 or 143 where a signal came.
    """
    from rich.console import Console

    from komadori.generate.statistics import folder_statistics
    from komadori.generate.teacher import generate_games

    console = Console(stderr=True)
    begun = folder.games
    if begun:
        console.print(f"{folder.path}: goes on, {begun:,} games are there")
    signals = Signals()
    with signals.caught(), _display(console, begun) as show:
        try:
            is_done = generate_games(
                folder,
                source,
                games,
                threads=threads,
                on_progress=show,
                stop=signals.stop.is_set,
            )
        except OSError as error:
            raise click.ClickException(
                f"{error}; {folder.games:,} games are kept, the same command goes on with them"
            ) from error
    if not is_done:
        console.print(
            f"interrupted: {folder.games:,} games are kept in {folder.path}; the same command "
            "goes on with them",
            soft_wrap=True,
        )
        raise SystemExit(signals.exit_code)
    for line in folder_statistics(folder.path).lines():
        click.echo(line)


@contextlib.contextmanager
def _display(console: Console, begun: int) -> Iterator[_Show]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if not console.is_terminal:
        yield _Lines(console)
        return
    with Progress(
        TextColumn("games"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.fields[asked]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        yield _Bar(bar, begun)


class _Show:
    def __call__(self, progress: Progress) -> None:
        raise NotImplementedError


class _Bar(_Show):
    def __init__(self, bar: object, begun: int) -> None:
        from rich.progress import Progress as Bar

        assert isinstance(bar, Bar)
        self._bar = bar
        self._task = bar.add_task("games", total=None, completed=begun, asked="?", speed="")

    def __call__(self, progress: Progress) -> None:
        self._bar.update(
            self._task,
            completed=progress.games,
            total=progress.asked or None,
            asked=f"{progress.asked:,}" if progress.asked else "endless",
            speed=_speed(progress),
        )


class _Lines(_Show):
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()
        self._begun: int | None = None

    def __call__(self, progress: Progress) -> None:
        if self._begun is None:
            self._begun = progress.games
        now = time.monotonic()
        if now - self._last < LINE_SECONDS:
            return
        self._last = now
        done = progress.games - self._begun
        left = ""
        if progress.asked and done:
            seconds = (progress.asked - progress.games) * progress.seconds / done
            left = f", {seconds / 60:,.0f} minutes left"
        asked = f"/{progress.asked:,}" if progress.asked else ""
        self._console.print(
            f"{progress.games:,}{asked} games, {_speed(progress)}{left}", highlight=False
        )


def _speed(progress: Progress) -> str:
    return f"{progress.plies_per_s:,.0f} plies/s, {progress.nodes_per_s / 1000:,.0f} knodes/s"
