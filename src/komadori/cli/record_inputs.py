"""Inputs, filters, progress and final report of the `komadori records` commands."""

from __future__ import annotations

import errno
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from komadori.cli.console import console, progress, say
from komadori.records import FORMATS, Game, GameReader, RecordError, SampleReader, Samples, Skipped
from komadori.records.formats import Format, find_format, guess_format
from komadori.records.selection import RESULTS, Selection, find_files

#: Exit statuses.
SOME_SKIPPED, NOTHING_USABLE = 1, 2
#: Maximum number of skipped items listed per reason without --verbose.
PLACES = 3


class WriteError(click.ClickException):
    """The output can't be written; exits with the status of an unusable result."""

    exit_code = NOTHING_USABLE


class Inputs:
    """One pass over the files: yields the selected items and counts the others.

    path  the file that is being read

    A file or folder that can't be opened counts as skipped; the others are still read.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        format: str | None,
        selection: Selection,
        verbose: bool,
    ) -> None:
        self.skipped: list[Skipped] = []
        try:
            self.files = list(find_files(paths, self._skip_folder))
        except RecordError as error:
            raise click.UsageError(str(error)) from error
        if not self.files and not self.skipped:
            raise click.UsageError("the folders hold no files with a record format's suffix")
        self.path = Path()
        self.format = find_format(format) if format else None
        self.selection = selection
        self.verbose = verbose
        self.used = 0
        self.left_out = 0
        self.notes: list[str] = []
        self.console = console(err=True)

    def _skip_folder(self, error: OSError) -> None:
        self.skipped.append(Skipped(Path(error.filename), 0, 0, 0, error.strerror or str(error)))

    def format_of(self, path: Path) -> Format:
        """Return the format of a file."""
        return self.format or guess_format(path)

    def __iter__(self) -> Iterator[Game | Samples]:
        total = sum(path.stat().st_size for path in self.files)
        with self._progress() as bar:
            task = bar.add_task("reading", total=total)
            done = 0
            for path in self.files:
                self.path = path
                size = path.stat().st_size

                def show(fraction: float, done: int = done, size: int = size) -> None:
                    bar.update(task, completed=done + fraction * size)

                try:
                    yield from self._read(path, show)
                except (RecordError, OSError) as error:
                    named = getattr(error, "filename", None)
                    if named is not None and named != str(path):
                        raise  # of the folder for temporary files, which other files need, too
                    reason = error.strerror if isinstance(error, OSError) else None
                    text = reason or str(error).removeprefix(f"{path}: ")
                    self.skipped.append(Skipped(path, 0, size, 0, text))
                done += size
                bar.update(task, completed=done)

    def games(self) -> Iterator[Game]:
        """Iterate over games only; files of positions count as skipped."""
        for item in self:
            if isinstance(item, Game):
                yield item
            else:
                raise click.UsageError(f"{self.path} holds positions, not games")

    def skip(self, game: Game, reason: str) -> None:
        """Count a game that was read but can't be used."""
        source = game.source
        path, offset = (source.path, source.offset) if source else (Path("-"), 0)
        self.skipped.append(Skipped(path, offset, offset, offset, reason))
        self.used -= 1

    def _read(self, path: Path, show: Callable[[float], None]) -> Iterator[Game | Samples]:
        if self.format_of(path).holds_games:
            reader = GameReader(path, self.format.name if self.format else None)
            try:
                for game in reader:
                    show(reader.offset / max(reader.size, 1))
                    if self.selection.accepts(game):
                        self.used += 1
                        yield game
                    else:
                        self.left_out += 1
            finally:
                self.skipped += reader.skipped
            if not reader.size:
                raise RecordError("an empty file")
            return
        conditions = self.selection.needs_games()
        if conditions:
            names = ", ".join("--" + name.replace("_", "-") for name in conditions)
            raise click.UsageError(f"{path} holds positions, not games: {names} can't be tested")
        positions = SampleReader(path, self.format.name if self.format else None)
        if positions.note:
            self.notes.append(positions.note)
        try:
            for samples in positions:
                show(positions.offset / max(positions.size, 1))
                chosen = samples.take(self.selection.rows(samples))
                self.left_out += len(samples) - len(chosen)
                self.used += len(chosen)
                yield chosen
        finally:
            self.skipped += positions.skipped
        if not positions.size:
            raise RecordError("an empty file")

    def _progress(self) -> Progress:
        timing = TimeElapsedColumn(), "left", TimeRemainingColumn()
        columns = ("{task.description}", BarColumn(), DownloadColumn(), *timing)
        return progress(self.console, *columns, transient=True)

    def exit_if_empty(self) -> None:
        """Exit if nothing was selected, so that an existing file is kept."""
        if not self.used:
            self._report()
            self._exit_if_unusable()
            say("nothing meets the conditions; nothing was written", err=True)
            sys.exit(NOTHING_USABLE)

    def finish(self) -> None:
        """Report what was skipped and why; exit with the corresponding status."""
        self._report()
        self._exit_if_unusable()
        if self.skipped:
            sys.exit(SOME_SKIPPED)

    def _report(self) -> None:
        for note in self.notes:
            say(note, err=True)
        if self.left_out:
            say(f"{self.left_out:,} left out by the conditions", err=True)
        groups: dict[str, list[Skipped]] = defaultdict(list)
        for skip in self.skipped:
            groups[_kind(skip.reason)].append(skip)
        if self.skipped:
            total = sum(skip.count for skip in self.skipped)
            say(f"{total:,} skipped:", err=True)
        for kind, skips in sorted(groups.items(), key=lambda item: -len(item[1])):
            say(f"  {sum(skip.count for skip in skips):,} x {kind}", err=True)
            for skip in skips if self.verbose else skips[:PLACES]:
                say(f"    {skip}", err=True)
            if not self.verbose and len(skips) > PLACES:
                say(f"    ... and {len(skips) - PLACES:,} more (--verbose)", err=True)

    def _exit_if_unusable(self) -> None:
        if not self.used and not self.left_out:
            say("Error: no usable game in the files", err=True)
            sys.exit(NOTHING_USABLE)


