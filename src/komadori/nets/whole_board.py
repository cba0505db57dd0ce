"""Blocks with the whole board, or a whole file and rank, in their receptive field.

Cross block (dlshogi's `exp` networks): 9x1, 1x9 and 1x1 convolutions with batch norm, summed by
broadcasting, twice, and a skip. Square attention: multi-head attention over the 81 squares by 1x1
convolutions, batch norm instead of layer norm, and a feed-forward pair, each with a skip. Its bias
[heads, 81, 81] is learned and the same for all positions (LeelaChessZero/lc0, blog on BT4, 2024: a
static bias gains as much as a network half as large again).

Pre-activated blocks, for pre-activated trunks, start with batch norm (and activation, before
convolutions); the others end with an activation.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from komadori.nets.heads import SQUARES
from komadori.nets.layers import Activation, ConvNorm
from komadori.nets.watching import is_watched, show_weights


def is_chosen(item: int, count: int, among: int) -> bool:
    """Whether `item` (from 0) is among `count` items evenly spaced in `among`."""
    return (item + 1) * count // among > item * count // among


class CrossLayer(nn.Module):
    """[N, channels, 9, 9] to the same: sum of file, rank and square convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.file = ConvNorm(channels, channels, (1, 9), same=False)
        self.rank = ConvNorm(channels, channels, (9, 1), same=False)
        self.square = ConvNorm(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.square(x) + self.file(x) + self.rank(x)
        return out


class CrossBlock(nn.Module):
    """[N, channels, 9, 9] to the same."""

    def __init__(self, channels: int, activation: Activation, *, pre_activated: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels) if pre_activated else None
        self.first, self.second = CrossLayer(channels), CrossLayer(channels)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        if self.norm is None:
            return self.activation(x + self.second(self.activation(self.first(x))))
        inner = self.first(self.activation(self.norm(x)))
        out: Tensor = x + self.second(self.activation(inner))
        return out


class SquareAttention(nn.Module):
    """[N, channels, 9, 9] to the same. feed_forward: width factor of the feed-forward pair."""

    def __init__(
        self,
        channels: int,
        heads: int,
        feed_forward: int,
        activation: Activation,
        *,
        pre_activated: bool,
    ) -> None:
        super().__init__()
        wide = channels * feed_forward
        self.heads = heads
        self.norm = nn.BatchNorm2d(channels) if pre_activated else None
        self.project = nn.Conv2d(channels, 3 * channels, 1)
        self.bias = nn.Parameter(torch.zeros(heads, SQUARES, SQUARES))
        self.mix = ConvNorm(channels, channels, 1)
        self.widen = ConvNorm(channels, wide, 1)
        self.narrow = ConvNorm(wide, channels, 1)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        each = x.shape[1] // self.heads
        inner = x if self.norm is None else self.norm(x)
        parts = self.project(inner).reshape(-1, 3, self.heads, each, SQUARES)
        query, key, value = parts.unbind(1)  # [N, heads, each, 81]
        scores = query.transpose(2, 3) @ key * each**-0.5 + self.bias
        weights = scores.softmax(3)
        if is_watched():
            show_weights(weights)
        mixed = value @ weights.transpose(2, 3)
        x = x + self.mix(mixed.reshape(-1, x.shape[1], 9, 9))
        out: Tensor = x + self.narrow(self.activation(self.widen(x)))
        return out if self.norm is not None else self.activation(out)
