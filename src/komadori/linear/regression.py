"""Logistic regression on positions: labels, elmo's loss on leaves, held-out metrics."""

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
from komadori.typed_settings import one_of, positive

#: How draws are handled: skipped, or as half a win.
DRAWS = ("skip", "half")
LOSSES = ("cross-entropy", "squared")


@dataclass(frozen=True)
class Positions:
    """Labelled positions, from the side to move's view.

    hcp      uint8 [N, 32]
    score_cp int16 [N]    centipawns
    result   float32 [N]  1 won, 0 lost, 0.5 drawn
    move16   uint16 [N]   0 for none
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

    @classmethod
    def joined(cls, parts: Sequence[Positions]) -> Positions:
        """The positions of the parts, at least one, in order."""
        return cls(
            np.concatenate([part.hcp for part in parts]),
            np.concatenate([part.score_cp for part in parts]),
            np.concatenate([part.result for part in parts]),
            np.concatenate([part.move16 for part in parts]),
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
        """A digest of the positions and labels, in order."""
        digest = hashlib.blake2b(digest_size=8)
        for column in (self.hcp, self.score_cp, self.result, self.move16):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class LossSettings:
    """elmo's loss: `result_weight` times the loss against the game result plus `teacher_weight`
    (elmo's lambda) times the loss against the teacher's score. Source: diary,
    elmoのアピール文書を読む (May 2017; docs/sources.md).
    """

    result_weight: float = 1.0
    teacher_weight: float = 0.5
    loss: str = "cross-entropy"
    """`squared`: the squared difference of win rates, as in Apery."""
    scale_cp: float = ELMO_COEF
    """Evaluation coefficient: centipawns per unit of the logit."""
    draws: str = "skip"

    def __post_init__(self) -> None:
        one_of(self, "loss", LOSSES)
        one_of(self, "draws", DRAWS)
        positive(self, "scale_cp")
        if min(self.result_weight, self.teacher_weight) < 0:
            raise ValueError("result_weight and teacher_weight must be at least 0")
        if self.result_weight + self.teacher_weight == 0:
            raise ValueError("result_weight and teacher_weight are both 0")

    def terms(
        self,
        value_cp: NDArray[np.floating[Any]] | NDArray[np.integer[Any]],
        positions: Positions,
    ) -> NDArray[np.float64]:
        """Loss terms per position, float64 [5, N]: the losses against result and teacher, their
        floors, and the derivative of the weighted loss with respect to value_cp / scale_cp.

        value_cp: [N] centipawns, side to move's view.
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
    """Mean losses, and their floors: the entropies of the targets."""

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
        """The means over both sets of positions."""
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
        """(result, teacher) minus their floors."""
        return self.result - self.result_floor, self.teacher - self.teacher_floor

    def __str__(self) -> str:
        result, teacher = self.above_floor
        return f"result {result:.4f} teacher {teacher:.4f}"


NO_LOSS = Loss(0.0, 0.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Leaves:
    """Quiescence leaves of positions; positions whose line ends in mate are left out.

    hcp: uint8 [N, 32], the leaves. value_cp: int32 [N], view of the root's side to move. same_turn:
    bool [N], whether that side is also to move at the leaf. roots: the positions.
    """

    hcp: NDArray[np.uint8]
    value_cp: NDArray[np.int32]
    same_turn: NDArray[np.bool_]
    roots: Positions

    @classmethod
    def of(cls, weights: Any, positions: Positions, threads: int) -> Leaves:
        """Search the leaves. weights: of any evaluation of the C++ core."""
        hcp, value, same_turn, settled, _ = _core.find_leaves(weights, positions.hcp, threads)
        kept = np.asarray(settled)
        return cls(
            np.ascontiguousarray(np.asarray(hcp)[kept]),
            np.asarray(value)[kept],
            np.ascontiguousarray(np.asarray(same_turn)[kept]),
            positions.take(kept),
        )

    def as_positions(self) -> Positions:
        """The leaves with the labels of their roots, from the view of the leaf's side to move."""
        roots, same = self.roots, self.same_turn
        return Positions(
            self.hcp,
            np.where(same, roots.score_cp, -roots.score_cp),
            np.where(same, roots.result, 1 - roots.result),
            roots.move16,
        )


@dataclass(frozen=True)
class HeldOut:
    """Metrics on held-out positions. agreement: fraction of positions whose move is among the k
    best by a one-ply search with quiescence, k = 1..8; empty if no position has a move."""

    loss: Loss
    agreement: tuple[float, ...]


def measure(weights: Any, positions: Positions, settings: LossSettings, threads: int) -> HeldOut:
    """Measure an evaluation of the C++ core on held-out positions. The loss is over those that
    count for training (see `with_draws`), the agreement over positions with a move."""
    judged = _counted(positions, settings)
    loss = NO_LOSS
    for part in chunks(judged, 1 << 16):
        leaves = Leaves.of(weights, part, threads)
        loss += Loss.of(settings.terms(leaves.value_cp, leaves.roots))
    moved = positions.take(positions.move16 != 0)
    return HeldOut(loss, agreement(weights, moved.hcp, moved.move16, threads))


def agreement(
    weights: Any, hcp: NDArray[np.uint8], move16: NDArray[np.uint16], threads: int
) -> tuple[float, ...]:
    """`HeldOut.agreement` of positions with moves."""
    if not len(hcp):
        return ()
    ranks = np.asarray(_core.ranks(weights, hcp, move16, 1, threads))
    return tuple(float(np.mean((ranks >= 0) & (ranks < k))) for k in range(1, 9))


def chunks(positions: Positions, size: int) -> Iterator[Positions]:
    """The positions in order, `size` at a time."""
    for start in range(0, len(positions), size):
        yield positions.take(np.arange(start, min(start + size, len(positions))))


def batches(count: int, size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """The shuffled rows of an epoch, in batches of nearly equal size."""
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return np.array_split(order, max(1, round(count / size)))


def with_draws(positions: Positions, settings: LossSettings) -> Positions:
    """The positions that `settings.draws` keeps: all if the result has no weight. Raises ValueError
    if none is left."""
    if not len(positions):
        raise ValueError("no training positions")
    kept = _counted(positions, settings)
    if not len(kept):
        raise ValueError("no training positions: every game is drawn")
    return kept


def held_out(positions: Positions, settings: LossSettings) -> Positions:
    """The held-out positions that decide which weights are best: those that count for training or,
    if every game is drawn, all, with the result 1/2. Raises ValueError without positions."""
    if not len(positions):
        raise ValueError("no held-out positions")
    counted = _counted(positions, settings)
    return counted if len(counted) else positions


def _counted(positions: Positions, settings: LossSettings) -> Positions:
    skips = settings.draws == "skip" and settings.result_weight > 0
    return positions.without_draws() if skips else positions
