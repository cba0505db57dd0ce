"""Policy and value heads, shared by the families."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.layers import ACTIVATIONS, ConvNorm, check_activation
from komadori.nets.network import Interface, fold
from komadori.wording import names_arguments

SQUARES = 81
#: Labels of an origin output: the squares, then drops of P L N S B R G.
ORIGINS = SQUARES + 7

POLICIES = ("conv", "linear", "conv-linear")
VALUES = ("sigmoid", "tanh", "wdl")


def check_value(kind: str) -> None:
    """Raise ValueError for an unknown value output."""
    if kind not in VALUES:
        raise ValueError(f"unknown value {kind!r}; one of {', '.join(VALUES)}")


@names_arguments
@dataclass(frozen=True, kw_only=True)
class HeadsConfig:
    """The heads' settings in a family's `[model.net]`.

    policy: conv, a 1x1 convolution to the labels' planes; linear, fully connected;
    conv-linear, a 1x1 convolution to `policy_planes` and then fully connected (diary, その47).
    policy_bias: a bias per label, of `conv` and of separate outputs.
    value: sigmoid; tanh, for the squared error; wdl, logits of win, draw and loss.
    value_planes, value_hidden: 1x1 convolution, then one hidden layer, both with
    `value_activation`.
    """

    policy: str = "conv"
    policy_planes: int = 101
    policy_bias: bool = True
    value: str = "sigmoid"
    value_planes: int = 8
    value_hidden: int = 128
    value_activation: str = "relu"

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"unknown policy {self.policy!r}; one of {', '.join(POLICIES)}")
        check_value(self.value)
        check_activation(self.value_activation)
        if min(self.policy_planes, self.value_planes, self.value_hidden) < 1:
            raise ValueError("the heads need widths >= 1")


class ConvPolicyHead(nn.Module):
    """1x1 convolution to `labels / 81` planes and a bias per label, as in the diary and dlshogi.

    Plane `p` at square `s` is logit `81 * p + s`: [N, channels, 9, 9] -> [N, labels].
    """

    bias: nn.Parameter | None

    def __init__(self, channels: int, labels: int, *, bias: bool = True) -> None:
        super().__init__()
        if labels % SQUARES:
            raise ValueError(
                f"{labels} labels are not whole planes of {SQUARES} squares: "
                "the policy head must be linear or conv-linear"
            )
        self.conv = nn.Conv2d(channels, labels // SQUARES, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(labels)) if bias else None

    def forward(self, trunk: Tensor) -> Tensor:
        logits: Tensor = self.conv(trunk).flatten(1)
        return logits if self.bias is None else logits + self.bias


class OriginPolicyHead(nn.Module):
    """Logits [N, 88] of origins: 81 squares by convolution, 7 drops from the board's mean."""

    def __init__(self, channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.squares = ConvPolicyHead(channels, SQUARES, bias=bias)
        self.drops = nn.Linear(channels, ORIGINS - SQUARES, bias=bias)

    def forward(self, trunk: Tensor) -> Tensor:
        return torch.cat((self.squares(trunk), self.drops(trunk.mean((2, 3)))), 1)


class LinearPolicyHead(nn.Module):
    """Fully connected over the trunk, or over `planes` of a 1x1 convolution: -> [N, labels]."""

    def __init__(self, channels: int, labels: int, planes: int = 0) -> None:
        super().__init__()
        self.planes = ConvNorm(channels, planes, 1) if planes else None
        self.out = nn.Linear((planes or channels) * SQUARES, labels)

    def forward(self, trunk: Tensor) -> Tensor:
        if self.planes is not None:
            trunk = F.relu(self.planes(trunk))
        logits: Tensor = self.out(trunk.flatten(1))
        return logits


class SeveralPolicyHeads(nn.Module):
    """Separate policy outputs, their logits concatenated."""

    def __init__(self, heads: list[nn.Module]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, trunk: Tensor) -> Tensor:
        return torch.cat([head(trunk) for head in self.heads], 1)


def policy_head(config: HeadsConfig, channels: int, interface: Interface) -> nn.Module:
    """The head [N, channels, 9, 9] -> [N, labels] that the config describes."""
    if len(interface.heads) > 1:
        parts = [Interface(interface.inputs, size) for size in interface.heads]
        return SeveralPolicyHeads([policy_head(config, channels, part) for part in parts])
    if config.policy == "conv" and interface.labels == ORIGINS:
        return OriginPolicyHead(channels, bias=config.policy_bias)
    if config.policy == "conv":
        return ConvPolicyHead(channels, interface.labels, bias=config.policy_bias)
    planes = config.policy_planes if config.policy == "conv-linear" else 0
    return LinearPolicyHead(channels, interface.labels, planes)


class ValueOutput(nn.Linear):
    """The last layer: [N, inputs] -> logit [N], or [N, 3] logits of win, draw and loss."""

    def __init__(self, inputs: int, kind: str) -> None:
        super().__init__(inputs, 3 if kind == "wdl" else 1)
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        out = super().forward(x)
        if self.kind == "wdl":
            return out
        # (1 + tanh(u)) / 2 = sigmoid(2 u)
        return (2 * out if self.kind == "tanh" else out).squeeze(1)


class ConvValueHead(nn.Module):
    """1x1 convolution to a few planes, batch norm, one hidden layer, the output."""

    def __init__(self, config: HeadsConfig, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, config.value_planes, 1, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(config.value_planes)
        self.hidden = nn.Linear(config.value_planes * SQUARES, config.value_hidden)
        self.out = ValueOutput(config.value_hidden, config.value)
        self.activation = ACTIVATIONS[config.value_activation]

    def fold(self) -> None:
        self.conv = fold(self.conv, self.norm)
        self.norm = nn.Identity()

    def forward(self, trunk: Tensor) -> Tensor:
        x = self.activation(self.norm(self.conv(trunk)))
        value: Tensor = self.out(self.activation(self.hidden(x.flatten(1))))
        return value
