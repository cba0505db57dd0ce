"""Knowledge distillation: a trained network's outputs as targets, computed for each batch.

    policy = (1 - w) * CE(policy, target) + w * CE(policy, teacher's policy)
    value = (1 - w) * value loss + w * CE(value, teacher's value)

w is `loss.distill_weight`. The teacher's softmax also says how good the other moves are, so a
position teaches more than its best move, and mirrored positions get their own labels. The cost is
one forward pass of the teacher per batch. If the teacher is much slower than the student, let
`generate relabel` write its labels to files instead.

Source: Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network" (arXiv 1503.02531),
at temperature 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from komadori.nets import Network, win_logit
from komadori.training.device import Compute


@dataclass(frozen=True)
class Distilled:
    """The teacher's outputs for a batch. policy: float32 [N, labels] logits; value: float32 [N]
    logits, or [N, 3] of win, draw and loss."""

    policy: Tensor
    value: Tensor


class Teacher:
    """A network in evaluation mode, without gradients; safe to share between threads."""

    def __init__(self, network: Network, compute: Compute) -> None:
        self._network = compute.place(network).eval().requires_grad_(False)
        self._compute = compute

    @torch.no_grad()
    def outputs(self, inputs: tuple[Tensor, ...]) -> Distilled:
        """The outputs for inputs on the device, in the compute dtype."""
        with self._compute.autocast():
            policy, value = self._network.outputs(*inputs)
        return Distilled(policy.float(), value.float())


def distilled_policy_loss(log_p: tuple[Tensor, ...], log_q: tuple[Tensor, ...]) -> Tensor:
    """Cross entropy [N] with the teacher's policy, summed over the policy outputs.

    log_p, log_q: log-probabilities [N, labels] of each output, the student's and the teacher's.
    """
    return torch.stack([-(q.exp() * p).sum(1) for p, q in zip(log_p, log_q, strict=True)]).sum(0)


def distilled_value_loss(value: Tensor, taught: Tensor) -> Tensor:
    """Cross entropy [N] with the teacher's value: of win, draw and loss if both networks tell
    them apart, else of the expected result."""
    if value.ndim == taught.ndim == 2:
        return -(taught.softmax(1) * value.log_softmax(1)).sum(1)
    target = torch.sigmoid(win_logit(taught))
    return F.binary_cross_entropy_with_logits(win_logit(value), target, reduction="none")
