"""Base class of evaluators that run batches in threads of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)

from komadori.inference.protocol import (
    Described,
    Floats,
    InferenceError,
    checked_outputs,
    not_started,
)
from komadori.wording import names_arguments


@names_arguments
class FutureSlots(Described, ABC):
    """Implements start, wait and close of `Evaluator` and the methods of `Polled`, one batch per
    slot.

    Subclasses evaluate a batch in `_run`, called in one of `workers` threads.
    """

    #: The label scheme of the policy; set by subclasses.
    labels: str

    def __init__(self, name: str, max_batch: int, slots: int, workers: int) -> None:
        """name: prefix of the thread names."""
        self.max_batch = max_batch
        self.slots = slots
        self._pool = ThreadPoolExecutor(workers, name)
        self._running: list[Future[tuple[Floats, Floats]] | None] = [None] * slots

    @abstractmethod
    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        """Evaluate the first n rows of the slot. Raises InferenceError."""

    def start(self, slot: int, n: int) -> None:
        self._check_open()
        if not 0 < n <= self.max_batch:
            raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
        if running := self._running[slot]:
            wait([running])  # one that was dropped while it ran
        self._running[slot] = self._submit(slot, n)

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        try:
            return self._future(slot).result()
        except CancelledError as error:
            raise InferenceError(f"slot {slot}: its batch was dropped") from error

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        futures = {self._future(slot): slot for slot in slots}
        done, _ = wait(futures, timeout_s, return_when=FIRST_COMPLETED)
        return next((slot for future, slot in futures.items() if future in done), None)

    def drop(self, slot: int) -> None:
        if running := self._running[slot]:
            running.cancel()

    def close(self) -> None:
        self._is_closed = True
        self._pool.shutdown(wait=True)
        self._running = [None] * self.slots

    def _submit(self, slot: int, n: int) -> Future[tuple[Floats, Floats]]:
        return self._pool.submit(self._run_checked, slot, n)

    def _run_checked(self, slot: int, n: int) -> tuple[Floats, Floats]:
        return checked_outputs(self._run(slot, n), n, self.labels, lambda: "the network")

    def _future(self, slot: int) -> Future[tuple[Floats, Floats]]:
        self._check_open()
        future = self._running[slot]
        if future is None:
            raise not_started(slot)
        return future
