"""One network for many searchers: requests that wait at the same time are batched together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait

import numpy as np

from komadori.encoding import LABELS
from komadori.inference.future_slots import FutureSlots
from komadori.inference.protocol import (
    Evaluator,
    Floats,
    InferenceError,
    Planes,
    Polled,
    wait_for,
)
from komadori.wording import names_arguments

#: Seconds that other lanes pause after an urgent request, for the next one of the same search.
HOLD_S = 0.015
#: Longest total pause of the other lanes.
MAX_HOLD_S = 0.1
#: How long closing waits for batches in the threads of lanes.
CLOSING_S = 1.0
_CLOSED = "the shared network is closed"


class SharedEvaluator:
    """Serves any number of lanes, each an `Evaluator` for one searcher, with one evaluator.

    If a slot of the evaluator is free and nothing is queued, a lane's batch starts at once, in the
    lane's own thread, which also takes the outputs: a single lane runs as on the evaluator itself,
    apart from copying its rows. Other requests wait in a queue, and a free slot takes as many from
    the front as fit into a batch: many small requests cost about as much as the batches they fill.

    Urgent lanes are for short searches that a user waits for. These make many small requests; if
    each had to queue behind full batches of long searches, they would take seconds. Urgent requests
    go first, and other lanes pause between two of them.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._urgent: deque[_Request] = deque()
        self._others: deque[_Request] = deque()
        self._others_flying = 0
        # One batch more than those being computed keeps the network busy.
        self._most_flying = min(
            int(getattr(evaluator, "streams", evaluator.slots)) + 1, evaluator.slots
        )
        self._hold_until = 0.0
        self._others_taken_at = 0.0
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_polled = isinstance(evaluator, Polled)
        self._free = list(range(evaluator.slots))
        self._workers = [
            threading.Thread(target=self._serve, name=f"network {number}", daemon=True)
            for number in range(evaluator.slots)
        ]
        for worker in self._workers:
            worker.start()

    def lane(
        self, slots: int | None = None, max_batch: int | None = None, *, urgent: bool = False
    ) -> Lane:
        """Create an evaluator for one searcher; slots and rows default to those of the network.
        Close it with the searcher. urgent: for short searches only. Raises InferenceError once the
        network is closed."""
        if self._is_closed:
            raise InferenceError(_CLOSED)
        return Lane(self, slots, max_batch, urgent=urgent)

    def begin(self, request: _Request) -> int | None:
        """Start a request; the evaluator's slot that works on it, which `end` or `drop` gives
        back, or None where it waits in the queue for its future to be done.
        """
        with self._changed:
            if self._is_closed:
                raise InferenceError(_CLOSED)
            now = time.monotonic()
            if request.is_urgent:
                self._hold_until = now + HOLD_S
            if not self._may_begin(request, now):
                (self._urgent if request.is_urgent else self._others).append(request)
                self._changed.notify()
                return None
            slot = self._claim([request], now)
        try:
            for whole, part in zip(self.evaluator.inputs(slot), request.inputs, strict=True):
                whole[: request.n] = part[: request.n]
            self.evaluator.start(slot, request.n)
        except BaseException:
            self._give_back(slot, request)
            raise
        return slot

    def end(self, slot: int, request: _Request) -> tuple[Floats, Floats]:
        """The outputs of a request that `begin` started in a slot."""
        try:
            policy, value = wait_for(self.evaluator, slot, request.n)
            request.policy[: request.n] = policy[: request.n]
            request.value[: request.n] = value[: request.n]
        finally:
            self._give_back(slot, request)
        return request.policy[: request.n], request.value[: request.n]

    def poll(self, slot: int, timeout_s: float | None) -> bool:
        """Whether what `begin` started in a slot is done, within the time."""
        polled = self.evaluator
        assert isinstance(polled, Polled)
        return polled.first_done([slot], timeout_s) is not None

    def drop(self, slot: int, request: _Request) -> None:
        """Forget what `begin` started in a slot."""
        polled = self.evaluator
        assert isinstance(polled, Polled)
        polled.drop(slot)
        self._give_back(slot, request)

    def _may_begin(self, request: _Request, now: float) -> bool:
        if not self._is_polled or not self._free or self._urgent:
            return False
        return request.is_urgent or (not self._others and self._is_turn_of_others(now))

    def _is_turn_of_others(self, now: float) -> bool:
        return self._held_s(now) <= 0 and self._others_flying < self._most_flying

    def _held_s(self, now: float) -> float:
        """How long the long searches still wait for an urgent request."""
        return min(self._hold_until, self._others_taken_at + MAX_HOLD_S) - now

    def _claim(self, taken: list[_Request], now: float) -> int:
        """A free slot for a batch of these requests."""
        if not taken[0].is_urgent:
            self._others_taken_at = now
            self._others_flying += 1
        return self._free.pop()

    def _give_back(self, slot: int, done: _Request) -> None:
        """A batch is computed and its outputs are taken: the next may begin. `done`: its first."""
        with self._changed:
            self._free.append(slot)
            if done.is_urgent:
                self._hold_until = time.monotonic() + HOLD_S
            else:
                self._others_flying -= 1
            if self._urgent or self._others or self._is_closed:
                self._changed.notify()

    def close(self) -> None:
        """Finish the queued requests, then close the evaluator. Lanes fail from now on."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()
        with self._changed:  # what runs in the threads of lanes
            self._changed.wait_for(lambda: len(self._free) == self.evaluator.slots, CLOSING_S)
        self.evaluator.close()

    def _serve(self) -> None:
        while batch := self._take():
            slot, taken = batch
            inputs = self.evaluator.inputs(slot)
            has_slot = True
            try:
                rows = 0
                for request in taken:
                    end = rows + request.n
                    for whole, part in zip(inputs, request.inputs, strict=True):
                        whole[rows:end] = part[: request.n]
                    rows = end
                self.evaluator.start(slot, rows)
                policy, value = wait_for(self.evaluator, slot, rows)
                rows = 0
                for request in taken:
                    end = rows + request.n
                    request.policy[: request.n] = policy[rows:end]
                    request.value[: request.n] = value[rows:end]
                    rows = end
                has_slot = False
                self._give_back(slot, taken[0])
                for request in taken:
                    request.future.set_result(
                        (request.policy[: request.n], request.value[: request.n])
                    )
            except BaseException as error:
                if has_slot:
                    self._give_back(slot, taken[0])
                for request in taken:
                    if not request.future.done():
                        request.future.set_exception(error)

    def _take(self) -> tuple[int, list[_Request]] | None:
        """The next batch: a slot and its requests; None once closed and nothing waits."""
        with self._changed:
            while True:
                now = time.monotonic()
                if self._free:
                    taken = self._fill(self._urgent)
                    if not taken and self._is_turn_of_others(now):
                        taken = self._fill(self._others)
                    if taken:
                        return self._claim(taken, now), taken
                if self._is_closed and not self._urgent and not self._others:
                    return None
                held_s = self._held_s(now)
                waits = held_s > 0 and bool(self._others) and not self._is_closed
                self._changed.wait(held_s if waits else None if not self._is_closed else 0.001)

    def _fill(self, waiting: deque[_Request]) -> list[_Request]:
        """Take requests from the front that fit into a batch, skipping dropped ones."""
        taken: list[_Request] = []
        room = self.evaluator.max_batch
        while waiting and waiting[0].n <= room:
            request = waiting.popleft()
            if request.future.set_running_or_notify_cancel():
                taken.append(request)
                room -= request.n
        return taken


class _Request:
    """A request of a lane: its rows, and where the outputs go."""

    __slots__ = ("future", "inputs", "is_urgent", "n", "policy", "value")

    def __init__(
        self,
        inputs: tuple[Planes, ...],
        outputs: tuple[Floats, Floats],
        n: int,
        *,
        is_urgent: bool,
    ) -> None:
        self.is_urgent = is_urgent
        self.inputs = inputs
        self.policy, self.value = outputs
        self.n = n
        self.future: Future[tuple[Floats, Floats]] = Future()


@names_arguments
class Lane(FutureSlots):
    """A searcher's access to a `SharedEvaluator`."""

    def __init__(
        self,
        shared: SharedEvaluator,
        slots: int | None = None,
        max_batch: int | None = None,
        *,
        urgent: bool = False,
    ) -> None:
        evaluator = shared.evaluator
        rows = min(max_batch or evaluator.max_batch, evaluator.max_batch)
        self.name = evaluator.name
        self.features, self.labels = evaluator.features, evaluator.labels
        self.precision = str(getattr(evaluator, "precision", evaluator.name))
        self.threads = int(getattr(evaluator, "threads", 0))
        super().__init__("lane", rows, slots or evaluator.slots, workers=1)
        self._shared = shared
        self._is_urgent = urgent
        #: By slot: what began at once, and in which slot of the network.
        self._started: dict[int, tuple[int, _Request]] = {}
        inputs = evaluator.inputs(0)
        labels = LABELS[evaluator.labels].size
        self._inputs: list[tuple[Planes, ...]] = [
            tuple(np.zeros_like(array[:rows]) for array in inputs) for _ in range(self.slots)
        ]
        self._outputs: list[tuple[Floats, Floats]] = [
            (np.zeros((self.max_batch, labels), np.float32), np.zeros(self.max_batch, np.float32))
            for _ in range(self.slots)
        ]

    def inputs(self, slot: int) -> tuple[Planes, ...]:
        self._check_open()
        return self._inputs[slot]

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        """The first of these slots, once it is done: in the order in which they were started a
        search takes its batches back, so that its result doesn't depend on the other lanes.
        """
        slot = slots[0]
        if started := self._started.get(slot):
            return slot if self._shared.poll(started[0], timeout_s) else None
        done, _ = wait([self._future(slot)], timeout_s)
        return slot if done else None

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        if started := self._started.pop(slot, None):
            _, request = started
            try:
                request.future.set_result(self._shared.end(*started))
            except BaseException as error:
                request.future.set_exception(error)
        return super().wait(slot)

    def drop(self, slot: int) -> None:
        super().drop(slot)
        if started := self._started.pop(slot, None):
            _, request = started
            request.future.set_running_or_notify_cancel()  # or the slot's next start would wait
            self._shared.drop(*started)

    def close(self) -> None:
        for slot in list(self._started):
            self.drop(slot)
        super().close()

    def _submit(self, slot: int, n: int) -> Future[tuple[Floats, Floats]]:
        request = _Request(self._inputs[slot], self._outputs[slot], n, is_urgent=self._is_urgent)
        at = self._shared.begin(request)
        if at is not None:
            self._started[slot] = (at, request)
        return request.future

    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        raise NotImplementedError("the shared evaluator's threads run a lane's batches")
