"""The measures of a network on held-out positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from komadori.nets import ModelCard, Network
from komadori.training.config import ConfigError, LossConfig, config_from_dict
from komadori.training.data import Part
from komadori.training.device import Compute, targets
from komadori.training.loader import Batch, Encoder, Loader
from komadori.training.loss import NO_LABEL, Size, losses


@dataclass(frozen=True)
class Metrics:
    """Means over the positions; shares in [0, 1], NaN where no position counts.

    loss, policy_loss, value_loss: as trained, without weight decay; value_result_loss and
    value_score_loss: cross entropy against result and teacher.
    policy_top1, 3, 5: the labelled positions whose move is among the k largest logits.
    value_accuracy: decided games whose winner the value's side of 1/2 tells.
    best_is_legal: positions whose largest logit, unmasked, is a legal move's.
    """

    positions: int
    labelled: int
    loss: float
    policy_loss: float
    value_loss: float
    value_result_loss: float
    value_score_loss: float
    policy_top1: float
    policy_top3: float
    policy_top5: float
    value_accuracy: float
    best_is_legal: float

    def to_dict(self) -> dict[str, float]:
        return dataclasses.asdict(self)


#: A batch to (policy_logits [N, labels], value_logit [N]), on any device.
Predict = Callable[[Batch], tuple[Tensor, Tensor]]


def evaluate(
    network: Network,
    part: Part,
    encoder: Encoder,
    loss_config: LossConfig,
    compute: Compute,
    batch_size: int = 1024,
) -> Metrics:
    """Measure the network, in evaluation mode, on every position of the part.

    The network is left in the mode it came in.
    """

    @torch.inference_mode()
    def forward(_: int, share: Batch) -> tuple[Tensor, Tensor]:
        with compute.autocast():
            policy_logits, value_logit = network(*compute.inputs(share))
        return policy_logits, value_logit

    def predict(batch: Batch) -> tuple[Tensor, Tensor]:
        policy_logits, value_logit = zip(*workers.map(forward, batch), strict=True)
        return torch.cat(policy_logits), torch.cat(value_logit)

    was_training = network.training
    network.eval()
    workers = compute.workers()
    try:
        return measure(predict, part, encoder, loss_config, batch_size)
    finally:
        workers.close()
        network.train(was_training)


@torch.inference_mode()
def measure(
    predict: Predict, part: Part, encoder: Encoder, loss_config: LossConfig, batch_size: int
) -> Metrics:
    """The measures of anything that predicts, on every position of the part."""
    labelled = decided = positions = 0
    policy = by_result = by_score = 0.0
    hits = dict.fromkeys((1, 3, 5), 0)
    value_hits = legal_hits = 0
    for batch in Loader(part, encoder, batch_size, shuffle=False).batches(epochs=1):
        policy_logits, value_logit = predict(batch)
        to = targets(batch, value_logit.device)
        size = Size.of(batch.label)
        value = losses(policy_logits, value_logit, to, loss_config, size)
        has_label = to.label != NO_LABEL
        n, m = size.positions, size.labelled
        positions += n
        labelled += m
        policy += float(value.policy) * m
        by_result += float(value.value_result) * n
        by_score += float(value.value_score) * n
        top = policy_logits.float().topk(5, dim=1).indices
        found = (top == to.label[:, None]) & has_label[:, None]
        for k in hits:
            hits[k] += int(found[:, :k].sum())
        is_decided = to.result != 0.5
        decided += int(is_decided.sum())
        value_hits += int((((value_logit > 0) == (to.result > 0.5)) & is_decided).sum())
        legal = encoder.legal(part.samples, batch.rows)
        legal_hits += int(legal[np.arange(n), top[:, 0].cpu().numpy()].sum())
    c = loss_config
    policy_loss = policy / labelled if labelled else 0.0
    result_loss, score_loss = by_result / positions, by_score / positions
    value_loss = (1 - c.value_lambda) * result_loss + c.value_lambda * score_loss
    return Metrics(
        positions=positions,
        labelled=labelled,
        loss=c.policy_weight * policy_loss + c.value_weight * value_loss,
        policy_loss=policy_loss,
        value_loss=value_loss,
        value_result_loss=result_loss,
        value_score_loss=score_loss,
        policy_top1=_share(hits[1], labelled),
        policy_top3=_share(hits[3], labelled),
        policy_top5=_share(hits[5], labelled),
        value_accuracy=_share(value_hits, decided),
        best_is_legal=_share(legal_hits, positions),
    )


def loss_config_of(card: ModelCard) -> LossConfig:
    """The loss that the model was trained with; the usual one with the card's coefficient
    where the card doesn't tell."""
    try:
        return config_from_dict(card.training["config"]).loss
    except (KeyError, ConfigError):
        return LossConfig(eval_coef=card.eval_coef)


def _share(count: int, total: int) -> float:
    return count / total if total else float("nan")
