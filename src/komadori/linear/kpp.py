"""The KPP learner of elmo: logistic regression on game results and scores of a deeper search.

Each batch:

    leaves = quiescence leaves of its positions, with the current weights
    gradient of the loss with respect to the leaves' values
    AdaGrad on the leaves' weights and on the lower-dimensional terms; update of the moving average

Sources: elmo's published code (mk-takizawa/elmo_for_learn); diary, elmoのアピール文書を読む
(May 2017; docs/sources.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.cpus import MAX_THREADS
from komadori.linear.kpp_weights import MEMORY_BYTES, PARAMETERS, TABLES, KppWeights
from komadori.linear.regression import (
    NO_LOSS,
    HeldOut,
    Leaves,
    Loss,
    LossSettings,
    Positions,
    batches,
    measure,
    with_draws,
)
from komadori.linear.run_folder import COUNTS, SQUARES, RunFolder
from komadori.typed_settings import at_least, at_most, positive

_SINGLES = ("KKP", "KK")
_LOWER = ("PP", "RPP", "KP", "RKP", "P")
#: Fewest updates per epoch with the default batch size.
_UPDATES = 24
_LARGEST_BATCH = 1_000_000


@dataclass(frozen=True)
class Settings(LossSettings):
    """Settings of a run."""

    epochs: int = 4
    batch: int = 0
    """Positions per update; 0: a million as in elmo, or fewer for at least 24 updates per epoch."""
    rate: float = 30.0
    """AdaGrad's learning rate of KPP, in units of 1/32 centipawn."""
    singles_rate: float = 30.0
    """Learning rate of KKP and KK."""
    lower_rate: float = 30.0
    """Learning rate of the lower-dimensional terms; 0 disables them."""
    epsilon: float = 1e-6
    """Added to the sum of squared gradients; large values damp rare weights."""
    decay: float = 0.8
    """Decay of the moving average of the weights, per update."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints within an epoch."""
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, epochs=1, threads=1)
        at_most(self, threads=MAX_THREADS)
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}, 0 to 2^63 - 1 is needed")
        at_least(self, batch=0, rate=0, singles_rate=0, lower_rate=0, checkpoint_minutes=0)
        positive(self, "epsilon")
        if not 0 <= self.decay < 1:
            raise ValueError(f"decay is {self.decay}, 0 to less than 1 is needed")

    def batch_of(self, positions: int) -> int:
        """Positions per update."""
        return self.batch or max(1, min(_LARGEST_BATCH, positions // _UPDATES))

    def rates(self) -> list[float]:
        """Learning rates by table."""
        by_kind = dict.fromkeys(_SINGLES, self.singles_rate)
        by_kind |= dict.fromkeys(_LOWER, self.lower_rate)
        return [by_kind.get(name, self.rate) for name in TABLES]


#: Settings that may change when a run resumes.
MAY_DIFFER = ("epochs", "checkpoint_minutes", "threads")


@dataclass
class State:
    """The learner's state.

    weights, squares, average: float32 [PARAMETERS], the weights, their sums of squared gradients,
    the averaged weights. Memory is committed as weights are touched.
    """

    weights: NDArray[np.float32]
    squares: NDArray[np.float32]
    average: NDArray[np.float32]
    epoch: int = 0
    update: int = 0
    """Updates done in the epoch."""
    loss: Loss = NO_LOSS
    """Mean loss of the epoch so far, each batch measured before its update."""

    @classmethod
    def fresh(cls) -> State:
        weights, squares, average = (np.zeros(PARAMETERS, np.float32) for _ in range(3))
        return cls(weights, squares, average)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The state as arrays; only touched weights are stored."""
        places = np.flatnonzero(self.squares)
        return {
            "places": places.astype(np.uint32),
            "weights": self.weights[places],
            "squares": self.squares[places],
            "average": self.average[places],
            "position": np.array([self.epoch, self.update, self.loss.positions]),
            "loss": np.array(
                [
                    self.loss.result,
                    self.loss.teacher,
                    self.loss.result_floor,
                    self.loss.teacher_floor,
                ]
            ),
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]]) -> State:
        """The inverse of `to_arrays`. Raises ValueError for weights at places that don't exist."""
        state, places = cls.fresh(), arrays["places"]
        try:
            for name in ("weights", "squares", "average"):
                getattr(state, name)[places] = arrays[name]
        except (ValueError, IndexError) as error:
            raise ValueError(f"the state of the run is damaged ({error})") from error
        epoch, update, positions = (int(n) for n in arrays["position"])
        result, teacher, result_floor, teacher_floor = (float(x) for x in arrays["loss"])
        state.epoch, state.update = epoch, update
        state.loss = Loss(result, teacher, result_floor, teacher_floor, positions)
        return state


@dataclass(frozen=True)
class Report:
    """The results of an epoch. loss: mean over its batches, each before its update. held_out: of
    the averaged weights. touched: number of weights updated so far.
    """

    epoch: int
    loss: Loss
    held_out: HeldOut
    touched: int
    seconds: float


class Learner:
    """Trains on positions, in a folder: `weights.npz`, `state.npz`, `run.json`, `log.jsonl`."""

    def __init__(
        self, settings: Settings, train: Positions, test: Positions, folder: Path, *, resume: bool
    ) -> None:
        """Raises ValueError as `RunFolder`, and without positions."""
        self.settings, self.test = settings, test
        self.train = with_draws(train, settings)
        self.folder = RunFolder(
            folder,
            "kpp",
            asdict(settings),
            {"train": self.train.fingerprint(), "test": test.fingerprint()},
            resume=resume,
            may_differ=MAY_DIFFER,
        )
        if resume:
            none = np.zeros(0, np.float32)
            untouched = State(none, none, none)
            self.state = State.of_arrays(
                self.folder.load_state(
                    untouched.to_arrays(), {"position": COUNTS, "squares": SQUARES}
                )
            )
        else:
            self.state = State.fresh()
        self._quantised = KppWeights.material()
        self._core = _core.KppWeights()
        if self.state.epoch and not self.state.update:
            # The run may have been killed before it saved them.
            self._quantise(self.state.average).save(self._weights_path)

    @property
    def _weights_path(self) -> Path:
        return self.folder.path / "weights.npz"

    @staticmethod
    def memory_bytes() -> tuple[int, int]:
        """Memory used besides the data: (at the start, at most)."""
        least = 2 * MEMORY_BYTES
        return least, least + 3 * 4 * PARAMETERS

    @property
    def updates(self) -> int:
        """Updates per epoch."""
        return len(batches(len(self.train), self._batch, self.settings.seed, 0))

    @property
    def _batch(self) -> int:
        return self.settings.batch_of(len(self.train))

    def weights(self) -> KppWeights:
        """The averaged weights, which play uses."""
        return KppWeights.of_parameters(self.state.average, self.settings.threads)

    def run(
        self,
        progress: Callable[[State], None] | None = None,
        report: Callable[[Report], None] | None = None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Train until all epochs are done or `stop` returns true; saves after each epoch and every
        `checkpoint_minutes`.
        """
        with self.folder.lock:
            self._run(progress, report, stop)

    def _run(
        self,
        progress: Callable[[State], None] | None,
        report: Callable[[Report], None] | None,
        stop: Callable[[], bool],
    ) -> None:
        saved = time.monotonic()
        while self.state.epoch < self.settings.epochs:
            started = time.monotonic()
            rows = batches(len(self.train), self._batch, self.settings.seed, self.state.epoch)
            while self.state.update < len(rows):
                if stop():
                    self.save()
                    return
                self.learn(self.train.take(rows[self.state.update]))
                if progress:
                    progress(self.state)
                if time.monotonic() - saved > 60 * self.settings.checkpoint_minutes:
                    self.save()
                    saved = time.monotonic()
            done = self._end_epoch(time.monotonic() - started)
            saved = time.monotonic()
            if report:
                report(done)

    def learn(self, batch: Positions) -> None:
        """Update the weights with a batch."""
        settings, state = self.settings, self.state
        self._evaluate_with(state.weights)
        leaves = Leaves.of(self._core, batch, settings.threads)
        terms = settings.terms(leaves.value_cp, leaves.roots)
        _core.kpp_update(
            state.weights,
            state.squares,
            state.average,
            leaves.hcp,
            np.ascontiguousarray(terms[4]),
            leaves.same_turn,
            rates=settings.rates(),
            epsilon=settings.epsilon,
            decay=settings.decay,
            threads=settings.threads,
        )
        state.loss += Loss.of(terms)
        state.update += 1

    def save(self, report: Report | None = None) -> None:
        """Write a checkpoint. `report`: of the epoch, if it has ended."""
        self.folder.save_state(self.state.to_arrays(), asdict(report) if report else None)

    def _end_epoch(self, seconds: float) -> Report:
        state, settings = self.state, self.settings
        weights = self._evaluate_with(state.average)
        held_out = measure(self._core, self.test, settings, settings.threads)
        touched = int(np.count_nonzero(state.squares))
        report = Report(state.epoch + 1, state.loss, held_out, touched, seconds)
        state.epoch, state.update, state.loss = state.epoch + 1, 0, NO_LOSS
        self.save(report)
        weights.save(self._weights_path)
        self.folder.log(asdict(report))
        return report

    def _quantise(self, parameters: NDArray[np.float32]) -> KppWeights:
        """Round parameters, in memory that the next call reuses."""
        to = self._quantised
        _core.kpp_quantise(parameters, to.kpp, to.kkp, to.kk, self.settings.threads)
        return to

    def _evaluate_with(self, parameters: NDArray[np.float32]) -> KppWeights:
        """Give the evaluation these parameters, rounded; returns them as `_quantise` does."""
        weights = self._quantise(parameters)
        self._core.assign(weights.kpp, weights.kkp, weights.kk, self.settings.threads)
        return weights
