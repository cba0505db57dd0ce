"""What a searcher needs of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
#: Inputs: zeros and ones.
Planes: TypeAlias = NDArray[np.float32] | NDArray[np.uint8]


class InferenceError(RuntimeError):
    """A network that failed while evaluating, or whose outputs aren't numbers."""


class ModelError(ValueError):
    """A model that can't be loaded: missing, damaged, or not of a known shape."""


@runtime_checkable
class Evaluator(Protocol):
    """A network with several batches in flight.

    A slot is a pair of input arrays and a request of its own. The caller fills rows
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

    def inputs(self, slot: int) -> tuple[Planes, Planes]:
        """The slot's arrays, features1 [max_batch, 62, 9, 9] and features2 [max_batch, C, 9, 9]:
        both float32, or both uint8 where the backend takes the planes' zeros and ones as bytes.
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
    """An evaluator that can be asked whether a batch is done, so that nobody need wait for it."""

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
    evaluator: Evaluator, features1: Floats, features2: Floats
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Evaluate any number of positions: policy logits [N, labels] and value [N].

    All slots are kept busy. Raises InferenceError where an output isn't a number.
    """
    total = len(features1)
    if len(features2) != total:
        raise ValueError(f"features1 has {total} rows, features2 has {len(features2)}")
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
            rows1, rows2 = evaluator.inputs(slot)
            rows1[:n] = features1[begin : begin + n]
            rows2[:n] = features2[begin : begin + n]
            evaluator.start(slot, n)
            running.append(slot)
        while running:
            collect()
    except BaseException:
        for slot in running:
            evaluator.wait(slot)
        raise
    if not policies:
        from komadori.inference.model_file import label_count

        return np.empty((0, label_count(evaluator.labels)), np.float32), np.empty(0, np.float32)
    policy, value = np.concatenate(policies), np.concatenate(values)
    if not (np.isfinite(policy).all() and np.isfinite(value).all()):
        raise InferenceError(f"{evaluator.name}: the network gave outputs that aren't numbers")
    return policy, value
