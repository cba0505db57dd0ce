"""Averages of the weights over steps, and batch norm statistics for them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from komadori.nets import Network
from komadori.training.config import LoopConfig


class WeightAverage:
    """Keeps `averaged` as an exponential moving average of `trained` (EMA), or as the mean of its
    weights at every `swa_every`-th step from `swa_start` (SWA, arXiv 1803.05407).

    The EMA's decay at step n is at most (1 + n) / (10 + n), so that a short run forgets its initial
    weights, too.
    """

    def __init__(self, config: LoopConfig, trained: Network, averaged: Network) -> None:
        self.config, self.trained, self.averaged = config, trained, averaged
        self._first = config.swa_start or config.swa_every
        target = trained.state_dict()
        pairs = [(mean, target[name]) for name, mean in averaged.state_dict().items()]
        self._floats = [(mean, new) for mean, new in pairs if mean.is_floating_point()]
        self._others = [(mean, new) for mean, new in pairs if not mean.is_floating_point()]

    def has_started(self, step: int) -> bool:
        """Whether the average has any weights after `step` steps."""
        return not self.config.swa_every or step >= self._first

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update with the weights after `step` steps."""
        config = self.config
        if config.swa_every:
            taken, rest = divmod(step - self._first, config.swa_every)
            if taken < 0 or rest:
                return
            weight = 1 / (taken + 1)
        else:
            weight = 1 - min(config.ema_decay, (1 + step) / (10 + step))
        means, news = zip(*self._floats, strict=True)
        torch._foreach_lerp_(means, news, weight)
        for mean, new in self._others:
            mean.copy_(new)


@torch.no_grad()
def estimate_norms(
    network: Network,
    batches: int,
    forward: Callable[[], object],
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Set each batch norm's statistics to their means over `batches` calls of `forward`; fewer, but
    at least one, if `stop` returns true after a call.

    `forward` runs the network on its next batch. Leaves the network in evaluation mode.
    """
    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    network.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean
        norm.train()
    for _ in range(batches):
        forward()
        if stop():
            break
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()
