"""ResNet with whole files and ranks in each block's receptive field.

In each block's first convolution `strip` channels have a 9x1 kernel and `strip` a 1x9 kernel; their
single row or column is broadcast over the board. The others are 3x3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from komadori.nets.conv_trunk import ConvTrunk
from komadori.nets.heads import HeadsConfig
from komadori.nets.layers import ACTIVATIONS, Activation, ConvNorm, check_activation
from komadori.nets.network import Interface
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class StripsConfig(HeadsConfig):
    """Short name `strips10x96`: blocks x channels."""

    blocks: int = 10
    channels: int = 96
    activation: str = "relu"
    strip: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.strip < 1 or self.channels <= 2 * self.strip:
            raise ValueError("strips need blocks >= 0, strip >= 1, channels > 2 * strip")
        check_activation(self.activation)


class StripBlock(nn.Module):
    def __init__(self, channels: int, strip: int, activation: Activation) -> None:
        super().__init__()
        self.near = ConvNorm(channels, channels - 2 * strip, 3)
        self.along_file = ConvNorm(channels, strip, (1, 9), same=False)
        self.along_rank = ConvNorm(channels, strip, (9, 1), same=False)
        self.second = ConvNorm(channels, channels, 3)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        strips = (self.along_file(x), self.along_rank(x))  # [N, strip, 9, 1], [N, strip, 1, 9]
        parts = [self.near(x), *(strip.expand(-1, -1, 9, 9) for strip in strips)]
        return self.activation(x + self.second(self.activation(torch.cat(parts, 1))))


@names_arguments
class Strips(ConvTrunk):
    def __init__(self, config: StripsConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        blocks = (
            StripBlock(config.channels, config.strip, activation) for _ in range(config.blocks)
        )
        super().__init__(config, interface, config.channels, activation, blocks)


def _parse(name: str) -> StripsConfig | None:
    match = re.fullmatch(r"strips(\d+)x(\d+)", name)
    if match is None:
        return None
    channels = int(match[2])
    return StripsConfig(int(match[1]), channels, strip=min(16, max(1, channels // 6)))


def _short_name(config: StripsConfig) -> str:
    return f"strips{config.blocks}x{config.channels}"


register(Family("strips", StripsConfig, Strips, _parse, _short_name))
