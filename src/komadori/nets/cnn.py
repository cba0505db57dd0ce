"""The plain CNN of the diary and of pydlshogi.

    layer 1, 3x3 --+
    hands, 1x1   --+-- relu -- layers 2 .. n-1, 3x3 + relu -- layer n, the heads

Layers 1 to `norms` have batch norm, before or after their ReLU.

Sources: diary, その4 to その9 (May 2017); pydlshogi, of Tadao Yamaoka's book 将棋AIで学ぶ
ディープラーニング (docs/sources.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.conv_trunk import plane_counts
from komadori.nets.heads import ConvValueHead, HeadsConfig, policy_head
from komadori.nets.network import Interface, Network, fold
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments

HANDS = ("1x1", "spread", "3x3")
#: Variance of the initial weights times their inputs; None for torch's default.
INITS = {"lecun": 1.0, "he": 2.0, "torch": None}


@names_arguments
@dataclass(frozen=True)
class CnnConfig(HeadsConfig):
    """Short names `cnn13x192`: layers x channels; `cnn13x192-bn9`: with `norms`; `pydlshogi`: 13
    layers of 192 without norms.

    layers: convolutions, the last of them the policy's 1x1.
    hands: input of the constant planes: 1x1, by a 1x1 convolution; spread, the same on one value
    per plane, broadcast over the board; 3x3, as board planes.
    kernels: kernel sizes of the first layer, which divide its channels.
    init: of the convolutions: lecun, normal of variance 1 / inputs and biases of 0, as in Chainer
    and so in the diary; he, of variance 2 / inputs; torch, its default.
    """

    layers: int = 13
    channels: int = 192
    norms: int = 9
    norm_after_relu: bool = False
    hands: str = "1x1"
    kernels: tuple[int, ...] = (3,)
    init: str = "lecun"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kernels", tuple(self.kernels))  # a list in a card's JSON
        if self.layers < 2 or self.channels < 1:
            raise ValueError("a CNN needs layers >= 2, channels >= 1")
        if not 0 <= self.norms < self.layers:
            raise ValueError("norms follow layers 1 to layers - 1 at most")
        if self.hands not in HANDS:
            raise ValueError(f"unknown hands {self.hands!r}; one of {', '.join(HANDS)}")
        if self.init not in INITS:
            raise ValueError(f"unknown init {self.init!r}; one of {', '.join(INITS)}")
        if not self.kernels or any(k < 1 or k % 2 == 0 for k in self.kernels):
            raise ValueError("kernels are odd sizes")
        if len(self.kernels) > self.channels:
            raise ValueError("each kernel size needs a channel")


class NormedRelu(nn.Module):
    """ReLU, with a batch norm before it, after it, or none."""

    def __init__(self, channels: int, *, norm: bool, after: bool) -> None:
        super().__init__()
        self.before: nn.Module = nn.BatchNorm2d(channels) if norm and not after else nn.Identity()
        self.after: nn.Module = nn.BatchNorm2d(channels) if norm and after else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.after(F.relu(self.before(x)))
        return out


class CnnLayer(nn.Module):
    """3x3 convolution and `NormedRelu`."""

    def __init__(self, channels: int, *, norm: bool, after: bool) -> None:
        super().__init__()
        has_bias = after or not norm
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=has_bias)
        self.relu = NormedRelu(channels, norm=norm, after=after)

    def fold(self) -> None:
        if isinstance(self.relu.before, nn.BatchNorm2d):
            self.conv = fold(self.conv, self.relu.before)
            self.relu.before = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.conv(x))
        return out


class FirstLayer(nn.Module):
    """Board and constant planes to channels; the constant ones by the config's `hands`."""

    def __init__(self, config: CnnConfig, board: int, constant: int) -> None:
        super().__init__()
        self.hands = config.hands
        has_norm = config.norms > 0
        has_bias = config.norm_after_relu or not has_norm
        if config.hands == "3x3":
            board, constant = board + constant, 0
        count = len(config.kernels)
        widths = [(config.channels + i) // count for i in range(count)]
        self.board = nn.ModuleList(
            nn.Conv2d(board, width, size, padding=size // 2, bias=has_bias)
            for width, size in zip(widths, config.kernels, strict=True)
        )
        self.constant = nn.Conv2d(constant, config.channels, 1, bias=False) if constant else None
        self.relu = NormedRelu(config.channels, norm=has_norm, after=config.norm_after_relu)

    def forward(self, *inputs: Tensor) -> Tensor:
        board = torch.cat(inputs, 1) if self.hands == "3x3" else inputs[0]
        x = torch.cat([conv(board) for conv in self.board], 1)
        if self.constant is not None:
            hands = inputs[1][:, :, :1, :1] if self.hands == "spread" else inputs[1]
            x = x + self.constant(hands)
        out: Tensor = self.relu(x)
        return out


@names_arguments
class Cnn(Network):
    """Inputs [N, planes, 9, 9]: board planes and, for most feature sets, constant ones."""

    def __init__(self, config: CnnConfig, interface: Interface) -> None:
        super().__init__()
        board, *constant = plane_counts(interface, "cnn")
        self.config = config
        self.interface = interface
        self.first = FirstLayer(config, board, sum(constant))
        self.layers = nn.Sequential(
            *(
                CnnLayer(config.channels, norm=n <= config.norms, after=config.norm_after_relu)
                for n in range(2, config.layers)
            )
        )
        self.policy = policy_head(config, config.channels, interface)
        self.value = ConvValueHead(config, config.channels)
        _initialise(self, INITS[config.init])

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        trunk = self.layers(self.first(*inputs))
        return self.policy(trunk), self.value(trunk)


def _initialise(network: nn.Module, variance: float | None) -> None:
    if variance is None:
        return
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            inputs = module.weight[0].numel()
            nn.init.normal_(module.weight, 0.0, (variance / inputs) ** 0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _parse(name: str) -> CnnConfig | None:
    if name == "pydlshogi":
        return CnnConfig(13, 192, norms=0)
    match = re.fullmatch(r"cnn(\d+)x(\d+)(?:-bn(\d+))?", name)
    if match is None:
        return None
    layers, channels = int(match[1]), int(match[2])
    return CnnConfig(layers, channels, norms=int(match[3]) if match[3] else min(9, layers - 1))


def _short_name(config: CnnConfig) -> str:
    suffix = "" if config.norms == min(9, config.layers - 1) else f"-bn{config.norms}"
    return f"cnn{config.layers}x{config.channels}{suffix}"


register(Family("cnn", CnnConfig, Cnn, _parse, _short_name))
