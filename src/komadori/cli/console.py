"""Terminal output of all commands: text is printed literally, never as rich markup.

Names of players, files and engines are untrusted: square brackets have no meaning and control
characters are replaced by symbols.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions
    from rich.progress import Progress
    from rich.segment import Segment

#: Control characters except tab and newline, bidirectional overrides, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

#: Width of a terminal that doesn't know its own.
DEFAULT_WIDTH = 80


def clean(text: str) -> str:
    """Replace control characters: ␛ for escape, � for others."""
    return _UNPRINTABLE.sub(_symbol, text)


def on_one_line(path: object) -> str:
    """Format a path: a line break in a file's name is shown as ␊."""
    return clean(str(path)).replace("\n", "␊")


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def say(text: object = "", *, err: bool = False) -> None:
    """Print a line."""
    click.echo(clean(str(text)), err=err)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 game`, `2,000 games`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def console(*, err: bool = False, quiet: bool = False) -> Console:
    """Create a rich console without markup, emoji codes and highlighting."""

    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(clean(text), **options)

        def render(
            self, renderable: Any, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                is_text = not segment.control
                yield segment._replace(text=clean(segment.text)) if is_text else segment

    made = PlainConsole(stderr=err, quiet=quiet, markup=False, emoji=False, highlight=False)
    if made.width < 1:  # COLUMNS=0: rich would print nothing
        made.width = DEFAULT_WIDTH
    return made


def progress(on: Console, *columns: Any, transient: bool = False) -> Progress:
    """Create a progress bar; string columns are format strings with {task...}.

    Default columns: description, bar, count, elapsed and remaining time. Draws nothing if the
    console isn't a terminal.
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
