"""The click group behind `komadori`: subcommands are imported when they are asked for."""

from __future__ import annotations

import importlib
import keyword

import click

from komadori.cli import SUBCOMMANDS


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        name = cmd_name.replace("-", "_") + "_" * keyword.iskeyword(cmd_name)
        module = importlib.import_module(f"komadori.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="komadori")
def group() -> None:
    """A deep-learning shogi laboratory and engine."""
