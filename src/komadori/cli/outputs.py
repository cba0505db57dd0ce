"""Checks of output files, for all commands that write one; made before anything is read.

An output must be neither an input nor another output. An existing file is replaced only by one of
the same kind, or with --force.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from komadori.atomic import file_in_the_way, is_stream
from komadori.run_lock import RunLock

if TYPE_CHECKING:
    from komadori.records.formats import Format

T = TypeVar("T")
#: Returns whether an existing file is of the kind that would replace it.
IsKind = Callable[[Path], bool]
#: Bytes read from the start of a file to detect its kind.
_HEAD = 256
#: Bytes read of a page to find its generator; in older pages it follows the style sheet.
_PAGE_HEAD = 1 << 20
_STANDARD_OUTPUT = "-"
#: Endings of a path that names a folder.
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))
#: Suffixes that name a file.
_FILE_SUFFIX = re.compile(
    r"\.(bin|csa|csv|db|gz|hcpe[23]?|html|jkf|json|ki2|kif|md|npz|onnx|pdf|png|psv|pth?|safetensors"
    r"|sfen|svg|toml|txt|usi|xz)",
    re.IGNORECASE,
)


class OutputFolder(click.Path):
    """A folder to write. A name with the suffix of a file is an error, unless there is such a
    folder: who writes `--out game.html` expects a file. So is `-`, standard output.
    """

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if os.path.isfile(value):  # noqa: PTH113
            self.fail(f"{os.fsdecode(value)} is a file, not a folder", param, ctx)
        if os.fsdecode(value) == _STANDARD_OUTPUT:
            self.fail("the output is a folder; it can't be written to standard output", param, ctx)
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if _FILE_SUFFIX.fullmatch(path.suffix) and not path.is_dir():
            self.fail(f"{path} would be a folder; give a name without {path.suffix}", param, ctx)
        return path


class OutputFile(click.Path):
    """A file to write; `-` is standard output. A folder is an error, also one that doesn't exist
    yet: who writes `--out games/` expects a file in it.
    """

    def __init__(self, what: str = "output") -> None:
        super().__init__(path_type=Path)
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if os.fsdecode(value) == _STANDARD_OUTPUT:
            return Path("/dev/stdout")  # `atomic` knows it on every system
        if os.path.isdir(value) or os.fsdecode(value).endswith(_SEPARATORS):  # noqa: PTH112
            self.fail(
                f"{os.fsdecode(value)} is a folder; name a file for the {self._what}", param, ctx
            )
        return Path(os.fsdecode(super().convert(value, param, ctx)))


def force_option(function: Callable[..., T]) -> Callable[..., T]:
    """Add the option --force to a command that writes a file."""
    return click.option("--force", is_flag=True, help="Replace an existing file of another kind.")(
        function
    )


def check_outputs(
    outputs: dict[Path, tuple[str, IsKind]], inputs: Iterable[Path], *, force: bool
) -> None:
    """Raise UsageError if an output is an input or a file of another kind.

    `outputs`: by path, the name of its kind and the check whether an existing file is of that kind.
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
    """Raise UsageError if two outputs are the same file."""
    seen: dict[Any, Path] = {}
    for path in outputs:
        if is_stream(path):
            continue
        other = seen.setdefault(_identity(path) or path, path)
        if other is not path:
            raise click.UsageError(f"{path} is named for two outputs; each needs its own file")


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Lock an output of several files, so that two commands don't mix theirs.

    Raises ClickException if another process holds the lock or the place can't be written. Folders
    made for the lock are removed at the end if they are empty.
    """
    target = _target(path)
    if is_stream(path) or not target.name:
        yield
        return
    made = [folder for folder in target.parents if not folder.exists()]
    lock = RunLock.of_file(target)
    lock.place = path
    try:
        try:
            lock.acquire()
        except OSError as error:
            raise click.ClickException(str(error)) from error
        yield
    finally:
        lock.release()
        with contextlib.suppress(OSError):  # one that holds something stays
            for folder in made:
                folder.rmdir()


def _target(path: Path) -> Path:
    """Resolve links, and `x/../y` even if x doesn't exist: the file that a writer would replace."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def _identity(path: Path) -> Any:
    """Return a key that is equal for all names of a file, existing or not; None if unknown."""
    target = _target(path)
    try:
        found = target.stat()
    except FileNotFoundError:
        return str(target)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def holds(format: Format) -> IsKind:
    """Return a check whether a file can be read as records of a format."""

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
    """Return whether a file is a page written by komadori."""
    with path.open("rb") as file:
        text = file.read(_PAGE_HEAD)
    return b'<meta name="generator" content="komadori' in text or b'id="komadori"' in text


def page_title(path: Path) -> str:
    """Return the title of a page written by komadori; "" if it has none."""
    with path.open("rb") as file:
        text = file.read(_PAGE_HEAD).decode(errors="replace")
    found = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    return html.unescape(found[1]) if found else ""


def begins_with(*heads: bytes) -> IsKind:
    """Return a check whether a file starts with one of `heads`, after a BOM and white space."""

    def is_kind(path: Path) -> bool:
        with path.open("rb") as file:
            text = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        return text.startswith(heads)

    return is_kind
