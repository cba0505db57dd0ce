"""Averages of the weights over the steps, and the batch norms' statistics that fit them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from komadori.nets import Network
from komadori.training.config import LoopConfig


class WeightAverage:
    """Moves `averaged` with `trained`: exponentially (EMA), or as the mean of the weights at
    every `swa_every`-th step from `swa_start` on (SWA, arXiv 1803.05407), never at step 0."""

    def __init__(self, config: LoopConfig, trained: Network, averaged: Network) -> None:
        self.config, self.trained, self.averaged = config, trained, averaged
        self._first = config.swa_start or config.swa_every

    def has_begun(self, step: int) -> bool:
        """Whether the average holds anything after so many steps."""
        return not self.config.swa_every or step >= self._first

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights as they are after `step` steps."""
        config = self.config
        if config.swa_every:
            taken, rest = divmod(step - self._first, config.swa_every)
            if taken < 0 or rest:
                return
            weight = 1 / (taken + 1)
        else:
            weight = 1 - config.ema_decay
        target = self.trained.state_dict()
        for name, mean in self.averaged.state_dict().items():
            if mean.is_floating_point():
                mean.lerp_(target[name], weight)
            else:
                mean.copy_(target[name])


@torch.no_grad()
def estimate_norms(network: Network, batches: int, forward: Callable[[], object]) -> None:
    """Set each batch norm's statistics to their means over so many calls of `forward`.

    `forward` runs the network on a batch of its own choice. The network is left in
    evaluation mode.
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
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()
