"""KataGo's nested bottleneck transformer (lightvector/KataGo, version 1.17, 2026), for GPUs.

Block, pre-activated: 1x1 to half the channels, a few transformer layers there, 1x1 back, skip.
Layer: RMSNorm, attention over the 81 squares, skip; RMSNorm, SwiGLU (arXiv 2002.05202), skip.
Positions are encoded by two-dimensional rotary embeddings (RoPE, arXiv 2104.09864): each pair of
query and key components rotates by an angle linear in file and rank, with learned frequencies.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.conv_trunk import ConvTrunk
from komadori.nets.heads import SQUARES, HeadsConfig
from komadori.nets.layers import (
    ACTIVATIONS,
    Activation,
    NormConv,
    attend,
    check_activation,
)
from komadori.nets.network import Interface
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments

#: Lowest and highest initial frequency, radians per square: half a turn over the board, a quarter
#: turn per square.
_TURNS = (math.pi / 8, math.pi / 2)


@names_arguments
@dataclass(frozen=True)
class BottleneckTransformerConfig(HeadsConfig):
    """Short name `transformer10x384`: blocks x channels.

    layers: transformer layers per block. heads: over half the channels; 0 for heads of width 32.
    feed_forward: hidden units of SwiGLU; 0 for 8/3 of half the channels, the cost of the usual
    factor 4 without a gate. activation: of the 1x1 convolutions.
    """

    blocks: int = 10
    channels: int = 384
    layers: int = 2
    heads: int = 0
    feed_forward: int = 0
    activation: str = "relu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.layers < 1 or min(self.heads, self.feed_forward) < 0:
            raise ValueError("blocks >= 0, layers >= 1, heads and feed_forward >= 0")
        if self.channels < 4 or self.channels % 4:
            raise ValueError("channels is a multiple of 4")
        if self.half % self.head_count or self.half // self.head_count % 2:
            raise ValueError(
                f"half of {self.channels} channels is no even number for each of "
                f"{self.head_count} heads"
            )
        check_activation(self.activation)

    @property
    def half(self) -> int:
        return self.channels // 2

    @property
    def head_count(self) -> int:
        return self.heads or max(1, self.half // 32)

    @property
    def hidden(self) -> int:
        return self.feed_forward or max(8, round(self.half / 3) * 8)


class RmsNorm(nn.Module):
    """x / sqrt(mean(x^2)) * scale over the last axis (arXiv 1910.07467)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return (normed * self.scale).to(x.dtype)


class Rotation(nn.Module):
    """Rotates [N, heads, 81, each] by square; component i pairs with i + each / 2."""

    squares: Tensor

    def __init__(self, heads: int, each: int) -> None:
        super().__init__()
        square = torch.arange(SQUARES)
        places = torch.stack((square // 9, square % 9), 1).float()  # file and rank
        self.register_buffer("squares", places, persistent=False)
        pairs = each // 2
        speed = torch.logspace(
            math.log10(_TURNS[0]), math.log10(_TURNS[1]), max(1, (pairs + 1) // 2)
        )
        frequency = torch.zeros(heads, pairs, 2)
        frequency[:, 0::2, 0] = speed[: (pairs + 1) // 2]  # pairs of the file ...
        frequency[:, 1::2, 1] = speed[: pairs // 2]  # ... and of the rank, in turn
        self.frequency = nn.Parameter(frequency)

    def forward(self, x: Tensor) -> Tensor:
        angle = self.squares @ self.frequency.transpose(1, 2)  # [heads, 81, pairs]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        x = x.contiguous()  # for vectorised products
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
        return x * torch.cat((cos, cos), -1) + turned * torch.cat((sin, sin), -1)


class TransformerLayer(nn.Module):
    """[N, 81, width] to the same."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.rotate = Rotation(heads, width // heads)
        self.mix = nn.Linear(width, width, bias=False)
        self.widen = nn.Linear(width, 2 * hidden, bias=False)
        self.narrow = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        n, squares, width = x.shape
        parts = self.project(self.norm1(x)).reshape(n, squares, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)  # [n, heads, 81, each]
        mixed = attend(self.rotate(query), self.rotate(key), value)
        x = x + self.mix(mixed.transpose(1, 2).reshape(n, squares, width))
        gate, wide = self.widen(self.norm2(x)).chunk(2, -1)
        out: Tensor = x + self.narrow(F.silu(gate) * wide)
        return out


class TransformerBlock(nn.Module):
    def __init__(self, config: BottleneckTransformerConfig, activation: Activation) -> None:
        super().__init__()
        half = config.half
        self.down = NormConv(config.channels, half, 1, activation)
        self.layers = nn.Sequential(
            *(
                TransformerLayer(half, config.head_count, config.hidden)
                for _ in range(config.layers)
            )
        )
        self.up = NormConv(half, config.channels, 1, activation)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.down(x).flatten(2).transpose(1, 2)
        mixed = self.layers(tokens).transpose(1, 2)
        out: Tensor = x + self.up(mixed.reshape(-1, mixed.shape[1], 9, 9))
        return out


@names_arguments
class BottleneckTransformer(ConvTrunk):
    def __init__(self, config: BottleneckTransformerConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        blocks = (TransformerBlock(config, activation) for _ in range(config.blocks))
        super().__init__(config, interface, config.channels, activation, blocks, pre_activated=True)


def _parse(name: str) -> BottleneckTransformerConfig | None:
    match = re.fullmatch(r"transformer(\d+)x(\d+)", name)
    return BottleneckTransformerConfig(int(match[1]), int(match[2])) if match else None


def _short_name(config: BottleneckTransformerConfig) -> str:
    return f"transformer{config.blocks}x{config.channels}"


register(
    Family(
        "bottleneck-transformer",
        BottleneckTransformerConfig,
        BottleneckTransformer,
        _parse,
        _short_name,
    )
)
