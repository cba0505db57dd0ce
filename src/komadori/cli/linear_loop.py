"""`komadori linear loop`: play teacher games, learn from them, repeat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import console

if TYPE_CHECKING:
    from komadori.generate.linear_loop import Stage


@click.command("loop")
@click.option(
    "--eval",
    "evaluation",
    type=click.Choice(["two-piece", "kpp", "nnue"]),
    default="two-piece",
    show_default=True,
)
@click.option("--rounds", type=click.IntRange(min=1), help="Times that games are played.")
@click.option("--games", type=click.IntRange(min=1), help="Of a round.")
@click.option("--nodes", type=click.IntRange(min=0), help="Of each search; 0: no limit.")
@click.option("--depth", type=click.IntRange(min=0), help="Of each search; 0: no limit.")
@click.option("--data", multiple=True, help="Records that every round learns from too.")
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What the first round plays with.",
)
@click.option(
    "-o",
    "--out",
    "folder",
    default=Path("runs/loop"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--resume", is_flag=True, help="Go on where the loop ended.")
@click.option("--threads", type=click.IntRange(min=1), help="All cores where left out.")
@click.option("--window", type=click.IntRange(min=1), help="Rounds whose games are learned from.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="A setting of the learner."
)
def command(
    evaluation: str,
    rounds: int | None,
    games: int | None,
    nodes: int | None,
    depth: int | None,
    data: tuple[str, ...],
    weights: Path | None,
    folder: Path,
    resume: bool,
    threads: int | None,
    window: int | None,
    overrides: tuple[str, ...],
) -> None:
    """Teacher games with the weights, weights from the games, again.

    Games begin with up to six random moves and end at a score beyond 3,000, at the second
    occurrence of a position or after 400 moves. Ctrl-C ends; --resume goes on with the games and
    the learning that are there.
    """
    import os
    import threading

    from komadori.cli.interrupt import InterruptError, interrupt_sets
    from komadori.cli.linear_data import progress_bar
    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import find_files
    from komadori.generate import SearchBounds, TeacherSettings
    from komadori.generate.linear_loop import LEARNERS, LinearLoop, LoopSettings

    terminal = console()
    threads = threads or os.cpu_count() or 1
    settings = read_settings(
        LoopSettings,
        {"evaluation": evaluation, "rounds": rounds, "games": games, "window": window},
        (),
    )
    try:
        bounds = SearchBounds(nodes=5000 if nodes is None else nodes, depth=depth or 0)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    teacher = TeacherSettings(searches=(bounds,))
    learner = read_settings(LEARNERS[evaluation].settings, {"threads": threads}, overrides)
    stop = threading.Event()
    try:
        loop = LinearLoop(
            settings,
            teacher,
            learner,
            folder,
            data=find_files(data),
            weights=weights,
            resume=resume,
        )
        with interrupt_sets(stop), progress_bar(terminal) as bar:
            tasks = {}

            def progress(stage: Stage) -> None:
                if stage.what not in tasks:
                    tasks[stage.what] = bar.add_task(stage.what)
                bar.update(tasks[stage.what], completed=stage.done, total=stage.total)

            made = loop.run(
                lambda text: bar.console.print(text, soft_wrap=True),
                progress,
                stop.is_set,
                threads,
            )
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if made is None:
        raise InterruptError(f"--resume goes on ({folder})")
    terminal.print(f"weights: {made}")
