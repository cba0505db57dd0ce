"""Samples for the commands that take `--data`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori import records
from komadori.cli.console import say
from komadori.records.selection import match_files

if TYPE_CHECKING:
    from komadori.training import Part


def load_samples(patterns: Iterable[str], cache: str = "") -> records.Samples:
    """Load the samples of all files named by paths or patterns, memory-mapped from the folder
    `cache` if given; reports skipped games."""
    paths = find_files(patterns)
    try:
        samples = records.map_samples(paths, cache) if cache else records.load_samples(paths)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _tell_skipped(samples)
    return samples


def load_visits(patterns: Iterable[str], cache: str = "") -> Part:
    """Like `load_samples`, with the candidates' visits as policy targets."""
    from komadori import training

    try:
        part = training.load_visits(find_files(patterns), cache)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    assert isinstance(part.samples, records.Samples)
    _tell_skipped(part.samples)
    return part


def _tell_skipped(samples: records.Samples) -> None:
    for skipped in samples.skipped:
        say(f"skipped: {skipped}", err=True)


def find_files(patterns: Iterable[str]) -> list[Path]:
    """Call `records.selection.match_files`, converting its error to the command's."""
    try:
        return match_files(patterns)
    except records.RecordError as error:
        raise click.ClickException(str(error)) from error
