"""The terminal, for all commands: text of others is printed as it is, never as rich's markup.

Names of players, files and engines come from elsewhere; square brackets in them mean nothing and
control characters, which could rewrite the screen, are shown as signs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

#: Control characters but tab and newline, overrides of the writing direction, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """The text with what a terminal would obey replaced: ␛ for escape, � for the less common."""
    return _UNPRINTABLE.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def say(text: object = "", *, err: bool = False) -> None:
    """Print a line."""
    click.echo(clean(str(text)), err=err)


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 game`, `2,000 games`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def console(*, err: bool = False, quiet: bool = False) -> Console:
    """A rich console without markup, emoji codes and highlighting; styles come as `rich.text`."""
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(clean(text), **options)

    return PlainConsole(stderr=err, quiet=quiet, markup=False, emoji=False, highlight=False)


def progress(on: Console, *columns: Any, transient: bool = False) -> Progress:
    """A progress bar; a column that is a string shows it, with {task...} filled in.

    Without columns: description, bar, count, time spent and time left. Nothing is drawn where the
    console is no terminal.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class PlainColumn(TextColumn):
        def render(self, task: Any) -> Any:
            text = super().render(task)
            text.plain = clean(text.plain)
            return text

    if not columns:
        timing = TimeElapsedColumn(), "left", TimeRemainingColumn()
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), *timing)
    made = [PlainColumn(c, markup=False) if isinstance(c, str) else c for c in columns]
    return Progress(*made, console=on, transient=transient, disable=not on.is_terminal)
