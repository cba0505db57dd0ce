"""KataGo's nested bottleneck ResNet with global pooling bias.

Block, pre-activated: 1x1 to half the channels, two residual pairs of 3x3, 1x1 back, skip. In every
`pool_every`-th block a parallel 3x3 is globally pooled (mean and max) into a bias of the first 3x3.
Optionally cross blocks replace some second pairs, attention those of the last blocks
(`whole_board`).

Source: lightvector/KataGo, docs/KataGoMethods.md; NestedBottleneckResBlock, KataConvAndGPool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from komadori.nets.conv_trunk import ConvTrunk
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
from komadori.nets.registry import Family, register
from komadori.nets.whole_board import CrossBlock, SquareAttention, is_chosen
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class BottleneckConfig(HeadsConfig):
    """Short names `bottleneck10x192`: blocks x channels; `bottleneck6x128+cross3+attention1`: with
    evenly interleaved cross blocks and final attention in place of second pairs.

    pool_every: 0 for no pooling bias. heads, feed_forward: of the attention.
    """

    blocks: int = 10
    channels: int = 192
    activation: str = "relu"
    pool_every: int = 3
    pool_channels: int = 32
    cross: int = 0
    attention: int = 0
    heads: int = 4
    feed_forward: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.channels < 2 or self.channels % 2:
            raise ValueError("a nested bottleneck needs blocks >= 0 and an even width")
        if self.pool_every < 0 or self.pool_channels < 1:
            raise ValueError("pool_every >= 0 and pool_channels >= 1")
        if min(self.cross, self.attention) < 0 or min(self.heads, self.feed_forward) < 1:
            raise ValueError("cross and attention >= 0, heads and feed_forward >= 1")
        if self.cross + self.attention > self.blocks:
            raise ValueError("cross and attention are at most as many as the blocks")
        if self.attention and self.channels // 2 % self.heads:
            raise ValueError(
                f"half of {self.channels} channels doesn't divide among {self.heads} heads"
            )
        check_activation(self.activation)


class PoolingBias(nn.Module):
    """3x3 convolution plus a bias from the globally pooled output of another one."""

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
    """second: replaces the second pair."""

    def __init__(
        self, channels: int, activation: Activation, pooled: int, second: nn.Module | None = None
    ) -> None:
        super().__init__()
        half = channels // 2
        pool = PoolingBias(half, pooled, activation) if pooled else None
        self.down = NormConv(channels, half, 1, activation)
        self.pairs = nn.Sequential(
            PreActivationPair(half, activation, first=pool),
            second or PreActivationPair(half, activation),
        )
        self.up = NormConv(half, channels, 1, activation)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.up(self.pairs(self.down(x)))
        return out


@names_arguments
class Bottleneck(ConvTrunk):
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
                    _second(config, block, activation),
                )
                for block in range(config.blocks)
            ),
            pre_activated=True,
        )


def _second(config: BottleneckConfig, block: int, activation: Activation) -> nn.Module | None:
    """The block's replacement of its second pair, if any."""
    half, before = config.channels // 2, config.blocks - config.attention
    if block >= before:
        return SquareAttention(
            half, config.heads, config.feed_forward, activation, pre_activated=True
        )
    if is_chosen(block, config.cross, before):
        return CrossBlock(half, activation, pre_activated=True)
    return None


def _parse(name: str) -> BottleneckConfig | None:
    match = re.fullmatch(r"bottleneck(\d+)x(\d+)(?:\+cross(\d+))?(?:\+attention(\d+))?", name)
    if match is None:
        return None
    blocks, channels, cross, attention = (int(number or 0) for number in match.groups())
    return BottleneckConfig(blocks, channels, cross=cross, attention=attention)


def _short_name(config: BottleneckConfig) -> str:
    others = {"cross": config.cross, "attention": config.attention}
    ends = "".join(f"+{name}{count}" for name, count in others.items() if count)
    return f"bottleneck{config.blocks}x{config.channels}{ends}"


register(Family("bottleneck", BottleneckConfig, Bottleneck, _parse, _short_name))
