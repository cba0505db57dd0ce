"""The command line: `komadori SUBCOMMAND`, one file a subcommand.

A subcommand's module is imported only when it is asked for, so that the command
starts fast and an extra that isn't installed is missed only where it is needed.
"""

from __future__ import annotations

import importlib
import sys

import click

#: name -> (module in this package, one-line help). The module exports `command`.
SUBCOMMANDS: dict[str, str] = {
    "perft": "Count the leaf nodes of the legal move tree.",
    "train": "Train a network from games, as a TOML file says.",
    "evaluate": "Measure a network on games it hasn't seen.",
    "export": "Write a trained network as an ONNX file.",
    "doctor": "Tell what works on this machine and what to install for the rest.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        module = importlib.import_module(f"komadori.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="komadori")
def _group() -> None:
    """A deep-learning shogi laboratory and engine."""


def main() -> None:
    """The `komadori` console command."""
    if sys.argv[1:2] == ["usi"]:  # a GUI waits for the handshake: nothing else is imported first
        from komadori.usi.__main__ import main as usi_main

        sys.exit(usi_main(sys.argv[2:]))
    _group(prog_name="komadori")
