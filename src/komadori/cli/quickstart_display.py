"""Terminal output of the quickstart: stages, results, a progress line with the time left."""

from __future__ import annotations

import time
from contextlib import ExitStack

from rich.progress import BarColumn, Progress
from rich.text import Text

from komadori.arena import MatchResult
from komadori.cli.console import console, progress
from komadori.cli.training_display import TrainingBar, clock
from komadori.quickstart import Observer
from komadori.training import Report


class Display(Observer):
    """Prints each stage and its results, and a progress line during a stage."""

    def __init__(self) -> None:
        self._console = console()
        self._live = ExitStack()
        self._training: TrainingBar | None = None
        self._games: Progress | None = None
        self._since = 0.0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_live()

    def stage(self, text: str) -> None:
        self._end_live()
        self._console.print(Text(text, "bold"))
        self._since = time.monotonic()

    def say(self, text: str) -> None:
        self._end_live()
        self._console.print(f"  {text}")

    def training(self, report: Report) -> None:
        if self._training is None:
            self._training = self._live.enter_context(TrainingBar(self._console))
        self._training(report)

    def game(self, so_far: MatchResult, total: int) -> None:
        if self._games is None:
            self._games = progress(
                self._console,
                "playing",
                BarColumn(),
                "{task.percentage:>3.0f}%",
                "{task.fields[state]}",
            )
            self._live.enter_context(self._games)
            self._games.add_task("playing", total=total, state="")
        elapsed = time.monotonic() - self._since
        left = elapsed * (total - so_far.played) / so_far.played
        state = f"+{so_far.wins} ={so_far.draws} -{so_far.losses}  {clock(left)} left"
        self._games.update(self._games.task_ids[0], completed=so_far.played, state=state)

    def _end_live(self) -> None:
        self._live.close()
        self._training = self._games = None
