"""The training loss.

    loss  = policy_weight * policy + value_weight * value
    policy = CE(policy, move) * (result - teacher + 1/2, if result_weighted) - entropy_bonus * H
    value = (1 - lambda) * BCE(value, result) + lambda * BCE(value, teacher)
    teacher = sigmoid(score / eval_coef)
    with soft_policy_weight: + soft_policy_weight * CE(auxiliary policy, target^(1/4), scaled to 1)
    with surprise: each position weighted by 1 - surprise + surprise * KL / mean KL
    with a teacher network: mixed with cross entropies with its outputs (`training.distill`)

KL is the divergence of the network's policy from the target, detached; its mean is over one shard.
KataGo samples positions in proportion to it (KataGoMethods.md, "Policy surprise weighting",
surprise 0.5); here it is a weight.

Sources: elmo's mix of result and teacher (diary, elmoのアピール文書を読む, May 2017); result
weights and entropy bonus as in dlshogi (critic and beta), the bonus on labelled positions only.
Illegal moves are masked only with `mask_illegal`. The squared error is of
tanh(logit / 2) = 2 p - 1. A win/draw/loss output has the three-class cross entropy with the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from komadori.nets import win_logit
from komadori.training.auxiliary import flattened
from komadori.training.config import LossConfig
from komadori.training.distill import Distilled, distilled_policy_loss, distilled_value_loss
from komadori.training.targets import NO_LABEL, Size, TargetArrays, Targets

__all__ = ["NO_LABEL", "Losses", "Size", "TargetArrays", "Targets", "log_policy", "losses"]

#: A logit whose softmax is 0.
_ILLEGAL = -1e9


@dataclass(frozen=True)
class Losses:
    """Means over the batch, float32 scalars; policy over its labelled samples.

    policy, value_result and value_score are against the data's targets, without a teacher's.
    """

    total: Tensor
    policy: Tensor
    value_result: Tensor
    value_score: Tensor

    @classmethod
    def sum(cls, shards: Sequence[Losses]) -> Losses:
        """The batch's losses, detached, from those of its shards; 0 without shards."""
        if not shards:
            return cls(*(torch.zeros(()) for _ in fields(cls)))
        columns = zip(
            *([getattr(s, f.name).detach() for f in fields(cls)] for s in shards), strict=True
        )
        return cls(*(torch.stack(column).sum() for column in columns))


def losses(
    policy_logits: Tensor,
    value: Tensor,
    targets: Targets,
    loss_config: LossConfig,
    size: Size,
    soft_policy_logits: Tensor | None = None,
    *,
    distilled: Distilled | None = None,
) -> Losses:
    """policy_logits: [N, labels]. value: [N] logits, or [N, 3] of win, draw and loss. Any float
    dtype, computed in float32. soft_policy_logits: [N, labels], of the auxiliary head. distilled:
    the teacher network's outputs for these positions.

    size: of the whole batch, of which these N positions may be a shard. Losses and gradients of
    the shards sum to the batch's.
    """
    value = value.float()
    teacher = torch.sigmoid(targets.score_cp / loss_config.eval_coef)
    log_p = log_policy(policy_logits, targets)
    each = _policy_loss(log_p, targets)
    weight = _surprise(each, targets, loss_config.surprise) if loss_config.surprise else 1.0
    each_result = _result_loss(value, targets, loss_config.value_loss) * weight
    each_score = _value_loss(win_logit(value), teacher, loss_config.value_loss) * weight
    by_result, by_score = each_result.sum() / size.positions, each_score.sum() / size.positions
    value_loss = (1 - loss_config.value_lambda) * by_result + loss_config.value_lambda * by_score

    if loss_config.result_weighted:
        each = each * (targets.result - teacher + 0.5)
    policy = (each * weight).sum() / max(size.labelled, 1)
    policy_total, value_total = policy, value_loss
    if distilled is not None:
        fraction = loss_config.distill_weight
        taught = distilled_policy_loss(log_p, log_policy(distilled.policy, targets))
        taught_policy = (taught * targets.has_label * weight).sum() / max(size.labelled, 1)
        taught_value = (distilled_value_loss(value, distilled.value) * weight).sum()
        policy_total = (1 - fraction) * policy + fraction * taught_policy
        value_total = (1 - fraction) * value_loss + fraction * taught_value / size.positions
    total = loss_config.policy_weight * policy_total + loss_config.value_weight * value_total
    if loss_config.entropy_bonus:
        minus_entropies = torch.stack([(part.exp() * part).sum(1) for part in log_p]).sum(0)
        minus_entropy = (minus_entropies * targets.has_label).sum() / max(size.labelled, 1)
        total = total + loss_config.policy_weight * loss_config.entropy_bonus * minus_entropy
    if soft_policy_logits is not None and loss_config.soft_policy_weight:
        soft = _policy_loss(log_policy(soft_policy_logits, targets), _flat(targets))
        total = total + loss_config.soft_policy_weight * (soft * weight).sum() / max(
            size.labelled, 1
        )
    return Losses(total, policy, by_result, by_score)


def _flat(targets: Targets) -> Targets:
    assert targets.target_probs is not None
    return replace(targets, target_probs=flattened(targets.target_probs))


def _surprise(cross_entropy: Tensor, targets: Targets, surprise: float) -> Tensor:
    """Weights [N], with mean 1 over the labelled positions; 1 for the others."""
    divergence = cross_entropy.detach()
    if targets.target_probs is not None:
        divergence = divergence + torch.special.xlogy(
            targets.target_probs, targets.target_probs
        ).sum(1)
    divergence = divergence.clamp_min(0) * targets.has_label
    mean = divergence.sum() / targets.has_label.sum().clamp_min(1)
    weight = 1 - surprise + surprise * divergence / mean.clamp_min(1e-12)
    return torch.where(targets.has_label, weight, 1.0)


def log_policy(policy_logits: Tensor, targets: Targets) -> tuple[Tensor, ...]:
    """Log-probabilities [N, labels] of each output, masked by `targets.legal`."""
    logits = policy_logits.float()
    if targets.legal is not None:
        logits = logits.masked_fill(~targets.legal, _ILLEGAL)
    parts = torch.split(logits, list(targets.heads), 1) if targets.heads else (logits,)
    return tuple(part.log_softmax(1) for part in parts)


def _policy_loss(log_p: tuple[Tensor, ...], targets: Targets) -> Tensor:
    """Cross entropy [N], summed over the outputs; 0 without a label."""
    if targets.soft_label is not None:
        assert targets.target_probs is not None
        return -(targets.target_probs * log_p[0].gather(1, targets.soft_label)).sum(1)
    labels = targets.label.reshape(len(targets.label), -1).unbind(1)
    each = [
        F.nll_loss(part, label, ignore_index=NO_LABEL, reduction="none")
        for part, label in zip(log_p, labels, strict=True)
    ]
    return torch.stack(each).sum(0)


def _value_loss(logit: Tensor, target: Tensor, kind: str) -> Tensor:
    if kind == "squared":
        return (torch.tanh(logit / 2) - (2 * target - 1)).square()
    return F.binary_cross_entropy_with_logits(logit, target, reduction="none")


def _result_loss(value: Tensor, targets: Targets, kind: str) -> Tensor:
    result = targets.result
    if value.ndim == 1 or kind == "squared":
        return _value_loss(win_logit(value), result, kind)
    draw = (result == 0.5).float() if targets.draw is None else targets.draw
    target = torch.stack((result - draw / 2, draw, 1 - result - draw / 2), 1)
    return -(target * value.log_softmax(1)).sum(1)
