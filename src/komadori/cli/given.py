"""Options that were given, for commands that refuse what they would ignore."""

from __future__ import annotations

import click
from click.core import ParameterSource


def first_given(*names: str) -> str:
    """Return the first of these parameters that the command line gives, as an option; or ""."""
    context = click.get_current_context()
    options = {option.name: max(option.opts, key=len) for option in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return options[name]
    return ""
