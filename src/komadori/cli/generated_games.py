"""Options shared by the generators of games, `generate selfplay` and `generate teacher`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
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


class SettingsCommand(click.Command):
    """A command whose help names the defaults of the settings that its options replace.

    `settings` is the MODULE:CLASS of these settings, imported for the help alone.
    """

    def __init__(self, *args: Any, settings: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        module, _, name = self._settings.partition(":")
        defaults = {f.name: f.default for f in fields(getattr(import_module(module), name))}
        for option in self.params:
            if isinstance(option, click.Option) and "[default: " not in (option.help or ""):
                text = _default_text(option, defaults.get(option.name or ""))
                option.help = f"{option.help} [default: {text}]" if text else option.help
        super().format_options(ctx, formatter)


def _default_text(option: click.Option, value: object) -> str:
    """Format a setting's default as the option takes it; "" if there is none to name."""
    match value:
        case bool():
            return (option.opts if value else option.secondary_opts)[0].removeprefix("--")
        case str():
            return value
        case int():
            return str(value)
        case float():
            return f"{value:g}"
        case (int(), int()):
            return ":".join(map(str, value))
    return ""


def settings_of(create: Callable[[Mapping[str, Any]], S], options: Mapping[str, Any]) -> S:
    """Create settings from the options that were given. Raises UsageError."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return create(given)
    except ValueError as error:
        raise click.UsageError(as_options(str(error), given)) from error
