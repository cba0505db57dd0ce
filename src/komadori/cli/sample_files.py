"""Load samples for commands with `--data`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np
from numpy.typing import NDArray

from komadori import records
from komadori.cli.console import say, say_skipped
from komadori.records.selection import match_files

if TYPE_CHECKING:
    from komadori.training import Part

F = TypeVar("F", bound=Callable[..., Any])

#: More positions with the score 0 than this fraction aren't all draws.
_MANY_WITHOUT_SCORES = 0.5


def load_samples(patterns: Iterable[str], cache: str = "") -> records.Samples:
    """Load the samples of all files given by paths or patterns, and report skipped games.

    cache: folder from which the samples are memory-mapped, if given.
    """
    paths = find_files(patterns)
    try:
        samples = records.map_samples(paths, cache) if cache else records.load_samples(paths)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report_skipped(samples)
    return samples


def load_visits(patterns: Iterable[str], cache: str = "") -> Part:
    """Like `load_samples`, with the candidates' visits as policy targets."""
    from komadori import training

    try:
        part = training.load_visits(find_files(patterns), cache)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    assert isinstance(part.samples, records.Samples)
    _report_skipped(part.samples)
    return part


def _report_skipped(samples: records.Samples) -> None:
    for skipped in samples.skipped:
        say_skipped(skipped)


def say_missing_scores(scores_cp: NDArray[np.int16], weight: float, remedy: str) -> None:
    """Say that most of the scores are 0, as formats store it for positions without one, if the
    loss gives scores a weight.

    scores_cp: [N], of the data or a part of it.
    """
    if not weight or not len(scores_cp):
        return
    without = 1 - np.count_nonzero(scores_cp) / len(scores_cp)
    if without > _MANY_WITHOUT_SCORES:
        say(
            f"{100 * without:.0f} % of the positions have the score 0, as those without a score "
            f"do; {remedy} learns values from the results alone",
            err=True,
        )


def sources_argument() -> Callable[[F], F]:
    """The argument SOURCES: files, folders and patterns, given to the command as files."""
    return click.argument("sources", nargs=-1, required=True, callback=_matched)


def _matched(_: click.Context, __: click.Parameter, patterns: tuple[str, ...]) -> tuple[Path, ...]:
    try:
        return tuple(match_files(patterns))
    except records.RecordError as error:
        raise click.UsageError(str(error)) from error


def find_files(patterns: Iterable[str]) -> list[Path]:
    """Call `records.selection.match_files`, converting its error to the command's."""
    try:
        return match_files(patterns)
    except records.RecordError as error:
        raise click.ClickException(str(error)) from error
