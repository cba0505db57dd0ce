"""Data, settings and progress display of the `linear train` commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from komadori.cli.console import next_command, progress
from komadori.cli.interrupt import hint_of_run
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import OutputFolder
from komadori.model_folder import has_learner_state
from komadori.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from komadori.linear.regression import Loss, Positions
    from komadori.linear.windows import PositionWindows

T = TypeVar("T")


def data_options(
    folder: str, test_limit: int = 5000
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that adds the options of every `linear train`; `folder`: default --out."""
    options = (
        click.option(
            "--data", required=True, multiple=True, help="Records; a file or quoted pattern."
        ),
        click.option(
            "--test-fraction",
            default=0.01,
            show_default=True,
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            help="Games held out.",
        ),
        click.option(
            "--test-limit",
            default=test_limit,
            show_default=True,
            type=click.IntRange(min=1),
            help="Maximum number of test positions.",
        ),
        click.option(
            "-o",
            "--out",
            "folder",
            default=Path(folder),
            show_default=True,
            help="Folder of the run.",
            type=OutputFolder(),
        ),
        click.option("--resume", is_flag=True, help="Resume the run."),
        click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]"),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a setting by name.",
        ),
    )

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def hint_of_folder(folder: Path) -> None:
    """Set the hint of interrupts: how to resume the run."""
    hint_of_run(lambda: has_learner_state(folder), f"--resume continues ({folder})")


def next_match(evaluation: str, weights: Path, other: str) -> str:
    """Return the line that proposes a match of a new evaluation against another player."""
    from komadori.players.spec import option_value

    player = f"alphabeta?Eval={evaluation}&EvalFile={option_value(weights)}"
    return next_command("match", player, other)


def check_folder(folder: Path, *, resume: bool) -> None:
    """Check the run's folder before the data is read. Raises ClickException."""
    from komadori.linear.run_folder import check_run_folder
    from komadori.run_lock import check_free

    try:
        check_free(folder)
        check_run_folder(folder, resume=resume)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error


def load_split(
    terminal: Console,
    data: Iterable[str],
    test_fraction: float,
    test_limit: int,
    seed: int,
    *,
    needs_moves: bool = False,
) -> tuple[Positions, Positions]:
    """Return (training, held-out) samples, split by game, without common positions.

    needs_moves: leave out positions without a move.
    """
    import numpy as np

    from komadori import training
    from komadori.cli.sample_files import load_samples
    from komadori.linear.regression import Positions
    from komadori.training import Part

    samples = load_samples(data)
    rows = np.arange(len(samples), dtype=np.int64)
    if needs_moves:
        rows = np.flatnonzero(samples.move16).astype(np.int64)
    parts = training.split_by_game(Part(samples, rows), test_fraction, seed)
    split = training.make_split(*parts, test_limit=test_limit, seed=seed)
    terminal.print(
        f"training on {counted(len(split.train), 'position')} of "
        f"{counted(split.train_games, 'game')}, "
        f"{len(split.test):,} of {counted(split.test_games, 'game')} held out "
        f"({split.removed_seen:,} removed as seen, {split.common_positions:,} in both)",
        soft_wrap=True,
    )
    if len(split.test) and not len(split.train):
        raise click.ClickException(
            f"--test-fraction {test_fraction:g} leaves no game to train on; give more games"
        )
    return Positions.of(samples, split.train.rows), Positions.of(samples, split.test.rows)


def load_windows(
    terminal: Console,
    data: Iterable[str],
    test_fraction: float,
    test_limit: int,
    seed: int,
    window: int,
    threads: int,
) -> tuple[PositionWindows, Positions]:
    """Return (training, held-out) samples, split by file, without common positions."""
    import numpy as np

    from komadori import records
    from komadori.cli.sample_files import find_files
    from komadori.linear.regression import Positions
    from komadori.linear.windows import PositionWindows
    from komadori.records.keys import position_keys
    from komadori.records.stream import SampleStream, split_files

    train_files, test_files = split_files(find_files(data), test_fraction, seed)
    if not test_files:
        raise click.ClickException("--window: nothing is held out; at least two files are needed")
    try:
        samples = records.load_samples(test_files)
        rows = np.arange(len(samples), dtype=np.int64)
        if len(rows) > test_limit:
            rows = np.sort(np.random.default_rng(seed).choice(rows, test_limit, replace=False))
        held_out = Positions.of(samples, rows)
        stream = SampleStream(
            train_files,
            window,
            seed=seed,
            leave_out=position_keys(held_out.hcp),
            threads=threads,
        )
        windows = PositionWindows(stream)
        with terminal.status("counting positions"):
            count = len(windows)
    except (records.RecordError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    terminal.print(
        f"training on {counted(count, 'position')} of {counted(len(train_files), 'file')}, in "
        f"{counted(windows.per_epoch, 'window')}; {len(held_out):,} of "
        f"{counted(len(test_files), 'file')} held out, none of them in both",
        soft_wrap=True,
    )
    return windows, held_out


def progress_bar(terminal: Console) -> Progress:
    """Create a progress bar with the time left."""
    from rich.progress import BarColumn, TimeRemainingColumn

    count = "{task.completed}/{task.total}"
    return progress(terminal, "{task.description}", BarColumn(), count, TimeRemainingColumn())


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


class EpochTable:
    """One line per epoch, at most 80 columns: losses minus their lower bounds, agreement, more."""

    def __init__(self, losses: Sequence[str], others: Sequence[str]) -> None:
        """`losses`: names of the losses; `others`: titles of further columns."""
        self._losses, self._others = losses, others
        self._has_titles = False

    def lines(
        self,
        epoch: int,
        losses: Sequence[Loss],
        agreement: Sequence[float],
        others: Sequence[str],
    ) -> list[str]:
        """Return the next line, preceded by titles the first time. agreement: from `HeldOut`; shown
        as "-" if no position has a move, losses if there is no position."""
        parts = [f"{epoch:>5}"]
        for loss in losses:
            figures = [f"{value:.4f}" if loss.positions else "     -" for value in loss.above_floor]
            parts.append(" ".join(figures))
        best = [f"{100 * agreement[k - 1]:4.1f}" if agreement else "   -" for k in (1, 2, 4, 8)]
        parts.append(" ".join(best))
        parts += [f"{text:>{len(title)}}" for title, text in zip(self._others, others, strict=True)]
        line = "  ".join(parts)
        if self._has_titles:
            return [line]
        self._has_titles = True
        titles = ["epoch"] + [f"{title:13}" for title in self._losses]
        titles += [f"{'best 1':6}{'2':>3}{'4':>5}{'8':>5}", *self._others]
        above = "losses: result, teacher, minus lower bounds; best k: agreement with the teacher, %"
        return [above, "  ".join(titles), line]
