"""The interface between searchers and networks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from komadori.encoding import LABELS
from komadori.inference.exclusive import BusyError, exclusive
from komadori.wording import counted, not_expected

Floats: TypeAlias = NDArray[np.float32]
#: One input array, float32 or, where all values are 0 or 1, uint8.
Planes: TypeAlias = NDArray[np.float32] | NDArray[np.uint8]
#: Kinds of numpy's types that outputs may have: those that convert to float32.
_NUMBERS = "fiub"


class InferenceError(RuntimeError):
    """The evaluation failed, or its outputs aren't finite."""


class ModelError(ValueError):
    """A model can't be loaded: missing, damaged, or of unknown shape."""


class Described:
    """Mixin: a repr with the backend, the tables and the batch size; whether it can be used."""

    _is_closed = False
    #: Whether batches run in threads, which a forked process lacks.
    _has_threads = True
    _process: int

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        made = super().__new__(cls)
        made._process = os.getpid()
        return made

    def _is_forked(self) -> bool:
        return os.getpid() != self._process

    def _check_open(self) -> None:
        """Raise InferenceError if the evaluator was closed, or loaded before a fork."""
        own: Any = self
        if self._is_closed:
            raise InferenceError(f"{getattr(own, 'model', own.name)}: the evaluator is closed")
        if self._has_threads and self._is_forked():
            raise InferenceError(
                f"{getattr(own, 'model', own.name)}: loaded before this process was forked; load "
                'it in each process, or start processes with "spawn"'
            )

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

    A slot is a set of input arrays with its own request. Fill rows 0..n-1 of `inputs(slot)`, call
    `start(slot, n)`, leave the arrays unchanged until `wait(slot)` returns, and read the outputs
    before the slot's next `start`. Different threads may use different slots; a slot is used by one
    thread at a time.
    """

    name: str
    """The backend: "openvino", "uniform", ..."""
    features: str
    """The feature table, a key of `encoding.FEATURES`."""
    labels: str
    """The label scheme, a key of `encoding.LABELS`."""
    max_batch: int
    """Rows per slot."""
    slots: int
    """Number of slots; all of them may be in flight at once."""

    def inputs(self, slot: int) -> tuple[Planes, ...]:
        """The slot's arrays, [max_batch, *shape] for each input of the feature table: all float32,
        or all uint8 if the backend reads binary planes as bytes."""
        ...

    def start(self, slot: int, n: int) -> None:
        """Start to evaluate the first n rows; asynchronous if the backend is."""
        ...

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        """Wait for the outputs of the rows started: policy logits [n, labels], and values [n], the
        side to move's win probability in [0, 1]. Valid until the slot's next `start`. Raises
        ValueError if the slot was never started."""
        ...

    def close(self) -> None:
        """Wait for the batches in flight and free the network's memory. From then on the methods
        raise InferenceError, except `close` and `drop`, which do nothing."""
        ...


@runtime_checkable
class Polled(Protocol):
    """An evaluator that can be polled for finished batches."""

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        """The first of these started slots to finish; None if none does within the timeout."""
        ...

    def drop(self, slot: int) -> None:
        """Discard a started batch; returns at once. The slot may be filled and started again, which
        waits until the backend no longer uses it."""
        ...


def not_started(slot: int) -> ValueError:
    """Return the error of `Evaluator.wait` for a slot without a batch."""
    return ValueError(f"slot {slot} was not started")


def check_evaluator(name: str, value: object) -> None:
    """Raise TypeError, which names the argument, unless the value is an evaluator; ValueError if it
    has no slots or rows."""
    if not all(hasattr(value, part) for part in ("slots", "features", "inputs", "start")):
        raise not_expected(name, value, "an evaluator (of inference.load)")
    evaluator = cast("Evaluator", value)
    check_counts(threads=None, slots=evaluator.slots, max_batch=evaluator.max_batch)


def check_counts(*, threads: int | None, **counts: int | None) -> None:
    """Raise ValueError for a negative number of threads (0: the default), or another count that is
    neither None nor at least 1.
    """
    for name, count in {"threads": threads, **counts}.items():
        least = 0 if name == "threads" else 1
        if count is not None and count < least:
            raise ValueError(f"{name} is {count}, at least {least} is needed")


def wait_for(evaluator: Evaluator, slot: int, n: int) -> tuple[Floats, Floats]:
    """Wait for the outputs of a slot's n rows. Raises InferenceError, which names the evaluator, if
    they aren't what `Evaluator.wait` is to return."""
    outputs = evaluator.wait(slot)
    return checked_outputs(
        outputs, n, evaluator.labels, lambda: f"{_name(evaluator)}: {type(evaluator).__name__}.wait"
    )


def checked_outputs(
    outputs: object, n: int, labels: str, source: Callable[[], str]
) -> tuple[Floats, Floats]:
    """Return policy and values of n rows; raise InferenceError, which names the source, unless they
    are arrays of numbers of the right shapes."""
    expected = (n, LABELS[labels].size), (n,)
    try:
        policy, value = cast("tuple[Floats, Floats]", outputs)
        fits = policy.shape == expected[0] and value.shape == expected[1]
        if fits and policy.dtype.kind in _NUMBERS and value.dtype.kind in _NUMBERS:
            return policy, value
    except (TypeError, ValueError, AttributeError):  # no pair, or no arrays
        pass
    raise InferenceError(
        f"{source()} returned {_described(outputs)}, not a policy of shape {expected[0]} and "
        f"values of shape {expected[1]}"
    )


