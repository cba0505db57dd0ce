"""Options that were given, for commands that refuse what they would ignore."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click
from click.core import ParameterSource


def first_given(*names: str) -> str:
    """Return the first of these parameters that the command line gives, as an option; or ""."""
    context = click.get_current_context()
    options = _options()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return options[name]
    return ""


def as_options(message: str, names: Iterable[str]) -> str:
    """Return a settings' message with these parameters as options: memory_mb as --memory.

    Names of one word stay: they are also words of the messages.
    """
    options = _options()
    for name in names:
        if "_" in name and name in options:
            message = re.sub(rf"\b{name}\b", options[name], message)
    return message


def _options() -> dict[str | None, str]:
    command = click.get_current_context().command
    return {option.name: max(option.opts, key=len) for option in command.params}
