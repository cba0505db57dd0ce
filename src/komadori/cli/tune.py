"""`komadori tune PLAYER PARAMETERS.toml`: tune an engine's options by games (SPSA)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from komadori.cli import interrupt
from komadori.cli.console import console, say, say_skipped
from komadori.cli.game_options import (
    as_options,
    game_progress,
    in_shell,
    parse_clock,
)
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import OutputFolder
from komadori.wording import counted, duration, plain_number

if TYPE_CHECKING:
    from komadori.arena.tune import Tuning

EXAMPLE = """\
# komadori tune "model:my.onnx" this-file.toml --out runs/tune
pairs = 2000              # pairs of games; each plays one opening with both colours
openings = ""             # file of openings or games, or "sample"; empty: random moves
# opening_plies = 8       # default: 8 random moves, whole lines of a text file, 24 moves of games
seed = 0
# opponent = "usi:COMMAND"  # both sides play against it, not against each other

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

_ALPHABETA_HEAD = """\
# komadori tune "alphabeta?Eval=nnue" this-file.toml --out runs/tune -j 2
pairs = 3000
openings = ""             # file of openings or games, or "sample"; empty: random moves

[conditions]
nodes = 5000
"""
#: Seconds between lines of progress.
LINE_SECONDS = 60.0

#: Of the constants' perturbations; with the default rate a tuning of thousands of pairs hardly
#: leaves the start.
_ALPHABETA_RATE = 0.006


def alphabeta_example() -> str:
    """The parameter file of the alpha-beta search's constants: all but switches, by steps of an
    eighth of their value."""
    from komadori.search.alphabeta import CONSTANTS

    lines = [_ALPHABETA_HEAD.rstrip()]
    for name, (value, low, high) in CONSTANTS.items():
        if high - low < 2:
            continue
        step = max(1, round(abs(value) / 8 or (high - low) / 40))
        lines += [
            "",
            f'[parameters."Search.{name}"]',
            f"start = {value}",
            f"min = {low}",
            f"max = {high}",
            f"step = {step}",
            f"rate = {_ALPHABETA_RATE}",
        ]
    return "\n".join(lines)


