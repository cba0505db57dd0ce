"""The learner of the two-piece evaluation, as published for shogi686.

Each iteration:

    lines = the moves played and competing moves, searched with the current weights
    32 times: gradient -> summed over orbits -> penalty -> sign-based steps -> projections
    update of the piece values

State is kept per orbit: `w[i]` is the weight of the first pair of orbit i.

Source: shogi686の学習について その2, by shogi686's author (docs/sources.md).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.cpus import MAX_THREADS
from komadori.linear.orbits import FIRST_ON_BOARD, absolute_orbits, relative_orbits
from komadori.linear.regression import agreement
from komadori.linear.run_folder import COUNTS, RunFolder
from komadori.linear.weights import MAX_VALUE, VALUED_TYPES, TwoPieceWeights
from komadori.typed_settings import at_least, at_most

Floats = NDArray[np.float64]
#: Changes of the 13 piece values, in the order of their gradients (shogi686).
MATERIAL_STEPS = (-2, -2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2)
LIMIT = 32000  # of a weight, so that it stays an int16
#: Ranges of a state's arrays.
_RANGES = {
    "w": (-LIMIT, LIMIT),
    "piece_values": (-MAX_VALUE, MAX_VALUE),
    "iteration": COUNTS,
}

_HAND = FIRST_ON_BOARD
_KINGS = (9, 19)  # kinds on the board, Black's and White's
_LANCE, _KNIGHT = 1, 2


@dataclass(frozen=True)
class Settings:
    """Settings of a run; each part of the method can be disabled, for ablations."""

    iterations: int = 20
    positions: int = 20_000
    """Positions sampled per iteration."""
    updates: int = 32
    """Updates per iteration, with the same lines."""
    hand_weight: float = 1 / 40
    """Weight of the absolute orbit sum for pairs with a piece in hand."""
    relative: bool = True
    """Sum gradients over all translations of a pair."""
    penalty: float = 1.0
    """Strength of the penalty relative to a typical gradient; 0 disables it."""
    penalty_of: str = "difference"
    """What is penalised: the `difference` from the mean of the neighbours, or the `weight` itself
    as in the author's program."""
    first_step: float = 50.0
    last_step: float = 2.0
    """Maximum step, annealed from `first_step` to `last_step` over the iterations."""
    locality: bool = True
    """Force the weights of distant pairs without a king to 0."""
    distance: bool = False
    """Force weights of king and piece to fall with their distance."""
    distance_margin: float = 1.0
    """Least fall per square, in weight units."""
    material: bool = True
    """Also learn the piece values."""
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        if self.penalty_of not in ("difference", "weight"):
            raise ValueError(f"penalty_of is {self.penalty_of!r}: difference or weight is needed")
        at_least(self, iterations=1, positions=1, updates=1, threads=1)
        at_most(self, threads=MAX_THREADS)
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}, 0 to 2^63 - 1 is needed")


#: Settings that may change when a run resumes.
MAY_DIFFER = ("iterations", "threads")


@dataclass(frozen=True)
class Records:
    """Positions and the moves played: hcp uint8 [N, 32], move16 uint16 [N]."""

    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.hcp)

    def fingerprint(self) -> str:
        """A digest of the positions and moves, in order."""
        digest = hashlib.blake2b(np.ascontiguousarray(self.hcp).tobytes(), digest_size=8)
        digest.update(np.ascontiguousarray(self.move16).tobytes())
        return digest.hexdigest()

    def take(self, rows: NDArray[np.int64]) -> Records:
        return Records(np.ascontiguousarray(self.hcp[rows]), self.move16[rows])