def _kind(reason: str) -> str:
    """Return the reason without its place and its variable parts."""
    # An apostrophe within a word is none of the quotation marks.
    reason = re.sub(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"", "...", reason)
    reason = re.sub(r"^((line|ply) \d+: )+", "", reason)
    reason = re.sub(r"(is not legal) in .*", r"\1", reason)
    return re.sub(r"\b\d+\b", "N", reason)


def with_inputs(function: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options for `inputs` to a command."""

    @click.argument(
        "paths",
        metavar="FILE...",
        nargs=-1,
        required=True,
        type=click.Path(path_type=Path),
    )
    @click.option(
        "--from",
        "source_format",
        type=click.Choice(list(FORMATS)),
        help="Format of the files. [default: by suffix]",
    )
    @click.option("--min-rating", type=float, help="Minimum rating of both players.")
    @click.option(
        "--min-plies", type=click.IntRange(min=0), default=0, help="Minimum length, in plies."
    )
    @click.option("--max-plies", type=click.IntRange(min=1), help="Maximum length, in plies.")
    @click.option(
        "--result",
        "results",
        multiple=True,
        type=click.Choice(RESULTS),
        metavar="RESULT",
        help=f"Winner or kind of ending: {', '.join(RESULTS)}; repeatable.",
    )
    @click.option("--player", "--engine", default="", help="Substring of either player's name.")
    @click.option(
        "--verbose", "-v", is_flag=True, help="List every place where something is skipped."
    )
    @functools.wraps(function)
    def wrapper(
        paths: tuple[Path, ...],
        source_format: str | None,
        min_rating: float | None,
        min_plies: int,
        max_plies: int | None,
        results: tuple[str, ...],
        player: str,
        verbose: bool,
        **options: Any,
    ) -> None:
        selection = Selection(min_rating, min_plies, max_plies, player, frozenset(results))
        inputs = Inputs(paths, source_format, selection, verbose)
        try:
            function(inputs, **options)
        except RecordError as error:
            raise click.UsageError(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader closed the pipe
                raise
            raise WriteError(str(error)) from error
        inputs.finish()

    return wrapper
