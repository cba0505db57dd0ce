"""Budget, progress and learning rate of a run."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from komadori.training.config import LoopConfig, ScheduleConfig


@dataclass
class Budget:
    """Limits of a run in samples, steps and seconds, 0 for none; a resumed run keeps counting
    its seconds."""

    total_samples: float
    total_steps: int
    total_seconds: float
    seconds_before: float = 0.0

    def __post_init__(self) -> None:
        self._started = time.monotonic()

    @classmethod
    def of(cls, loop: LoopConfig, samples: int, seconds_before: float = 0.0) -> Budget:
        """The budget of a run whose epochs have `samples` samples."""
        return cls(loop.epochs * samples, loop.max_steps, loop.max_seconds, seconds_before)

    @property
    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self._started

    def progress(self, step: int, samples: int) -> float:
        """0 at the start, 1 where the first limit is reached."""
        spent = (
            (samples, self.total_samples),
            (step, self.total_steps),
            (self.seconds, self.total_seconds),
        )
        return min(1.0, max(own / limit for own, limit in spent if limit > 0))

    def is_spent(self, step: int, samples: int) -> bool:
        return self.progress(step, samples) >= 1.0


def learning_rate(schedule: ScheduleConfig, step: int, progress: float) -> float:
    """The learning rate of step `step` (from 0) at `progress` in [0, 1]."""
    if schedule.kind in ("cosine", "cycles"):
        place = progress if schedule.kind == "cosine" else progress * schedule.cycles % 1.0
        shape = schedule.final + (1 - schedule.final) * 0.5 * (1 + math.cos(math.pi * place))
    elif schedule.kind == "step":
        shape = schedule.factor ** sum(progress >= drop for drop in schedule.drops)
    else:
        shape = 1.0
    warmup = min(1.0, (step + 1) / schedule.warmup_steps) if schedule.warmup_steps else 1.0
    return schedule.rate * shape * warmup


def is_due(step: int, every: int) -> bool:
    """Whether something done every `every` steps (0: never) is due after `step` steps."""
    return every > 0 and step % every == 0
