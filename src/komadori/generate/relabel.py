"""Positions of any files with new policies and values, as hcpe3 in segments.

    settings.json         what the labels depend on: the sources, the labeller
    000000.hcpe3.xz ...   segments: the sources' games in their order, with new labels
    000000.json ...       a segment's counts; written last, it makes the segment count

Games stay games, with their moves and results, so that training still splits by game. A run that
was killed loses the segment under way.
"""

from __future__ import annotations

import contextlib
import json
import lzma
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori import atomic
from komadori.generate.labellers import Labeller, Labels, Stopped
from komadori.generate.segments import Chunk, Progress, SegmentFolder, read_segments
from komadori.records import End, Samples

SUFFIX = ".hcpe3.xz"

#: Labels compress little, and compression must not slow down the network.
XZ_PRESET = 0

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


class LabelFolder(SegmentFolder[LabelCounts]):
    """One run's hold on a folder of labels."""

    counts_of = LabelCounts

    def write(self, segment: int, samples: Samples, labels: Labels, skipped: int) -> LabelCounts:
        """Write a segment, then its counts, each whole or not at all."""
        return write_segment(self.path, segment, samples, labels, skipped)


def write_segment(
    folder: Path, segment: int, samples: Samples, labels: Labels, skipped: int
) -> LabelCounts:
    """The segment's file, then its counts, each whole or not at all."""
    with (
        atomic.atomic_writer(folder / f"{segment:06}{SUFFIX}") as raw,
        lzma.open(raw, "wb", preset=XZ_PRESET) as file,
    ):
        file.write(to_hcpe3(samples, labels))
    counts = _counts(samples, labels, skipped)
    atomic.write_text(folder / f"{segment:06}.json", json.dumps(asdict(counts)) + "\n")
    return counts


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

    todo: deque[tuple[int, Chunk]] = deque()

    def missing(chunks: Iterator[Chunk]) -> Iterator[Samples]:
        """Those that the folder lacks, one read ahead."""
        nonlocal resumed, read
        ahead = reader.submit(next, chunks, None)
        number = 0
        try:
            while (chunk := ahead.result()) is not None:
                ahead = reader.submit(next, chunks, None)
                known = folder.counts(number)
                read = chunk.read
                if known is not None:
                    total.add(known)
                    resumed += known.positions
                    on_progress(Progress(done + resumed, resumed, read))
                elif len(chunk.samples):
                    todo.append((number, chunk))
                    yield chunk.samples
                number += 1
        finally:
            ahead.cancel()

    # Reading ahead and writing behind, so that the labeller never waits for either.
    written: deque[Future[LabelCounts]] = deque()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        parts = missing(read_segments(sources, size))
        try:
            with contextlib.closing(labeller.label(parts, advance)) as all_labels:
                for labels in all_labels:
                    number, chunk = todo.popleft()
                    written.append(
                        writer.submit(folder.write, number, chunk.samples, labels, chunk.skipped)
                    )
                    if len(written) > 1:
                        total.add(written.popleft().result())
        except Stopped:
            return None
        for one in written:
            total.add(one.result())
    return total
