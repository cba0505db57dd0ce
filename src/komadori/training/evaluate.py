"""Measures of a network on held-out positions."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from komadori.nets import ModelCard, Network
from komadori.training.config import ConfigError, LossConfig, config_from_dict
from komadori.training.data import Part
from komadori.training.device import Compute, targets_on
from komadori.training.loader import Batch, Encoder, Loader
from komadori.training.loss import log_policy, losses
from komadori.training.targets import Size
from komadori.wording import names_arguments


@dataclass(frozen=True)
class Metrics:
    """Means over the positions; fractions in [0, 1], NaN without a position.

    loss, policy_loss, value_loss: as trained, of the played move and of the win probability,
    without weight decay, entropy bonus, result weights and lambda decay. value_result_loss,
    value_score_loss: against result and teacher. weighted_policy_loss: weighted by
    result - teacher + 1/2, as in dlshogi; weighted_loss: `loss` with it.
    policy_top1, 3, 5: labelled positions whose move is among the k most probable labels (pairs of
    labels for several outputs), masked as in training.
    value_accuracy: positions of decided games whose winner the value predicts.
    best_is_legal: positions whose largest unmasked logit is a legal move's.
    policy_entropy: over the labels, in nats. policy_top1_mass: the largest probability.
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
    policy_entropy: float = float("nan")
    policy_top1_mass: float = float("nan")
    weighted_policy_loss: float = float("nan")
    weighted_loss: float = float("nan")

    def to_dict(self) -> dict[str, float]:
        return dataclasses.asdict(self)


#: The measures that are fractions, shown in per cent.
FRACTIONS = frozenset(
    {
        "policy_top1",
        "policy_top3",
        "policy_top5",
        "value_accuracy",
        "best_is_legal",
        "policy_top1_mass",
    }
)

#: A batch to (policy_logits [N, labels], value_logit [N]), on any device.
Predict = Callable[[Batch], tuple[Tensor, Tensor]]


class StoppedError(Exception):
    """A measurement was stopped."""


@names_arguments
def evaluate(
    network: Network,
    part: Part,
    encoder: Encoder,
    loss_config: LossConfig,
    compute: Compute,
    batch_size: int = 1024,
    *,
    stop: Callable[[], bool] | None = None,
) -> Metrics:
    """Measure the network in evaluation mode on every position of the part; restores its mode.

    `stop` is called before each batch; true raises StoppedError.
    """

    @torch.inference_mode()
    def forward(_: int, shard: Batch) -> tuple[Tensor, Tensor]:
        with compute.autocast():
            policy_logits, value_logit = network(*compute.inputs(shard))
        return policy_logits, value_logit

    def predict(batch: Batch) -> tuple[Tensor, Tensor]:
        if stop is not None and stop():
            raise StoppedError
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


@names_arguments
@torch.inference_mode()
def measure(
    predict: Predict, part: Part, encoder: Encoder, loss_config: LossConfig, batch_size: int
) -> Metrics:
    """Measure a prediction function on every position of the part."""
    labelled = decided = positions = 0
    policy = weighted = by_result = by_score = entropy = mass = 0.0
    hits = dict.fromkeys((1, 3, 5), 0)
    value_hits = legal_hits = 0
    plain = replace(loss_config, result_weighted=False, entropy_bonus=0.0)
    by_critic = replace(plain, result_weighted=True)
    loader = Loader(
        part.without_target_probs(), encoder, batch_size, shuffle=False, legal=plain.mask_illegal
    )
    with contextlib.closing(loader.batches(epochs=1)) as batches:
        for batch in batches:
            policy_logits, value_logit = predict(batch)
            targets = targets_on(batch, value_logit.device)
            size = Size.of(batch.targets.label)
            value = losses(policy_logits, value_logit, targets, plain, size)
            n, m = size.positions, size.labelled
            positions += n
            labelled += m
            policy += float(value.policy) * m
            weighted += (
                float(losses(policy_logits, value_logit, targets, by_critic, size).policy) * m
            )
            by_result += float(value.value_result) * n
            by_score += float(value.value_score) * n
            log_p = log_policy(policy_logits, targets)
            top = most_probable(log_p, 5)
            found = (top == targets.label.reshape(n, 1, -1)).all(2) & targets.has_label[:, None]
            for k in hits:
                hits[k] += int(found[:, :k].sum())
            entropy -= float(sum((part.exp() * part).sum() for part in log_p))
            mass += float(torch.stack([part.amax(1) for part in log_p]).sum(0).exp().sum())
            is_decided = targets.result != 0.5
            decided += int(is_decided.sum())
            value_hits += int((((value_logit > 0) == (targets.result > 0.5)) & is_decided).sum())
            best = top[:, 0]
            if targets.legal is not None:
                unmasked = replace(targets, legal=None)
                best = most_probable(log_policy(policy_logits, unmasked), 1)[:, 0]
            legal_hits += int(encoder.is_legal(part.samples, batch.rows, best.cpu().numpy()).sum())
    c = loss_config
    policy_loss, weighted_policy_loss = (
        total / labelled if labelled else 0.0 for total in (policy, weighted)
    )
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
        policy_top1=fraction(hits[1], labelled),
        policy_top3=fraction(hits[3], labelled),
        policy_top5=fraction(hits[5], labelled),
        value_accuracy=fraction(value_hits, decided),
        best_is_legal=fraction(legal_hits, positions),
        policy_entropy=fraction(entropy, positions),
        policy_top1_mass=fraction(mass, positions),
        weighted_policy_loss=weighted_policy_loss,
        weighted_loss=c.policy_weight * weighted_policy_loss + c.value_weight * value_loss,
    )


@names_arguments
def loss_config_of(card: ModelCard) -> LossConfig:
    """The loss that the model was trained with, or the default with the card's coefficient."""
    try:
        return config_from_dict({"loss": card.training["config"]["loss"]}).loss
    except (KeyError, TypeError, ConfigError):
        return LossConfig(eval_coef=card.eval_coef)


def most_probable(log_p: tuple[Tensor, ...], k: int) -> Tensor:
    """int64 [N, k, outputs]: the most probable labels, or pairs of labels, in order."""
    best = [part.topk(min(k, part.shape[1]), dim=1) for part in log_p]
    total, label = best[0].values, best[0].indices[:, :, None]
    for values, indices in best[1:]:  # the k best pairs consist of the k best of each
        pairs = total[:, :, None] + values[:, None, :]
        total, place = pairs.flatten(1).topk(k, dim=1)
        first, second = place // values.shape[1], place % values.shape[1]
        label = torch.cat(
            (
                label.gather(1, first[:, :, None].expand(-1, -1, label.shape[2])),
                indices.gather(1, second)[:, :, None],
            ),
            2,
        )
    return label


def fraction(count: float, total: int) -> float:
    return count / total if total else float("nan")
