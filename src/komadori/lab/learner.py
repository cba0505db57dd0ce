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
    """Progress of a run. step: updates or games done. progress: of the current stage, 0 to 1.
    text: further figures."""

    step: int
    progress: float
    seconds_left: float
    text: str


@dataclass(frozen=True)
class Job:
    """A run to execute.

    name: for messages. config: of the learner's type. folder: of the run, new or resumed. extras:
    names of further measures. first: folder of the first variant's run with the same seed, if
    this one plays against it.
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
    """The results of a run; fields as in `results.Record`.

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

    columns: default measures of a page's table. picture: measure of its picture, a fraction.
    headline: (heading, measure) pairs of the line printed for a finished run. extras: further
    measures. against_first: those of the extras that need the first variant's run. guess_s:
    assumed seconds per sample before any run was timed.
    """

    columns: tuple[str, ...]
    picture: str
    headline: tuple[tuple[str, str], ...]
    extras: tuple[str, ...]
    against_first: tuple[str, ...]
    guess_s: float

    def size(self, size: Size) -> Size:
        """The size with the fields that this learner ignores set to 0."""

    def config(
        self, table: Mapping[str, Any], size: Size, seed: int, *, scale: bool, name: str
    ) -> Any:
        """The complete config of a variant from its table; `scale` as in `Experiment`.

        Raises LabError that names the variant (`name`) and the wrong key.
        """

    def check(self, config: Any) -> None:
        """Raise LabError for a config that no run can begin with: a network that doesn't take
        its features."""

    def needs_candidates(self, config: Any) -> bool:
        """Whether a run learns from the candidates of positions, not from the moves made alone."""

    def against(self, config: Any, first: Any) -> Any:
        """The config of a run that plays against a run with the config `first`."""

    def on_device(self, config: Any, device: str, threads: int) -> Any:
        """The config with another device ("" to keep it) and number of CPU threads (0 to keep)."""

    def to_table(self, config: Any) -> dict[str, Any]:
        """The config as plain JSON values."""

    def same(self, saved: Mapping[str, Any], config: Any) -> bool:
        """Whether a saved config trains the same, ignoring device, logging and checkpoints."""

    def digest(self, config: Any) -> str:
        """A digest of the settings that `same` compares, 8 hexadecimal digits."""

    def make(self, job: Job) -> Outcome | None:
        """Execute the run, resuming from `job.folder`; None if `job.stop` stopped it.
        Writes the table of `to_table` to config.json there."""

    def options(self, size: Size) -> str:
        """Options of `komadori lab run` for the fields of the size that only this learner uses."""

    def budget_text(self, config: Mapping[str, Any]) -> str:
        """The number of epochs of a recorded run, as text."""

    def how(self, size: Size, facts: Mapping[str, Any], *, scale: bool, machine: str) -> str:
        """The conditions of the measurements, for a page."""


@dataclass
class Stopwatch:
    """Measures the CPU time between the first and the last step of this process."""

    seconds: float = 0.0
    samples: int = 0
    _first: tuple[float, int] | None = field(default=None, repr=False)

    def step(self, samples: int) -> None:
        """Record a step, after `samples` samples in total."""
        now = time.process_time()
        if self._first is None:
            self._first = now, samples
        self.seconds, self.samples = now - self._first[0], samples - self._first[1]
