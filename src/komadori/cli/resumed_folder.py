"""The option --out of commands that resume an existing folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from komadori.cli.interrupt import hint
from komadori.cli.outputs import OutputFolder


def resumed_folder(
    describe: Callable[[Path | None], str], help: str, *, required: bool = True
) -> Callable[[Any], Any]:
    """Return the option, the parameter `folder`. describe: the hint of interrupts, set before other
    options are read, since some import much.
    """

    def callback(_context: click.Context, _option: click.Parameter, folder: Path | None) -> Any:
        hint(describe(folder))
        return folder

    return click.option(
        "-o",
        "--out",
        "folder",
        required=required,
        type=OutputFolder(),
        is_eager=True,
        callback=callback,
        help=help,
    )


def games_folder() -> Callable[[Any], Any]:
    """Return the option of `generate` commands."""
    return resumed_folder(
        lambda folder: f"finished work is kept in {folder}; the same command resumes",
        "Output folder; an existing one is resumed.",
    )
