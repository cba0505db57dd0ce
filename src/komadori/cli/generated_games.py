"""Options shared by the generators of games, `generate selfplay` and `generate teacher`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from komadori.cli.everywhere import ray_option
from komadori.cli.given import as_options

S = TypeVar("S")

GAMES = click.option(
    "--games",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Number of games; 0: no limit.",
)
SEED = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the random numbers. [default: 1]"
)
RAY = ray_option("Play on all machines of a Ray cluster.")
DECLARATION = click.option(
    "--declaration",
    type=click.Choice(["27", "24", "none"]),
    help="Rule of the declaration win: 27 points, 24 points, or none. [default: 27]",
)
MAX_PLIES = click.option(
    "--max-plies", type=click.IntRange(1, 513), help="Plies until a game is a draw. [default: 320]"
)
SEGMENT_GAMES = click.option(
    "--segment-games",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Games per segment file.",
)


def settings_of(create: Callable[[Mapping[str, Any]], S], options: Mapping[str, Any]) -> S:
    """Create settings from the options that were given. Raises UsageError."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return create(given)
    except ValueError as error:
        raise click.UsageError(as_options(str(error), given)) from error
