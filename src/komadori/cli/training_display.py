"""Terminal output of training: a progress bar and the table of metrics."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.progress import BarColumn
from rich.table import Table

from komadori.cli.console import console, progress
from komadori.training import FRACTIONS, Metrics, Report

_ROWS = {
    "positions": "positions",
    "loss": "loss",
    "policy_loss": "policy loss",
    "value_loss": "value loss",
    "policy_top1": "policy accuracy, top 1",
    "policy_top3": "policy accuracy, top 3",
    "policy_top5": "policy accuracy, top 5",
    "value_accuracy": "value accuracy",
    "best_is_legal": "best label is legal",
    "policy_entropy": "policy entropy",
    "policy_top1_mass": "largest probability",
}


class TrainingBar:
    """A progress bar: a callback for `training.train` and a context manager.

    Test metrics are printed above it.
    """

    def __init__(self, on: Console | None = None) -> None:
        self.console = on or console()
        self._progress = progress(
            self.console,
            "training",
            BarColumn(),
            "{task.percentage:>3.0f}%",
            "{task.fields[state]}",
        )
        self._task = self._progress.add_task("training", total=1.0, state="starting")

    def __enter__(self) -> TrainingBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, report: Report) -> None:
        if report.entry["kind"] == "test":
            self.console.print(test_line(report.entry))
            self._progress.update(self._task, completed=report.progress)
            return
        state = (
            f"step {report.step:,}  loss {_number(report.entry['loss'])}  "
            f"{report.samples_per_s:,.0f} samples/s  {clock(report.seconds_left)} left"
        )
        self._progress.update(self._task, completed=report.progress, state=state)


def test_line(entry: dict[str, Any]) -> str:
    """Format a test entry of the log as one line."""
    return (
        f"step {entry['step']:>7,}  test loss {_number(entry['loss'])}  "
        f"policy {_percent(entry['policy_top1'])}  value {_percent(entry['value_accuracy'])}  "
        f"legal {_percent(entry['best_is_legal'])}"
    )


def metrics_table(metrics: Metrics, title: str = "") -> Table:
    """Return a table with one row per metric."""
    table = Table(title=title or None, title_justify="left", show_header=False)
    values = metrics.to_dict()
    for name, text in _ROWS.items():
        value = values[name]
        if name == "positions":
            shown = f"{value:,}"
        else:
            shown = _percent(value) if name in FRACTIONS else _number(value)
        table.add_row(text, shown)
    return table


def clock(seconds: float) -> str:
    """Format seconds as `1:02:03` or `2:03`; `-:--` if unknown."""
    if not math.isfinite(seconds):
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def print_rich(what: object) -> None:
    """Print to the terminal, which wraps long lines."""
    console().print(what, soft_wrap=True)


def _number(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.1f} %"
