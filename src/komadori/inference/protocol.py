"""What a searcher needs of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from komadori.encoding import LABELS

Floats: TypeAlias = NDArray[np.float32]
#: One input array, float32 or, where all values are 0 or 1, uint8.
Planes: TypeAlias = NDArray[np.float32] | NDArray[np.uint8]


class InferenceError(RuntimeError):
    """A network that failed while evaluating, or whose outputs aren't numbers."""


class ModelError(ValueError):
    """A model that can't be loaded: missing, damaged, or not of a known shape."""


class Described:
    """Evaluators that say in their repr what they run, and in which batches."""

    def __repr__(self) -> str:
        own: Any = self
        model = getattr(self, "model", "")
        runs = f" {model}" if model else ""
        if precision := getattr(self, "precision", ""):
            runs += f" in {precision}"
        return (
            f"<{type(self).__name__}{runs}: {own.features} -> {own.labels}, "
            f"{own.slots} x {own.max_batch} rows>"
        )


@runtime_checkable
class Evaluator(Protocol):
    """A network with several batches in flight.

    A slot is a set of input arrays with a request of its own. The caller fills rows
    0..n-1 of `inputs(slot)`, calls `start(slot, n)`, leaves the arrays alone until
    `wait(slot)` returns, and reads the outputs before the slot's next `start`.
    Slots may be used by different threads, one slot by one thread at a time.
    """

    name: str
    """Which backend answers: "openvino", "uniform", ..."""
    features: str
    """The inputs, a key of `encoding.FEATURES`."""
    labels: str
    """The policy's outputs, a key of `encoding.LABELS`."""
    max_batch: int
    """Rows in a slot."""
    slots: int
    """How many slots there are; all of them may be in flight at once."""

    def inputs(self, slot: int) -> tuple[Planes, ...]:
        """The slot's arrays, one [max_batch, *shape] for each input of the feature table: all
        float32, or all uint8 where the backend reads zeros and ones as bytes.
        """
        ...

    def start(self, slot: int, n: int) -> None:
        """Begin to evaluate the first n rows; returns at once where the backend can."""
        ...

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        """The outputs of the rows started: policy logits [n, labels], and value [n], the side to
        move's win probability in [0, 1]. Valid until the slot's next `start`.
        """
        ...

    def close(self) -> None:
        """Wait for what is in flight and give the network's memory back."""
        ...


@runtime_checkable
class Polled(Protocol):
    """An evaluator that can be polled for finished batches."""

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        """A slot, of these that were started, whose outputs are there: the first to finish where
        the slots' devices differ. None if there is none within the time.
        """
        ...

    def drop(self, slot: int) -> None:
        """Forget a batch that was started; returns at once. The slot may be filled and started
        again, which waits until nothing works on it any more.
        """
        ...


def evaluate(
    evaluator: Evaluator, *inputs: NDArray[np.float32] | NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Evaluate any number of positions: policy logits [N, labels] and value [N].

    inputs: [N, *shape], one for each input of the feature table, as `encode_planes` gives them.
    Keeps all slots busy. Raises InferenceError where an output isn't a number.
    """
    expected = len(evaluator.inputs(0))
    if len(inputs) != expected:
        raise ValueError(
            f"{evaluator.features} has {expected} inputs, {len(inputs)} arrays were given"
        )
    total = len(inputs[0])
    if any(len(array) != total for array in inputs):
        raise ValueError(f"inputs differ in rows: {', '.join(str(len(a)) for a in inputs)}")
    policies: list[Floats] = []
    values: list[Floats] = []
    running: list[int] = []

    def collect() -> None:
        policy, value = evaluator.wait(running.pop(0))
        policies.append(policy.copy())
        values.append(value.copy())

    try:
        for number, begin in enumerate(range(0, total, evaluator.max_batch)):
            slot = number % evaluator.slots
            if slot in running:
                collect()
            n = min(evaluator.max_batch, total - begin)
            for rows, array in zip(evaluator.inputs(slot), inputs, strict=True):
                rows[:n] = array[begin : begin + n]
            evaluator.start(slot, n)
            running.append(slot)
        while running:
            collect()
    except BaseException:
        for slot in running:
            evaluator.wait(slot)
        raise
    if not policies:
        size = LABELS[evaluator.labels].size
        return np.empty((0, size), np.float32), np.empty(0, np.float32)
    policy, value = np.concatenate(policies), np.concatenate(values)
    if not (np.isfinite(policy).all() and np.isfinite(value).all()):
        raise InferenceError(f"{evaluator.name}: the network gave outputs that aren't numbers")
    return policy, value
