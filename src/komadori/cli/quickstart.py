"""`komadori quickstart`: training, export and matches in about six minutes on two cores."""

from __future__ import annotations

from pathlib import Path

import click

from komadori.cli.console import say
from komadori.cli.game_options import EVEN_GAMES
from komadori.cli.interrupt import hint_of_run
from komadori.cli.outputs import OutputFolder
from komadori.model_folder import newest_checkpoint


@click.command()
@click.option(
    "-o",
    "--out",
    type=OutputFolder(),
    default=Path("runs/quickstart"),
    show_default=True,
    help="Folder for the run, the models, the games and the page.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=1),
    default=180.0,
    show_default=True,
    help="Seconds of training.",
)
@click.option(
    "--games",
    type=EVEN_GAMES,
    default=60,
    show_default=True,
    help="Games of each match.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Nodes of the search per move.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed of the random numbers.",
)
def command(out: Path, seconds: float, games: int, nodes: int, seed: int) -> None:
    """Train a small network on the bundled games, play matches, show the results.

    Exits with status 1 unless the network beats both a one-ply material player and the untrained
    network with p < 0.05.
    """
    hint_of_run(lambda: newest_checkpoint(out / "training") is not None, "the same command resumes")
    from komadori.cli.quickstart_display import Display
    from komadori.quickstart import Settings, next_commands, run, shortfall

    settings = Settings(seconds, games, nodes, seed=seed)
    try:
        with Display() as display:
            outcome = run(out, settings, display)
    except OSError as error:
        raise click.ClickException(str(error)) from error
    say()
    say(f"page: {outcome.page}   time: {outcome.seconds:.0f} s")
    say("next:")
    for purpose, line in next_commands(outcome.model):
        say(f"  {line}")
        say(f"      {purpose}")
    if not outcome.passed:
        say(shortfall(outcome, settings), err=True)
        raise SystemExit(1)
