"""Terminal output of all commands: text is printed literally, never as rich markup.

Names of players, files and engines are untrusted: square brackets have no meaning and control
characters are replaced by symbols. A printed string is one line; only tables and texts of rich take
several.
"""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING, Any

import click

from komadori.wording import clean, on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, ConsoleOptions
    from rich.progress import Progress
    from rich.segment import Segment

    from komadori.records import Skipped

#: Width of a terminal that doesn't know its own, and of tables in narrower ones.
DEFAULT_WIDTH = 80


def say(text: object = "", *, err: bool = False) -> None:
    """Print one line; line breaks in it are those of names."""
    with _named(err=err):
        click.echo(on_one_line(text), err=err)


def say_skipped(skipped: Skipped) -> None:
    """Print a skipped part of a file of records on standard error."""
    say(f"skipped: {skipped}", err=True)


def next_command(*words: object) -> str:
    """Return the line that proposes a command of komadori, quoted for a shell."""
    return f"next: {shlex.join(['komadori', *map(str, words)])}"


def show(text: str) -> None:
    """Print a text of this program, which may have several lines."""
    with _named(err=False):
        click.echo(text)


@contextlib.contextmanager
def _named(*, err: bool) -> Iterator[None]:
    """Name the stream in an error of writing to it, such as a full disk; a reader that has closed
    the pipe is none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = "standard error" if err else "standard output"
        raise


def console(*, err: bool = False, quiet: bool = False) -> Console:
    """Create a rich console without markup, emoji codes and highlighting."""

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class PlainConsole(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            lines = [on_one_line(o) if isinstance(o, str) else o for o in objects]
            if all(isinstance(o, str) for o in objects):
                options.setdefault("soft_wrap", True)
            own = self._width
            if self.width < DEFAULT_WIDTH and any(isinstance(o, Table) for o in objects):
                # Rich would cut numbers and names; the terminal breaks the lines.
                self._width = DEFAULT_WIDTH
            try:
                with _named(err=err):
                    super().print(*lines, **options)
            finally:
                self._width = own

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(clean(text), **options)

        def render(
            self, renderable: Any, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            if isinstance(renderable, Table):
                for column in renderable.columns:
                    if not column.no_wrap:  # rich would shorten a long word, such as a name
                        column.overflow = "fold"
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
            text.plain = on_one_line(text.plain)
            return text

    if not columns:
        timing = TimeElapsedColumn(), "left", TimeRemainingColumn()
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), *timing)
    made = [PlainColumn(c, markup=False) if isinstance(c, str) else c for c in columns]
    return Progress(*made, console=on, transient=transient, disable=not on.is_terminal)
