"""How fast an evaluator is when nothing but the network works."""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from komadori.inference.protocol import Evaluator

#: Share of ones in the planes that are evaluated, as in real positions.
DENSITY = 0.12


def fill_inputs(evaluator: Evaluator, seed: int = 0) -> None:
    """Random 0/1 planes in every slot."""
    random = np.random.default_rng(seed)
    for slot in range(evaluator.slots):
        for rows in evaluator.inputs(slot):
            rows[:] = random.random(rows.shape, dtype=np.float32) < DENSITY


def positions_per_second(
    evaluator: Evaluator, seconds: float = 1.0, rows: int | None = None, warm_up: float = 0.1
) -> float:
    """Positions evaluated in a second with every slot in flight, `rows` (all) to a batch.

    The inputs are left as they are; `fill_inputs` first gives them sensible contents.
    """
    n = rows or evaluator.max_batch
    waiting = deque(range(evaluator.slots))
    for slot in waiting:
        evaluator.start(slot, n)
    done = 0
    begun = time.perf_counter()
    started: float | None = None
    while True:
        slot = waiting.popleft()
        evaluator.wait(slot)
        now = time.perf_counter()
        if started is None:
            if now - begun >= warm_up:
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
