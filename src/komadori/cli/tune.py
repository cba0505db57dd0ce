"""`komadori tune PLAYER PARAMETERS.toml`: tune an engine's options by games (SPSA)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from komadori.cli import interrupt
from komadori.cli.console import console, say
from komadori.cli.game_options import (
    DEFAULT_OPENING_PLIES,
    as_options,
    game_progress,
    in_shell,
    parse_clock,
)
from komadori.cli.numbers import THREADS
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.arena.tune import Tuning

EXAMPLE = """\
# komadori tune "model:my.onnx" this-file.toml --out runs/tune
pairs = 2000              # pairs of games; each plays one opening with both colours
openings = ""             # file of openings or games, or "sample"; empty: random moves
opening_plies = 8
seed = 0

[conditions]              # as in komadori match
nodes = 800
# movetime_ms = 100
# clock = "10+0.1"
max_plies = 320

[spsa]                    # fishtest's defaults
alpha = 0.602
gamma = 0.101
stability = 0.1

[parameters.C_init]       # option name, as declared by the engine
start = 144
min = 50
max = 400
step = 20                 # perturbation at the last iteration; default (max - min) / 20
rate = 0.002              # learning rate at the last iteration, as in fishtest
type = "int"              # or "float"; default: int if start, min and max are integers

[parameters.C_fpu_reduction]
start = 27
min = 0
max = 100
"""


@click.command()
@click.argument("player", required=False)
@click.argument("parameters", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for results and page; an existing tuning is resumed.",
)
@click.option(
    "--concurrency",
    "-j",
    default=1,
    show_default=True,
    type=THREADS,
    help="Games at a time.",
)
@click.option("--example", is_flag=True, help="Print an example parameter file and exit.")
def command(
    player: str | None, parameters: Path | None, out: Path | None, concurrency: int, example: bool
) -> None:
    """Tune PLAYER's options by self-play (SPSA).

    PLAYER is any player with options, as in `komadori match`: a network's search, alphabeta, or a
    USI engine. PARAMETERS.toml names the options with their ranges; --example prints one. Each pair
    of games plays one opening with both colours. The folder --out stores every pair and a page with
    the parameters' paths; the same command resumes.
    """
    if example:
        for line in EXAMPLE.splitlines():
            say(line)
        return
    if player is None or parameters is None or out is None:
        raise click.UsageError("give PLAYER, PARAMETERS.toml and --out FOLDER (or --example)")
    from komadori import arena
    from komadori.arena.tune import read_config, tune
    from komadori.players import PlayerSpec
    from komadori.usi.client import EngineError

    terminal = console()
    try:
        PlayerSpec.parse(player)
        config = read_config(parameters, parse_clock)
        bar = game_progress(terminal)
        task = bar.add_task("pairs", total=config.pairs)
        with Live(console=terminal, refresh_per_second=2) as live:

            def show(tuning: Tuning) -> None:
                bar.update(task, completed=tuning.finished)
                live.update(Group(_table(tuning), bar))

            tuning = interrupt.in_thread(
                lambda: tune(player, config, out, concurrency=concurrency, on_pair=show),
                "the same command resumes",
            )
            show(tuning)
        if not terminal.is_terminal:
            terminal.print()
    except (ValueError, EngineError, arena.WorkerError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for line in (
        f"{counted(tuning.finished, 'pair')} of games: {tuning.score}",
        f"page: {out / 'index.html'}",
        f"now compare: {_comparison(tuning)}",
    ):
        terminal.print(line, soft_wrap=True)


def _comparison(tuning: Tuning) -> str:
    """Return the command of a match between the tuned and the original player: under the tuning's
    conditions, with another seed, since the tuned values may fit the tuning's openings."""
    config = tuning.config
    words = ["komadori", "match", tuning.specification(), tuning.player]
    words += as_options(config.conditions)
    if config.openings:
        words += ["--openings", config.openings]
    if config.opening_plies != DEFAULT_OPENING_PLIES:
        words += ["--opening-plies", str(config.opening_plies)]
    words += ["--seed", str(config.seed + 1)]
    return " ".join(map(in_shell, words))


def _table(tuning: Tuning) -> Table:
    table = Table()
    table.add_column("option")
    for name in ("start", "now", "moved", "range"):
        table.add_column(name, justify="right")
    for p in tuning.config.parameters:
        now = tuning.spsa.theta[p.name]
        table.add_row(
            Text(p.name),
            f"{p.start:g}",
            f"{now:.4g}",
            f"{(now - p.start) / p.step:+.2f} steps",
            f"{p.min:g} to {p.max:g}",
        )
    return table
