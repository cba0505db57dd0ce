"""Stops a run that diverges."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from komadori.atomic import atomic_writer
from komadori.model_folder import newest_checkpoint
from komadori.training.data import Samples
from komadori.training.errors import DivergedError
from komadori.training.loader import Batch
from komadori.training.loss import Losses


class NanGuard:
    """Raises DivergedError for a loss that isn't finite, whose batch it saves, and before weights
    with outputs that aren't finite are saved.

    A loss is checked one micro-step later, so that the device never waits for the host.
    """

    def __init__(self, run_dir: Path, is_writer: bool = True) -> None:
        """is_writer: saves the batch; of several processes rank 0 only."""
        self._dir = run_dir
        self._is_writer = is_writer
        self._pending: tuple[Tensor, Samples, NDArray[np.int64], int] | None = None

    def watch(self, loss: Losses, batch: Batch, step: int) -> None:
        self.settle()
        self._pending = (loss.total.detach(), batch.samples, batch.whole, step)

    def settle(self) -> None:
        """Check the pending loss."""
        if self._pending is None:
            return
        loss, samples, rows, step = self._pending
        self._pending = None
        if math.isfinite(float(loss)):
            return
        path = self._dir / f"bad-batch-step-{step:08d}.npz"
        if self._is_writer:
            _write(path, samples, rows)
        raise self._error(
            f"the loss of step {step} is {float(loss)}; its batch is saved in {path}", step
        )

    def check_test(self, loss: float, step: int) -> None:
        """Raise DivergedError for a test loss that isn't finite."""
        if not math.isfinite(loss):
            raise self._error(f"the test loss after {step} steps is {loss}", step)

    def check_outputs(self, outputs: Callable[[], tuple[Tensor, ...]], step: int) -> None:
        """Raise DivergedError for outputs that aren't finite."""
        if not all(bool(one.isfinite().all()) for one in outputs()):
            raise self._error(f"the network's outputs after {step} steps are not finite", step)

    def _error(self, what: str, step: int) -> DivergedError:
        last = newest_checkpoint(self._dir)
        return DivergedError(f"{what}; the last checkpoint is {last}" if last else what, step)


def _write(path: Path, samples: Samples, rows: NDArray[np.int64]) -> None:
    with atomic_writer(path) as file:
        np.savez(
            file,
            rows=rows,
            hcp=samples.hcp[rows],
            move16=samples.move16[rows],
            score_cp=samples.score_cp[rows],
            result=samples.result[rows],
        )
