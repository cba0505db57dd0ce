"""What is minimised, and the measures of a test.

    loss = policy_weight * CE(policy, move) + value_weight * value
    value = (1 - lambda) * BCE(value, result) + lambda * BCE(value, sigmoid(score / eval_coef))

elmo's mix (diary, seed 000); illegal moves are not masked, as in dlshogi.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from komadori.training.config import LossConfig

#: The label of a sample without a move: it trains the value only.
NO_LABEL = -1


@dataclass(frozen=True)
class Targets:
    """label: int64 [N], `NO_LABEL` where there is none. result: float32 [N], 1 win, 0 loss,
    0.5 draw; score_cp: float32 [N]; both seen from the side to move."""

    label: Tensor
    result: Tensor
    score_cp: Tensor


@dataclass(frozen=True)
class Size:
    """How many positions of a batch there are and how many of them have a label."""

    positions: int
    labelled: int

    @classmethod
    def of(cls, label: NDArray[np.int64]) -> Size:
        return cls(len(label), int(np.count_nonzero(label != NO_LABEL)))


@dataclass(frozen=True)
class Losses:
    """Means over the batch, float32 scalars; policy over its labelled samples."""

    total: Tensor
    policy: Tensor
    value_result: Tensor
    value_score: Tensor

    @classmethod
    def sum(cls, shares: Sequence[Losses]) -> Losses:
        """The batch's losses, detached, from those of its shares."""
        columns = zip(
            *([getattr(s, f.name).detach() for f in fields(cls)] for s in shares), strict=True
        )
        return cls(*(torch.stack(column).sum() for column in columns))


def losses(
    policy_logits: Tensor, value_logit: Tensor, to: Targets, config: LossConfig, size: Size
) -> Losses:
    """policy_logits: [N, labels], value_logit: [N], any float type; computed in float32.

    `size` is that of the whole batch, of which these N positions may be a share: the losses
    of the shares sum to those of the batch, and so do their gradients.
    """
    policy = F.cross_entropy(
        policy_logits.float(), to.label, ignore_index=NO_LABEL, reduction="sum"
    ) / max(size.labelled, 1)
    value_logit = value_logit.float()
    teacher = torch.sigmoid(to.score_cp / config.eval_coef)
    by_result = (
        F.binary_cross_entropy_with_logits(value_logit, to.result, reduction="sum") / size.positions
    )
    by_score = (
        F.binary_cross_entropy_with_logits(value_logit, teacher, reduction="sum") / size.positions
    )
    value = (1 - config.value_lambda) * by_result + config.value_lambda * by_score
    total = config.policy_weight * policy + config.value_weight * value
    return Losses(total, policy, by_result, by_score)
