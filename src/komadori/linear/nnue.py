"""The learner of NNUE: elmo's loss on quiescence leaves, by Adam.

Each epoch:

    leaves = quiescence leaves of the positions, with the current weights
    for shuffled batches, half of the positions mirrored: gradient -> step
    held-out loss and agreement; save the best weights so far

Quantisation-aware: from `round_from` on the forward pass uses the weights as the engine rounds
them, and gradients pass straight through the rounding.

Source: Y. Nasu, NNUE (2018); the file format is YaneuraOu's.
"""

from __future__ import annotations

import math
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.linear.nnue_weights import ARCHITECTURES, NnueWeights
from komadori.linear.regression import (
    Leaves,
    Loss,
    LossSettings,
    Positions,
    agreement,
    with_draws,
)
from komadori.linear.run_folder import RunFolder
from komadori.linear.weights import TwoPieceWeights
from komadori.linear.windows import PositionWindows

LEAVES = ("own", "root")
_AGREEMENT_POSITIONS = 2000


@dataclass(frozen=True)
class Settings(LossSettings):
    """Settings of a run."""

    architecture: str = "k-p"
    epochs: int = 20
    batch: int = 8192
    rate: float = 1e-3
    """Adam's learning rate; falls along a half cosine to `last_rate`."""
    last_rate: float = 2e-5
    decay: float = 0.0
    """Weight decay, relative to the learning rate."""
    leaves: str = "own"
    """`own`: train on the quiescence leaves of the network, in a first epoch from scratch of
    material's; `root`: on the positions themselves."""
    leaves_every: int = 4
    """Epochs between recomputations of the leaves."""
    mirror: bool = True
    """Mirror a random half of the positions left to right, drawn anew each epoch."""
    round_from: int = 1
    """Epochs before quantisation-aware training begins."""
    patience: int = 5
    """Early stopping: epochs without a better held-out loss; 0 disables it."""
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.architecture not in ARCHITECTURES:
            names = " or ".join(ARCHITECTURES)
            raise ValueError(f"architecture is {self.architecture!r}: {names} is needed")
        if self.leaves not in LEAVES:
            raise ValueError(f"leaves is {self.leaves!r}: {' or '.join(LEAVES)} is needed")
        for name in ("epochs", "batch", "leaves_every", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, at least 1 is needed")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}, 0 to 2^63 - 1 is needed")
        if self.rate <= 0 or self.last_rate <= 0:
            raise ValueError("rate and last_rate have to be above 0")

    def rate_at(self, part: float) -> float:
        """The learning rate at this progress, 0 to 1."""
        return self.last_rate + (self.rate - self.last_rate) * (1 + math.cos(math.pi * part)) / 2


#: Settings that may change when a run resumes.
MAY_DIFFER = ("threads", "epochs", "patience")


@dataclass(frozen=True)
class Report:
    """One epoch. agreement: fraction of held-out positions whose move is among the k best by one
    ply and quiescence (k = 1..8). quantised: as `test`, by the engine's integers.
    """

    epoch: int
    train: Loss
    test: Loss
    quantised: Loss
    agreement: tuple[float, ...]
    is_best: bool
    rate: float
    positions_per_s: float
    leaf_seconds: float
    seconds: float


def bytes_needed(settings: Settings, positions: int) -> int:
    """Memory besides the positions: the model, its gradients and moments, and the leaves."""
    model: int = _core.NnueModel.bytes_of(settings.architecture, settings.threads)
    each: int = _core.NnueData.bytes_each
    return model + positions * (each + 44)  # hcp, score, result and number of a leaf


