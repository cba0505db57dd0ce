"""The display of `komadori lab run`: a bar for the current run, a line for each finished one."""

from __future__ import annotations

import math
import time

from rich.progress import BarColumn

from komadori.cli.console import console, progress
from komadori.cli.training_display import clock
from komadori.lab.learner import Progress as RunProgress
from komadori.lab.measures import measure_of
from komadori.lab.results import Record
from komadori.lab.runner import Observer, Task
from komadori.wording import counted


class Display(Observer):
    """A context manager; the bar shows the current run and the time left for all."""

    def __init__(self) -> None:
        self.console = console()
        self._progress = progress(
            self.console,
            "{task.description}",
            BarColumn(),
            "{task.percentage:>3.0f}%",
            "{task.fields[state]}",
        )
        self._bar = self._progress.add_task("", total=1.0, state="")
        self._title = ""
        self._seconds_left = math.inf
        self._began = time.monotonic()

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, task: Task, done: int, left: int, seconds_left: float) -> None:
        self._title = f"{task.name} ({done + 1} of {done + left})"
        self._seconds_left = seconds_left
        self._began = time.monotonic()
        if not self.console.is_terminal:
            self.console.print(f"{self._title}: about {clock(seconds_left)} left for all")
        self._progress.update(self._bar, description=self._title, completed=0.0, state="")

    def wait(self, left: int) -> None:
        title = f"waiting for {counted(left, 'run')} of other processes"
        if title != self._title and not self.console.is_terminal:
            self.console.print(title)
        self._title = title
        self._progress.update(self._bar, description=title, completed=0.0, state="")

    def progress(self, progress: RunProgress) -> None:
        rest = max(progress.seconds_left, self._seconds_left - (time.monotonic() - self._began))
        state = f"{progress.text}  {clock(progress.seconds_left)} left, all {clock(rest)}"
        self._progress.update(self._bar, completed=progress.progress, state=state)

    def end(self, task: Task, record: Record) -> None:
        if record.diverged is not None:
            text = f"diverged at step {record.diverged:,}"
        else:
            text = "  ".join(
                f"{name} {measure_of(measure).format(record.measure(measure))}"
                for name, measure in task.kind.headline
                if math.isfinite(record.measure(measure))
            )
        self.console.print(f"{task.name}: {text}  {clock(record.seconds)}", soft_wrap=True)