class Geometry:
    """Geometry of the orbits, taken from their first pairs. Arrays are [orbits]."""

    def __init__(self) -> None:
        self.orbits = absolute_orbits()
        self.relative = relative_orbits()
        self.first, self.second = self.orbits.first_pairs().T
        first_on_board, second_on_board = self.first >= _HAND, self.second >= _HAND
        self.has_hand = ~(first_on_board & second_on_board)
        self.is_self = self.first == self.second
        self.relative_of = self.relative.of[self.first, self.second]
        self.is_relative = self.relative_of >= 0
        signs = self.relative.sign[self.first, self.second]
        self.relative_signs = signs[self.is_relative].astype(np.float64)  # [is_relative.sum()]
        # Impossible in any position: two pieces on one square.
        same_square = (
            first_on_board
            & second_on_board
            & ((self.first - _HAND) % 81 == (self.second - _HAND) % 81)
        )
        self.is_zero = self.orbits.forced | same_square

    @cached_property
    def neighbours(self) -> NDArray[np.int32]:
        """int32 [orbits, 4]: for pairs of a king and another piece, the orbits with that piece one
        square up, down, left, right; -1 for none.
        """
        kind_a, kind_b = self._kinds()
        a_is_king, b_is_king = np.isin(kind_a, _KINGS), np.isin(kind_b, _KINGS)
        applies = ~self.has_hand & (a_is_king != b_is_king)
        king = np.where(a_is_king, self.first, self.second)
        piece = np.where(a_is_king, self.second, self.first)
        square = (piece - _HAND) % 81
        file, rank = np.divmod(square, 9)
        found = np.full((len(king), 4), -1, np.int32)
        for column, (dx, dy) in enumerate(((0, -1), (0, 1), (1, 0), (-1, 0))):
            inside = (
                applies & (file + dx >= 0) & (file + dx < 9) & (rank + dy >= 0) & (rank + dy < 9)
            )
            moved = piece[inside] + 9 * dx + dy
            found[inside, column] = self.orbits.of[king[inside], moved]
            has_weight = self.orbits.sign[king[inside], moved] != 0
            found[inside, column] = np.where(has_weight, found[inside, column], -1)
        return found

    @cached_property
    def neighbour_signs(self) -> Floats:
        """float64 [orbits, 4]: the sign of each neighbour's weight, 0 for none."""
        kind_a, _ = self._kinds()
        a_is_king = np.isin(kind_a, _KINGS)
        king = np.where(a_is_king, self.first, self.second)
        piece = np.where(a_is_king, self.second, self.first)
        signs = np.zeros(self.neighbours.shape)
        for column, step in enumerate((-1, 1, 9, -9)):
            there = self.neighbours[:, column] >= 0
            signs[there, column] = self.orbits.sign[king[there], piece[there] + step]
        return signs

    @cached_property
    def with_neighbours(self) -> NDArray[np.intp]:
        """Indices of the orbits that have neighbours."""
        return np.flatnonzero((self.neighbours >= 0).any(axis=1))

    @cached_property
    def is_far(self) -> NDArray[np.bool_]:
        """bool [orbits]: pairs on the board, without a king, in which neither piece lies within the
        5 x 5 squares around the other; those of a lance or knight are shifted forward by one rank.
        """
        kind_a, kind_b = self._kinds()
        on_board = ~self.has_hand & ~np.isin(kind_a, _KINGS) & ~np.isin(kind_b, _KINGS)
        is_near = self._is_near(self.first, self.second, kind_a)
        is_near |= self._is_near(self.second, self.first, kind_b)
        far: NDArray[np.bool_] = on_board & ~is_near
        return far

    def _kinds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return tuple(
            np.where(side >= _HAND, (side - _HAND) // 81, -1) for side in (self.first, self.second)
        )  # type: ignore[return-value]

    @staticmethod
    def _is_near(
        centre: NDArray[np.int64], other: NDArray[np.int64], kind: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        file, rank = np.divmod((centre - _HAND) % 81, 9)
        other_file, other_rank = np.divmod((other - _HAND) % 81, 9)
        forward = np.where(kind < 10, -1, 1)
        rank = rank + forward * np.isin(kind % 10, (_LANCE, _KNIGHT))
        near: NDArray[np.bool_] = (np.abs(other_file - file) <= 2) & (
            np.abs(other_rank - rank) <= 2
        )
        return near


@dataclass
class State:
    """The learner's state.

    w, step: float64 [orbits], weights and step sizes. run: int16 [orbits], number of consecutive
    steps in one direction, negative if downward. piece_values: int32 [16], centipawns. iteration:
    iterations done.
    """

    w: Floats
    step: Floats
    run: NDArray[np.int16]
    piece_values: NDArray[np.int32]
    iteration: int = 0

    @classmethod
    def fresh(cls, settings: Settings, size: int) -> State:
        values = TwoPieceWeights.material().piece_values
        return cls(
            np.zeros(size), np.full(size, settings.first_step), np.zeros(size, np.int16), values
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "w": self.w,
            "step": self.step,
            "run": self.run,
            "piece_values": self.piece_values,
            "iteration": np.array(self.iteration),
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]]) -> State:
        """The inverse of `to_arrays`."""
        return cls(
            arrays["w"],
            arrays["step"],
            arrays["run"],
            arrays["piece_values"],
            int(arrays["iteration"]),
        )


