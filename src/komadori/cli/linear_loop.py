"""`komadori linear loop`: a configuration of `komadori loop` for linear evaluations."""

from __future__ import annotations

from pathlib import Path

import click

from komadori.cli.console import say
from komadori.cli.loop import errors, hint_of_loop, work
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import OutputFolder


@click.command("loop")
@click.option(
    "--eval",
    "evaluation",
    type=click.Choice(["two-piece", "kpp", "nnue"]),
    default="two-piece",
    show_default=True,
    help="The evaluation to train.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Generations of games.",
)
@click.option(
    "--games", type=click.IntRange(min=1), default=1000, show_default=True, help="Games per round."
)
@click.option(
    "--nodes", type=click.IntRange(min=0), help="Nodes per search; 0: no limit. [default: 5000]"
)
@click.option("--depth", type=click.IntRange(min=0), help="Depth of each search; 0: no limit.")
@click.option("--data", multiple=True, help="Further records for every round.")
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Weights for the first round.",
)
@click.option(
    "-o",
    "--out",
    "folder",
    default=Path("runs/loop"),
    show_default=True,
    help="Folder of the loop.",
    type=OutputFolder(),
)
@click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Most recent rounds to train on.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a setting of the learner.",
)
def command(
    evaluation: str,
    rounds: int,
    games: int,
    nodes: int | None,
    depth: int | None,
    data: tuple[str, ...],
    weights: Path | None,
    folder: Path,
    threads: int | None,
    window: int,
    overrides: tuple[str, ...],
) -> None:
    """Alternate between playing teacher games and training on them, without a gating match.

    Repeat the command to resume. `komadori loop run` does the same from a settings file, with all
    options.
    """
    hint_of_loop(folder)
    from dataclasses import asdict

    from komadori.cli.linear_settings import read_settings
    from komadori.cli.sample_files import find_files
    from komadori.generate.loop import GamesConfig, GateConfig, Loop, LoopConfig, run
    from komadori.generate.loop.learners import LEARNERS, LinearLearner

    learner = LEARNERS[evaluation]
    assert isinstance(learner, LinearLearner)
    settings = asdict(read_settings(learner.kind, {}, overrides))
    defaults = asdict(learner.kind())
    bounds = {"nodes": 5000 if nodes is None else nodes, "depth": depth or 0}
    if not any(bounds.values()):
        raise click.UsageError("--nodes 0 needs --depth: something must end a search")
    with errors():
        config = LoopConfig(
            learner=evaluation,
            generations=rounds,
            window=window,
            init_from=str(weights or ""),
            data=tuple(str(path) for path in find_files(data)),
            games=GamesConfig("teacher", games, {"searches": [bounds]}),
            train={name: value for name, value in settings.items() if value != defaults[name]},
            gate=GateConfig(games=0),
        )
        loop = Loop(config, folder)
        work(loop, threads, run)
        say(f"weights: {loop.player(rounds)}")
