"""Runs of `komadori generate`: progress display, signals, final statistics."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from komadori.cli.console import console, progress, say
from komadori.cli.interrupt import InterruptError, interrupt_sets
from komadori.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from komadori.generate.folder import GameFolder
    from komadori.generate.segments import Progress as SegmentProgress
    from komadori.generate.sources import GameSource
    from komadori.generate.teacher import Progress

#: Seconds between progress lines if the output isn't a terminal.
LINE_SECONDS = 60.0


def run(folder: GameFolder, source: GameSource, games: int, threads: int) -> None:
    """Generate games with a progress display, then print the folder's statistics.

    Raises InterruptError after a signal.
    """
    from komadori.generate.statistics import folder_statistics
    from komadori.generate.teacher import generate_games

    terminal = console(err=True)
    resumed = folder.games
    if resumed:
        terminal.print(f"{folder.path}: resumes with {counted(resumed, 'game')}", soft_wrap=True)
    stop = threading.Event()
    with interrupt_sets(stop), _display(terminal, resumed) as show:
        try:
            is_done = generate_games(
                folder,
                source,
                games,
                threads=threads,
                on_progress=show,
                stop=stop.is_set,
            )
        except OSError as error:
            kept = f"; {counted(folder.games, 'game')} kept; the same command resumes"
            has_folder = (folder.path / "settings.json").is_file()  # nobody has moved it away
            raise click.ClickException(f"{error}{kept if has_folder else ''}") from error
    if not is_done:
        kept = counted(folder.games, "game")
        raise InterruptError(f"{kept} kept in {folder.path}; the same command resumes")
    for line in folder_statistics(folder.path).lines():
        say(line)


@contextlib.contextmanager
def _display(terminal: Console, resumed: int) -> Iterator[_Display]:
    from rich.progress import BarColumn, TimeRemainingColumn

    if not terminal.is_terminal:
        yield _ProgressLines(terminal)
        return
    count = "{task.completed:,}/{task.fields[requested]}"
    columns = "games", BarColumn(), count, "{task.fields[speed]}", TimeRemainingColumn()
    with progress(terminal, *columns) as bar:
        yield _ProgressBar(bar, resumed)


class _Display:
    def __call__(self, progress: Progress) -> None:
        raise NotImplementedError


class _ProgressBar(_Display):
    def __init__(self, bar: object, resumed: int) -> None:
        from rich.progress import Progress as Bar

        assert isinstance(bar, Bar)
        self._bar = bar
        self._task = bar.add_task("games", total=None, completed=resumed, requested="?", speed="")

    def __call__(self, progress: Progress) -> None:
        self._bar.update(
            self._task,
            completed=progress.games,
            total=progress.requested or None,
            requested=f"{progress.requested:,}" if progress.requested else "endless",
            speed=_speed(progress),
        )


class _ProgressLines(_Display):
    def __init__(self, on: Console) -> None:
        self._console = on
        self._last = time.monotonic()
        self._resumed: int | None = None

    def __call__(self, progress: Progress) -> None:
        if self._resumed is None:
            self._resumed = progress.games
        now = time.monotonic()
        if now - self._last < LINE_SECONDS:
            return
        self._last = now
        done = progress.games - self._resumed
        left = ""
        if progress.requested and done:
            seconds = (progress.requested - progress.games) * progress.seconds / done
            left = f", {seconds / 60:,.0f} minutes left"
        requested = f"/{progress.requested:,}" if progress.requested else ""
        self._console.print(f"{progress.games:,}{requested} games, {_speed(progress)}{left}")


def _speed(progress: Progress) -> str:
    return f"{progress.plies_per_s:,.0f} plies/s, {progress.nodes_per_s / 1000:,.0f} knodes/s"


@contextlib.contextmanager
def segments_bar(terminal: Console) -> Iterator[Callable[[SegmentProgress], None]]:
    """Show a progress bar: fraction of the sources read, positions and their rate."""
    from rich.progress import BarColumn, TimeRemainingColumn

    columns = "{task.description}", BarColumn(), "{task.fields[speed]}", TimeRemainingColumn()
    with progress(terminal, *columns) as bar:
        task = bar.add_task("", total=1.0, speed="")
        started = time.monotonic()

        def show(at: SegmentProgress) -> None:
            speed = (at.positions - at.resumed) / max(time.monotonic() - started, 1e-9)
            description = counted(at.positions, "position")
            bar.update(task, completed=at.read, description=description, speed=f"{speed:,.0f}/s")

        yield show
