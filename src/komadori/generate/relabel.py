"""Relabel the positions of record files with new policies and values, into segments of hcpe3.

    settings.json         everything that determines the labels: sources, labeller
    000000.hcpe3.xz ...   segments: the games of the sources, in order, with new labels
    000000.json ...       counts and file size of a segment; written last, marks it as complete

Games keep their moves and results, so training still splits by game. A killed run loses the
segment in progress.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from komadori.generate.labellers import Labeller, Labels, Stopped
from komadori.generate.segments import (
    Chunk,
    Progress,
    SegmentCounts,
    SegmentFolder,
    read_segments,
    write_counts,
)
from komadori.records import SampleMoves, Samples, sample_moves
from komadori.records.files import atomic_writer
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped

SUFFIX = ".hcpe3.xz"

#: Fastest preset: labels hardly compress, and compression must not slow down the network.
XZ_PRESET = 0


@dataclass
class LabelCounts(SegmentCounts):
    """Counts of a segment or a run."""

    games: int = 0
    positions: int = 0
    candidates: int = 0
    agreeing: int = 0
    """Positions whose best candidate is the move played."""
    skipped: int = 0
    """Games left out: without a result, with a position without a move, damaged, or too long."""

    def lines(self) -> list[str]:
        """A summary as text."""
        positions = max(1, self.positions)
        return [
            f"{counted(self.positions, 'position')} of {counted(self.games, 'game')}"
            + (f"; games left out: {self.skipped:,}" if self.skipped else ""),
            f"{self.candidates / positions:.1f} candidates per position; the best one is the move "
            f"played in {100 * self.agreeing / positions:.1f} %",
        ]


def to_hcpe3(samples: Samples, labels: Labels) -> bytes:
    """Return the games with these labels, as the content of an hcpe3 file."""
    score_cp = np.clip(labels.score_cp, -32767, 32767).astype(np.int16)
    moves = SampleMoves.of_counts(labels.count, labels.move16, labels.visits, samples.move16)
    return sample_moves.to_hcpe3(replace(samples, score_cp=score_cp), moves)


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
    """Exclusive access to a folder of labels."""

    counts_of = LabelCounts

    def write(self, segment: int, samples: Samples, labels: Labels, skipped: int) -> LabelCounts:
        """Write a segment, then its counts, each atomically."""
        self.check_place()
        return write_segment(self.path, segment, samples, labels, skipped)


def write_segment(
    folder: Path, segment: int, samples: Samples, labels: Labels, skipped: int
) -> LabelCounts:
    """Write a segment, then its counts, each atomically."""
    path = folder / f"{segment:06}{SUFFIX}"
    with atomic_writer(path, XZ_PRESET) as file:
        file.write(to_hcpe3(samples, labels))
    counts = _counts(samples, labels, skipped)
    write_counts(folder, segment, counts, path)
    return counts


def relabel(
    sources: Sequence[Path],
    folder: LabelFolder,
    labeller: Labeller,
    *,
    segment_positions: int = 0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_skipped: OnSkipped | None = None,
    stop: Callable[[], bool] = bool,
) -> LabelCounts | None:
    """Label the games of the sources that are missing in the folder.

    segment_positions: 0 for the labeller's default; must equal that of the folder's earlier runs.
    on_skipped: called, in another thread, for each damaged part of the sources.
    Returns the counts of all segments, or None if stopped. Raises LabelError, InferenceError,
    EngineError, RecordError, OSError.
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
        """Yield the samples of missing segments, reading one chunk ahead."""
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
                    if stop():
                        raise Stopped
                elif len(chunk.samples):
                    todo.append((number, chunk))
                    yield chunk.samples
                else:
                    total.skipped += chunk.skipped
                number += 1
        finally:
            ahead.cancel()

    # Reads ahead and writes in the background, so the labeller waits for neither.
    written: deque[Future[LabelCounts]] = deque()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        parts = missing(read_segments(sources, size, on_skipped))
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
