"""What is minimised, and the measures of a test.

    loss = policy_weight * CE(policy, move) + value_weight * value
    value = (1 - lambda) * BCE(value, result) + lambda * BCE(value, sigmoid(score / eval_coef))

elmo's mix (diary, seed 000); illegal moves are not masked, as in dlshogi.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
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
class Losses:
    """Means over the batch, float32 scalars; policy over its labelled samples."""

    total: Tensor
    policy: Tensor
    value_result: Tensor
    value_score: Tensor


def losses(policy_logits: Tensor, value_logit: Tensor, to: Targets, config: LossConfig) -> Losses:
    """policy_logits: [N, labels], value_logit: [N], any float type; computed in float32."""
    labelled = (to.label != NO_LABEL).sum().clamp(min=1)
    policy = (
        F.cross_entropy(policy_logits.float(), to.label, ignore_index=NO_LABEL, reduction="sum")
        / labelled
    )
    value_logit = value_logit.float()
    teacher = torch.sigmoid(to.score_cp / config.eval_coef)
    by_result = F.binary_cross_entropy_with_logits(value_logit, to.result)
    by_score = F.binary_cross_entropy_with_logits(value_logit, teacher)
    value = (1 - config.value_lambda) * by_result + config.value_lambda * by_score
    total = config.policy_weight * policy + config.value_weight * value
    return Losses(total, policy, by_result, by_score)
