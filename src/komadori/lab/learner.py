"""The interface between the laboratory and a kind of learner."""

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
    """step: updates or games done. progress: 0 to 1 of the current stage. text: further figures."""

    step: int
    progress: float
    seconds_left: float
    text: str


@dataclass(frozen=True)
class Job:
    """One run to make.

    name: for messages. config: of the learner's type. folder: the run's, new or resumed.
    extras: further measures, by name. first: folder of the first variant's run of the same seed,
    where this one plays against it.
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
    """A run's results; the fields are those of `results.Record`.

    facts: at least train_positions, test_positions and `data`, a fingerprint of the training
    positions in their order.
    """

    measures: Mapping[str, float]
    samples: int
    seconds: float
    cpu_seconds: float
    cpu_samples: int
    facts: Mapping[str, Any]
    diverged: int | None = None


class Learner(Protocol):
    """A kind of learner, with a config type of its own.

    columns: measures of a page's table by default. picture: the measure, a fraction, of its
    picture. headline: (heading, measure) pairs of a finished run's line. extras: further measures
    that it knows. against_first: those of them that need the first variant's run. guess_s: seconds
    per sample before any was timed.
    """

    columns: tuple[str, ...]
    picture: str
    headline: tuple[tuple[str, str], ...]
    extras: tuple[str, ...]
    against_first: tuple[str, ...]
    guess_s: float

    def size(self, size: Size) -> Size:
        """The size without the fields that this learner ignores."""

    def config(
        self, table: Mapping[str, Any], size: Size, seed: int, *, scale: bool, name: str
    ) -> Any:
        """The complete config of a variant from its table; `scale` as in `Experiment`.

        Raises LabError that names `name` and the wrong key.
        """

    def against(self, config: Any, first: Any) -> Any:
        """The config of a run that plays against one of the config `first`."""

    def on_device(self, config: Any, device: str, threads: int) -> Any:
        """The config on another device ("": its own) and with so many CPU threads (0: its own)."""

    def to_table(self, config: Any) -> dict[str, Any]:
        """Plain values, for a record."""

    def same(self, saved: Mapping[str, Any], config: Any) -> bool:
        """Whether a saved config trains the same; device, logging and checkpoints don't count."""

    def digest(self, config: Any) -> str:
        """Eight hexadecimal digits of what `same` compares."""

    def make(self, job: Job) -> Outcome | None:
        """Make the run, resuming what `job.folder` holds; None if `job.stop` ended it early.
        Writes config.json there, as `to_table` makes it."""

    def options(self, size: Size) -> str:
        """Options of `komadori lab run` for the fields of the size that only this learner has."""

    def budget_text(self, config: Mapping[str, Any]) -> str:
        """How many epochs a recorded run made, in words."""

    def how(self, size: Size, facts: Mapping[str, Any], *, scale: bool, machine: str) -> str:
        """How the figures were made, beyond the positions, for a page."""


@dataclass
class Stopwatch:
    """CPU time between the first and the last step of this process."""

    seconds: float = 0.0
    samples: int = 0
    _first: tuple[float, int] | None = field(default=None, repr=False)

    def step(self, samples: int) -> None:
        """Count `samples` processed in all."""
        now = time.process_time()
        if self._first is None:
            self._first = now, samples
        self.seconds, self.samples = now - self._first[0], samples - self._first[1]