@click.command()
@click.argument("player", required=False)
@click.argument("parameters", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=OutputFolder(),
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
@click.option(
    "--example",
    is_flag=False,
    flag_value="options",
    type=click.Choice(["options", "alphabeta"]),
    help="Print a parameter file and exit: an example with a network's options, or the constants "
    "of the alpha-beta search.",
)
def command(
    player: str | None,
    parameters: Path | None,
    out: Path | None,
    concurrency: int,
    example: str | None,
) -> None:
    """Tune PLAYER's options by games against itself or an opponent (SPSA).

    PLAYER is any player with options, as in `komadori match`: a network's search, alphabeta, or a
    USI engine. PARAMETERS.toml names the options with their ranges; --example prints one. Each pair
    of games plays one opening with both colours. With `opponent` in the file, the values of each
    side play a pair against that player. The folder --out stores every pair and a page with
    the parameters' paths; the same command resumes.
    """
    if example:
        for line in (EXAMPLE if example == "options" else alphabeta_example()).splitlines():
            say(line)
        return
    if player is None or parameters is None or out is None:
        raise click.UsageError("give PLAYER, PARAMETERS.toml and --out FOLDER (or --example)")
    interrupt.hint("the same command resumes")
    from komadori import arena
    from komadori.arena.tune import read_config, tune
    from komadori.players import PlayerSpec, PlayerSpecError
    from komadori.usi.client import EngineError

    terminal = console()
    try:
        PlayerSpec.parse(player)
        config = read_config(parameters, parse_clock)
        lines = _ProgressLines(terminal)
        bar = game_progress(terminal)
        task = bar.add_task("pairs", total=config.pairs)
        with _line_end(terminal, lines), Live(console=terminal, refresh_per_second=2) as live:

            def show(tuning: Tuning) -> None:
                bar.update(task, completed=tuning.finished)
                live.update(Group(_table(tuning, _rows_that_fit(terminal)), bar))
                lines(tuning)

            tuning = interrupt.in_thread(
                lambda: tune(
                    player,
                    config,
                    out,
                    concurrency=concurrency,
                    on_pair=show,
                    on_skipped=say_skipped,
                )
            )
            show(tuning)
            live.update(Group(_table(tuning), bar))  # whole; the terminal scrolls
    except PlayerSpecError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, EngineError, arena.WorkerError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for line in (
        f"{tuning.progress}: {tuning.score}",
        f"page: {out / 'index.html'}",
        f"now compare: {_comparison(tuning)}",
    ):
        terminal.print(line, soft_wrap=True)


@contextlib.contextmanager
def _line_end(terminal: Console, lines: _ProgressLines) -> Iterator[None]:
    """End the line that a live display leaves open without a terminal, also after errors."""
    try:
        yield
    finally:
        if not terminal.is_terminal and lines.has_begun:
            terminal.print()


class _ProgressLines:
    """Where there is no live table: a line per minute with the time left."""

    def __init__(self, on: Console) -> None:
        self._console = on
        self._started = self._last = time.monotonic()
        self._resumed: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything has been shown yet."""
        return self._resumed is not None

    def __call__(self, tuning: Tuning) -> None:
        now = time.monotonic()
        if self._resumed is None:
            self._resumed, self._started = tuning.finished, now
        if self._console.is_terminal or now - self._last < LINE_SECONDS:
            return
        self._last = now
        total = tuning.config.pairs
        per_pair = (now - self._started) / max(1, tuning.finished - self._resumed)
        self._console.print(
            f"{tuning.finished:,} of {counted(total, 'pair')}, "
            f"{duration((total - tuning.finished) * per_pair)} left",
            soft_wrap=True,
        )


def _comparison(tuning: Tuning) -> str:
    """Return the command of a match between the tuned player and the opponent, or the original
    player: under the tuning's conditions, with another seed, since the tuned values may fit the
    tuning's openings."""
    config = tuning.config
    words = ["komadori", "match", tuning.specification(), config.opponent or tuning.player]
    words += as_options(config.conditions)
    if config.openings:
        words += ["--openings", config.openings]
    if config.opening_plies is not None:
        words += ["--opening-plies", str(config.opening_plies)]
    words += ["--seed", str(config.seed + 1)]
    return " ".join(map(in_shell, words))


#: Lines of the display that aren't parameters: the table's frame and titles, and the bar.
_OTHER_LINES = 5


def _rows_that_fit(terminal: Console) -> int | None:
    """Return the number of parameters that a live table shows; None: all."""
    return max(1, terminal.height - _OTHER_LINES) if terminal.is_terminal else None


def _table(tuning: Tuning, rows: int | None = None) -> Table:
    """Return the parameters; in `rows` lines the most moved ones and how many there are more."""
    parameters = tuning.config.parameters
    moved = {p.name: (tuning.spsa.theta[p.name] - p.start) / p.step for p in parameters}
    hidden = 0
    if rows is not None and len(parameters) > rows:
        hidden = len(parameters) - max(1, rows - 2)  # the caption may be wrapped
        most = sorted(parameters, key=lambda p: -abs(moved[p.name]))
        parameters = tuple(most[: len(parameters) - hidden])
    table = Table(caption=f"and {hidden} that moved less" if hidden else None)
    is_live = rows is not None  # one line each
    table.add_column("option", no_wrap=is_live)
    for name in ("start", "now", "moved", "range"):
        table.add_column(name, justify="right", no_wrap=is_live)
    for p in parameters:
        now = tuning.spsa.theta[p.name]
        table.add_row(
            Text(p.name),
            plain_number(p.start),
            plain_number(now, 4),
            f"{moved[p.name]:+.2f} steps",
            f"{plain_number(p.min)} to {plain_number(p.max)}",
        )
    return table
