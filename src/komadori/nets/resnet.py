"""ResNet of b blocks and c channels, the field's yardstick (dlshogi's shape).

Stem: a 3x3 convolution of the board planes plus a 1x1 convolution of each constant
plane. Block: 3x3-BN-act-3x3-BN, skip, act.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.heads import ConvPolicyHead, ConvValueHead
from komadori.nets.network import Interface, Network, fold
from komadori.nets.registry import Family, register

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "swish": F.silu,
    "mish": F.mish,
}


@dataclass(frozen=True)
class ResNetConfig:
    """Section `[net]` with `family = "resnet"`; `resnet5x64` is short for blocks x channels."""

    blocks: int = 10
    channels: int = 192
    activation: str = "relu"
    #: Planes and units of the value head: 1x1 convolution, then one hidden layer.
    value_planes: int = 8
    value_hidden: int = 128

    def __post_init__(self) -> None:
        if self.blocks < 0 or min(self.channels, self.value_planes, self.value_hidden) < 1:
            raise ValueError("a ResNet needs blocks >= 0 and widths >= 1")
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"unknown activation {self.activation!r}; one of {known}")


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1: nn.Module = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2: nn.Module = nn.BatchNorm2d(channels)
        self.activation = activation

    def fold(self) -> None:
        """Fold both norms into their convolutions; evaluation only from then on."""
        self.conv1 = fold(self.conv1, self.norm1)
        self.conv2 = fold(self.conv2, self.norm2)
        self.norm1 = self.norm2 = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.activation(self.norm1(self.conv1(x)))
        out: Tensor = self.activation(x + self.norm2(self.conv2(y)))
        return out


class ResNet(Network):
    """Inputs [N, 62, 9, 9] and [N, 57, 9, 9] (or any two plane counts)."""

    def __init__(self, config: ResNetConfig, interface: Interface) -> None:
        super().__init__()
        if len(interface.inputs) != 2 or any(s[1:] != (9, 9) for s in interface.inputs):
            raise ValueError(
                "resnet takes two input tensors (board and constant planes), "
                f"the feature set has {interface.inputs}"
            )
        board, constant = (shape[0] for shape in interface.inputs)
        self.config = config
        self.interface = interface
        self.activation = ACTIVATIONS[config.activation]
        channels = config.channels
        self.stem_board = nn.Conv2d(board, channels, 3, padding=1, bias=False)
        self.stem_constant = nn.Conv2d(constant, channels, 1, bias=False)
        self.stem_norm: nn.Module = nn.BatchNorm2d(channels)
        self.blocks = nn.Sequential(
            *(ResidualBlock(channels, self.activation) for _ in range(config.blocks))
        )
        self.policy = ConvPolicyHead(channels, interface.labels)
        self.value = ConvValueHead(channels, config.value_planes, config.value_hidden)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        board, constant = inputs
        stem = self.stem_board(board) + self.stem_constant(constant)
        trunk = self.blocks(self.activation(self.stem_norm(stem)))
        return self.policy(trunk), self.value(trunk)

    def folded(self) -> ResNet:
        net = copy.deepcopy(self).eval()
        # The stem's norm follows a sum of two convolutions: its scale goes into both, its
        # shift into the first.
        constant = fold(net.stem_constant, net.stem_norm)
        constant.bias = None
        net.stem_constant = constant
        net.stem_board = fold(net.stem_board, net.stem_norm)
        net.stem_norm = nn.Identity()
        for block in net.blocks:
            assert isinstance(block, ResidualBlock)
            block.fold()
        net.value.fold()
        return net


def _parse(name: str) -> ResNetConfig | None:
    match = re.fullmatch(r"resnet(\d+)x(\d+)(?:-(\w+))?", name)
    if match is None:
        return None
    blocks, channels, activation = match.groups()
    return ResNetConfig(int(blocks), int(channels), activation or "relu")


def _short_name(config: ResNetConfig) -> str:
    suffix = "" if config.activation == "relu" else f"-{config.activation}"
    return f"resnet{config.blocks}x{config.channels}{suffix}"


register(Family("resnet", ResNetConfig, ResNet, _parse, _short_name))
