"""The state of a run: progress, running means, metrics, log."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import komadori
from komadori import nets
from komadori.nets import ModelCard, Network
from komadori.training.averaging import estimate_norms
from komadori.training.config import config_to_dict
from komadori.training.evaluate import Metrics, StoppedError, evaluate
from komadori.training.guard import NanGuard
from komadori.training.loader import Batch
from komadori.training.loss import Losses
from komadori.training.run_folder import RunFolder
from komadori.training.run_log import read_log
from komadori.training.schedule import Budget
from komadori.training.setup import Setup, model_card
from komadori.training.workers import Replicas

#: How long a stopped run estimates statistics of averaged weights before it is saved.
HURRY_S = 0.3


def never() -> bool:
    return False


@dataclass(frozen=True)
class Report:
    """Progress of a run, passed to the callback after each logged step.

    progress: 0 to 1 over the run. entry: the newest log entry, of kind train or test.
    """

    step: int
    progress: float
    seconds: float
    seconds_left: float
    samples_per_s: float
    entry: dict[str, Any]


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    checkpoint: the final model folder. history: the log's entries in order. test: the metrics at
    the last step, None without a test part or after a stop. is_complete: False if the run was
    stopped before its budget was spent or during its last test.
    """

    run_dir: Path
    checkpoint: Path
    step: int
    samples: int
    seconds: float
    is_complete: bool
    test: Metrics | None
    history: list[dict[str, Any]] = field(repr=False)


class StepStart:
    """What the micro-steps of a step change: batch norm statistics and random state."""

    def __init__(self, network: Network) -> None:
        self._buffers = [(buffer, buffer.clone()) for buffer in network.buffers()]
        self._rng = torch.get_rng_state()
        self._cuda_rng = torch.cuda.get_rng_state() if torch.cuda.is_available() else None

    def restore(self) -> None:
        """Undo the micro-steps of a step that is left before its end."""
        for buffer, value in self._buffers:
            buffer.copy_(value)
        torch.set_rng_state(self._rng)
        if self._cuda_rng is not None:
            torch.cuda.set_rng_state(self._cuda_rng)


