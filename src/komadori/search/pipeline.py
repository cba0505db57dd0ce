"""The search pipeline: collect leaves, evaluate them, expand the tree.

A `Source` supplies leaves and receives the network's outputs; the `Pipeline` moves its batches
through the evaluator's slots, one in the network while the next is collected. The search of one
position (`RootSource`), the search of many positions and self-play differ only in their source.
"""

from __future__ import annotations

import bisect
import contextlib
import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from komadori._core.tree import Batch, Tree
from komadori.inference import Evaluator, InferenceError, Polled, batch_sizes
from komadori.inference.protocol import Floats, check_evaluator, invalid_outputs, wait_for
from komadori.search.options import PuctOptions, batch_rows
from komadori.search.stopping import Conditions, Progress

#: Maximum number of allowed-size batches in flight; more help only once batches are full.
MAX_BATCHES = 3
#: Assumed remaining duration of a search without a time limit.
UNLIMITED_MS = 5000
#: Weight of the latest batch in the moving average of batch times.
BATCH_TIME_RATE = 0.2


class Source(Protocol):
    """Supplies a pipeline with rows. Slots are those of the evaluator."""

    def collect(self, slot: int) -> int:
        """Write rows into the slot's inputs and return their number; 0: no batch now."""
        ...

    def expand(self, slot: int, policy: Floats, value: Floats) -> None:
        """Receive the outputs of the slot's rows. Raises InferenceError if any is invalid."""
        ...

    def cancel(self, slot: int) -> None:
        """Undo the collection of the slot's rows."""
        ...


class Pipeline:
    """Moves a source's batches through an evaluator."""

    def __init__(self, evaluator: Evaluator, source: Source) -> None:
        self._evaluator = evaluator
        self._polled = evaluator if isinstance(evaluator, Polled) else None
        self._source = source
        self._free = deque(range(evaluator.slots))
        self.in_flight: list[int] = []
        """Slots of the batches in flight, oldest first."""
        self.can_drop = self._polled is not None
        """Whether batches in flight can be dropped without waiting for them."""
        self._rows = [0] * evaluator.slots  # of the batches in flight
        self._started = [0.0] * evaluator.slots
        self._has_changed = True
        self.batch_ms = 0.0
        """Moving average of the time from a batch's start to its outputs."""

    def fill(self) -> None:
        """Start batches while slots and rows are available.

        Nothing is collected between two polls of a slow network: only the outputs of a batch
        change the tree, and the result must not depend on how often the network is polled.
        """
        if not self._has_changed and self.in_flight:
            return
        while self._free:
            slot = self._free[0]
            rows = self._source.collect(slot)
            if not rows:
                break
            try:
                self._evaluator.start(slot, rows)
            except BaseException:
                self._source.cancel(slot)
                raise
            self._rows[slot] = rows
            self._started[slot] = time.perf_counter()
            self.in_flight.append(self._free.popleft())
        self._has_changed = not self.in_flight

    def take(self, timeout_s: float | None = None) -> bool:
        """Take the outputs of one batch; return False if none arrived in time or none is in flight.

        `timeout_s` applies only to evaluators that can be polled (`inference.Polled`).
        """
        if not self.in_flight:
            return False
        slot = self.in_flight[0]
        if self._polled is not None:
            done = self._polled.first_done(self.in_flight, timeout_s)
            if done is None:
                return False
            slot = done
        policy, value = wait_for(self._evaluator, slot, self._rows[slot])
        took_ms = (time.perf_counter() - self._started[slot]) * 1000
        self.batch_ms += BATCH_TIME_RATE * (took_ms - self.batch_ms)
        self._has_changed = True
        self.in_flight.remove(slot)
        self._free.append(slot)
        self._source.expand(slot, policy, value)
        return True

    def drop(self) -> None:
        """Drop the batches in flight: at once if the evaluator can, else when they are done."""
        for slot in self.in_flight:
            if self._polled is not None:
                self._polled.drop(slot)
            else:
                with contextlib.suppress(InferenceError):
                    self._evaluator.wait(slot)
            self._source.cancel(slot)
        self._reset()

    def abandon(self) -> None:
        """Wait for the batches in flight and undo their collection; for use after an error."""
        for slot in self.in_flight:
            with contextlib.suppress(InferenceError):
                self._evaluator.wait(slot)
            self._source.cancel(slot)
        self._reset()

    def _reset(self) -> None:
        self._free.extend(self.in_flight)
        self.in_flight.clear()
        self._has_changed = True


def slot_batches(evaluator: Evaluator) -> list[Batch]:
    """Return a batch over the inputs of each of the evaluator's slots. Raises TypeError."""
    check_evaluator("evaluator", evaluator)
    return [
        Batch(evaluator.inputs(slot), evaluator.features, evaluator.labels)
        for slot in range(evaluator.slots)
    ]


class RootSource:
    """Supplies leaves of one root, in batches that are a small part of the search."""

    def __init__(
        self,
        tree: Tree,
        root: int,
        evaluator: Evaluator,
        batches: Sequence[Batch],
        options: PuctOptions,
        progress: Progress,
        usual_speed: float,
    ) -> None:
        """`usual_speed`: lower bound on the expected playouts per millisecond."""
        self._tree, self._root, self._batches = tree, root, batches
        self._evaluator = evaluator
        self._sizes = batch_sizes(evaluator.max_batch)
        self._options = options
        self._progress = progress
        self._usual_speed = usual_speed
        self._rows = 0  # in flight
        self.conditions: Conditions | None = None
        """Their hints estimate the remaining search."""

    def collect(self, slot: int) -> int:
        assert self.conditions is not None
        hints, progress = self.conditions.hints, self._progress
        finished = self._tree.playouts() - progress.playouts
        remaining = hints.playouts - finished - self._rows
        if remaining <= 0:
            return 0
        expected = float(hints.playouts)
        if hints.is_timed:
            planned_ms = UNLIMITED_MS if math.isinf(hints.planned_ms) else hints.planned_ms
            expected = min(expected, max(progress.speed(), self._usual_speed) * planned_ms)
        allowed = batch_rows(self._options, progress.visits, progress.visits + expected)
        rows = self._sizes[bisect.bisect_right(self._sizes, allowed) - 1]
        if self._rows + rows > MAX_BATCHES * allowed:
            return 0  # wait rather than start a smaller batch
        added = self._tree.collect(self._root, self._batches[slot], min(rows, remaining), remaining)
        self._rows += added
        return added

    def expand(self, slot: int, policy: Floats, value: Floats) -> None:
        batch = self._batches[slot]
        self._rows -= batch.rows
        if self._tree.expand(batch, policy, value):
            raise invalid_outputs(self._evaluator)

    def cancel(self, slot: int) -> None:
        self._rows -= self._batches[slot].rows
        self._tree.cancel(self._batches[slot])
