"""An empty name of a file or an engine, as of a shell variable that isn't set, is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import click

#: Texts that name files or engines.
_NAMES = frozenset(("--data", "--engine", "--opponent-engine"))


def refuse_empty(command: click.Command) -> None:
    """Refuse empty names given to a command, or to all commands of a group.

    Otherwise an empty path would be the working directory, and an engine without a name none.
    """
    for parameter in command.params:
        is_name = isinstance(parameter.type, click.Path) or not _NAMES.isdisjoint(parameter.opts)
        if is_name and not isinstance(parameter.type.convert, _Checked):
            parameter.type = copy.copy(parameter.type)  # parameters share types
            vars(parameter.type)["convert"] = _Checked(parameter.type.convert)
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            refuse_empty(subcommand)


class _Checked:
    """A type's conversion, preceded by the check."""

    def __init__(self, convert: Callable[..., Any]) -> None:
        self._convert = convert

    def __call__(self, value: Any, param: click.Parameter, ctx: click.Context) -> Any:
        if value == "" and param.name is not None:
            source = ctx.get_parameter_source(param.name)
            if source is click.core.ParameterSource.COMMANDLINE:  # no default
                raise click.BadParameter("it is empty", ctx, param)
        return self._convert(value, param, ctx)