@dataclass(frozen=True)
class Report:
    """The results of an iteration.

    loss_before, loss_after: mean loss before and after its updates. comparisons: number of pairs
    of a move played and a competing move. agreement: fraction of held-out positions whose move is
    among the k best, k = 1..8; empty without such positions.
    """

    iteration: int
    loss_before: float
    loss_after: float
    comparisons: int
    agreement: tuple[float, ...]
    piece_values: tuple[int, ...]
    seconds: float


@cache
def geometry() -> Geometry:
    """The geometry, which is the same for all learners."""
    return Geometry()


class Learner:
    """Trains on records, in a folder: `weights.npz`, `state.npz`, `log.jsonl`."""

    def __init__(
        self, settings: Settings, train: Records, test: Records, folder: Path, *, resume: bool
    ) -> None:
        """Raises ValueError as `RunFolder`, and without training positions."""
        if not len(train):
            raise ValueError("no training positions")
        self.settings, self.train, self.test = settings, train, test
        self.geometry = geometry()
        self.folder = RunFolder(
            folder,
            "two-piece",
            asdict(settings),
            {"train": train.fingerprint(), "test": test.fingerprint()},
            resume=resume,
            may_differ=MAY_DIFFER,
        )
        self.state = State.fresh(settings, self.geometry.orbits.size)
        if resume:
            self.state = State.of_arrays(self.folder.load_state(self.state.to_arrays(), _RANGES))
            self._save_weights()  # the run may have been killed before

    def weights(self) -> TwoPieceWeights:
        """The current weights, rounded."""
        pairs = np.rint(self.geometry.orbits.scatter(self.state.w)).astype(np.int16)
        return TwoPieceWeights(pairs, self.state.piece_values.copy())

    def _save_weights(self) -> None:
        self.weights().save(self.folder.path / "weights.npz")

    def run(
        self, progress: Callable[[Report], None] | None = None, stop: Callable[[], bool] = bool
    ) -> None:
        """Train until all iterations are done or `stop` returns true; saves after each."""
        with self.folder.lock:
            self._run(progress, stop)

    def _run(self, progress: Callable[[Report], None] | None, stop: Callable[[], bool]) -> None:
        while self.state.iteration < self.settings.iterations and not stop():
            report = self.iterate()
            self.folder.save_state(self.state.to_arrays(), asdict(report))
            self._save_weights()
            self.folder.log(asdict(report))
            if progress:
                progress(report)

    def iterate(self) -> Report:
        """Run one iteration."""
        settings, state, started = self.settings, self.state, time.monotonic()
        random = np.random.default_rng([settings.seed, state.iteration])
        count = min(settings.positions, len(self.train))
        drawn = self.train.take(np.sort(random.choice(len(self.train), count, replace=False)))
        core = self.weights().core()
        lines = _core.find_lines(
            core, drawn.hcp, drawn.move16, int(random.integers(1 << 62)), settings.threads
        )
        if not lines.comparisons:
            raise ValueError(
                "no position has a move whose value is close to that of the move played"
            )
        scale: float | None = None
        losses = []
        for _ in range(settings.updates):
            loss, _, pairs = _core.gradient(core, lines, settings.threads)
            losses.append(loss / lines.comparisons)
            scale = scale or self._scale(lines, np.asarray(pairs))
            self.update(np.asarray(pairs), scale)
            core = self.weights().core()
        loss, pieces, _ = _core.gradient(core, lines, settings.threads)
        if settings.material:
            self.update_material(np.asarray(pieces))
            core = self.weights().core()
        state.iteration += 1
        return Report(
            state.iteration,
            losses[0],
            loss / lines.comparisons,
            lines.comparisons,
            agreement(core, self.test.hcp, self.test.move16, settings.threads),
            tuple(int(state.piece_values[t]) for t in VALUED_TYPES),
            time.monotonic() - started,
        )

    def combine(self, pairs: NDArray[np.floating[Any]]) -> Floats:
        """Sum the gradients of pairs over their orbits, float64 [orbits]."""
        geometry = self.geometry
        absolute = geometry.orbits.gather(pairs)
        combined = np.where(geometry.has_hand, self.settings.hand_weight, 1.0) * absolute
        if self.settings.relative:
            # A relative orbit is made of whole absolute ones.
            of, sign = geometry.relative_of[geometry.is_relative], geometry.relative_signs
            sums = np.bincount(of, absolute[geometry.is_relative] * sign, geometry.relative.size)
            combined[geometry.is_relative] += sums[of] * sign
            alone = geometry.is_self & geometry.has_hand
            combined[alone] += absolute[alone]
        combined[geometry.is_zero] = 0.0
        return combined

    def update(self, pairs: NDArray[np.floating[Any]], scale: float) -> None:
        """Step every weight by the sign of its penalised gradient, then project."""
        settings, state = self.settings, self.state
        g = self.combine(pairs) * scale
        base = self.bases()
        d = state.w - base
        penalty = penalties(
            state.w if settings.penalty_of == "weight" else d, settings.penalty, np.sign(d)
        )
        direction = np.sign(g - penalty)
        same = direction * state.run > 0
        turned = direction * state.run < 0
        state.run = np.where(same, state.run + direction, direction).astype(np.int16)
        state.step[same & (np.abs(state.run) >= 3)] *= 1.2
        state.step[turned] *= 0.5
        np.clip(state.step, 1.0, self._cap(), out=state.step)
        moved = state.w + direction * state.step
        # A penalty takes a weight to its base, never beyond.
        crosses = (np.sign(moved - base) == -np.sign(d)) & (direction == -np.sign(d)) & (d != 0)
        by_penalty = np.sign(g) != direction
        moved = np.where(crosses & by_penalty, base, moved)
        state.w = np.rint(np.clip(moved, -LIMIT, LIMIT))
        self.project()

    def bases(self) -> Floats:
        """The values towards which the penalty pulls the weights, float64 [orbits]."""
        geometry = self.geometry
        rows = geometry.with_neighbours
        signs = geometry.neighbour_signs[rows]
        sums = (self.state.w[geometry.neighbours[rows]] * signs).sum(axis=1)
        bases = np.zeros(geometry.orbits.size)
        bases[rows] = np.rint(sums / (signs != 0).sum(axis=1))
        return bases

    def project(self) -> None:
        """Project the weights onto the constraints."""
        w = self.state.w
        if self.settings.distance:
            w = self.state.w = fall_with_distance(w, self.geometry, self.settings.distance_margin)
        if self.settings.locality:
            w[self.geometry.is_far] = 0.0
        w[self.geometry.is_zero] = 0.0

    def update_material(self, gradient: Floats) -> None:
        """Change the 13 piece values by steps that depend on the rank of their gradients; their
        sum stays the same."""
        order = np.argsort(gradient[list(VALUED_TYPES)], kind="stable")
        for step, place in zip(MATERIAL_STEPS, order, strict=True):
            self.state.piece_values[VALUED_TYPES[place]] += step

    def _cap(self) -> float:
        """The maximum step of this iteration."""
        settings = self.settings
        progress = self.state.iteration / max(settings.iterations - 1, 1)
        return float(settings.first_step * (settings.last_step / settings.first_step) ** progress)

    def _scale(self, lines: _core.Lines, pairs: NDArray[np.floating[Any]]) -> float:
        """The factor that scales gradients to a median of 1 over orbits seen 20 times or more."""
        often = np.zeros(self.geometry.orbits.size)
        counts = np.asarray(_core.occurrences(lines))
        np.add.at(often, self.geometry.orbits.of[counts > 0], counts[counts > 0])
        g = np.abs(self.combine(pairs)[(often >= 20) & ~self.geometry.is_zero])
        g = g[g > 0]
        return 1.0 / float(np.median(g)) if len(g) else 1.0


