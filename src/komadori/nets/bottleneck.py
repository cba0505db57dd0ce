"""Nested bottleneck with pooling bias (KataGo: docs/KataGoMethods.md, NestedBottleneckResBlock,
KataConvAndGPool).

Block, pre-activated: 1x1 to half the channels, two pairs of 3x3 with a skip each, 1x1 back,
skip. In every `pool_every`-th block the first 3x3 has a second one beside it, whose means and
maxima over the board become a bias of the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from komadori.nets.heads import HeadsConfig
from komadori.nets.layers import (
    ACTIVATIONS,
    Activation,
    ConvNorm,
    NormConv,
    PreActivationPair,
    check_activation,
)
from komadori.nets.network import Interface
from komadori.nets.planes import PlaneNetwork
from komadori.nets.registry import Family, register


@dataclass(frozen=True)
class BottleneckConfig(HeadsConfig):
    """`bottleneck10x192` is short for blocks x channels. pool_every: 0 for no pooling bias."""

    blocks: int = 10
    channels: int = 192
    activation: str = "relu"
    pool_every: int = 3
    pool_channels: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.channels < 2 or self.channels % 2:
            raise ValueError("a nested bottleneck needs blocks >= 0 and an even width")
        if self.pool_every < 0 or self.pool_channels < 1:
            raise ValueError("pool_every >= 0 and pool_channels >= 1")
        check_activation(self.activation)


class PoolingBias(nn.Module):
    """3x3 convolution plus a bias from the pooled output of another one."""

    def __init__(self, channels: int, pooled: int, activation: Activation) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.pooled = ConvNorm(channels, pooled, 3)
        self.bias = nn.Linear(2 * pooled, channels, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        pooled = self.activation(self.pooled(x))
        summary = torch.cat((pooled.mean((2, 3)), pooled.amax((2, 3))), 1)
        out: Tensor = self.conv(x) + self.bias(summary)[:, :, None, None]
        return out


class NestedBottleneck(nn.Module):
    def __init__(self, channels: int, activation: Activation, pooled: int) -> None:
        super().__init__()
        half = channels // 2
        pool = PoolingBias(half, pooled, activation) if pooled else None
        self.down = NormConv(channels, half, 1, activation)
        self.pairs = nn.Sequential(
            PreActivationPair(half, activation, first=pool), PreActivationPair(half, activation)
        )
        self.up = NormConv(half, channels, 1, activation)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.up(self.pairs(self.down(x)))
        return out


class Bottleneck(PlaneNetwork):
    def __init__(self, config: BottleneckConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        every = config.pool_every
        super().__init__(
            config,
            interface,
            config.channels,
            activation,
            (
                NestedBottleneck(
                    config.channels,
                    activation,
                    config.pool_channels if every and block % every == every - 1 else 0,
                )
                for block in range(config.blocks)
            ),
            pre_activated=True,
        )


def _parse(name: str) -> BottleneckConfig | None:
    match = re.fullmatch(r"bottleneck(\d+)x(\d+)", name)
    return BottleneckConfig(int(match[1]), int(match[2])) if match else None


def _short_name(config: BottleneckConfig) -> str:
    return f"bottleneck{config.blocks}x{config.channels}"


register(Family("bottleneck", BottleneckConfig, Bottleneck, _parse, _short_name))
