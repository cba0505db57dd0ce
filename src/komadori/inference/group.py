"""Several devices as one evaluator, so that they work on one tree."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from komadori.inference.protocol import Evaluator, Floats, ModelError, Planes, Polled


class EvaluatorGroup:
    """Evaluators of the same network, each on a device of its own; it closes them.

    Its slots are theirs, taken in turns. Batches come back in the order in which the devices
    finish them: `first_done` tells which is next. Raises ModelError where they differ in
    inputs, labels or the type of their arrays.
    """

    name = "group"

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        if not evaluators:
            raise ModelError("a group needs at least one evaluator")
        first = evaluators[0]
        for other in evaluators:
            if (other.features, other.labels) != (first.features, first.labels):
                raise ModelError(
                    f"{other.name} reads {other.features} and answers {other.labels}, "
                    f"{first.name} {first.features} and {first.labels}"
                )
        self.features, self.labels = first.features, first.labels
        self.precision = "+".join(
            dict.fromkeys(str(getattr(e, "precision", e.name)) for e in evaluators)
        )
        self.max_batch = min(e.max_batch for e in evaluators)
        self.threads = sum(int(getattr(e, "threads", 0)) for e in evaluators)
        self.evaluators = tuple(evaluators)
        most = max(e.slots for e in evaluators)
        self._places = [
            (device, slot)
            for slot in range(most)
            for device, evaluator in enumerate(evaluators)
            if slot < evaluator.slots
        ]
        self.slots = len(self._places)
        self._waiters = ThreadPoolExecutor(self.slots, "devices")
        self._running: list[Future[tuple[Floats, Floats]] | None] = [None] * self.slots

    def inputs(self, slot: int) -> tuple[Planes, Planes]:
        device, own = self._places[slot]
        features1, features2 = self.evaluators[device].inputs(own)
        return features1[: self.max_batch], features2[: self.max_batch]

    def start(self, slot: int, n: int) -> None:
        if not 0 < n <= self.max_batch:
            raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
        device, own = self._places[slot]
        if running := self._running[slot]:
            wait([running])  # one that was cancelled
        self.evaluators[device].start(own, n)
        self._running[slot] = self._waiters.submit(self.evaluators[device].wait, own)

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        futures = {self._future(slot): slot for slot in slots}
        done, _ = wait(futures, timeout_s, return_when=FIRST_COMPLETED)
        return min((futures[future] for future in done), default=None)

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        return self._future(slot).result()

    def drop(self, slot: int) -> None:
        device, own = self._places[slot]
        evaluator = self.evaluators[device]
        if isinstance(evaluator, Polled):
            evaluator.drop(own)

    def close(self) -> None:
        self._waiters.shutdown(wait=True)
        for evaluator in self.evaluators:
            evaluator.close()

    def _future(self, slot: int) -> Future[tuple[Floats, Floats]]:
        future = self._running[slot]
        if future is None:
            raise ValueError(f"slot {slot} was not started")
        return future
