"""ResNet (arXiv 1512.03385) of dlshogi's shape: the baseline.

Stem: 3x3 convolution of the board planes plus 1x1 convolution of the constant planes. Block:
3x3-BN-act-3x3-BN, skip, act.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import Tensor, nn

from komadori.nets.conv_trunk import ConvTrunk
from komadori.nets.heads import HeadsConfig
from komadori.nets.layers import ACTIVATIONS, Activation, SqueezeExcitation, check_activation
from komadori.nets.network import Interface, fold
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class ResNetConfig(HeadsConfig):
    """Section `[net]` with `family = "resnet"`; Short name `resnet5x64`: blocks x channels.

    squeeze: squeeze-and-excitation with channels / squeeze hidden units per block; 0 for none.
    """

    blocks: int = 10
    channels: int = 192
    activation: str = "relu"
    squeeze: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.channels < 1 or self.squeeze < 0:
            raise ValueError("a ResNet needs blocks >= 0, channels >= 1, squeeze >= 0")
        check_activation(self.activation)


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, activation: Activation, squeeze: int = 0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1: nn.Module = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2: nn.Module = nn.BatchNorm2d(channels)
        self.squeeze = SqueezeExcitation(channels, squeeze) if squeeze else nn.Identity()
        self.activation = activation

    def fold(self) -> None:
        self.conv1 = fold(self.conv1, self.norm1)
        self.conv2 = fold(self.conv2, self.norm2)
        self.norm1 = self.norm2 = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.activation(self.norm1(self.conv1(x)))
        out: Tensor = self.activation(x + self.squeeze(self.norm2(self.conv2(y))))
        return out


@names_arguments
class ResNet(ConvTrunk):
    def __init__(self, config: ResNetConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        blocks = (
            ResidualBlock(config.channels, activation, config.squeeze) for _ in range(config.blocks)
        )
        super().__init__(config, interface, config.channels, activation, blocks)


def _parse(name: str) -> ResNetConfig | None:
    match = re.fullmatch(r"resnet(\d+)x(\d+)(-se)?(?:-(\w+))?", name)
    if match is None:
        return None
    blocks, channels, squeeze, activation = match.groups()
    return ResNetConfig(int(blocks), int(channels), activation or "relu", 16 if squeeze else 0)


def _short_name(config: ResNetConfig) -> str:
    squeeze = "-se" if config.squeeze else ""
    suffix = "" if config.activation == "relu" else f"-{config.activation}"
    return f"resnet{config.blocks}x{config.channels}{squeeze}{suffix}"


register(Family("resnet", ResNetConfig, ResNet, _parse, _short_name))
