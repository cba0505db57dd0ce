"""`komadori linear train nnue`."""

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
    load_windows,
    megabytes,
    next_match,
    progress_bar,
)
from komadori.cli.settings_command import SettingsCommand
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from komadori.linear.nnue import Report
    from komadori.linear.regression import Positions
    from komadori.linear.windows import PositionWindows


@click.command("nnue", cls=SettingsCommand, settings="komadori.linear.nnue:Settings")
@data_options("runs/nnue", test_limit=20_000)
@click.option("--architecture", help="k-p (0.9 MB) or halfkp (64 MB).")
@click.option(
    "--from",
    "init_from",
    type=click.Path(exists=True, path_type=Path),
    help="Folder of a run, or nn.bin, with the initial weights.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs of training.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Positions in memory at a time, for files that don't fit; each window is reported as an "
    "epoch, --epochs counts passes over all of them.",
)
@click.option(
    "--lambda",
    "teacher_weight",
    type=click.FloatRange(min=0),
    help="Weight of the teacher's score in the loss.",
)
def command(
    data: tuple[str, ...],
    architecture: str | None,
    test_fraction: float,
    test_limit: int,
    folder: Path,
    resume: bool,
    init_from: Path | None,
    epochs: int | None,
    window: int | None,
    teacher_weight: float | None,
    threads: int | None,
    overrides: tuple[str, ...],
) -> None:
    """Train an NNUE network for the alpha-beta search, in YaneuraOu's file format.

    Targets are game results and the teacher's scores, at quiescence leaves. Ctrl-C ends the run
    after the last full epoch; --resume continues it.
    """
    hint_of_folder(folder)
    import threading

    from komadori.cli.interrupt import InterruptError, interrupt_sets
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import say_missing_scores
    from komadori.linear.nnue import Learner, Settings, bytes_needed, check_init_from
    from komadori.linear.weights_file import WeightsError

    terminal = console()
    stop = threading.Event()
    settings = read_settings(
        Settings,
        {
            "architecture": architecture,
            "epochs": epochs,
            "teacher_weight": teacher_weight,
            "threads": threads or available_threads(),
        },
        overrides,
    )
    check_folder(folder, resume=resume)
    if init_from is not None:
        try:
            check_init_from(init_from, settings.architecture)
        except (ValueError, WeightsError, OSError) as error:
            raise click.ClickException(str(error)) from error
    train: Positions | PositionWindows
    if window:
        train, test = load_windows(
            terminal, data, test_fraction, test_limit, settings.seed, window, settings.threads
        )
    else:
        train, test = load_split(terminal, data, test_fraction, test_limit, settings.seed)
    say_missing_scores(test.score_cp, settings.teacher_weight, "--lambda 0")
    held = min(window or len(train), len(train))
    terminal.print(f"memory: {megabytes(bytes_needed(settings, held))}")
    try:
        learner = Learner(settings, train, test, folder, resume=resume, init_from=init_from)
        with interrupt_sets(stop), progress_bar(terminal) as bar:
            size = held if learner.train is None else len(learner.train)
            task = bar.add_task(
                "training", total=learner.epochs * size, completed=learner.epoch * size
            )

            table = EpochTable(("training", "held out", "quantised"), ("    s",))

            def show(report: Report) -> None:
                bar.update(task, completed=report.epoch * size)
                losses = report.train, report.test, report.quantised
                seconds = f"{report.seconds:.0f}{' *' if report.is_best else '  '}"
                lines = table.lines(report.epoch, losses, report.agreement, (seconds,))
                bar.console.print(*lines, sep="\n")

            learner.run(show, lambda count: bar.advance(task, count), stop.is_set)
    except (ValueError, WeightsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not learner.is_done:
        raise InterruptError
    terminal.print(f"best (*): epoch {learner.best_epoch}, {folder / 'nn.bin'}")
    terminal.print(next_match("nnue", folder / "nn.bin", "alphabeta?Eval=two-piece"))
