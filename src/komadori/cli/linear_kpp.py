"""`komadori linear train kpp`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import console
from komadori.cli.linear_data import (
    EpochTable,
    check_folder,
    data_options,
    hint_of_folder,
    load_split,
    megabytes,
    next_match,
    progress_bar,
)
from komadori.cli.settings_command import SettingsCommand
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from komadori.linear.kpp import Report, State


@click.command("kpp", cls=SettingsCommand, settings="komadori.linear.kpp:Settings")
@data_options("runs/kpp")
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs of training.")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="Positions per update. [default: a million, or a 24th of the data if there is less]",
)
@click.option(
    "--lambda",
    "teacher_weight",
    type=click.FloatRange(min=0),
    help="Weight of the teacher's score in the loss.",
)
@click.option("--loss", type=click.Choice(["cross-entropy", "squared"]), help="squared: Apery's.")
def kpp(
    data: tuple[str, ...],
    test_fraction: float,
    test_limit: int,
    folder: Path,
    resume: bool,
    threads: int | None,
    overrides: tuple[str, ...],
    epochs: int | None,
    batch: int | None,
    teacher_weight: float | None,
    loss: str | None,
) -> None:
    """Train KPP (king and two pieces, as elmo's evaluation) on results and a teacher's scores.

    Ctrl-C saves and ends the run; --resume continues it.
    """
    hint_of_folder(folder)
    import threading

    from komadori.cli.interrupt import InterruptError, interrupt_sets
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import say_missing_scores
    from komadori.linear.kpp import Learner, Settings

    terminal = console()
    settings = read_settings(
        Settings,
        {
            "epochs": epochs,
            "batch": batch,
            "teacher_weight": teacher_weight,
            "loss": loss,
            "threads": threads or available_threads(),
        },
        overrides,
    )
    least, most = Learner.memory_bytes()
    terminal.print(
        f"memory: {megabytes(least)} for the weights, growing to at most {megabytes(most)}, "
        "besides the data",
        soft_wrap=True,
    )
    check_folder(folder, resume=resume)
    train, test = load_split(terminal, data, test_fraction, test_limit, settings.seed)
    say_missing_scores(test.score_cp, settings.teacher_weight, "--lambda 0")
    stop = threading.Event()
    try:
        learner = Learner(settings, train, test, folder, resume=resume)
        updates = learner.updates
        with interrupt_sets(stop), progress_bar(terminal) as bar:
            done = learner.state.epoch * updates + learner.state.update
            task = bar.add_task("training", total=settings.epochs * updates, completed=done)

            def progress(state: State) -> None:
                bar.update(
                    task,
                    completed=state.epoch * updates + state.update,
                    description=f"epoch {state.epoch + 1}: {state.loss}",
                )

            table = EpochTable(("training", "held out"), ("    weights", "    s"))

            def report(found: Report) -> None:
                held_out = found.held_out
                others = f"{found.touched:,}", f"{found.seconds:.0f}"
                losses = found.loss, held_out.loss
                lines = table.lines(found.epoch, losses, held_out.agreement, others)
                bar.console.print(*lines, sep="\n")

            learner.run(progress, report, stop.is_set)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if stop.is_set() and learner.state.epoch < settings.epochs:
        raise InterruptError
    terminal.print(f"weights: {folder / 'weights.npz'}")
    terminal.print(next_match("kpp", folder / "weights.npz", "alphabeta?Eval=two-piece"))
