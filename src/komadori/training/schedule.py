"""How far a run is, and the learning rate there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from komadori.training.config import LoopConfig, ScheduleConfig


@dataclass
class Budget:
    """Steps and seconds of the run against its limits; seconds go on over a resume."""

    total_steps: int  # 0: no limit
    total_seconds: float  # 0: no limit
    seconds_before: float = 0.0

    def __post_init__(self) -> None:
        self._started = time.monotonic()

    @classmethod
    def of(cls, loop: LoopConfig, steps_per_epoch: int, seconds_before: float = 0.0) -> Budget:
        """The budget of a run over epochs of so many steps."""
        limits = []
        if loop.epochs > 0:
            limits.append(math.ceil(loop.epochs * steps_per_epoch))
        if loop.max_steps > 0:
            limits.append(loop.max_steps)
        return cls(min(limits, default=0), loop.max_seconds, seconds_before)

    @property
    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self._started

    def course(self, step: int) -> float:
        """0 at the start, 1 where the nearer of the limits ends the run."""
        by_steps = step / self.total_steps if self.total_steps else 0.0
        by_seconds = self.seconds / self.total_seconds if self.total_seconds else 0.0
        return min(1.0, max(by_steps, by_seconds))

    def is_spent(self, step: int) -> bool:
        return self.course(step) >= 1.0


def learning_rate(schedule: ScheduleConfig, step: int, course: float) -> float:
    """The rate of the step `step` (from 0) at `course` in [0, 1]."""
    if schedule.kind in ("cosine", "cycles"):
        place = course if schedule.kind == "cosine" else course * schedule.cycles % 1.0
        shape = schedule.final + (1 - schedule.final) * 0.5 * (1 + math.cos(math.pi * place))
    elif schedule.kind == "step":
        shape = schedule.factor ** sum(course >= drop for drop in schedule.drops)
    else:
        shape = 1.0
    warmup = min(1.0, (step + 1) / schedule.warmup_steps) if schedule.warmup_steps else 1.0
    return schedule.rate * shape * warmup