class Learner:
    """Trains in a folder: `nn.bin` (the best by held-out loss), `state.npz`, `log.jsonl`."""

    def __init__(
        self,
        settings: Settings,
        train: Positions | PositionWindows,
        test: Positions,
        folder: Path,
        *,
        resume: bool,
        begin_with: Path | None = None,
    ) -> None:
        """train: of windows, each counts as an epoch. begin_with: a run, for the initial weights
        of a new one. Raises ValueError as `RunFolder`, and without training or held-out positions.
        """
        self.settings, self.folder = settings, folder
        self.windows = train if isinstance(train, PositionWindows) else None
        self.train = with_draws(train, settings) if isinstance(train, Positions) else None
        self.test = with_draws(test, settings)
        #: Epochs in all.
        self.epochs = settings.epochs * (self.windows.per_epoch if self.windows else 1)
        self.model = _core.NnueModel(settings.architecture, settings.seed, settings.threads)
        self.epoch, self.best, self.best_epoch = 0, math.inf, 0
        self._has_weights = begin_with is not None
        #: nn.bin of the leaves, so that a resumed run recomputes the same ones.
        self._leaf_weights = b""
        data = {"train": (self.train or train).fingerprint(), "test": self.test.fingerprint()}
        self._folder = RunFolder(
            folder, "nnue", asdict(settings), data, resume=resume, may_differ=MAY_DIFFER
        )
        if resume:
            self._load()
        elif begin_with is not None:
            self._begin_with(begin_with / "state.npz")

    @property
    def is_done(self) -> bool:
        patience = self.settings.patience
        waited = self.epoch - self.best_epoch
        return self.epoch >= self.epochs or (0 < patience <= waited and self.epoch > 0)

    def weights(self) -> NnueWeights:
        """The present network, rounded."""
        return NnueWeights(self.model.quantised().to_bytes())

    def run(
        self,
        on_epoch: Callable[[Report], None] | None = None,
        on_positions: Callable[[int], None] | None = None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Train until the epochs are done, early stopping applies or `stop` returns true; saves
        after each epoch. on_positions: called with the number of positions since its last call.

        An interrupted epoch starts again when the run resumes.
        """
        with self._folder.lock:
            try:
                self._run(on_epoch, on_positions, stop)
            finally:
                if self.windows:
                    self.windows.close()

    def _run(
        self,
        on_epoch: Callable[[Report], None] | None,
        on_positions: Callable[[int], None] | None,
        stop: Callable[[], bool],
    ) -> None:
        train: _core.NnueData | None = None
        while not self.is_done:
            began = time.monotonic()
            renews = self._renews_leaves()
            if renews:
                self._leaf_weights = self.weights().content if self._has_weights else b""
            if train is None or renews or self.windows:
                train = self._data(self._positions(), self._leaf_weights)[0]
            leaf_seconds = time.monotonic() - began
            report = self._epoch(train, leaf_seconds, on_positions, stop)
            if report is None:
                return
            if report.is_best:
                self.weights().save(self.folder / "nn.bin")
            self._save()
            self._folder.log(asdict(report))
            if on_epoch:
                on_epoch(report)

    def _positions(self) -> Positions:
        """The positions of this epoch."""
        if self.windows is None:
            assert self.train is not None
            return self.train
        return with_draws(self.windows.window(self.epoch), self.settings)

    def _renews_leaves(self) -> bool:
        settings = self.settings
        if settings.leaves == "root":
            return False
        is_first_own = self.epoch == 1 and not self._leaf_weights
        return is_first_own or self.epoch % settings.leaves_every == 0

    def _data(self, positions: Positions, nn_bin: bytes) -> tuple[_core.NnueData, Positions]:
        """The leaves with those weights, b"" for material, without mates."""
        settings = self.settings
        if settings.leaves == "own":
            weights: Any = NnueWeights(nn_bin) if nn_bin else TwoPieceWeights.material()
            positions = Leaves.of(weights.core(), positions, settings.threads).as_positions()
        data = _core.NnueData(
            positions.hcp,
            positions.score_cp.astype(np.float32),
            positions.result,
            settings.threads,
        )
        return data, positions

    def _epoch(
        self,
        train: _core.NnueData,
        leaf_seconds: float,
        on_positions: Callable[[int], None] | None,
        stop: Callable[[], bool],
    ) -> Report | None:
        """None if it was stopped."""
        settings, model = self.settings, self.model
        began = time.monotonic()
        model.rounds = self.epoch >= settings.round_from
        sums = np.zeros(4)
        steps = math.ceil(len(train) / settings.batch)
        rate = settings.rate
        for step, batch in enumerate(self._batches(len(train))):
            if stop():
                return None
            rate = settings.rate_at((self.epoch + step / steps) / self.epochs)
            sums += model.step(train, batch, rate=rate, decay=settings.decay, **self._loss())
            if on_positions:
                on_positions(len(batch))
        learnt = time.monotonic()
        self.epoch += 1
        self._has_weights = True
        test, quantised, agreed = self._test()
        loss = settings.total(quantised)
        is_best = loss < self.best
        if is_best:
            self.best, self.best_epoch = loss, self.epoch
        ended = time.monotonic()
        return Report(
            self.epoch,
            Loss.of_sums(sums, len(train)),
            test,
            quantised,
            agreed,
            is_best,
            rate,
            len(train) / max(learnt - began, 1e-9),
            leaf_seconds,
            leaf_seconds + ended - began,
        )

    def _loss(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "result_weight": settings.result_weight,
            "teacher_weight": settings.teacher_weight,
            "squared": settings.loss == "squared",
        }

    def _batches(self, count: int) -> Iterator[NDArray[np.uint32]]:
        """All rows once, in this epoch's order; a random half marked as mirrored."""
        random = np.random.default_rng([self.settings.seed, self.epoch])
        order = random.permutation(count).astype(np.uint32)
        if self.settings.mirror:
            order |= random.integers(0, 2, count, np.uint32) * np.uint32(_core.NNUE_MIRRORED)
        for begin in range(0, count, self.settings.batch):
            yield order[begin : begin + self.settings.batch]

    def _test(self) -> tuple[Loss, Loss, tuple[float, ...]]:
        settings, model = self.settings, self.model
        weights = model.quantised()
        data, leaves = self._data(self.test, self.weights().content)
        model.rounds = False
        every = np.arange(len(data), dtype=np.uint32)
        test = Loss.of_sums(model.loss(data, every, **self._loss()), len(data))
        values = np.asarray(weights.evaluate_all(leaves.hcp, settings.threads))
        quantised = Loss.of(settings.terms(values, leaves))
        moved = self.test.take(np.flatnonzero(self.test.move16)[:_AGREEMENT_POSITIONS])
        return test, quantised, agreement(weights, moved, settings.threads)

    # -- state

    def _save(self) -> None:
        model = self.model
        self._folder.save_state(
            {
                "parameters": model.parameters,
                "first_moments": model.first_moments,
                "second_moments": model.second_moments,
                "numbers": np.array([model.steps, self.epoch, self.best_epoch]),
                "best": np.array(self.best),
                "leaf_weights": np.frombuffer(self._leaf_weights, np.uint8),
            }
        )

    def _begin_with(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as file:
                self.model.parameters[:] = file["parameters"]
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path}: no state of a {self.settings.architecture} network"
            ) from error

    def _load(self) -> None:
        model, state = self.model, self._folder.load_state()
        for name in ("parameters", "first_moments", "second_moments"):
            getattr(model, name)[:] = state[name]
        model.steps, self.epoch, self.best_epoch = (int(n) for n in state["numbers"])
        self.best = float(state["best"])
        self._leaf_weights = state["leaf_weights"].tobytes()
        self._has_weights = self.epoch > 0