class Run:
    """The state that `loop.train` advances step by step. at: the progress. is_test_stopped: whether
    the last test was stopped."""

    def __init__(self, setup: Setup, folder: RunFolder) -> None:
        """Restores the folder's newest checkpoint, if any, and opens the log."""
        self.setup, self.folder = setup, folder
        self.at = folder.restore(setup)
        self.replicas = Replicas(setup.trained, setup.compute.replicas)
        self.budget = Budget.of(setup.config.loop, len(setup.split.train), self.at.seconds)
        self.guard = NanGuard(folder.path, setup.world.is_first)
        self.metrics: Metrics | None = None
        self._metrics_step = self._norms_step = -1
        self.is_test_stopped = False
        self._samples = self.at.samples
        self._samples_per_s = 0.0
        self._restart_means()
        self.log = folder.open_log(setup, self.at.step)
        self.log.write("run", self.at.step, self._facts())
        self.log.write("data", self.at.step, setup.split.facts())
        setup.world.wait()

    @property
    def model(self) -> Network:
        """The network that is measured and exported: the weight average, once begun, or the trained
        network."""
        return self.setup.model(self.at.step)

    def count(self, loss: Losses, batch: Batch) -> None:
        """Add a micro-step to the means of the next train entry."""
        for name, value in vars(loss).items():
            value = value.detach()
            self._sums[name] = self._sums[name] + value if name in self._sums else value
        self._samples += batch.size.positions
        self._counted += batch.size.positions
        self._micro_steps += 1

    def advance(self, batch: Batch) -> None:
        """Count an optimizer step; `batch` was its last micro-step's."""
        if self.setup.average is not None:
            self.setup.average.update(self.at.step + 1)
        seconds = self.budget.seconds
        self.at = replace(
            self.at,
            step=self.at.step + 1,
            samples=self._samples,
            seconds=seconds,
            cursor=batch.after,
        )

    def log_step(self, rate: float, norm: Tensor) -> dict[str, Any]:
        """Log the means of the steps since the last train entry."""
        now = time.monotonic()
        self._samples_per_s = self._counted / max(now - self._since, 1e-9)
        means = {name: float(total) / self._micro_steps for name, total in self._sums.items()}
        entry = self.log.write(
            "train",
            self.at.step,
            {
                "epoch": self.at.samples / len(self.setup.split.train),
                "samples": self.at.samples,
                "seconds": self.at.seconds,
                "rate": rate,
                "loss": means["total"],
                "policy_loss": means["policy"],
                "value_result_loss": means["value_result"],
                "value_score_loss": means["value_score"],
                "gradient_norm": float(norm),
                "samples_per_s": self._samples_per_s,
            },
        )
        self._restart_means()
        return entry

    def evaluate(self, stop: Callable[[], bool] | None = None) -> dict[str, Any] | None:
        """Measure the test part and log the metrics; None without one, if already measured, if
        `stop` returns true before a batch, and in all processes but rank 0."""
        setup, is_known = self.setup, self._metrics_step == self.at.step
        if not len(setup.split.test) or is_known or not setup.world.is_first:
            return None
        started = time.monotonic()
        self._estimate_norms(stop or never)
        config = setup.config
        try:
            with setup.compute.eager():
                self.metrics = evaluate(
                    self.model,
                    setup.split.test,
                    setup.encoder,
                    config.loss,
                    setup.compute,
                    config.loop.test_batch_size,
                    stop=stop,
                )
        except StoppedError:
            self.is_test_stopped = True
            return None
        self.guard.check_test(self.metrics.loss, self.at.step)
        self._metrics_step = self.at.step
        self._since += time.monotonic() - started  # samples/s leave the test out
        values = {"samples": self.at.samples, "seconds": self.budget.seconds}
        return self.log.write("test", self.at.step, values | self.metrics.to_dict())

    def save(self, batch: Batch | None, *, is_stopped: bool) -> None:
        """Write the checkpoint of this step (rank 0 only); that of a stopped run at once.

        Raises DivergedError if the outputs for `batch` aren't finite.
        """
        if not self.setup.world.is_first:
            return
        started = time.monotonic()
        if batch is not None:
            self.guard.check_outputs(lambda: self._outputs(batch), self.at.step)
        self._estimate_norms(
            (lambda: time.monotonic() > started + HURRY_S) if is_stopped else never
        )
        self.folder.save(self.setup, self.at, self._card())
        self._since += time.monotonic() - started

    @torch.no_grad()
    def _outputs(self, batch: Batch) -> tuple[Tensor, ...]:
        trained, compute = self.setup.trained, self.setup.compute
        trained.eval()
        try:
            with compute.eager(), compute.autocast():
                return trained.outputs(*compute.inputs(batch))
        finally:
            trained.train()

    def finish(self, *, is_stopped: bool) -> RunResult:
        """Log the end and close the log. A stopped run lacks its last test."""
        self.setup.world.leave()
        at = self.at
        is_spent = self.budget.is_spent(at.step, at.samples)
        is_complete = is_spent and not (is_stopped and len(self.setup.split.test))
        values = {"seconds": at.seconds, "samples": at.samples, "is_complete": is_complete}
        self.log.write("end", at.step, values)
        self.log.close()
        return RunResult(
            self.folder.path,
            self.folder.newest(),
            at.step,
            at.samples,
            at.seconds,
            is_complete,
            self.metrics if self._metrics_step == at.step else None,
            read_log(self.folder.path),
        )

    def report(self, entry: dict[str, Any]) -> Report:
        progress = self.budget.progress(self.at.step, self.at.samples)
        seconds = self.budget.seconds
        left = seconds * (1 - progress) / progress if progress else math.inf
        return Report(self.at.step, progress, seconds, left, self._samples_per_s, entry)

    def _restart_means(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counted = self._micro_steps = 0
        self._since = time.monotonic()

    def _estimate_norms(self, stop: Callable[[], bool]) -> None:
        """Batch norm statistics of the averaged weights, from an epoch's first batches."""
        setup, model = self.setup, self.model
        count = setup.config.loop.norm_batches
        if not count or model is setup.network or self._norms_step == self.at.step:
            return
        self._norms_step = self.at.step
        # Whole batches: the statistics don't depend on the number of processes.
        with contextlib.closing(setup.loader.undivided().batches()) as batches:

            def forward() -> None:
                with setup.compute.autocast():
                    model(*setup.compute.inputs(next(batches)))
                setup.compute.wait()  # the loader reuses the batch's buffer

            estimate_norms(model, count, forward, stop)

    def _card(self) -> ModelCard:
        setup = self.setup
        facts: dict[str, Any] = {
            "steps": self.at.step,
            "samples": self.at.samples,
            "seconds": round(self.at.seconds, 1),
            "komadori": komadori.__version__,
            "config": config_to_dict(setup.config),
            "data": setup.split.facts(),
        }
        if self.metrics is not None and self._metrics_step == self.at.step:
            facts["test"] = {k: v for k, v in self.metrics.to_dict().items() if math.isfinite(v)}
        return model_card(setup.config, setup.encoder, facts)

    def _facts(self) -> dict[str, Any]:
        setup = self.setup
        return {
            "net": nets.short_name(setup.config.model.net),
            "parameters": nets.parameter_count(setup.network),
            "komadori": komadori.__version__,
            "eval_coef": setup.config.loss.eval_coef,
            "processes": setup.world.size,
            **setup.compute.describe(),
        }
