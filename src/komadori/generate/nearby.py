"""Positions near those of record files, scored by the alpha-beta search or its evaluation.

    settings.json       everything that determines the positions: sources, random moves, search
    000000.hcpe.xz ...  segments: positions near those of the sources, in order
    000000.json ...     counts and file size of a segment; written last, marks it as complete

Strong players' games contain few blunders, so an evaluation trained on their positions alone never
sees hanging pieces, which most positions of a search contain. Two remedies: positions a few random
moves away, with the score of a search; or the positions that such a search evaluates, with their
static evaluation or the score of a small search of their own. C++ threads draw the moves and search
the positions; the results depend only on the seed and the index of the source position. A killed
run loses the segments in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from komadori._core import generate as _core
from komadori.generate.segments import (
    Progress,
    SegmentCounts,
    SegmentFolder,
    read_segments,
    write_counts,
)
from komadori.generate.settings import MAX_INT, MAX_MB, SearchBounds
from komadori.generate.sources import Evaluation
from komadori.records import Samples, SampleWriter
from komadori.search.alphabeta import AlphaBetaOptions, make_engines
from komadori.typed_settings import at_least, at_most, fractions
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped

SUFFIX = ".hcpe.xz"
#: Source positions per segment.
SEGMENT_POSITIONS = 1 << 17
#: Seconds between progress reports and checks of `stop`.
POLL_S = 0.25


@dataclass(frozen=True)
class NearbySettings:
    """How nearby positions are drawn and searched.

    plies: minimum and maximum number of random moves, drawn uniformly. tactical_fraction:
    probability that a random move is drawn from the captures and promotions, if there are any.
    limit_cp: positions with a larger absolute score are dropped; 0: no limit. per_position: draws
    per source position. hash_mb: MiB of each thread's transposition table. evaluated_every: if not
    0, every n-th position that the searches evaluate is written instead of the searched ones, with
    its static evaluation, no move, and the result of the source game. label_nodes: if not 0, these
    have the score and move of a search of this many nodes; positions whose move is a capture or a
    promotion are dropped.
    """

    seed: int = 1
    plies: tuple[int, int] = (1, 3)
    tactical_fraction: float = 0.3
    per_position: int = 1
    search: SearchBounds = field(default_factory=lambda: SearchBounds(nodes=120))
    limit_cp: int = 4000
    hash_mb: int = 4
    evaluated_every: int = 0
    label_nodes: int = 0

    def __post_init__(self) -> None:
        least, most = self.plies
        if not 0 <= least <= most <= 100:
            raise ValueError(f"plies is {least} to {most}: a range within 0 to 100 is needed")
        fractions(self, "tactical_fraction")
        at_least(self, seed=0, per_position=1, limit_cp=0, hash_mb=1)
        at_least(self, evaluated_every=0, label_nodes=0)
        at_most(self, evaluated_every=2**32 - 1, label_nodes=2**32 - 1)
        at_most(self, per_position=MAX_INT, limit_cp=MAX_INT, hash_mb=MAX_MB)
        if self.label_nodes and not self.evaluated_every:
            raise ValueError("label_nodes needs evaluated_every")

    def to_core(self) -> _core.NearbySettings:
        core = _core.NearbySettings()
        core.seed, core.limit_cp = self.seed, self.limit_cp
        core.min_plies, core.max_plies = self.plies
        core.tactical_fraction, core.evaluated_every = self.tactical_fraction, self.evaluated_every
        core.label_nodes = self.label_nodes
        core.bounds = self.search.to_core()
        return core


@dataclass
class NearbyCounts(SegmentCounts):
    """positions: written. drawn: random draws, including those dropped because the game had ended
    or the score was beyond the limit. skipped: games of the sources left out."""

    positions: int = 0
    drawn: int = 0
    nodes: int = 0
    skipped: int = 0

    def lines(self) -> list[str]:
        """A summary as text."""
        per_draw = self.positions / max(1, self.drawn)
        share = f"{100 * per_draw:.1f} %" if per_draw <= 1 else f"{per_draw:.1f} per draw"
        return [
            f"{counted(self.positions, 'position')} of {counted(self.drawn, 'draw')} ({share})"
            + (f"; games left out: {self.skipped:,}" if self.skipped else ""),
            f"{counted(round(self.nodes / max(1, self.drawn)), 'node')} per draw",
        ]


class NearbyFolder(SegmentFolder[NearbyCounts]):
    """Exclusive access to a folder of nearby positions."""

    counts_of = NearbyCounts

    def write(self, segment: int, samples: Samples, counts: NearbyCounts) -> NearbyCounts:
        """Write a segment, then its counts, each atomically."""
        self.check_place()
        path = self.path / f"{segment:06}{SUFFIX}"
        if len(samples):
            with SampleWriter(path) as writer:
                writer.write(samples)
        write_counts(self.path, segment, counts, path)
        return counts


def nearby_card(
    settings: NearbySettings, sources: Sequence[Any], evaluation: Evaluation, segment: int
) -> dict[str, Any]:
    """Everything that determines a folder of nearby positions."""
    values = asdict(settings)
    for added in ("evaluated_every", "label_nodes"):
        if not values[added]:
            del values[added]  # as in folders written before there was the setting
    return {
        "kind": "nearby",
        **values,
        "sources": sources,
        "player": evaluation.card(),
        "segment_positions": segment,
    }


class Nearby:
    """Draws and searches positions in threads."""

    def __init__(self, settings: NearbySettings, evaluation: Evaluation, threads: int = 1) -> None:
        """Raises ValueError or OSError if the weights can't be read."""
        options = AlphaBetaOptions(threads=1, hash_mb=settings.hash_mb)
        engines = make_engines(
            evaluation.name, evaluation.weights, options, threads, fv_scale=evaluation.fv_scale
        )
        self.settings = settings
        self.search = _core.NearbySearch(engines, settings.to_core())

    def positions(self, samples: Samples, first: int) -> tuple[Samples, NearbyCounts]:
        """Draw and score positions near the samples; `first` is the index of the first sample in
        the sources, from which the random moves are seeded."""
        copies = self.settings.per_position
        hcp, result = np.repeat(samples.hcp, copies, 0), np.repeat(samples.result, copies)
        before = self.search.nodes
        columns = self.search.run(hcp, result, first * copies)
        columns["game"] = samples.game[columns["game"] // copies]
        found = Samples(**columns)
        return found, NearbyCounts(len(found), len(hcp), self.search.nodes - before)


def generate_nearby(
    sources: Sequence[Path],
    folder: NearbyFolder,
    nearby: Nearby,
    *,
    segment_positions: int = SEGMENT_POSITIONS,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_skipped: OnSkipped | None = None,
    stop: Callable[[], bool] = bool,
) -> NearbyCounts | None:
    """Generate the segments that are missing in the folder.

    `on_skipped` is called, in another thread, for each damaged part of the sources. Returns the
    counts of all segments, or None if stopped. Raises RecordError, FolderError, OSError.
    """
    total = NearbyCounts()
    done = resumed = first = 0
    # Reads ahead and writes in the background, so the search waits for neither.
    with ThreadPoolExecutor(3) as pool:
        segments = read_segments(sources, segment_positions, on_skipped)
        ahead = pool.submit(next, segments, None)
        written: Future[NearbyCounts] | None = None
        number = 0
        while (chunk := ahead.result()) is not None:
            if stop():  # segments that are known or small take less than POLL_S
                return None
            ahead = pool.submit(next, segments, None)
            known = folder.counts(number)
            if known is not None:
                total.add(known)
                resumed += known.positions
                on_progress(Progress(done + resumed, resumed, chunk.read))
            else:
                before = nearby.search.done
                work = pool.submit(nearby.positions, chunk.samples, first)
                for _ in _while_running(work):
                    at = done + nearby.search.done - before
                    on_progress(Progress(at + resumed, resumed, chunk.read))
                    if stop():
                        nearby.search.stop()
                        work.result()
                        return None
                samples, counts = work.result()
                counts.skipped = chunk.skipped
                done += counts.drawn
                if written is not None:
                    total.add(written.result())
                written = pool.submit(folder.write, number, samples, counts)
            first += len(chunk.samples)
            number += 1
        if written is not None:
            total.add(written.result())
    return total


def _while_running(work: Future[Any]) -> Iterator[None]:
    while not wait([work], timeout=POLL_S).done:
        yield
