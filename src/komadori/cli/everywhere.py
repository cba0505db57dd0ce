"""`--ray`, and commands that divide their work by locks in a folder."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import click

from komadori.cli.console import say

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _RayAddress(click.ParamType[str]):
    """The address of a Ray cluster. Without Ray the command ends before it makes anything."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from komadori.cluster.fleet import ClusterError, check_installed

        try:
            check_installed()
        except ClusterError as error:
            raise click.ClickException(str(error)) from None
        return value


def ray_option(help: str, name: str = "address") -> Callable[[_Command], _Command]:
    """`--ray`, as the parameter `name`."""
    return click.option("--ray", name, metavar="ADDRESS", type=_RayAddress(), help=help)


def on_all_machines(address: str, stop: threading.Event) -> bool:
    """Run this command without `--ray` once on each machine, in this folder.

    Returns False if `stop` was set.
    """
    from functools import partial

    from komadori.cluster import ClusterError
    from komadori.cluster.everywhere import run_everywhere

    words = [sys.executable, "-m", "komadori", *without_ray(sys.argv[1:])]
    try:
        return run_everywhere(address, words, on_change=partial(say, err=True), stop=stop.is_set)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error


def without_ray(words: list[str]) -> list[str]:
    """Remove `--ray ADDRESS` or `--ray=ADDRESS` from a command line."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--ray":
            next(rest, None)
        elif not word.startswith("--ray="):
            kept.append(word)
    return kept