def penalties(d: Floats, strength: float, sign: Floats | None = None) -> Floats:
    """sign(d) * strength * max(0, log10(|d| / 0.3)): 1, 2 and 3 for d of 3, 30 and 300 units."""
    sign = np.sign(d) if sign is None else sign
    return sign * strength * np.log10(np.maximum(np.abs(d) / 0.3, 1.0))


def fall_with_distance(w: Floats, geometry: Geometry, margin: float) -> Floats:
    """Make the weights of king and piece fall with their distance, outside the 5 x 5 squares around
    the king.

    From the view of the piece's owner, a weight is at most `margin` below the minimum of: the mean
    of the nine squares around (from distance 4 on), the weights with piece or king one rank closer
    (if the piece is behind the king), and the weight of the piece one file closer (from three files
    on).
    """
    pairs = geometry.orbits.scatter(w)
    board = np.arange(81)
    file, rank = np.divmod(board, 9)
    dx = np.abs(file[:, None] - file[None, :])  # [king, piece]
    behind = rank[None, :] > rank[:, None]
    away = np.maximum(dx, np.abs(rank[:, None] - rank[None, :]))
    nearer_file = board[None, :] + 9 * np.sign(file[:, None] - file[None, :])
    around = np.zeros((81, 81))
    for s in range(81):
        near = (np.abs(file - file[s]) <= 1) & (np.abs(rank - rank[s]) <= 1)
        around[s, near] = 1 / near.sum()
    king_down = np.minimum(board + 1, 80)
    result = pairs.copy()
    for king_kind in _KINGS:
        for kind in range(9):  # Black's
            rows = slice(_HAND + 81 * king_kind, _HAND + 81 * king_kind + 81)
            columns = slice(_HAND + 81 * kind, _HAND + 81 * kind + 81)
            table = pairs[rows, columns].copy()
            mean = table @ around.T  # from the frozen table
            for distance in range(3, 9):
                ring = away == distance
                best = np.where(distance >= 4, mean, table)
                up = np.take_along_axis(table, np.maximum(board - 1, 0)[None, :] + 0 * dx, axis=1)
                down = table[king_down]
                best = np.where(behind, np.minimum(best, np.minimum(up, down)), best)
                side = np.take_along_axis(table, nearer_file, axis=1)
                best = np.where(dx >= 3, np.minimum(best, side), best)
                table[ring] = best[ring] - margin
            result[rows, columns] = table
            result[columns, rows] = table.T
    # Symmetric pairs follow: the mean over the pairs of each orbit that were changed.
    changed = (result != pairs).astype(np.float64)
    count = np.bincount(geometry.orbits.of.ravel(), changed.ravel(), geometry.orbits.size)
    total = geometry.orbits.gather(np.where(changed > 0, result, 0.0))
    return np.where(count > 0, np.rint(total / np.maximum(count, 1)), w)
