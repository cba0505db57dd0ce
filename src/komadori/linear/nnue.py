"""The learner of NNUE: elmo's loss on the leaves of quiescence, Adam. One epoch reads

    leaves = where the positions lead by quiescence, with the weights as they are
    for batches drawn anew, half of them mirrored: gradient -> step
    held-out loss and agreement; the best weights so far are kept

Weights are learnt in float and used as the engine rounds them (`round_from`), gradients going
through the rounding, so that little is lost when they are written as integers.
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
    """How the learner goes about it."""

    architecture: str = "k-p"
    epochs: int = 20
    batch: int = 8192
    rate: float = 1e-3
    """Of Adam, falling by a half cosine to `last_rate`."""
    last_rate: float = 2e-5
    decay: float = 0.0
    """Weights shrink by this part of the rate a step."""
    leaves: str = "own"
    """`own`: learn of the ends of quiescence, in a first epoch that begins with nothing of
    material's, else of the network's own; `root`: of the positions themselves."""
    leaves_every: int = 4
    """Epochs after which the leaves are looked for anew."""
    mirror: bool = True
    """Turn the board left to right for half of the positions, drawn anew in each epoch."""
    round_from: int = 1
    """Epochs done before weights are used as rounded."""
    patience: int = 5
    """Stop after so many epochs without a better held-out loss; 0: never."""
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
        if self.rate <= 0 or self.last_rate <= 0:
            raise ValueError("rate and last_rate have to be above 0")

    def rate_at(self, part: float) -> float:
        """Of Adam, when this part of all steps (0 to 1) is done."""
        return self.last_rate + (self.rate - self.last_rate) * (1 + math.cos(math.pi * part)) / 2


#: Settings that a run may go on with differently.
MAY_DIFFER = ("threads", "epochs", "patience")


@dataclass(frozen=True)
class Report:
    """One epoch. agreement: the share of held-out positions whose move is among the k best ones
    of one ply and quiescence (k = 1..8). quantised: `test`, by the engine's integers.
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
    """Memory of the learner beside the positions themselves: the model, its gradients and
    moments, and the leaves of so many positions.
    """
    model: int = _core.NnueModel.bytes_of(settings.architecture, settings.threads)
    each: int = _core.NnueData.bytes_each
    return model + positions * (each + 44)  # hcp, score, result and number of a leaf


class Learner:
    """Learns into a folder: `nn.bin` (the best by held-out loss), `state.npz`, `log.jsonl`."""

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
        """`train` in windows: each counts as an epoch, and there are as many more of them.
        `begin_with`: a run whose weights a new run begins with. Raises ValueError as `RunFolder`
        does, and where there is nothing to learn from or nothing held out.
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
        #: nn.bin that the leaves were found with, so that a resumed run finds the same.
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
        """The network as it is now, rounded."""
        return NnueWeights(self.model.quantised().to_bytes())

    def run(
        self,
        on_epoch: Callable[[Report], None] | None = None,
        on_positions: Callable[[int], None] | None = None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Learn until the epochs are done, the loss has long not fallen or `stop` says so, saving
        after each. `on_positions` is told how many positions were learnt since the last call.

        The epoch in which it is stopped is lost: a learner that resumes begins it anew.
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
        """What this epoch learns from."""
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
        """Where the positions lead with those weights, b"" for material's; mates are left out."""
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
        """None where it was stopped."""
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
        """All numbers once, in an order of this epoch; half of them marked as mirrored."""
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

    # -- where it stands

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
