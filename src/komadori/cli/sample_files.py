"""Samples for the commands that take `--data`."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori import records

if TYPE_CHECKING:
    from komadori.training import Part


def load_samples(patterns: Iterable[str], cache: str = "") -> records.Samples:
    """The samples of all files that the paths or patterns name, mapped from the folder `cache`
    where one is given; skipped games are told."""
    paths = find_files(patterns)
    try:
        samples = records.map_samples(paths, cache) if cache else records.load_samples(paths)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _tell_skipped(samples)
    return samples


def load_shares(patterns: Iterable[str], cache: str = "") -> Part:
    """As `load_samples`, with the shares of the candidates' visits."""
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
        click.echo(f"skipped: {skipped}", err=True)


def find_files(patterns: Iterable[str]) -> list[Path]:
    """The files that paths or patterns name."""
    paths: list[Path] = []
    for pattern in patterns:
        if Path(pattern).is_dir():
            raise click.ClickException(f"{pattern} is a folder; name its files: {pattern}/*.hcpe3")
        # A file of this very name comes first: brackets are no pattern then.
        found = [pattern] if Path(pattern).exists() else glob.glob(pattern, recursive=True)  # noqa: PTH207 (absolute ones too)
        if not found:
            raise click.ClickException(f"no file matches {pattern}")
        paths += map(Path, sorted(found))
    return list(dict.fromkeys(paths))  # each once
