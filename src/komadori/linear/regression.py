"""Logistic regression on positions: labels, elmo's loss over leaves, held-out measures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.encoding.value import ELMO_COEF
from komadori.records import Samples

#: Drawn games are skipped, or count as half a win.
DRAWS = ("skip", "half")
LOSSES = ("cross-entropy", "squared")


@dataclass(frozen=True)
class Positions:
    """Labelled positions: hcp uint8 [N, 32]; score_cp int16, result float32 (1, 0, 0.5) and move16
    uint16 [N], from the side to move's view.
    """

    hcp: NDArray[np.uint8]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    move16: NDArray[np.uint16]

    @classmethod
    def of(cls, samples: Samples, rows: NDArray[np.int64]) -> Positions:
        return cls(
            np.ascontiguousarray(samples.hcp[rows]),
            samples.score_cp[rows],
            samples.result[rows],
            samples.move16[rows],
        )

    def __len__(self) -> int:
        return len(self.hcp)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Positions:
        return Positions(
            np.ascontiguousarray(self.hcp[rows]),
            self.score_cp[rows],
            self.result[rows],
            self.move16[rows],
        )

    def without_draws(self) -> Positions:
        return self.take(self.result != 0.5)

    def fingerprint(self) -> str:
        """A digest of the positions and labels in their order."""
        digest = hashlib.blake2b(digest_size=8)
        for column in (self.hcp, self.score_cp, self.result, self.move16):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class LossSettings:
    """elmo's loss: `result_weight` times that with the result plus `teacher_weight` (lambda) times
    that with the teacher's score. Source: diary, elmoのアピール文書を読む (May 2017).
    """

    result_weight: float = 1.0
    teacher_weight: float = 0.5
    loss: str = "cross-entropy"
    """`squared` is Apery's: the squared difference of win rates."""
    scale_cp: float = ELMO_COEF
    """Evaluation coefficient: centipawns per unit of the logit."""
    draws: str = "skip"

    def __post_init__(self) -> None:
        for name, allowed in (("loss", LOSSES), ("draws", DRAWS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}, one of {allowed} is needed")
        if self.scale_cp <= 0:
            raise ValueError(f"scale_cp is {self.scale_cp}, more than 0 is needed")
        if min(self.result_weight, self.teacher_weight) < 0:
            raise ValueError("a weight of the loss is below 0")
        if self.result_weight + self.teacher_weight == 0:
            raise ValueError("result_weight and teacher_weight are both 0")

    def terms(
        self,
        value_cp: NDArray[np.floating[Any]] | NDArray[np.integer[Any]],
        positions: Positions,
    ) -> NDArray[np.float64]:
        """float64 [5, N]: losses with result and teacher, the floor of each, and the gradient of
        the weighted loss by value / scale. value_cp: from the side to move's view.
        """
        return np.asarray(
            _core.loss_terms(
                np.ascontiguousarray(value_cp, np.float64),
                positions.score_cp.astype(np.float64),
                positions.result.astype(np.float64),
                scale_cp=self.scale_cp,
                result_weight=self.result_weight,
                teacher_weight=self.teacher_weight,
                squared=self.loss == "squared",
            )
        )

    def total(self, loss: Loss) -> float:
        """The weighted loss above its floor."""
        result, teacher = loss.above_floor
        return self.result_weight * result + self.teacher_weight * teacher


@dataclass(frozen=True)
class Loss:
    """Mean losses, and their floors: the entropy of the targets."""

    result: float
    teacher: float
    result_floor: float
    teacher_floor: float
    positions: int

    @classmethod
    def of(cls, terms: NDArray[np.float64]) -> Loss:
        """From `LossSettings.terms`."""
        return cls.of_sums(terms[:4].sum(axis=1), terms.shape[1])

    @classmethod
    def of_sums(cls, sums: Sequence[float] | NDArray[np.float64], count: int) -> Loss:
        """From the sums over `count` positions, in the order of the fields."""
        result, teacher, result_floor, teacher_floor = (float(s) / max(count, 1) for s in sums)
        return cls(result, teacher, result_floor, teacher_floor, count)

    def __add__(self, other: Loss) -> Loss:
        """Of both sets of positions together."""
        count = self.positions + other.positions
        w = self.positions / max(count, 1)
        return Loss(
            w * self.result + (1 - w) * other.result,
            w * self.teacher + (1 - w) * other.teacher,
            w * self.result_floor + (1 - w) * other.result_floor,
            w * self.teacher_floor + (1 - w) * other.teacher_floor,
            count,
        )

    @property
    def above_floor(self) -> tuple[float, float]:
        """(result, teacher) less their floors."""
        return self.result - self.result_floor, self.teacher - self.teacher_floor

    def __str__(self) -> str:
        result, teacher = self.above_floor
        return f"result {result:.4f} teacher {teacher:.4f}"


NO_LOSS = Loss(0.0, 0.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Leaves:
    """Quiescence leaves of positions.

    hcp: uint8 [N, 32]. value_cp: int32 [N], from the view of the root's side to move. same_turn:
    bool [N], that side is to move at the leaf. roots: their positions. Roots whose line ends in
    mate are left out.
    """

    hcp: NDArray[np.uint8]
    value_cp: NDArray[np.int32]
    same_turn: NDArray[np.bool_]
    roots: Positions

    @classmethod
    def of(cls, weights: Any, positions: Positions, threads: int) -> Leaves:
        """weights: of any evaluation of the C++ core."""
        hcp, value, same_turn, settled, _ = _core.find_leaves(weights, positions.hcp, threads)
        kept = np.asarray(settled)
        return cls(
            np.ascontiguousarray(np.asarray(hcp)[kept]),
            np.asarray(value)[kept],
            np.ascontiguousarray(np.asarray(same_turn)[kept]),
            positions.take(kept),
        )

    def as_positions(self) -> Positions:
        """The leaves with their roots' labels, from the view of the side to move at the leaf."""
        roots, same = self.roots, self.same_turn
        return Positions(
            self.hcp,
            np.where(same, roots.score_cp, -roots.score_cp),
            np.where(same, roots.result, 1 - roots.result),
            roots.move16,
        )


@dataclass(frozen=True)
class HeldOut:
    """Measures on held-out positions: the loss, and the fraction whose move is among the k best by
    one ply and quiescence (k = 1..8).
    """

    loss: Loss
    agreement: tuple[float, ...]


def measure(weights: Any, positions: Positions, settings: LossSettings, threads: int) -> HeldOut:
    """weights: of the C++ core. The loss skips draws if `settings.draws` does; the agreement is
    over positions with a move.
    """
    judged = positions.without_draws() if settings.draws == "skip" else positions
    loss = NO_LOSS
    for part in chunks(judged, 1 << 16):
        leaves = Leaves.of(weights, part, threads)
        loss += Loss.of(settings.terms(leaves.value_cp, leaves.roots))
    moved = positions.take(positions.move16 != 0)
    return HeldOut(loss, agreement(weights, moved, threads))


def agreement(weights: Any, positions: Positions, threads: int) -> tuple[float, ...]:
    """`HeldOut.agreement` of positions with moves; zeros without positions."""
    if not len(positions):
        return (0.0,) * 8
    ranks = np.asarray(_core.ranks(weights, positions.hcp, positions.move16, 1, threads))
    return tuple(float(np.mean((ranks >= 0) & (ranks < k))) for k in range(1, 9))


def chunks(positions: Positions, size: int) -> Iterator[Positions]:
    """The positions in order, `size` at a time."""
    for start in range(0, len(positions), size):
        yield positions.take(np.arange(start, min(start + size, len(positions))))


def batches(count: int, size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """The rows of an epoch, shuffled by seed and epoch, in batches of nearly equal size."""
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return np.array_split(order, max(1, round(count / size)))


def with_draws(positions: Positions, settings: LossSettings) -> Positions:
    """The positions that `settings.draws` keeps. Raises ValueError if none is left."""
    kept = positions.without_draws() if settings.draws == "skip" else positions
    if not len(kept):
        raise ValueError("no training positions: every game is drawn")
    return kept
