"""Training targets: moves or probabilities of moves, results, scores, legal labels."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: The label of a sample without a move, which trains the value only.
NO_LABEL = -1


@dataclass(frozen=True)
class TargetArrays:
    """Arrays with one row per position; `Targets` holds the same as tensors.

    label: int64 [N], or [N, outputs] for label schemes of several outputs; `NO_LABEL` without a
    move. result: float32 [N], 1 win, 0 loss, 0.5 draw; score_cp: float32 [N]; both from the side
    to move's view.
    soft_label, target_probs: int64 and float32 [N, moves], labels and their probabilities, with
    sum 1 per labelled row; None for hard targets.
    draw: float32 [N], the fraction of draws in a mean of results; None if 0.5 is a draw.
    legal: bool [N, labels]; None without a mask.
    """

    label: NDArray[np.int64]
    result: NDArray[np.float32]
    score_cp: NDArray[np.float32]
    soft_label: NDArray[np.int64] | None = None
    target_probs: NDArray[np.float32] | None = None
    legal: NDArray[np.bool_] | None = None
    draw: NDArray[np.float32] | None = None

    def part(self, start: int, end: int) -> Self:
        """Rows start to end - 1, as views."""
        cut = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{k: v[start:end] for k, v in cut.items() if v is not None})

    def tensors(self, heads: tuple[int, ...], device: torch.device) -> Targets:
        """Copies on the device; `heads` as in `nets.Interface`."""

        def tensor(array: NDArray[Any] | None) -> Tensor | None:
            return None if array is None else torch.from_numpy(array).to(device, non_blocking=True)

        moved = {f.name: tensor(getattr(self, f.name)) for f in fields(self)}
        return Targets(**moved, heads=heads)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Targets:
    """`TargetArrays` as tensors. heads: sizes of the policy outputs where there are several."""

    label: Tensor
    result: Tensor
    score_cp: Tensor
    soft_label: Tensor | None = None
    target_probs: Tensor | None = None
    legal: Tensor | None = None
    draw: Tensor | None = None
    heads: tuple[int, ...] = ()

    @property
    def has_label(self) -> Tensor:
        """bool [N]."""
        label = self.label if self.label.ndim == 1 else self.label[:, 0]
        return label != NO_LABEL


@dataclass(frozen=True)
class Size:
    """Positions of a batch, and those with a label."""

    positions: int
    labelled: int

    @classmethod
    def of(cls, label: NDArray[np.int64]) -> Size:
        first = label if label.ndim == 1 else label[:, 0]
        return cls(len(label), int(np.count_nonzero(first != NO_LABEL)))
