"""Positions of any files with new policies and values, as hcpe3 in segments.

    settings.json         what the labels depend on: the sources, the labeller
    000000.hcpe3.xz ...   segments: the sources' games in their order, with new labels
    000000.json ...       a segment's counts; written last, it makes the segment count

Games stay games, with their moves and results, so that training still splits by game. A run that
was killed loses the segment under way.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from komadori import atomic
from komadori.generate.folder import FolderError, differences
from komadori.generate.labellers import Labeller, Labels, Stopped
from komadori.records import End, Game, GameReader, SampleReader, Samples, Winner
from komadori.records.formats import guess_format
from komadori.records.samples import samples_of
from komadori.rules import RulesError
from komadori.run_lock import RunLock

FORMAT = "komadori-labels"
FORMAT_VERSION = 1
SUFFIX = ".hcpe3.xz"

#: Labels compress little, and compression must not slow down the network.
XZ_PRESET = 0

#: Games read at a time.
GAMES_AT_ONCE = 256

#: Longer games don't fit into hcpe3.
MAX_PLIES = 513

_END_BITS = {
    End.SENNICHITE: 4,
    End.PERPETUAL_CHECK: 4,
    End.DECLARATION: 8,
    End.IMPASSE: 8,
    End.MAX_MOVES: 16,
}


@dataclass
class LabelCounts:
    """What a segment or a run has. agreeing: positions whose best move is the one played."""

    games: int = 0
    positions: int = 0
    candidates: int = 0
    agreeing: int = 0
    skipped: int = 0
    """Games left out: without a result, damaged, or too long."""

    def add(self, other: LabelCounts) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def lines(self) -> list[str]:
        """For people."""
        positions = max(1, self.positions)
        return [
            f"{self.positions:,} positions of {self.games:,} games"
            + (f"; {self.skipped:,} games left out" if self.skipped else ""),
            f"{self.candidates / positions:.1f} candidates per position; the best one is the move "
            f"played in {100 * self.agreeing / positions:.1f} %",
        ]


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


def to_hcpe3(samples: Samples, labels: Labels) -> bytes:
    """The games with these labels, as the bytes of an hcpe3 file."""
    n = len(samples)
    is_first = np.ones(n, bool)
    is_first[1:] = samples.game[1:] != samples.game[:-1]
    plies = np.diff(np.append(np.flatnonzero(is_first), n))
    size = 36 * is_first + 6 + 4 * labels.count.astype(np.int64)
    begin = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)

    head = np.zeros((len(plies), 36), np.uint8)
    head[:, :32] = samples.hcp[is_first]
    head[:, 32:34] = plies.astype("<u2").view(np.uint8).reshape(-1, 2)
    head[:, 34] = _result_bytes(samples, is_first)
    out[begin[is_first][:, None] + np.arange(36)] = head

    row = np.empty((n, 3), "<u2")
    row[:, 0] = samples.move16
    row[:, 1] = np.clip(labels.score_cp, -32767, 32767).astype("<i2").view("<u2")
    row[:, 2] = labels.count
    at = begin + 36 * is_first
    out[at[:, None] + np.arange(6)] = row.view(np.uint8).reshape(n, 6)

    pairs = np.stack([labels.move16, labels.visits], 1).astype("<u2")
    count = labels.count.astype(np.int64)
    inner = np.arange(len(pairs)) - np.repeat(np.cumsum(count) - count, count)
    place = np.repeat(at + 6, count) + 4 * inner
    out[place[:, None] + np.arange(4)] = pairs.view(np.uint8).reshape(-1, 4)
    return out.tobytes()


def _result_bytes(samples: Samples, is_first: NDArray[np.bool_]) -> NDArray[np.uint8]:
    result = samples.result[is_first]
    black_to_move = (samples.hcp[is_first, 0] & 1) == 0
    black_won = (result > 0.5) == black_to_move
    byte = np.where(result == 0.5, 0, np.where(black_won, 1, 2)).astype(np.uint8)
    ends = samples.end[is_first]
    for end, bit in _END_BITS.items():
        byte[ends == int(end)] |= bit
    return byte


def _counts(samples: Samples, labels: Labels, skipped: int) -> LabelCounts:
    count = labels.count.astype(np.int64)
    first = np.cumsum(count) - count
    best = np.maximum.reduceat(labels.visits, first)
    owner = np.repeat(np.arange(len(count)), count)
    is_played = labels.move16 == samples.move16[owner]
    is_best = labels.visits == best[owner]
    return LabelCounts(
        games=len(np.unique(samples.game)),
        positions=len(samples),
        candidates=len(labels.move16),
        agreeing=int((is_played & is_best).sum()),
        skipped=skipped,
    )


def sources_card(sources: Sequence[Path]) -> list[list[Any]]:
    """Name, size and the digest of the first MiB of each file."""
    card: list[list[Any]] = []
    for path in sources:
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(1 << 20)).hexdigest()[:16]
        card.append([path.name, path.stat().st_size, digest])
    return card


class LabelFolder:
    """One run's hold on a folder of labels. A context manager: it is locked until the end."""

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

    def counts(self, segment: int) -> LabelCounts | None:
        """Of a segment that is there; None where it isn't. Raises FolderError."""
        path = self.path / f"{segment:06}.json"
        try:
            return LabelCounts(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise FolderError(f"{path}: damaged: {error}") from error

    def write(self, segment: int, samples: Samples, labels: Labels, skipped: int) -> LabelCounts:
        """Write a segment, then its counts, each whole or not at all."""
        with (
            atomic.atomic_writer(self.path / f"{segment:06}{SUFFIX}") as raw,
            lzma.open(raw, "wb", preset=XZ_PRESET) as file,
        ):
            file.write(to_hcpe3(samples, labels))
        counts = _counts(samples, labels, skipped)
        text = json.dumps(asdict(counts)) + "\n"
        atomic.write_text(self.path / f"{segment:06}.json", text)
        return counts


@dataclass(frozen=True)
class Progress:
    """How far a run is. read: share of the sources, the segment under way included."""

    positions: int
    resumed: int
    """Positions of segments that were there."""
    read: float


def relabel(
    sources: Sequence[Path],
    folder: LabelFolder,
    labeller: Labeller,
    *,
    segment_positions: int = 0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = bool,
) -> LabelCounts | None:
    """Label all games of the sources that the folder lacks; the counts of all, None if stopped.

    `segment_positions` (0: the labeller's own) must be that of the folder's earlier runs. Raises
    LabelError, InferenceError, EngineError, RecordError, OSError.
    """
    total = LabelCounts()
    done = resumed = 0
    read = 0.0
    size = segment_positions or labeller.segment_positions

    def advance(count: int) -> None:
        nonlocal done
        done += count
        on_progress(Progress(done + resumed, resumed, read))
        if stop():
            raise Stopped

    # Reading ahead and writing behind, so that the labeller never waits for either.
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        segments = _segments(sources, size)
        ahead = reader.submit(next, segments, None)
        written: Future[LabelCounts] | None = None
        try:
            number = 0
            while (chunk := ahead.result()) is not None:
                ahead = reader.submit(next, segments, None)
                known = folder.counts(number)
                read = chunk.read
                if known is not None:
                    total.add(known)
                    resumed += known.positions
                    on_progress(Progress(done + resumed, resumed, read))
                elif len(chunk.samples):
                    labels = labeller.label(chunk.samples, advance)
                    if written is not None:
                        total.add(written.result())
                    written = writer.submit(
                        folder.write, number, chunk.samples, labels, chunk.skipped
                    )
                number += 1
            if written is not None:
                total.add(written.result())
        except Stopped:
            return None
        finally:
            ahead.cancel()
    return total


def _segments(sources: Sequence[Path], size: int) -> Iterator[Chunk]:
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