def _described(outputs: object) -> str:
    """Describe what an evaluator returned."""
    if isinstance(outputs, tuple | list):
        if len(outputs) == 2:
            return f"{_described_array(outputs[0])} and {_described_array(outputs[1])}"
        return f"a {type(outputs).__name__} of length {len(outputs)}"
    return _described_array(outputs)


def _described_array(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return "None" if value is None else f"a {type(value).__name__}"


def evaluate(
    evaluator: Evaluator, *inputs: NDArray[np.float32] | NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Evaluate any number of positions: policy logits [N, labels] and values [N].

    inputs: [N, *shape] for each input of the feature table, as returned by `encode_planes`. Keeps
    all slots busy. Raises InferenceError if an output isn't finite, a value not between 0 and 1, or
    the evaluator returns no arrays of the right shapes, and ValueError for planes of another shape
    and those that it can't hold, such as fractions in one with bytes. Calls of several threads wait
    for each other; during a search with the same evaluator in another thread, InferenceError is
    raised.
    """
    check_evaluator("evaluator", evaluator)
    expected = len(evaluator.inputs(0))
    if len(inputs) != expected:
        raise ValueError(
            f"{evaluator.features} has {counted(expected, 'input')}, not {len(inputs)}"
        )
    for number, (rows, array) in enumerate(zip(evaluator.inputs(0), inputs, strict=True), 1):
        if np.shape(array)[1:] != rows.shape[1:]:  # NumPy would repeat some
            wanted = ", ".join(map(str, ("N", *rows.shape[1:])))
            raise ValueError(
                f"input {number} of {evaluator.features} must be [{wanted}], "
                f"not {list(np.shape(array))}"
            )
    total = len(inputs[0])
    if any(len(array) != total for array in inputs):
        raise ValueError(f"inputs differ in rows: {', '.join(str(len(a)) for a in inputs)}")
    with used_alone(evaluator):
        policies, values = _evaluate(evaluator, inputs, total)
    if not policies:
        size = LABELS[evaluator.labels].size
        return np.empty((0, size), np.float32), np.empty(0, np.float32)
    policy, value = np.concatenate(policies), np.concatenate(values)
    if not (np.isfinite(policy).all() and ((value >= 0) & (value <= 1)).all()):
        raise invalid_outputs(evaluator)
    return policy, value


def _evaluate(
    evaluator: Evaluator, inputs: Sequence[NDArray[Any]], total: int
) -> tuple[list[Floats], list[Floats]]:
    """Evaluate `total` rows; the outputs of each batch."""
    policies: list[Floats] = []
    values: list[Floats] = []
    running: list[tuple[int, int]] = []  # slots and their rows

    def collect() -> None:
        policy, value = wait_for(evaluator, *running.pop(0))
        policies.append(policy.copy())
        values.append(value.copy())

    try:
        for number, begin in enumerate(range(0, total, evaluator.max_batch)):
            slot = number % evaluator.slots
            if len(running) == evaluator.slots:
                collect()
            n = min(evaluator.max_batch, total - begin)
            for rows, array in zip(evaluator.inputs(slot), inputs, strict=True):
                _copy(array[begin : begin + n], rows[:n])
            evaluator.start(slot, n)
            running.append((slot, n))
        while running:
            collect()
    except BaseException:
        for slot, _ in running:
            evaluator.wait(slot)
        raise
    return policies, values


@contextlib.contextmanager
def used_alone(evaluator: Evaluator, *, by_search: bool = False) -> Iterator[None]:
    """Use an evaluator's slots alone, as `exclusive`. Raises InferenceError."""
    try:
        with exclusive(evaluator, by_search=by_search):
            yield
    except BusyError:
        raise InferenceError(
            f"{_name(evaluator)}: a search uses this evaluator; load one for each thread, and for "
            "calls during a search"
        ) from None


def invalid_outputs(evaluator: Evaluator) -> InferenceError:
    """Return the error for a network with invalid outputs; it names the model, if known."""
    return InferenceError(
        f"{_name(evaluator)}: the network's outputs aren't numbers, or "
        "its values aren't between 0 and 1"
    )


def _name(evaluator: Evaluator) -> str:
    """Return the model's name, or the backend's if it has none."""
    return str(getattr(evaluator, "model", evaluator.name))


def _copy(given: NDArray[Any], rows: NDArray[Any]) -> None:
    """Copy planes; raises ValueError rather than changing them."""
    given = np.asarray(given)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"planes are numbers, not {given.dtype}")
    with np.errstate(invalid="ignore"):
        rows[...] = given
    if rows.dtype.kind == "u" and given.dtype != rows.dtype and not np.array_equal(rows, given):
        raise ValueError(
            f"planes of this evaluator are {rows.dtype}, which can't hold these values"
        )
