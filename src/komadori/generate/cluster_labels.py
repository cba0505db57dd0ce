"""Relabelling on several machines: each worker reads the sources itself and writes whole segments.

Segments are deterministic and written atomically, so the segment of a lost worker is reassigned to
another, and writing one twice is harmless.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from komadori.cluster import Fleet
from komadori.generate.labellers import (
    FunctionLabeller,
    LabelError,
    Labeller,
    NetworkLabeller,
    PolicySettings,
)
from komadori.generate.relabel import LabelCounts, LabelFolder, write_segment
from komadori.generate.search_labellers import EngineLabeller, EngineSettings, SearchLabeller
from komadori.generate.segments import Chunk, Progress, read_segments
from komadori.inference.loading import DEFAULT
from komadori.records import Samples
from komadori.records.files import identify
from komadori.usi.models import is_fake
from komadori.wording import no_such_file

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped

#: Segments assigned to a machine at a time: one in progress, one queued.
AT_ONCE = 2


@dataclass(frozen=True)
class LabellerSpec:
    """The labeller that `komadori generate relabel --by` names, with its settings.

    by: a model, `alphabeta...`, `usi:COMMAND` or `python:MODULE:NAME`. playouts: per position, of
    a tree search with the model; 0 for its raw policy and value. policy: how a policy becomes
    candidates. engine: arguments of `EngineSettings`. network: options of `inference.load`.
    threads: number of engines, or CPU threads of the network; 0 for all cores.
    """

    by: str
    playouts: int = 0
    policy: PolicySettings = field(default_factory=PolicySettings)
    engine: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 0

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> LabellerSpec:
        """Build from the result of `asdict`."""
        return cls(**{**job, "policy": PolicySettings(**job["policy"])})

    @property
    def kind(self) -> Literal["function", "engine", "network"]:
        kind = self.by.partition(":")[0]
        if kind == "python":
            return "function"
        if kind in ("alphabeta", "usi") or self.by.startswith("alphabeta?"):
            return "engine"
        return "network"

    def make(self) -> Labeller:
        """Build the labeller. Raises LabelError, and the errors of loading the model or engine."""
        if self.kind == "function":
            return FunctionLabeller(self.by.partition(":")[2], self.policy)
        if self.kind == "engine":
            return EngineLabeller(self.by, EngineSettings(**self.engine), self.threads)
        if self.by != DEFAULT and not is_fake(self.by) and not Path(self.by).exists():
            raise LabelError(
                f"{self.by}: no such model; --by also takes {DEFAULT}, alphabeta, "
                "usi:COMMAND and python:MODULE:NAME"
            ) from no_such_file(self.by)
        options = dict(self.network)
        if self.threads and not is_fake(self.by):
            options["threads"] = self.threads
        if self.playouts:
            return SearchLabeller(self.by, self.playouts, self.policy, **options)
        return NetworkLabeller(self.by, self.policy, **options)


class LabelWorker:
    """Labels numbered segments on one machine (a `cluster.Worker`)."""

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        spec = LabellerSpec.from_job(job["labeller"])
        self._labeller = LabellerSpec(**{**vars(spec), "threads": threads}).make()
        if self._labeller.card() != job["card"]:
            raise ValueError(f"{spec.by}: the labeller differs from the head's")
        self._sources = [Path(path) for path in job["sources"]]
        if identify(self._sources) != job["sources_card"]:
            raise ValueError("the sources differ from the head's")
        self._folder, self._size = Path(job["folder"]), int(job["segment_positions"])
        self._numbers: SimpleQueue[int] = SimpleQueue()
        self._at = 0
        self._segments = read_segments(self._sources, self._size)
        self._stopped = False

    def add(self, items: list[Any]) -> None:
        for item in items:
            self._numbers.put(item)

    def take(self) -> list[tuple[Any, Any]]:
        in_progress: deque[tuple[int, Chunk]] = deque()
        done: list[tuple[Any, Any]] = []
        for labels in self._labeller.label(self._parts(in_progress, done), lambda _: None):
            number, chunk = in_progress.popleft()
            counts = write_segment(self._folder, number, chunk.samples, labels, chunk.skipped)
            done.append((number, asdict(counts)))
        if not done:
            time.sleep(0.1)
        return done

    def _parts(
        self, in_progress: deque[tuple[int, Chunk]], done: list[tuple[Any, Any]]
    ) -> Iterator[Samples]:
        while not self._stopped and len(done) < AT_ONCE:
            try:
                number = self._numbers.get_nowait()
            except Empty:
                return
            chunk = self._segment(number)
            if chunk is None:
                raise ValueError(f"the sources have no segment {number}")
            in_progress.append((number, chunk))
            yield chunk.samples

    def _segment(self, number: int) -> Chunk | None:
        if number < self._at:
            self._at, self._segments = 0, read_segments(self._sources, self._size)
        chunk = None
        while self._at <= number:
            chunk = next(self._segments, None)
            self._at += 1
        return chunk

    def stop(self) -> None:
        self._stopped = True


def relabel_on_cluster(
    address: str,
    sources: Sequence[Path],
    folder: LabelFolder,
    spec: LabellerSpec,
    card: Mapping[str, Any],
    segment_positions: int,
    *,
    threads: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_skipped: OnSkipped | None = None,
    on_change: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = bool,
) -> LabelCounts | None:
    """As `relabel`, on all machines of a Ray cluster. `card`: that of the labeller.

    Raises ClusterError, FolderError, RecordError, OSError.
    """
    total = LabelCounts()
    missing: list[int] = []
    segments = 0
    for number, chunk in enumerate(read_segments(sources, segment_positions, on_skipped)):
        segments += 1
        known = folder.counts(number)
        if known is not None:
            total.add(known)
        elif len(chunk.samples):
            missing.append(number)
    resumed = total.positions
    if not missing:
        return total
    job = {
        "labeller": asdict(spec),
        "card": dict(card),
        "sources": [str(path.absolute()) for path in sources],
        "sources_card": identify(sources),
        "folder": str(folder.path.absolute()),
        "segment_positions": segment_positions,
    }
    worker = f"{__name__}:LabelWorker"
    with Fleet(
        address, worker, job, threads=threads, at_once=AT_ONCE, on_change=on_change
    ) as fleet:
        fleet.add(missing)
        remaining = set(missing)
        while remaining:
            if stop():
                return None
            for number, counts in fleet.take(0.5):
                if number in remaining:
                    remaining.discard(number)
                    total.add(LabelCounts(**counts))
                    on_progress(Progress(total.positions, resumed, 1 - len(remaining) / segments))
    return total
