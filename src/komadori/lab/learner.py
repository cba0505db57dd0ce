"""What the laboratory asks of a learner: the one place where kinds of them differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from komadori.lab.size import Size
from komadori.training import Part, Samples


@dataclass(frozen=True)
class Progress:
    """Where a run is. step: updates, or games, done. progress: 0 to 1 of what it does now.
    text: what else there is to tell."""

    step: int
    progress: float
    seconds_left: float
    text: str


@dataclass(frozen=True)
class Job:
    """One run to be made.

    name: for messages. config: of the learner's own type. folder: the run's, new or begun.
    extras: names of further measures. first: the folder of the first variant's run of the same
    seed, where this one is measured against it.
    """

    name: str
    config: Any
    folder: Path
    samples: Samples | Part
    extras: Sequence[str]
    first: Path | None
    progress: Callable[[Progress], None]
    stop: Callable[[], bool]


@dataclass(frozen=True)
class Outcome:
    """What a run came to; the fields are those of `results.Record`.

    facts: at least train_positions, test_positions and `data`, which tells positions to learn
    from in another order, or others, apart.
    """

    measures: Mapping[str, float]
    samples: int
    seconds: float
    cpu_seconds: float
    cpu_samples: int
    facts: Mapping[str, Any]
    diverged: int | None = None


class Learner(Protocol):
    """One kind of learner. A config is of its own type and goes to and from plain tables.

    columns: measures that a page's table shows where the experiment names none. picture: the
    one, a share, that its picture shows. headline: what a finished run's line calls those it
    tells, and they. extras: names of the further measures it knows. against_first: those of
    them that need the first variant's run. guess_s: what a sample costs before any was timed.
    """

    columns: tuple[str, ...]
    picture: str
    headline: tuple[tuple[str, str], ...]
    extras: tuple[str, ...]
    against_first: tuple[str, ...]
    guess_s: float

    def size(self, size: Size) -> Size:
        """The size without what has no meaning here."""

    def config(
        self, table: Mapping[str, Any], size: Size, seed: int, *, scale: bool, name: str
    ) -> Any:
        """The whole config of a variant from its table; `scale`: as `Experiment.scale`.

        LabError names `name` and the key that is wrong.
        """

    def against(self, config: Any, first: Any) -> Any:
        """The config of a run that is measured against that of the first variant too."""

    def on_device(self, config: Any, device: str, threads: int) -> Any:
        """The config for another device, "" for its own, where that means anything, and so many
        threads of the processor, 0 for its own number."""

    def to_table(self, config: Any) -> dict[str, Any]:
        """For a record."""

    def same(self, saved: Mapping[str, Any], config: Any) -> bool:
        """Whether a saved config would come to what this one does; where it runs and what it
        leaves on the disk don't count."""

    def digest(self, config: Any) -> str:
        """Eight hexadecimal digits that tell runs which learn differently apart."""

    def make(self, job: Job) -> Outcome | None:
        """Make the run, or go on with what `job.folder` holds; None where `job.stop` ended it
        early. Leaves config.json there, a table as `to_table` makes."""

    def options(self, size: Size) -> str:
        """Of `komadori lab run`, those of the size that only this kind has."""

    def budget_text(self, config: Mapping[str, Any]) -> str:
        """How often a recorded run went through its positions, in words."""

    def how(self, size: Size, facts: Mapping[str, Any], *, scale: bool, machine: str) -> str:
        """What a page has to say of how the figures were made, beyond the positions."""


@dataclass
class Stopwatch:
    """Processor time between the first and the last step of this process."""

    seconds: float = 0.0
    samples: int = 0
    _first: tuple[float, int] | None = field(default=None, repr=False)

    def step(self, samples: int) -> None:
        """So many samples have been learned from in all."""
        now = time.process_time()
        if self._first is None:
            self._first = now, samples
        self.seconds, self.samples = now - self._first[0], samples - self._first[1]
