"""`komadori linear distill`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import console, progress, say, say_skipped
from komadori.cli.linear_data import check_folder, hint_of_folder, megabytes, next_match
from komadori.cli.numbers import FV_SCALE, THREADS
from komadori.cli.outputs import OutputFolder
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from komadori.generate.distillation import Report

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("distill")
@click.argument("teacher", type=_FILE)
@click.option(
    "--data",
    required=True,
    multiple=True,
    help="Games near which positions are searched; a file or quoted pattern.",
)
@click.option(
    "-o",
    "--out",
    "folder",
    default=Path("runs/distilled"),
    show_default=True,
    help="Folder of the run.",
    type=OutputFolder(),
)
@click.option("--from", "start", type=_FILE, help="nn.bin with the initial weights.")
@click.option("--chunks", type=click.IntRange(min=1), help="Chunks of new positions. [default: 40]")
@click.option(
    "--fv-scale",
    type=FV_SCALE,
    default=16,
    show_default=True,
    help="FV_SCALE of the teacher.",
)
@click.option("--resume", is_flag=True, help="Resume the run.")
@click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting by name."
)
def command(
    teacher: Path,
    data: tuple[str, ...],
    folder: Path,
    start: Path | None,
    chunks: int | None,
    fv_scale: int,
    resume: bool,
    threads: int | None,
    overrides: tuple[str, ...],
) -> None:
    """Train an NNUE network on the static evaluation of TEACHER, an nn.bin.

    The positions come from inside searches near the games of --data. Ctrl-C ends the run after the
    last full chunk; --resume continues it.
    """
    hint_of_folder(folder)
    import threading

    from rich.progress import BarColumn, TimeRemainingColumn

    from komadori.cli.interrupt import InterruptError, interrupt_sets
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import find_files
    from komadori.generate.distillation import NETWORK, Distillation, Settings, bytes_needed
    from komadori.linear.weights_file import WeightsError
    from komadori.records import RecordError

    terminal = console()
    stop = threading.Event()
    settings = read_settings(
        Settings, {"chunks": chunks, "threads": threads or available_threads()}, overrides
    )
    check_folder(folder, resume=resume)
    terminal.print(f"memory: about {megabytes(bytes_needed(settings))}")
    try:
        run = Distillation(
            settings,
            teacher,
            find_files(data),
            folder,
            resume=resume,
            start=start,
            fv_scale=fv_scale,
            on_skipped=say_skipped,
        )
        if run.left_out:
            say(f"games left out: {run.left_out:,}", err=True)
        columns = ("{task.description}", BarColumn(), TimeRemainingColumn())
        with interrupt_sets(stop), progress(terminal, *columns) as bar:
            task = bar.add_task("distilling", total=1.0)
            bar.update(task, completed=run.chunk / settings.chunks)
            has_titles = False

            def show(report: Report) -> None:
                nonlocal has_titles
                if not has_titles:
                    bar.console.print(*_TITLES, sep="\n")
                has_titles = True
                bar.console.print(_line(report))

            run.run(show, lambda part: bar.update(task, completed=part), stop.is_set)
    except (ValueError, WeightsError, RecordError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not run.is_done:
        raise InterruptError
    terminal.print(f"weights: {folder / NETWORK}", soft_wrap=True)
    terminal.print(next_match("nnue", folder / NETWORK, "alphabeta?Eval=nnue"))


_TITLES = (
    "error, bias: root mean square and mean against the teacher, held out, centipawns",
    "chunk  positions     trained   rate     loss      error    bias       s",
)


def _line(report: Report) -> str:
    return (
        f"{report.chunk:>5}  {report.positions:>9,}  {report.trained:>10,}  {report.rate:.5f}"
        f"  {report.loss:.5f}  {report.error_cp:>8.1f}  {report.bias_cp:>6.1f}"
        f"  {report.seconds:>6.0f}"
    )
