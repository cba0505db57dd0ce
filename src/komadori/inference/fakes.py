"""Evaluators without a network, for tests and for measuring what is not the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from komadori.inference.model_file import CHANNELS1, channels2, label_count
from komadori.inference.protocol import Floats

if TYPE_CHECKING:
    from komadori.rules import Board

_WORDS = (CHANNELS1 + 57) * 81 // 64 + 1
_MIX = np.random.default_rng(0x6B6F6D61).integers(1, 2**63, _WORDS, dtype=np.uint64) * 2 + 1


def row_keys(features1: Floats, features2: Floats) -> NDArray[np.uint64]:
    """A 64-bit key of each row's set planes: uint64 [N]. Only the first 57 planes of features2
    count, so that both feature tables give a position the same key.
    """
    n = len(features1)
    flat = np.concatenate(
        [features1.reshape(n, -1) > 0, features2[:, :57].reshape(n, -1) > 0], axis=1
    )
    packed = np.packbits(flat, axis=1, bitorder="little")
    padded = np.zeros((n, _WORDS * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    words = padded.view("<u8")
    with np.errstate(over="ignore"):
        return _mix64((words * _MIX).sum(axis=1, dtype=np.uint64) ^ words[:, ::3].sum(axis=1))


def _mix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class _Fake:
    """Slots of plain arrays; a subclass fills the outputs in `_evaluate`."""

    name = "fake"
    labels = "2187"

    def __init__(self, max_batch: int = 16, slots: int = 2, features: str = "dlshogi") -> None:
        self.features = features
        self.max_batch = max_batch
        self.slots = slots
        self._inputs = [
            (
                np.zeros((max_batch, CHANNELS1, 9, 9), np.float32),
                np.zeros((max_batch, channels2(features), 9, 9), np.float32),
            )
            for _ in range(slots)
        ]
        self._policy = np.zeros((slots, max_batch, label_count(self.labels)), np.float32)
        self._value = np.full((slots, max_batch), 0.5, np.float32)
        self._rows = [0] * slots

    def inputs(self, slot: int) -> tuple[Floats, Floats]:
        return self._inputs[slot]

    def start(self, slot: int, n: int) -> None:
        if not 0 < n <= self.max_batch:
            raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
        self._rows[slot] = n

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        n = self._rows[slot]
        policy, value = self._policy[slot, :n], self._value[slot, :n]
        features1, features2 = self._inputs[slot]
        self._evaluate(features1[:n], features2[:n], policy, value)
        return policy, value

    def close(self) -> None:
        pass

    def _evaluate(
        self, features1: Floats, features2: Floats, policy: Floats, value: Floats
    ) -> None:
        raise NotImplementedError


class UniformEvaluator(_Fake):
    """All moves alike, every position even: zero logits, value 0.5."""

    name = "uniform"

    def _evaluate(
        self, features1: Floats, features2: Floats, policy: Floats, value: Floats
    ) -> None:
        pass  # the outputs never change


class RandomEvaluator(_Fake):
    """Noise that is a function of the seed and the position alone.

    Logits are spread about evenly over [-spread, spread], values over [0.05, 0.95].
    """

    name = "random"

    def __init__(
        self,
        seed: int = 0,
        max_batch: int = 16,
        slots: int = 2,
        features: str = "dlshogi",
        spread: float = 3.0,
    ) -> None:
        super().__init__(max_batch, slots, features)
        self._seed = np.uint64(seed * 2 + 1 & 2**64 - 1)
        self._spread = np.float32(spread)
        count = np.arange(1, label_count(self.labels) + 2, dtype=np.uint64)
        with np.errstate(over="ignore"):
            self._streams = count * np.uint64(0x9E3779B97F4A7C15)

    def _evaluate(
        self, features1: Floats, features2: Floats, policy: Floats, value: Floats
    ) -> None:
        keys = row_keys(features1, features2)
        with np.errstate(over="ignore"):
            bits = _mix64(keys[:, None] * self._seed + self._streams)
        unit = (bits >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)
        policy[:] = (unit[:, 1:] * 2 - 1) * self._spread
        value[:] = 0.05 + 0.9 * unit[:, 0]


class FixedEvaluator(_Fake):
    """Outputs from a table of positions, `default_value` and zero logits for all others."""

    name = "fixed"

    def __init__(
        self,
        max_batch: int = 16,
        slots: int = 2,
        features: str = "dlshogi",
        default_value: float = 0.5,
    ) -> None:
        super().__init__(max_batch, slots, features)
        self._default = np.float32(default_value)
        self._table: dict[int, tuple[Floats, np.float32]] = {}

    def add(self, board: Board, policy: Mapping[str, float], value: float) -> None:
        """What to answer for a position: probabilities by USI move, at temperature 1 (moves left
        out share what remains of 1, at least a millionth each), and the side to move's value.
        """
        from komadori.encoding import encode_labels, encode_planes

        hcp = np.frombuffer(board.hcp(), np.uint8)[None]
        features1, features2 = encode_planes(hcp, features=self.features)
        legal = list(board.legal_moves)
        unnamed = max(len(legal) - len(policy), 1)
        rest = max((1.0 - sum(policy.values())) / unnamed, 1e-6)
        moves = {move.usi(): move for move in legal}
        for usi in policy:
            if usi not in moves:
                raise ValueError(f"{usi} is not legal in {board.sfen()}")
        probability = [max(policy.get(usi, rest), 1e-6) for usi in moves]
        move16 = np.array([move.move16 for move in legal], np.uint16)
        labels = encode_labels(np.repeat(hcp, len(legal), axis=0), move16, scheme=self.labels)
        logits = np.full(label_count(self.labels), -30.0, np.float32)
        logits[labels] = np.log(probability)
        self._table[int(row_keys(features1, features2)[0])] = (logits, np.float32(value))

    def _evaluate(
        self, features1: Floats, features2: Floats, policy: Floats, value: Floats
    ) -> None:
        for row, key in enumerate(row_keys(features1, features2)):
            logits, known = self._table.get(int(key), (np.float32(0), self._default))
            policy[row] = logits
            value[row] = known
