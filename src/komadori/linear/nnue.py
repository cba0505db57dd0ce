"""The NNUE learner: elmo's loss on quiescence leaves, optimized by Adam.

Each epoch:

    leaves = quiescence leaves of the positions, with the current weights
    for shuffled batches: gradient -> step
    held-out loss and agreement; save the best weights so far

Training is quantisation-aware: after `round_from` epochs the forward pass uses weights rounded as
in the engine, with a straight-through estimator for the gradients.

Source: Y. Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for Computer
Shogi" (2018); the file format is YaneuraOu's.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.cpus import MAX_THREADS
from komadori.linear.nnue_weights import ARCHITECTURES, NnueWeights
from komadori.linear.regression import (
    Leaves,
    Loss,
    LossSettings,
    Positions,
    agreement,
    chunks,
    held_out,
    with_draws,
)
from komadori.linear.run_folder import COUNTS, SQUARES, RunFolder
from komadori.linear.weights import TwoPieceWeights
from komadori.linear.weights_file import DAMAGE
from komadori.linear.windows import PositionWindows
from komadori.model_folder import LEARNER_STATE
from komadori.npz_file import read_array
from komadori.typed_settings import at_least, at_most, one_of, positive

LEAVES = ("own", "root")
_AGREEMENT_POSITIONS = 2000
#: Positions whose leaves are searched between two looks for a stop.
_LEAVES = 1 << 12


@dataclass(frozen=True)
class Settings(LossSettings):
    """Settings of a run."""

    architecture: str = "k-p"
    epochs: int = 20
    batch: int = 8192
    rate: float = 1e-3
    """Adam's learning rate; cosine annealing to `last_rate`."""
    last_rate: float = 2e-5
    decay: float = 0.0
    """Weight decay, relative to the learning rate."""
    leaves: str = "own"
    """`own`: train on quiescence leaves found by the network itself, or by the material evaluation
    in the first epoch from scratch; `root`: train on the positions themselves."""
    leaves_every: int = 4
    """Epochs between recomputations of the leaves."""
    mirror: bool = False
    """Mirror a random half of the positions left to right in each epoch. Games are hardly ever
    mirrored, and a small network plays better without (docs/results/linear.md)."""
    round_from: int = 1
    """Epochs before quantisation-aware training starts."""
    leak: float = 0.01
    """Fraction of the gradient that passes through a clipped hidden unit if it opens the unit;
    with 0, most hidden units die in the first epochs."""
    patience: int = 5
    """Early stopping: epochs without improvement of the held-out loss; 0 disables it."""
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "architecture", ARCHITECTURES)
        one_of(self, "leaves", LEAVES)
        at_least(self, epochs=1, batch=1, leaves_every=1, threads=1)
        at_most(self, threads=MAX_THREADS)
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}, 0 to 2^63 - 1 is needed")
        positive(self, "rate", "last_rate")
        if not 0 <= self.leak <= 1:
            raise ValueError(f"leak is {self.leak}, 0 to 1 is needed")

    def rate_at(self, part: float) -> float:
        """The learning rate at progress `part`, 0 to 1."""
        return self.last_rate + (self.rate - self.last_rate) * (1 + math.cos(math.pi * part)) / 2


#: Settings that may change when a run resumes.
MAY_DIFFER = ("threads", "epochs", "patience")


