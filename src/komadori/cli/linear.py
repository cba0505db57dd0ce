"""`komadori linear`: training of linear evaluations and NNUE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli import linear_distill, linear_loop, linear_nnue
from komadori.cli.console import console
from komadori.cli.linear_data import (
    check_folder,
    data_options,
    hint_of_folder,
    load_split,
    next_match,
    progress_bar,
)
from komadori.cli.linear_kpp import kpp
from komadori.cli.settings_command import SettingsCommand
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from komadori.linear.two_piece import Report


@click.group()
def command() -> None:
    """Train evaluations of the alpha-beta search on game records."""


@command.group()
def train() -> None:
    """Train weights."""


train.add_command(linear_nnue.command)
train.add_command(kpp)
command.add_command(linear_distill.command)
command.add_command(linear_loop.command)


@train.command("two-piece", cls=SettingsCommand, settings="komadori.linear.two_piece:Settings")
@data_options("runs/two-piece")
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help="Number of iterations, each of which searches the lines.",
)
@click.option("--positions", type=click.IntRange(min=1), help="Positions per iteration.")
def two_piece(
    data: tuple[str, ...],
    test_fraction: float,
    test_limit: int,
    folder: Path,
    resume: bool,
    threads: int | None,
    overrides: tuple[str, ...],
    iterations: int | None,
    positions: int | None,
) -> None:
    """Train shogi686's evaluation: a weight for every pair of pieces.

    Each iteration searches the moves of positions drawn from the records and trains the
    evaluation to prefer the moves played. Ctrl-C loses the current iteration; --resume continues.
    """
    hint_of_folder(folder)
    from komadori.cli.linear_settings import read_settings
    from komadori.linear.two_piece import Learner, Records, Settings

    terminal = console()
    settings = read_settings(
        Settings,
        {
            "iterations": iterations,
            "positions": positions,
            "threads": threads or available_threads(),
        },
        overrides,
    )
    check_folder(folder, resume=resume)
    train, test = (
        Records(part.hcp, part.move16)
        for part in load_split(
            terminal, data, test_fraction, test_limit, settings.seed, needs_moves=True
        )
    )
    try:
        learner = Learner(settings, train, test, folder, resume=resume)
        with progress_bar(terminal) as bar:
            task = bar.add_task(
                "learning", total=settings.iterations, completed=learner.state.iteration
            )

            def show(report: Report) -> None:
                bar.update(task, completed=report.iteration)
                bar.console.print(_line(report), soft_wrap=True)

            learner.run(show)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    terminal.print(f"weights: {folder / 'weights.npz'}")
    terminal.print(next_match("two-piece", folder / "weights.npz", "alphabeta?Eval=material"))


def _line(report: Report) -> str:
    found = report.agreement
    top = ", ".join(f"{100 * found[k - 1]:.1f}" if found else "-" for k in (1, 2, 4, 8))
    return (
        f"iteration {report.iteration:>3}  loss {report.loss_before:.4f} to "
        f"{report.loss_after:.4f} of {report.comparisons:,} comparisons  agreement in the best "
        f"1, 2, 4, 8: {top} %  {report.seconds:.0f} s"
    )
