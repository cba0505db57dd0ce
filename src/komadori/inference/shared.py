"""One network for many searchers: batches that wait at the same time become one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait

import numpy as np

from komadori.encoding import LABELS
from komadori.inference.future_slots import FutureSlots
from komadori.inference.protocol import Evaluator, Floats, InferenceError, Planes

#: How long the others wait after an urgent request for the next one of the same short search,
HOLD_S = 0.015
#: but never longer than this for their turn.
MOST_HOLD_S = 0.1


class SharedEvaluator:
    """Serves any number of lanes, each an `Evaluator` for one searcher, from one evaluator.

    What the lanes have started waits in a queue; a free slot of the evaluator takes as many
    requests off its front as fit into a batch. So a lone lane runs as it would on the evaluator
    itself, but for a copy of its rows, and many small requests cost about as much as the batches
    they fill.

    Lanes are urgent or not. A short search that someone waits for asks for few rows at a time,
    many times: were each request to queue behind the full batches of long searches, it would take
    seconds. Urgent requests go first, and between two of them the others pause.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._urgent: deque[_Request] = deque()
        self._others: deque[_Request] = deque()
        self._others_flying = 0
        # One batch beyond those that are computed is enough to keep the network busy.
        self._most_flying = min(
            int(getattr(evaluator, "streams", evaluator.slots)) + 1, evaluator.slots
        )
        self._hold_until = 0.0
        self._others_taken_at = 0.0
        self._changed = threading.Condition()
        self._is_closed = False
        self._workers = [
            threading.Thread(target=self._serve, args=(slot,), name=f"network {slot}", daemon=True)
            for slot in range(evaluator.slots)
        ]
        for worker in self._workers:
            worker.start()

    def lane(
        self, slots: int | None = None, max_batch: int | None = None, *, urgent: bool = False
    ) -> Lane:
        """A new evaluator for one searcher, with the network's slots and rows where none are
        given; close it when the searcher is closed. `urgent`: for short searches only.
        """
        return Lane(self, slots, max_batch, urgent=urgent)

    def submit(self, request: _Request) -> None:
        with self._changed:
            if self._is_closed:
                raise InferenceError("the shared network is closed")
            if request.is_urgent:
                self._urgent.append(request)
                self._hold_until = time.monotonic() + HOLD_S
            else:
                self._others.append(request)
            self._changed.notify()

    def close(self) -> None:
        """Evaluate what waits, then give the evaluator back. Lanes fail from now on."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()
        self.evaluator.close()

    def _serve(self, slot: int) -> None:
        inputs = self.evaluator.inputs(slot)
        while taken := self._take():
            try:
                rows = 0
                for request in taken:
                    end = rows + request.n
                    for whole, part in zip(inputs, request.inputs, strict=True):
                        whole[rows:end] = part[: request.n]
                    rows = end
                self.evaluator.start(slot, rows)
                policy, value = self.evaluator.wait(slot)
                self._give_turn(taken)
                rows = 0
                for request in taken:
                    end = rows + request.n
                    request.policy[: request.n] = policy[rows:end]
                    request.value[: request.n] = value[rows:end]
                    request.future.set_result(
                        (request.policy[: request.n], request.value[: request.n])
                    )
                    rows = end
            except BaseException as error:
                self._give_turn(taken)
                for request in taken:
                    if not request.future.done():
                        request.future.set_exception(error)

    def _give_turn(self, done: list[_Request]) -> None:
        """A batch is computed: the next may begin."""
        if done[0].is_counted:
            done[0].is_counted = False
            with self._changed:
                self._others_flying -= 1
                self._changed.notify()
        elif done[0].is_urgent:
            self._hold_until = time.monotonic() + HOLD_S

    def _take(self) -> list[_Request]:
        """The next batch's requests; [] once closed and nothing waits."""
        with self._changed:
            while True:
                if taken := self._fill(self._urgent):
                    return taken
                now = time.monotonic()
                held_s = min(self._hold_until, self._others_taken_at + MOST_HOLD_S) - now
                may_take = held_s <= 0 and self._others_flying < self._most_flying
                if may_take and (taken := self._fill(self._others)):
                    self._others_taken_at = now
                    self._others_flying += 1
                    taken[0].is_counted = True
                    return taken
                if self._is_closed and not self._others:
                    return []
                waits = held_s > 0 and bool(self._others) and not self._is_closed
                self._changed.wait(held_s if waits else None if not self._is_closed else 0.001)

    def _fill(self, waiting: deque[_Request]) -> list[_Request]:
        """As many requests off the front as fit into a batch, those that were dropped aside."""
        taken: list[_Request] = []
        room = self.evaluator.max_batch
        while waiting and waiting[0].n <= room:
            request = waiting.popleft()
            if request.future.set_running_or_notify_cancel():
                taken.append(request)
                room -= request.n
        return taken


class _Request:
    """Rows that a lane wants evaluated, and where the outputs go."""

    __slots__ = ("future", "inputs", "is_counted", "is_urgent", "n", "policy", "value")

    def __init__(
        self,
        inputs: tuple[Planes, ...],
        outputs: tuple[Floats, Floats],
        n: int,
        *,
        is_urgent: bool,
    ) -> None:
        self.is_urgent = is_urgent
        self.is_counted = False
        self.inputs = inputs
        self.policy, self.value = outputs
        self.n = n
        self.future: Future[tuple[Floats, Floats]] = Future()


class Lane(FutureSlots):
    """A searcher's share of a `SharedEvaluator`."""

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
        return self._inputs[slot]

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        """The first of these slots, once it is done: in the order in which they were started a
        search takes its batches back, so that its result doesn't depend on the other lanes.
        """
        done, _ = wait([self._future(slots[0])], timeout_s)
        return slots[0] if done else None

    def _submit(self, slot: int, n: int) -> Future[tuple[Floats, Floats]]:
        request = _Request(self._inputs[slot], self._outputs[slot], n, is_urgent=self._is_urgent)
        self._shared.submit(request)
        return request.future

    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        raise NotImplementedError("the shared evaluator's threads run a lane's batches")
