"""Positions a few random moves from those of any files, judged by the alpha-beta search.

    settings.json       what the positions depend on: the sources, the draws, the search
    000000.hcpe.xz ...  segments: positions near so many of the sources', in their order
    000000.json ...     a segment's counts; written last, it makes the segment count

Games between good players hold few blunders, so an evaluation that learns from their positions
alone isn't told what a piece for nothing is worth, and a search meets little else. The moves are
drawn and the positions searched in C++ threads; both depend on the seed and the place in the
sources alone. A killed run loses the segments under way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from komadori import atomic
from komadori._core import generate as _core
from komadori.generate.segments import Progress, SegmentFolder, read_segments
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation
from komadori.records import Samples, SampleWriter
from komadori.search.alphabeta import AlphaBetaOptions, make_engines

SUFFIX = ".hcpe.xz"
#: Positions of the sources in a segment.
SEGMENT_POSITIONS = 1 << 17
#: Seconds between looks at how far the threads are.
LOOK_S = 0.25


@dataclass(frozen=True)
class NearbySettings:
    """plies: random moves, drawn evenly between the two. tactical_share: of them that are captures
    or promotions, where there are any. limit_cp: positions with a score beyond are left out; 0:
    none is. per_position: draws for each position of the sources.
    """

    seed: int = 1
    plies: tuple[int, int] = (1, 3)
    tactical_share: float = 0.3
    per_position: int = 1
    search: SearchBounds = field(default_factory=lambda: SearchBounds(nodes=120))
    limit_cp: int = 4000
    hash_mb: int = 4

    def __post_init__(self) -> None:
        least, most = self.plies
        if not 0 <= least <= most <= 100:
            raise ValueError(f"plies are {least} to {most}: 0 to 100, the first not the larger")
        if not 0 <= self.tactical_share <= 1:
            raise ValueError(f"tactical_share is {self.tactical_share}, 0 to 1 is needed")
        for name, lowest in (("seed", 0), ("per_position", 1), ("limit_cp", 0), ("hash_mb", 1)):
            if getattr(self, name) < lowest:
                raise ValueError(f"{name} is {getattr(self, name)}, at least {lowest} is needed")

    def to_core(self) -> _core.NearbySettings:
        core = _core.NearbySettings()
        core.seed, core.limit_cp = self.seed, self.limit_cp
        core.min_plies, core.max_plies = self.plies
        core.tactical_share, core.bounds = self.tactical_share, self.search.to_core()
        return core


@dataclass
class NearbyCounts:
    """positions: written. drawn: draws; the others ended the game, or were beyond the limit.
    skipped: games of the sources left out."""

    positions: int = 0
    drawn: int = 0
    nodes: int = 0
    skipped: int = 0

    def add(self, other: NearbyCounts) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def lines(self) -> list[str]:
        """For people."""
        share = 100 * self.positions / max(1, self.drawn)
        return [
            f"{self.positions:,} positions of {self.drawn:,} draws ({share:.1f} %)"
            + (f"; {self.skipped:,} games left out" if self.skipped else ""),
            f"{self.nodes / max(1, self.drawn):.0f} nodes per draw",
        ]


class NearbyFolder(SegmentFolder[NearbyCounts]):
    """One run's hold on a folder of such positions."""

    counts_of = NearbyCounts

    def write(self, segment: int, samples: Samples, counts: NearbyCounts) -> NearbyCounts:
        """Write a segment, then its counts, each whole or not at all."""
        path = self.path / f"{segment:06}{SUFFIX}"
        if len(samples):
            with SampleWriter(path) as writer:
                writer.write(samples)
        text = json.dumps(asdict(counts)) + "\n"
        atomic.write_text(self.path / f"{segment:06}.json", text)
        return counts


def nearby_card(
    settings: NearbySettings, sources: Sequence[Any], evaluation: Evaluation, segment: int
) -> dict[str, Any]:
    """What a folder's positions depend on."""
    return {
        "kind": "nearby",
        **asdict(settings),
        "sources": sources,
        "player": evaluation.card(),
        "segment_positions": segment,
    }


class Nearby:
    """The threads that draw and search."""

    def __init__(self, settings: NearbySettings, evaluation: Evaluation, threads: int = 1) -> None:
        """Raises ValueError or OSError where weights can't be read."""
        options = AlphaBetaOptions(threads=1, hash_mb=settings.hash_mb)
        engines = make_engines(
            evaluation.name, evaluation.weights, options, threads, fv_scale=evaluation.fv_scale
        )
        self.settings = settings
        self.search = _core.NearbySearch(engines, settings.to_core())

    def positions(self, samples: Samples, first: int) -> tuple[Samples, NearbyCounts]:
        """Positions near the samples; `first`: number of the first draw."""
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
    stop: Callable[[], bool] = bool,
) -> NearbyCounts | None:
    """Make all segments that the folder lacks; the counts of all, None if stopped.

    Raises RecordError, FolderError, OSError.
    """
    total = NearbyCounts()
    done = resumed = first = 0
    # Reading ahead and writing behind, so that the search never waits for either.
    with ThreadPoolExecutor(3) as pool:
        segments = read_segments(sources, segment_positions)
        ahead = pool.submit(next, segments, None)
        written: Future[NearbyCounts] | None = None
        number = 0
        while (chunk := ahead.result()) is not None:
            ahead = pool.submit(next, segments, None)
            known = folder.counts(number)
            if known is not None:
                total.add(known)
                resumed += known.positions
                on_progress(Progress(done + resumed, resumed, chunk.read))
            else:
                begun = nearby.search.done
                work = pool.submit(nearby.positions, chunk.samples, first)
                for _ in _while_running(work):
                    at = done + nearby.search.done - begun
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
    while not wait([work], timeout=LOOK_S).done:
        yield