@dataclass(frozen=True)
class Report:
    """The results of an epoch.

    train, test: losses of the float network. quantised: held-out loss with the engine's integer
    arithmetic. agreement: fraction of held-out positions whose move is among the k best by a
    one-ply search with quiescence, k = 1..8; empty if no position has a move.
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
    """Bytes of memory used besides the positions: model, gradients, moments, leaves."""
    model: int = _core.NnueModel.bytes_of(settings.architecture, settings.threads)
    each: int = _core.NnueData.bytes_each
    return model + positions * (each + 44)  # hcp, score, result and number of a leaf


def check_init_from(init_from: Path, architecture: str) -> None:
    """Raise ValueError, WeightsError or OSError unless a run with this architecture can begin with
    the weights of a folder of a run, or an nn.bin."""
    _set_weights(_core.NnueModel(architecture, 0, 1), init_from, architecture)


def _set_weights(model: _core.NnueModel, path: Path, architecture: str) -> None:
    if path.is_file():
        weights = NnueWeights.load(path).core()
        try:
            model.set(weights)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return
    path = path / LEARNER_STATE
    try:
        with np.load(path, allow_pickle=False) as file:
            found = read_array(file, "parameters", model.parameters.nbytes)
        if (found.shape, found.dtype) != (model.parameters.shape, model.parameters.dtype):
            raise ValueError("parameters of another shape or type")
        if not np.isfinite(found).all():
            raise ValueError("parameters that aren't finite")
    except DAMAGE as error:
        raise ValueError(f"{path}: no state of a {architecture} network") from error
    model.parameters[:] = found


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
        init_from: Path | None = None,
    ) -> None:
        """train: if given as windows, each counts as an epoch. init_from: folder of a run, or an
        nn.bin, whose weights initialize a new one; a resumed one must have begun with them. Raises
        ValueError as `RunFolder`, and without training or held-out positions.
        """
        self.settings, self.folder = settings, folder
        self.windows = train if isinstance(train, PositionWindows) else None
        self.train = with_draws(train, settings) if isinstance(train, Positions) else None
        self.test = held_out(test, settings)
        #: Total number of epochs.
        self.epochs = settings.epochs * (self.windows.per_epoch if self.windows else 1)
        self.model = _core.NnueModel(settings.architecture, settings.seed, settings.threads)
        self.epoch, self.best, self.best_epoch = 0, math.inf, 0
        self._has_weights = init_from is not None
        #: nn.bin that found the current leaves, so that a resumed run finds the same ones.
        self._leaf_weights = b""
        data = {"train": (self.train or train).fingerprint(), "test": self.test.fingerprint()}
        if init_from is not None:
            _set_weights(self.model, init_from, settings.architecture)
        self._folder = RunFolder(
            folder,
            "nnue",
            asdict(settings),
            data,
            resume=resume,
            may_differ=MAY_DIFFER,
            origin=self._origin(init_from, resume=resume),
        )
        if resume:
            self._load()

    def _origin(self, init_from: Path | None, *, resume: bool) -> str | None:
        """Digest of the initial weights given, as `RunFolder` compares it."""
        if init_from is None:
            return None if resume else ""
        return hashlib.sha256(np.array(self.model.parameters).data).hexdigest()[:16]

    @property
    def is_done(self) -> bool:
        patience = self.settings.patience
        waited = self.epoch - self.best_epoch
        return self.epoch >= self.epochs or (0 < patience <= waited and self.epoch > 0)

    def weights(self) -> NnueWeights:
        """The current network, quantised."""
        return NnueWeights(self.model.quantised().to_bytes())

    def run(
        self,
        on_epoch: Callable[[Report], None] | None = None,
        on_positions: Callable[[int], None] | None = None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Train until all epochs are done, early stopping triggers or `stop` returns true.

        The state is saved after each epoch; an interrupted epoch is restarted when the run resumes.
        on_positions: called with the number of positions since its last call.
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
            started = time.monotonic()
            renews = self._renews_leaves()
            if renews:
                self._leaf_weights = self.weights().content if self._has_weights else b""
            if train is None or renews or self.windows:
                found = self._data(self._positions(), self._leaf_weights, stop)
                if found is None:
                    return
                train = found[0]
            leaf_seconds = time.monotonic() - started
            report = self._epoch(train, leaf_seconds, on_positions, stop)
            if report is None:
                self._folder.lock.check_place()
                return
            self._save(report)
            self._save_best()
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

    def _data(
        self, positions: Positions, nn_bin: bytes, stop: Callable[[], bool] = bool
    ) -> tuple[_core.NnueData, Positions] | None:
        """Find the leaves with a network (b"" for material); positions that end in mate are
        dropped. None if stopped."""
        settings = self.settings
        if settings.leaves == "own":
            weights: Any = NnueWeights(nn_bin) if nn_bin else TwoPieceWeights.material()
            core = weights.core()
            leaves: list[Positions] = []
            for part in chunks(positions, _LEAVES):
                if stop():
                    return None
                leaves.append(Leaves.of(core, part, settings.threads).as_positions())
            positions = Positions.joined(leaves) if leaves else positions
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
        """Train for an epoch; None if stopped."""
        settings, model = self.settings, self.model
        started = time.monotonic()
        model.rounds = self.epoch >= settings.round_from
        model.leak = settings.leak
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
        trained = time.monotonic()
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
            len(train) / max(trained - started, 1e-9),
            leaf_seconds,
            leaf_seconds + ended - started,
        )

    def _loss(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "result_weight": settings.result_weight,
            "teacher_weight": settings.teacher_weight,
            "squared": settings.loss == "squared",
        }

    def _batches(self, count: int) -> Iterator[NDArray[np.uint32]]:
        """Yield the epoch's batches: shuffled rows; with `mirror`, a random half marked."""
        random = np.random.default_rng([self.settings.seed, self.epoch])
        order = random.permutation(count).astype(np.uint32)
        if self.settings.mirror:
            order |= random.integers(0, 2, count, np.uint32) * np.uint32(_core.NNUE_MIRRORED)
        for begin in range(0, count, self.settings.batch):
            yield order[begin : begin + self.settings.batch]

    def _test(self) -> tuple[Loss, Loss, tuple[float, ...]]:
        settings, model = self.settings, self.model
        weights = model.quantised()
        found = self._data(self.test, self.weights().content)
        assert found is not None
        data, leaves = found
        model.rounds = False
        every = np.arange(len(data), dtype=np.uint32)
        test = Loss.of_sums(model.loss(data, every, **self._loss()), len(data))
        values = np.asarray(weights.evaluate_all(leaves.hcp, settings.threads))
        quantised = Loss.of(settings.terms(values, leaves))
        moved = self.test.take(np.flatnonzero(self.test.move16)[:_AGREEMENT_POSITIONS])
        return test, quantised, agreement(weights, moved.hcp, moved.move16, settings.threads)

    # -- state

    def _save_best(self) -> None:
        """Write nn.bin if the last epoch is the best."""
        if self.best_epoch == self.epoch:
            self.weights().save(self.folder / "nn.bin")

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The state as arrays."""
        model = self.model
        return {
            "parameters": model.parameters,
            "first_moments": model.first_moments,
            "second_moments": model.second_moments,
            "numbers": np.array([model.steps, self.epoch, self.best_epoch]),
            "best": np.array(self.best),
            "leaf_weights": np.frombuffer(self._leaf_weights, np.uint8),
        }

    def _save(self, report: Report) -> None:
        self._folder.save_state(self._arrays(), asdict(report))

    def _load(self) -> None:
        model = self.model
        ranges = {"numbers": COUNTS, "second_moments": SQUARES}
        state = self._folder.load_state(self._arrays(), ranges)
        for name in ("parameters", "first_moments", "second_moments"):
            getattr(model, name)[:] = state[name]
        model.steps, self.epoch, self.best_epoch = (int(n) for n in state["numbers"])
        self.best = float(state["best"])
        self._leaf_weights = state["leaf_weights"].tobytes()
        self._has_weights = self.epoch > 0
        self._save_best()
