"""ResNet with cross blocks that ends in attention over the 81 squares with a static bias.

Among the residual blocks: cross blocks, which see the whole file and rank at once (dlshogi's
`exp` networks): full 9x1 and 1x9 and 1x1 convolutions, each normalised, summed by broadcast,
twice, and a skip. At the end: multi-head attention by 1x1 convolutions, with batch norm instead
of layer norm, and a feed-forward pair, each with a skip. The bias [heads, 81, 81] is learned and
the same for every position (lc0's blog of 2024 on its BT4 network: a static bias is worth half
as much again in size).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from komadori.nets.heads import SQUARES, HeadsConfig
from komadori.nets.layers import ACTIVATIONS, Activation, ConvNorm, check_activation
from komadori.nets.network import Interface
from komadori.nets.planes import PlaneNetwork
from komadori.nets.registry import Family, register
from komadori.nets.resnet import ResidualBlock


@dataclass(frozen=True)
class AttentionEndConfig(HeadsConfig):
    """`resnet8x96+cross2+attention1` is short for residual blocks x channels, cross blocks and
    attention layers.

    cross: cross blocks, spread evenly among the residual ones.
    """

    blocks: int = 8
    channels: int = 96
    attention: int = 1
    cross: int = 0
    heads: int = 4
    feed_forward: int = 2
    activation: str = "relu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.blocks, self.attention) < 0 or min(self.heads, self.feed_forward) < 1:
            raise ValueError("blocks and attention >= 0, heads and feed_forward >= 1")
        if not 0 <= self.cross <= self.blocks:
            raise ValueError("cross blocks are at most as many as residual ones")
        if self.channels < 1 or self.channels % self.heads:
            raise ValueError(f"{self.channels} channels don't divide among {self.heads} heads")
        check_activation(self.activation)


class CrossLayer(nn.Module):
    """[N, channels, 9, 9] to the same: what a file, a rank and a square tell, added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.file = ConvNorm(channels, channels, (1, 9), same=False)
        self.rank = ConvNorm(channels, channels, (9, 1), same=False)
        self.square = ConvNorm(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.square(x) + self.file(x) + self.rank(x)
        return out


class CrossBlock(nn.Module):
    def __init__(self, channels: int, activation: Activation) -> None:
        super().__init__()
        self.first, self.second = CrossLayer(channels), CrossLayer(channels)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(x + self.second(self.activation(self.first(x))))


class SquareAttention(nn.Module):
    """[N, channels, 9, 9] to the same."""

    def __init__(self, config: AttentionEndConfig, activation: Activation) -> None:
        super().__init__()
        channels, wide = config.channels, config.channels * config.feed_forward
        self.heads = config.heads
        self.project = nn.Conv2d(channels, 3 * channels, 1)
        self.bias = nn.Parameter(torch.zeros(config.heads, SQUARES, SQUARES))
        self.mix = ConvNorm(channels, channels, 1)
        self.widen = ConvNorm(channels, wide, 1)
        self.narrow = ConvNorm(wide, channels, 1)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        each = x.shape[1] // self.heads
        parts = self.project(x).reshape(-1, 3, self.heads, each, SQUARES)
        query, key, value = parts.unbind(1)  # [N, heads, each, 81]
        scores = query.transpose(2, 3) @ key * each**-0.5 + self.bias
        mixed = value @ scores.softmax(3).transpose(2, 3)
        x = x + self.mix(mixed.reshape(-1, x.shape[1], 9, 9))
        return self.activation(x + self.narrow(self.activation(self.widen(x))))


class AttentionEnd(PlaneNetwork):
    def __init__(self, config: AttentionEndConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        blocks: list[nn.Module] = []
        for block in range(config.blocks):
            blocks.append(ResidualBlock(config.channels, activation))
            if (block + 1) * config.cross // config.blocks > block * config.cross // config.blocks:
                blocks.append(CrossBlock(config.channels, activation))
        blocks += [SquareAttention(config, activation) for _ in range(config.attention)]
        super().__init__(config, interface, config.channels, activation, blocks)


def _parse(name: str) -> AttentionEndConfig | None:
    match = re.fullmatch(r"resnet(\d+)x(\d+)(?:\+cross(\d+))?\+attention(\d+)", name)
    if match is None:
        return None
    blocks, channels, cross, attention = (int(number or 0) for number in match.groups())
    return AttentionEndConfig(blocks, channels, attention, cross)


def _short_name(config: AttentionEndConfig) -> str:
    cross = f"+cross{config.cross}" if config.cross else ""
    return f"resnet{config.blocks}x{config.channels}{cross}+attention{config.attention}"


register(Family("attention-end", AttentionEndConfig, AttentionEnd, _parse, _short_name))
