"""`komadori linear train nnue`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from komadori.linear.nnue import Report


@click.command("nnue")
@click.option("--data", required=True, multiple=True, help="Game records; a file or a pattern.")
@click.option("--architecture", help="k-p (0.9 MB) or halfkp (64 MB).")
@click.option("--test-share", default=0.01, show_default=True, help="Games kept for the test.")
@click.option("--test-limit", default=20_000, show_default=True, help="Positions tested at most.")
@click.option(
    "-o",
    "--run",
    "folder",
    default=Path("runs/nnue"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--resume", is_flag=True, help="Go on after the last whole epoch.")
@click.option(
    "--from",
    "begin_with",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A run whose weights this one begins with.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Times that all positions are seen.")
@click.option(
    "--lambda", "teacher_weight", type=click.FloatRange(min=0), help="The teacher's weight."
)
@click.option("--threads", type=click.IntRange(min=1), help="All cores where left out.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another setting, as batch=4096 or leaves=root.",
)
def command(
    data: tuple[str, ...],
    architecture: str | None,
    test_share: float,
    test_limit: int,
    folder: Path,
    resume: bool,
    begin_with: Path | None,
    epochs: int | None,
    teacher_weight: float | None,
    threads: int | None,
    overrides: tuple[str, ...],
) -> None:
    """NNUE: a small network for the alpha-beta search, in the file of YaneuraOu-family engines.

    Learns the games' results and the teacher's scores where quiescence leads. Ctrl-C loses the
    epoch under way; --resume goes on.
    """
    import os

    import numpy as np
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from komadori import training
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import load_samples
    from komadori.linear.nnue import Learner, Positions, Settings, bytes_needed
    from komadori.linear.weights import WeightsError
    from komadori.training import Part

    console = Console()
    settings = read_settings(
        Settings,
        {
            "architecture": architecture,
            "epochs": epochs,
            "teacher_weight": teacher_weight,
            "threads": threads or os.cpu_count() or 1,
        },
        overrides,
    )
    samples = load_samples(data)
    every = Part(samples, np.arange(len(samples.hcp), dtype=np.int64))
    parts = training.split_by_game(every, test_share, settings.seed)
    split = training.make_split(*parts, test_limit=test_limit, seed=settings.seed)
    console.print(
        f"{len(split.train):,} positions of {split.train_games:,} games to learn from, "
        f"{len(split.test):,} of {split.test_games:,} games held out "
        f"({split.removed_seen:,} removed as seen, {split.common_positions:,} in both)",
        soft_wrap=True,
    )
    console.print(f"memory: {bytes_needed(settings, len(split.train)) / 1e6:,.0f} MB")
    positions = Positions(
        samples.hcp,
        samples.move16,
        samples.score_cp.astype(np.float32),
        samples.result.astype(np.float32),
    )
    try:
        learner = Learner(
            settings,
            positions.take(split.train.rows),
            positions.take(split.test.rows),
            folder,
            resume=resume,
            begin_with=begin_with,
        )
        bar = Progress(
            TextColumn("learning"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TimeRemainingColumn(),
            console=console,
        )
        with bar:
            size = len(learner.train)
            task = bar.add_task("", total=settings.epochs * size, completed=learner.epoch * size)

            def show(report: Report) -> None:
                bar.update(task, completed=report.epoch * size)
                bar.console.print(_line(report), soft_wrap=True)

            learner.run(show, lambda count: bar.advance(task, count))
    except (ValueError, WeightsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    console.print(f"best: epoch {learner.best_epoch}, {folder / 'nn.bin'}")
    console.print(
        f"next: komadori match 'alphabeta?Eval=nnue&EvalFile={folder}/nn.bin' "
        "'alphabeta?Eval=two-piece'",
        soft_wrap=True,
    )


def _line(report: Report) -> str:
    top = ", ".join(f"{100 * report.agreement[k - 1]:.1f}" for k in (1, 2, 4, 8))
    return (
        f"epoch {report.epoch:>3}  result {report.train.result:.4f} teacher "
        f"{report.train.teacher:.4f}  held out: result {report.test.result:.4f} teacher "
        f"{report.test.teacher:.4f}, in integers {report.quantised.result:.4f} "
        f"{report.quantised.teacher:.4f}{' *' if report.is_best else ''}  agreement in the best "
        f"1, 2, 4, 8: {top} %  {report.positions_per_s:,.0f} positions/s  {report.seconds:.0f} s"
    )
