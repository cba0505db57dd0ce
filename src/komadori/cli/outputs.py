"""One rule for every command that writes a file, checked before anything is read.

An output is no input and no other output; a file that is there already is replaced only by one of
its own kind, or with --force.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from komadori.atomic import file_in_the_way, is_stream

if TYPE_CHECKING:
    from komadori.records.formats import Format

T = TypeVar("T")
#: Tells whether a file is of the kind that is about to replace it.
IsKind = Callable[[Path], bool]
#: Bytes at the start of a file that tell its kind.
_HEAD = 256
#: Bytes of a page in which it says whose it is: behind its style sheet, in older ones.
_MOST_OF_PAGE = 1 << 20


def force_option(function: Callable[..., T]) -> Callable[..., T]:
    """The option --force, for commands that write a file."""
    return click.option(
        "--force", is_flag=True, help="Replace a file of another kind that is there."
    )(function)


def check_outputs(
    outputs: dict[Path, tuple[str, IsKind]], inputs: Iterable[Path], *, force: bool
) -> None:
    """Raise UsageError where an output is an input or a file of another kind.

    `outputs`: what each is called, and what tells whether an existing file may be replaced by it.
    """
    read = {identity for path in inputs if (identity := _identity(path)) is not None}
    for path, (name, is_kind) in outputs.items():
        if is_stream(path):
            continue
        target = _target(path)
        if blocking := file_in_the_way(target.parent):
            raise click.UsageError(f"{path}: {blocking} is a file, not a folder")
        if target.is_dir():
            raise click.UsageError(f"{path} is a folder; name a file for the output")
        if _identity(path) in read:
            raise click.UsageError(f"{path} is an input; writing there would destroy it")
        if force or not target.exists() or not target.stat().st_size or is_kind(target):
            continue
        raise click.UsageError(f"{path} exists and holds no {name}; --force replaces it")


def check_distinct(*outputs: Path) -> None:
    """Raise UsageError where two outputs are one file."""
    seen: dict[Any, Path] = {}
    for path in outputs:
        if is_stream(path):
            continue
        other = seen.setdefault(_identity(path) or path, path)
        if other is not path:
            raise click.UsageError(f"{path} is named for two outputs; each needs its own file")


def _target(path: Path) -> Path:
    """The file that a writer replaces. It follows links, and `x/../y` also where there is no x."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def _identity(path: Path) -> Any:
    """Equal for two names of one file, whether it exists or not; None for what can't be told."""
    target = _target(path)
    try:
        found = target.stat()
    except FileNotFoundError:
        return str(target)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def holds(format: Format) -> IsKind:
    """Tells whether a file can be read as records of that format."""

    def is_kind(path: Path) -> bool:
        from komadori.records import GameReader, RecordError
        from komadori.records.files import content
        from komadori.records.formats import valid_fraction

        try:
            if format.holds_games:
                return any(True for _ in islice(GameReader(path, format.name), 1))
            return valid_fraction(format, content(path)) > 0.5
        except (RecordError, OSError):
            return False

    return is_kind


def is_page(path: Path) -> bool:
    """Tells whether a file is a page that a command of ours wrote."""
    with path.open("rb") as file:
        text = file.read(_MOST_OF_PAGE)
    return b'<meta name="generator" content="komadori' in text or b'id="komadori"' in text


def begins_with(*heads: bytes) -> IsKind:
    """Tells whether a file begins so, white space and a byte-order mark aside."""

    def is_kind(path: Path) -> bool:
        with path.open("rb") as file:
            text = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        return text.startswith(heads)

    return is_kind
