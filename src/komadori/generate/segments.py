"""Sources read in segments, and the folder that gets something new for each of them.

settings.json     what the segments depend on
000000.* ...      segments, in the sources' order
000000.json ...   a segment's counts; written last, it makes the segment count
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from komadori import atomic
from komadori.generate.folder import FolderError, differences
from komadori.records import Game, GameReader, SampleReader, Samples, Winner
from komadori.records.formats import guess_format
from komadori.records.samples import samples_of
from komadori.rules import RulesError
from komadori.run_lock import RunLock

FORMAT = "komadori-labels"
FORMAT_VERSION = 1

#: Games read at a time.
GAMES_AT_ONCE = 256

#: Longer games don't fit into hcpe3.
MAX_PLIES = 513

#: Counts of a segment, a dataclass.
C = TypeVar("C")


@dataclass(frozen=True)
class Chunk:
    """Whole games on their way: rows of Samples, and how far the sources are read (0 to 1)."""

    samples: Samples
    skipped: int
    read: float


def read_chunks(sources: Sequence[Path]) -> Iterator[Chunk]:
    """The games of all files, some at a time, every ply with the move played. `game` is distinct.

    Raises RecordError for a file of no known format, OSError.
    """
    sizes = [max(1, path.stat().st_size) for path in sources]
    games = 0
    for number, path in enumerate(sources):
        done = sum(sizes[:number])
        for samples, skipped, share in _read_file(path):
            if len(samples):
                samples.game += games - int(samples.game[0])
                games = int(samples.game[-1]) + 1
            yield Chunk(samples, skipped, (done + share * sizes[number]) / sum(sizes))


def _read_file(path: Path) -> Iterator[tuple[Samples, int, float]]:
    if guess_format(path).holds_games:
        reader = GameReader(path)
        batch: list[Game] = []
        known = 0

        def take() -> tuple[Samples, int, float]:
            nonlocal known
            samples, bad = _rows_of(batch)
            damaged = sum(one.count for one in reader.skipped) - known
            known += damaged
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
    known = 0
    for samples in positions:
        samples = Samples.concatenate([waiting, samples]) if waiting else samples
        damaged = sum(one.count for one in positions.skipped) - known
        known += damaged
        last = int(np.searchsorted(samples.game, samples.game[-1]))  # the last game may go on
        waiting = samples.take(slice(last, None))
        yield (*_usable(samples.take(slice(0, last)), damaged), positions.offset / positions.size)
    if waiting is not None:
        yield (*_usable(waiting, 0), 1.0)


def _usable(samples: Samples, skipped: int) -> tuple[Samples, int]:
    """The rows of games that have a move everywhere and fit into a record."""
    _, first, count = np.unique(samples.game, return_index=True, return_counts=True)
    if not len(count):
        return samples, skipped
    moves = np.add.reduceat((samples.move16 == 0).astype(np.int64), first)
    bad = (count > MAX_PLIES) | (moves > 0)
    if not bad.any():
        return samples, skipped
    return samples.take(~np.repeat(bad, count)), skipped + int(bad.sum())


def _rows_of(games: Iterable[Game]) -> tuple[Samples, int]:
    """All plies of the games with the moves played, and how many games had to be left out."""
    plain = [replace(game, candidates=None) for game in games]
    fit = [g for g in plain if g.winner != Winner.UNKNOWN and 0 < len(g) <= MAX_PLIES]
    skipped = len(plain) - len(fit)
    try:
        samples = samples_of(fit)
    except RulesError:
        parts = []
        for game in fit:
            try:
                parts.append(samples_of([game]))
            except RulesError:
                skipped += 1
        for number, part in enumerate(parts):
            part.game += number
        samples = Samples.concatenate(parts) if parts else samples_of([])
    return samples, skipped


def sources_card(sources: Sequence[Path]) -> list[list[Any]]:
    """Name, size and the digest of the first MiB of each file."""
    card: list[list[Any]] = []
    for path in sources:
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(1 << 20)).hexdigest()[:16]
        card.append([path.name, path.stat().st_size, digest])
    return card


class SegmentFolder(Generic[C]):
    """One run's hold on a folder of segments. A context manager: it is locked until the end."""

    #: Makes counts of what their JSON holds.
    counts_of: ClassVar[Callable[..., Any]]

    def __init__(self, path: Path, card: dict[str, Any]) -> None:
        """Raises FolderError where the folder was begun with another card, InUseError, OSError."""
        self.path = path
        self._lock = RunLock(path).acquire()
        try:
            self._begin(json.loads(json.dumps(card)))
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, card: dict[str, Any]) -> None:
        settings = self.path / "settings.json"
        if not settings.exists():
            about = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": card}
            atomic.write_text(settings, json.dumps(about, indent=2) + "\n")
            return
        try:
            begun = json.loads(settings.read_text(encoding="utf-8"))
            if begun["format"] != FORMAT or begun["format_version"] != FORMAT_VERSION:
                raise FolderError(f"{settings}: not labels of this version")
            old = begun["settings"]
        except (ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{settings}: damaged: {error!r}") from error
        if other := differences(old, card):
            raise FolderError(
                f"{self.path}: was begun with other settings: {'; '.join(other)}; "
                "resume with those, or choose another folder"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def counts(self, segment: int) -> C | None:
        """Of a segment that is there; None where it isn't. Raises FolderError."""
        path = self.path / f"{segment:06}.json"
        try:
            counts: C = type(self).counts_of(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise FolderError(f"{path}: damaged: {error}") from error
        return counts


@dataclass(frozen=True)
class Progress:
    """How far a run is. read: share of the sources, the segment under way included."""

    positions: int
    resumed: int
    """Positions of segments that were there."""
    read: float


def read_segments(sources: Sequence[Path], size: int) -> Iterator[Chunk]:
    """Whole games, at least `size` positions at a time but for the last."""
    waiting: list[Chunk] = []
    for chunk in read_chunks(sources):
        waiting.append(chunk)
        if sum(len(one.samples) for one in waiting) >= size:
            yield from _cut(waiting, size)
    if waiting:
        yield _joined(waiting)


def _cut(waiting: list[Chunk], size: int) -> Iterator[Chunk]:
    """Segments of what waits; less than one stays."""
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
