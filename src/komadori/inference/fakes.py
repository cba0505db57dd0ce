"""Evaluators without a network: for tests, and for measuring everything else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from komadori._core.encoding import GOLDEN_64, mix64
from komadori.encoding import FEATURES, LABELS, encode_boards, legal_labels
from komadori.inference.model_file import check_tables
from komadori.inference.protocol import Described, Floats, ModelError, not_started
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board

#: Planes of the second input that dlshogi and dlshogi-119 have in common. Only these are hashed, so
#: a position has the same key under both tables.
_SHARED_PLANES = len(FEATURES["dlshogi"].inputs[1].planes)
_WORDS = max(
    sum(math.prod(one.shape) for one in table.inputs) // 64 + 1 for table in FEATURES.values()
)
_MIX = np.random.default_rng(0x6B6F6D61).integers(1, 2**63, _WORDS, dtype=np.uint64) * 2 + 1


def row_keys(inputs: Sequence[Floats], features: str = "dlshogi") -> NDArray[np.uint64]:
    """Hash the set planes of each row: uint64 [N]; the same for "dlshogi" and "dlshogi-119"."""
    n = len(inputs[0])
    parts = [array.reshape(n, -1) > 0 for array in inputs]
    if features == "dlshogi-119":
        parts[1] = inputs[1][:, :_SHARED_PLANES].reshape(n, -1) > 0
    packed = np.packbits(np.concatenate(parts, axis=1), axis=1, bitorder="little")
    words = -(-packed.shape[1] // 8)
    padded = np.zeros((n, words * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    columns = padded.view("<u8")
    with np.errstate(over="ignore"):
        keys: NDArray[np.uint64] = (columns * _MIX[:words]).sum(axis=1, dtype=np.uint64)
        keys ^= columns[:, ::3].sum(axis=1)
    mix64(keys)
    return keys


@names_arguments
class _Fake(Described):
    """Base class: slots of plain arrays; subclasses fill the outputs in `_evaluate`."""

    name = "fake"
    _has_threads = False

    def __init__(
        self,
        max_batch: int = 16,
        slots: int = 2,
        features: str = "dlshogi",
        labels: str = "2187",
    ) -> None:
        signature = check_tables(features, labels)
        if max_batch < 1 or slots < 1:
            raise ModelError(f"max_batch={max_batch}, slots={slots}: both are at least 1")
        self.features, self.labels = features, labels
        self.max_batch = max_batch
        self.slots = slots
        self._inputs = [
            tuple(np.zeros((max_batch, *shape), np.float32) for shape in signature.input_shapes)
            for _ in range(slots)
        ]
        self._policy = np.zeros((slots, max_batch, signature.label_count), np.float32)
        self._value = np.full((slots, max_batch), 0.5, np.float32)
        self._rows = [-1] * slots
        self._views = [self._first_rows(slot, 0) for slot in range(slots)]

    def inputs(self, slot: int) -> tuple[Floats, ...]:
        self._check_open()
        return self._inputs[slot]

    def start(self, slot: int, n: int) -> None:
        self._check_open()
        if n == self._rows[slot]:
            return
        if not 0 < n <= self.max_batch:
            raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
        self._rows[slot] = n
        self._views[slot] = self._first_rows(slot, n)

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        self._check_open()
        if self._rows[slot] < 0:
            raise not_started(slot)
        inputs, policy, value = self._views[slot]
        self._evaluate(inputs, policy, value)
        return policy, value

    def close(self) -> None:
        self._is_closed = True

    def _first_rows(self, slot: int, n: int) -> tuple[tuple[Floats, ...], Floats, Floats]:
        """The first n rows of the slot's inputs, policy and value."""
        inputs = tuple(array[:n] for array in self._inputs[slot])
        return inputs, self._policy[slot, :n], self._value[slot, :n]

    def _evaluate(self, inputs: Sequence[Floats], policy: Floats, value: Floats) -> None:
        raise NotImplementedError


class UniformEvaluator(_Fake):
    """Uniform policy and a value of 0.5 for every position."""

    name = "uniform"

    def _evaluate(self, inputs: Sequence[Floats], policy: Floats, value: Floats) -> None:
        pass  # the outputs never change


class RandomEvaluator(_Fake):
    """Noise, determined by the seed and the position.

    Logits are spread about evenly over [-spread, spread], values over [0.05, 0.95].
    """

    name = "random"

    def __init__(
        self,
        seed: int = 0,
        max_batch: int = 16,
        slots: int = 2,
        features: str = "dlshogi",
        labels: str = "2187",
        spread: float = 3.0,
    ) -> None:
        super().__init__(max_batch, slots, features, labels)
        self._seed = np.uint64(seed * 2 + 1 & 2**64 - 1)
        self._spread = np.float32(spread)
        count = np.arange(1, LABELS[labels].size + 2, dtype=np.uint64)
        with np.errstate(over="ignore"):
            self._streams = count * np.uint64(GOLDEN_64)

    def _evaluate(self, inputs: Sequence[Floats], policy: Floats, value: Floats) -> None:
        keys = row_keys(inputs, self.features)
        with np.errstate(over="ignore"):
            bits = keys[:, None] * self._seed + self._streams
        mix64(bits.reshape(-1))
        unit = (bits >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)
        policy[:] = (unit[:, 1:] * 2 - 1) * self._spread
        value[:] = 0.05 + 0.9 * unit[:, 0]


class FixedEvaluator(_Fake):
    """Outputs from a table of positions; `default_value` and zero logits for all others.

    The label scheme has one head.
    """

    name = "fixed"

    def __init__(
        self,
        max_batch: int = 16,
        slots: int = 2,
        features: str = "dlshogi",
        labels: str = "2187",
        default_value: float = 0.5,
    ) -> None:
        super().__init__(max_batch, slots, features, labels)
        if len(LABELS[labels].heads) > 1:
            raise ValueError(f"{labels} has several heads: probabilities by move need one")
        self._default = np.float32(default_value)
        self._table: dict[int, tuple[Floats, np.float32]] = {}

    def add(self, board: Board, policy: Mapping[str, float], value: float) -> None:
        """Set the outputs for a position: probabilities by USI move at temperature 1, and the side
        to move's value. Moves left out divide the rest of the probability, at least a millionth
        each."""
        legal = list(board.legal_moves)
        unnamed = max(len(legal) - len(policy), 1)
        rest = max((1.0 - sum(policy.values())) / unnamed, 1e-6)
        moves = {move.usi(): move for move in legal}
        for usi in policy:
            if usi not in moves:
                raise ValueError(f"{usi} is not legal in {board.sfen()}")
        probability = [max(policy.get(usi, rest), 1e-6) for usi in moves]
        labels = legal_labels(board, self.labels)
        logits = np.full(LABELS[self.labels].size, -30.0, np.float32)
        logits[labels] = np.log(probability)
        inputs = encode_boards([board], self.features)
        self._table[int(row_keys(inputs, self.features)[0])] = (logits, np.float32(value))

    def _evaluate(self, inputs: Sequence[Floats], policy: Floats, value: Floats) -> None:
        for row, key in enumerate(row_keys(inputs, self.features)):
            logits, known = self._table.get(int(key), (np.float32(0), self._default))
            policy[row] = logits
            value[row] = known
