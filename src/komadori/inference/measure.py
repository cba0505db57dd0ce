"""Inference speed of a network, without search."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from komadori.inference.loading import AUTO, load
from komadori.inference.protocol import Evaluator

#: Fraction of ones in the planes, as in real positions.
DENSITY = 0.12


def fill_inputs(evaluator: Evaluator, seed: int = 0) -> None:
    """Fill every slot with random 0/1 planes."""
    random = np.random.default_rng(seed)
    for slot in range(evaluator.slots):
        for rows in evaluator.inputs(slot):
            rows[:] = random.random(rows.shape, dtype=np.float32) < DENSITY


def positions_per_second(
    evaluator: Evaluator, seconds: float = 1.0, rows: int | None = None, warm_up: float = 0.1
) -> float:
    """Measure positions per second with every slot in flight and `rows` per batch (default: all).

    The inputs are left unchanged; call `fill_inputs` first for realistic contents.
    """
    n = rows or evaluator.max_batch
    waiting = deque(range(evaluator.slots))
    for slot in waiting:
        evaluator.start(slot, n)
    done = 0
    start_s = time.perf_counter()
    started: float | None = None
    while True:
        slot = waiting.popleft()
        evaluator.wait(slot)
        now = time.perf_counter()
        if started is None:
            if now - start_s >= warm_up:
                started = now
        else:
            done += n
            if now - started >= seconds:
                break
        evaluator.start(slot, n)
        waiting.append(slot)
    for slot in waiting:
        evaluator.wait(slot)
    return done / (now - started)


@dataclass(frozen=True)
class Setting:
    """A way to run a model. batch: 0 for the backend's default. streams: of OpenVINO, 0 for other
    backends. precision: "int8" for an int8 model, whose remaining layers run in the best precision
    available."""

    backend: str
    precision: str
    batch: int
    streams: int = 0

    def load(self, model: Path) -> Evaluator:
        """Load the model with this setting. Raises the errors of `inference.load`."""
        precision = AUTO if self.precision == "int8" else self.precision
        options: dict[str, Any] = {"precision": precision}
        if self.batch:
            options["max_batch"] = self.batch
        if self.streams:
            options["streams"] = self.streams
        return load(model, backend=self.backend, **options)

    def __str__(self) -> str:
        streams = f", {self.streams} streams" if self.streams > 1 else ""
        return f"{self.backend} {self.precision}, batch {self.batch}{streams}"


def compare(
    evaluators: Mapping[Setting, Evaluator], seconds: float, rounds: int = 3
) -> dict[Setting, float]:
    """Positions per second of each, the median of `rounds` turns of `seconds / rounds` each. The
    turns alternate, so that other load on the machine affects all alike."""
    speeds: dict[Setting, list[float]] = {setting: [] for setting in evaluators}
    for evaluator in evaluators.values():
        fill_inputs(evaluator)
    for _ in range(rounds):
        for setting, evaluator in evaluators.items():
            speeds[setting].append(positions_per_second(evaluator, seconds / rounds, warm_up=0.03))
    return {setting: statistics.median(found) for setting, found in speeds.items()}


def recommend(speeds: Mapping[Setting, float], tolerance: float = 0.05) -> Setting:
    """The smallest batch size within `tolerance` of the fastest: searches play better with small
    batches."""
    enough = max(speeds.values()) * (1 - tolerance)
    return min(
        (setting for setting, speed in speeds.items() if speed >= enough),
        key=lambda setting: (setting.batch, -speeds[setting]),
    )
