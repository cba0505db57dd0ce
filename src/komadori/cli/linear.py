"""`komadori linear`: the learners of the linear evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli import linear_nnue

if TYPE_CHECKING:
    from komadori.linear.two_piece import Report


@click.group()
def command() -> None:
    """Learn evaluations for the alpha-beta search from game records."""


@command.group()
def train() -> None:
    """Learn weights."""


train.add_command(linear_nnue.command)


@train.command("two-piece")
@click.option("--data", required=True, multiple=True, help="Game records; a file or a pattern.")
@click.option("--test-share", default=0.01, show_default=True, help="Games kept for the test.")
@click.option("--test-limit", default=5000, show_default=True, help="Positions tested at most.")
@click.option(
    "-o",
    "--run",
    "folder",
    default=Path("runs/two-piece"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--resume", is_flag=True, help="Go on after the last whole iteration.")
@click.option("--iterations", type=click.IntRange(min=1), help="Searches of the lines.")
@click.option("--positions", type=click.IntRange(min=1), help="Drawn for each of them.")
@click.option("--threads", type=click.IntRange(min=1), help="All cores where left out.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another setting, as penalty=0 or relative=false.",
)
def two_piece(
    data: tuple[str, ...],
    test_share: float,
    test_limit: int,
    folder: Path,
    resume: bool,
    iterations: int | None,
    positions: int | None,
    threads: int | None,
    overrides: tuple[str, ...],
) -> None:
    """shogi686's evaluation: a weight for every pair of pieces.

    Each iteration searches the moves of positions drawn from the records and brings the moves
    that were played before those that weren't. Ctrl-C loses the iteration under way; --resume
    goes on.
    """
    import os

    import numpy as np
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from komadori import training
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import load_samples
    from komadori.linear.two_piece import Learner, Records, Settings
    from komadori.linear.weights import WeightsError
    from komadori.training import Part

    console = Console()
    settings = read_settings(
        Settings,
        {
            "iterations": iterations,
            "positions": positions,
            "threads": threads or os.cpu_count() or 1,
        },
        overrides,
    )
    samples = load_samples(data)
    moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
    parts = training.split_by_game(Part(samples, moved), test_share, settings.seed)
    split = training.make_split(*parts, test_limit=test_limit, seed=settings.seed)
    console.print(
        f"{len(split.train):,} positions of {split.train_games:,} games to learn from, "
        f"{len(split.test):,} of {split.test_games:,} games held out "
        f"({split.removed_seen:,} removed as seen, {split.common_positions:,} in both)",
        soft_wrap=True,
    )
    every = Records(samples.hcp, samples.move16)
    try:
        learner = Learner(
            settings,
            every.take(split.train.rows),
            every.take(split.test.rows),
            folder,
            resume=resume,
        )
        bar = Progress(
            TextColumn("learning"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(),
            console=console,
        )
        with bar:
            task = bar.add_task("", total=settings.iterations, completed=learner.state.iteration)

            def show(report: Report) -> None:
                bar.update(task, completed=report.iteration)
                bar.console.print(_line(report), soft_wrap=True)

            learner.run(show)
    except (ValueError, WeightsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    console.print(f"weights: {folder / 'weights.npz'}")
    console.print(
        f"next: komadori match 'alphabeta?Eval=two-piece&EvalFile={folder}/weights.npz' "
        "'alphabeta?Eval=material'",
        soft_wrap=True,
    )


def _line(report: Report) -> str:
    top = ", ".join(f"{100 * report.agreement[k - 1]:.1f}" for k in (1, 2, 4, 8))
    return (
        f"iteration {report.iteration:>3}  loss {report.loss_before:.4f} to "
        f"{report.loss_after:.4f} of {report.comparisons:,} comparisons  agreement in the best "
        f"1, 2, 4, 8: {top} %  {report.seconds:.0f} s"
    )
