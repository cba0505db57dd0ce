"""An empty argument, as of a shell variable that isn't set, is no value of any option."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import click


def refuse_empty(command: click.Command) -> None:
    """Refuse empty arguments of a command, or of all commands of a group.

    Otherwise an empty path would be the working directory, and an engine without a name none. An
    empty name of a model remains the default, as that of the option DNN_Model.
    """
    for parameter in command.params:
        is_text = isinstance(parameter.type, click.Path | type(click.STRING))
        is_checked = isinstance(parameter.type.convert, _Checked)
        if is_text and not is_checked and parameter.name != "model":
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
