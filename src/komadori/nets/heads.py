"""Policy and value heads, shared by the families."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.network import fold

SQUARES = 81


class ConvPolicyHead(nn.Module):
    """1x1 convolution to `labels / 81` planes and a bias for each label (diary, seed 000).

    Plane `p` at square `s` is logit `81 * p + s`: [N, channels, 9, 9] -> [N, labels].
    """

    def __init__(self, channels: int, labels: int) -> None:
        super().__init__()
        if labels % SQUARES:
            raise ValueError(f"{labels} labels are not whole planes of {SQUARES} squares")
        self.conv = nn.Conv2d(channels, labels // SQUARES, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(labels))

    def forward(self, trunk: Tensor) -> Tensor:
        logits: Tensor = self.conv(trunk).flatten(1) + self.bias
        return logits


class ConvValueHead(nn.Module):
    """1x1 convolution to a few planes, batch norm, one hidden layer: -> logit [N]."""

    def __init__(self, channels: int, planes: int, hidden: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, planes, 1, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(planes)
        self.hidden = nn.Linear(planes * SQUARES, hidden)
        self.out = nn.Linear(hidden, 1)

    def fold(self) -> None:
        """Fold the norm into the convolution; evaluation only from then on."""
        self.conv = fold(self.conv, self.norm)
        self.norm = nn.Identity()

    def forward(self, trunk: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(trunk)))
        x = F.relu(self.hidden(x.flatten(1)))
        logit: Tensor = self.out(x).squeeze(1)
        return logit
