"""Read record files in segments, and write one output segment per input segment to a folder.

settings.json     everything that determines the segments
000000.* ...      segments, in the order of the sources
000000.json ...   counts and file size of a segment; written last, marks it as complete
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from komadori import atomic
from komadori._core.records import HCPE3_MAX_PLIES
from komadori.generate.file_sizes import changed_file, parse_sizes, sizes_of
from komadori.generate.folder import (
    FolderError,
    check_new,
    holds_no_work,
    other_format,
    settings_conflict,
)
from komadori.json_file import as_json, dump_json, read_table
from komadori.records import Game, GameReader, SampleReader, Samples, Skipped, Winner
from komadori.records.files import UnchangedFiles
from komadori.records.formats import guess_format
from komadori.records.samples import samples_of
from komadori.rules import RulesError
from komadori.run_lock import RunLock
from komadori.typed_settings import convert
from komadori.wording import what_is_wrong

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped

FORMAT = "komadori-labels"
FORMAT_VERSION = 1

#: Games read at a time.
GAMES_AT_ONCE = 256


@dataclass
class SegmentCounts:
    """Base class for the counts of a segment; subclasses are dataclasses of integers."""

    def add(self, other: Self) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


C = TypeVar("C", bound=SegmentCounts)


@dataclass(frozen=True)
class Chunk:
    """Samples of whole games.

    skipped: games left out before these. read: fraction of the sources read so far, 0 to 1.
    """

    samples: Samples
    skipped: int
    read: float


def nothing_usable(left_out: int) -> str:
    """An error message for sources without a usable game; `left_out`: number of games left out."""
    if not left_out:
        return "no usable game in the files"
    return (
        "no usable game in the files: each one is damaged, too long, or without a result or a move "
        "for each position"
    )


def read_chunks(sources: Sequence[Path], on_skipped: OnSkipped | None = None) -> Iterator[Chunk]:
    """Yield the games of all files in chunks: every ply, labelled with the move played.

    `samples.game` is unique over all files. `on_skipped` is called for each damaged part of a file.
    Raises RecordError for a file of unknown format or one that changes meanwhile, OSError.
    """
    unchanged = UnchangedFiles()
    for path in sources:
        unchanged.check(path)
    sizes = [max(1, path.stat().st_size) for path in sources]
    games = 0
    for number, path in enumerate(sources):
        done = sum(sizes[:number])
        for samples, skipped, fraction in _read_file(path, on_skipped or (lambda _: None)):
            unchanged.check(path)
            if len(samples):
                samples.game += games - int(samples.game[0])
                games = int(samples.game[-1]) + 1
            yield Chunk(samples, skipped, (done + fraction * sizes[number]) / sum(sizes))


def _read_file(path: Path, on_skipped: OnSkipped) -> Iterator[tuple[Samples, int, float]]:
    if guess_format(path).holds_games:
        reader = GameReader(path)
        batch: list[Game] = []
        new_damage = _new_damage(reader.skipped, on_skipped)

        def take() -> tuple[Samples, int, float]:
            samples, bad = _rows_of(batch)
            damaged = new_damage()
            batch.clear()
            return samples, bad + damaged, reader.offset / max(1, reader.size)

        for game in reader:
            batch.append(game)
            if len(batch) == GAMES_AT_ONCE:
                yield take()
        yield take()
        return
    positions = SampleReader(path)
    waiting: Samples | None = None
    new_damage = _new_damage(positions.skipped, on_skipped)
    for samples in positions:
        samples = Samples.concatenate([waiting, samples]) if waiting else samples
        damaged = new_damage()
        last = int(np.searchsorted(samples.game, samples.game[-1]))  # may continue in the next
        waiting = samples.take(slice(last, None))
        yield (*_usable(samples.take(slice(0, last)), damaged), positions.offset / positions.size)
    damaged = new_damage()
    if waiting is not None or damaged:
        yield (*_usable(waiting or samples_of([]), damaged), 1.0)


def _new_damage(skipped: list[Skipped], on_skipped: OnSkipped) -> Callable[[], int]:
    """A function that reports what was added to `skipped` since the last call, and counts it."""
    known = 0

    def take() -> int:
        nonlocal known
        new = skipped[known:]
        known += len(new)
        for one in new:
            on_skipped(one)
        return sum(one.count for one in new)

    return take


def _usable(samples: Samples, skipped: int) -> tuple[Samples, int]:
    """Drop games that lack a move or are too long for hcpe3; also returns the number skipped."""
    _, first, count = np.unique(samples.game, return_index=True, return_counts=True)
    if not len(count):
        return samples, skipped
    moves = np.add.reduceat((samples.move16 == 0).astype(np.int64), first)
    bad = (count > HCPE3_MAX_PLIES) | (moves > 0)
    if not bad.any():
        return samples, skipped
    return samples.take(~np.repeat(bad, count)), skipped + int(bad.sum())


def _rows_of(games: Iterable[Game]) -> tuple[Samples, int]:
    """Return all plies of the games with the moves played, and the number of games left out."""
    plain = [replace(game, candidates=None) for game in games]
    usable = [g for g in plain if g.winner != Winner.UNKNOWN and 0 < len(g) <= HCPE3_MAX_PLIES]
    skipped = len(plain) - len(usable)
    try:
        samples = samples_of(usable)
    except RulesError:
        parts = []
        for game in usable:
            try:
                parts.append(samples_of([game]))
            except RulesError:
                skipped += 1
        for number, part in enumerate(parts):
            part.game += number
        samples = Samples.concatenate(parts) if parts else samples_of([])
    return samples, skipped


class SegmentFolder(Generic[C]):
    """Exclusive access to a folder of segments: a context manager that holds its lock."""

    #: Builds counts from the keys of their JSON object.
    counts_of: ClassVar[Callable[..., Any]]

    def __init__(self, path: Path, card: dict[str, Any]) -> None:
        """Raises FolderError if the folder was created with another card, InUseError, OSError."""
        self.path = path
        self._lock = RunLock(path).acquire()
        try:
            self._begin(as_json(card))
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, card: dict[str, Any]) -> None:
        settings = self.path / "settings.json"
        if settings.exists():
            conflict = settings_conflict(self.path, self._stored(settings), card)
            if not conflict:
                return
            if not holds_no_work(self.path):
                raise FolderError(conflict)
        else:
            check_new(self.path)
        about = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": card}
        atomic.write_text(settings, dump_json(about, indent=2) + "\n")

    def _stored(self, path: Path) -> dict[str, Any]:
        """Read the settings that the folder was created with."""
        try:
            stored = read_table(path)
            problem = other_format(stored, FORMAT, FORMAT_VERSION)
            settings: dict[str, Any] = convert(stored["settings"], dict, "settings")
        except (ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{path}: damaged: {what_is_wrong(error)}") from error
        if problem:
            raise FolderError(f"{path}: {problem}")
        return settings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def check_place(self) -> None:
        """Raise OSError if the folder was moved, removed or replaced."""
        self._lock.check_place()

    def counts(self, segment: int) -> C | None:
        """The counts of a segment, None if it isn't complete.

        Raises FolderError if they are damaged, or the segment's file has changed since.
        """
        path = self.path / f"{segment:06}.json"
        try:
            data = read_table(path)
            sizes = parse_sizes(data.pop("files", {}))
            for name, count in data.items():
                if type(count) is not int or count < 0:
                    raise ValueError(f"{name}: expected a count")
            counts: C = type(self).counts_of(**data)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise FolderError(f"{path}: damaged: {error}") from error
        if change := changed_file(self.path, sizes):
            raise FolderError(f"{change}; restore it, or delete {path.name} to make it again")
        return counts


def write_counts(folder: Path, segment: int, counts: SegmentCounts, file: Path) -> None:
    """Write the counts of a segment and the size of its file, which marks it as complete."""
    data = {**asdict(counts), "files": sizes_of([file])}
    atomic.write_text(folder / f"{segment:06}.json", dump_json(data) + "\n")


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    positions: int
    resumed: int
    """Positions of segments written by earlier runs."""
    read: float
    """Fraction of the sources read, including the segment in progress."""


def read_segments(
    sources: Sequence[Path], size: int, on_skipped: OnSkipped | None = None
) -> Iterator[Chunk]:
    """As `read_chunks`, at least `size` positions at a time except in the last chunk."""
    waiting: list[Chunk] = []
    for chunk in read_chunks(sources, on_skipped):
        waiting.append(chunk)
        if sum(len(one.samples) for one in waiting) >= size:
            yield from _cut(waiting, size)
    if waiting:
        yield _joined(waiting)


def _cut(waiting: list[Chunk], size: int) -> Iterator[Chunk]:
    """Cut full segments off the chunks waiting; the remainder stays in `waiting`."""
    while True:
        whole = _joined(waiting)
        rows = whole.samples
        if len(rows) < size:
            waiting[:] = [whole]
            return
        end = int(np.searchsorted(rows.game, rows.game[size - 1], side="right"))
        yield Chunk(rows.take(slice(0, end)), whole.skipped, whole.read)
        waiting[:] = [Chunk(rows.take(slice(end, None)), 0, whole.read)]


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    samples = Samples.concatenate([chunk.samples for chunk in chunks])
    return Chunk(samples, sum(chunk.skipped for chunk in chunks), chunks[-1].read)
