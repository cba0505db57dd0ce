"""Checks of the numbers in all commands: finite, and integers of at most 64 bits."""

from __future__ import annotations

import math
from typing import Any

import click

from komadori.cpus import MAX_THREADS

#: Of an NNUE file, as the USI option.
FV_SCALE = click.IntRange(1, 128)
#: Parameter types of `--threads`; the first also that of `--concurrency`.
THREADS, THREADS_OR_AUTO = click.IntRange(1, MAX_THREADS), click.IntRange(0, MAX_THREADS)
#: Maximum batch size of an evaluator, as in the option DNN_Batch_Size, and its parameter types.
MAX_BATCH = 4096
BATCH, BATCH_OR_AUTO = click.IntRange(1, MAX_BATCH), click.IntRange(0, MAX_BATCH)


def check_numbers(command: click.Command) -> None:
    """Add the checks to the parameters of a command, or of all commands of a group."""
    for parameter in command.params:
        number = isinstance(parameter.type, (type(click.INT), type(click.FLOAT)))
        if number and not isinstance(parameter.callback, _CheckedCallback):
            parameter.callback = _CheckedCallback(parameter.callback)
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            check_numbers(subcommand)


class _CheckedCallback:
    """A parameter's callback, preceded by the check."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback

    def __call__(self, ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise click.BadParameter(f"{number} is not a finite number")
            if isinstance(number, int) and not -(2**63) <= number < 2**63:
                raise click.BadParameter("the number has more than 64 bits")
        return self._callback(ctx, param, value) if self._callback else value
