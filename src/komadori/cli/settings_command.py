"""Commands whose options replace settings, which name the defaults."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

import click


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
