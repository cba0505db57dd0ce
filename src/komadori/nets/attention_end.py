"""ResNet with interleaved cross blocks and final attention layers over the squares."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import nn

from komadori.nets.conv_trunk import ConvTrunk
from komadori.nets.heads import HeadsConfig
from komadori.nets.layers import ACTIVATIONS, check_activation
from komadori.nets.network import Interface
from komadori.nets.registry import Family, register
from komadori.nets.resnet import ResidualBlock
from komadori.nets.whole_board import CrossBlock, SquareAttention, is_chosen
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class AttentionEndConfig(HeadsConfig):
    """Short name `resnet8x96+cross2+attention1`: residual blocks x channels, cross blocks,
    attention layers.

    cross: number of cross blocks, evenly interleaved.
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


@names_arguments
class AttentionEnd(ConvTrunk):
    def __init__(self, config: AttentionEndConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        blocks: list[nn.Module] = []
        for block in range(config.blocks):
            blocks.append(ResidualBlock(config.channels, activation))
            if is_chosen(block, config.cross, config.blocks):
                blocks.append(CrossBlock(config.channels, activation, pre_activated=False))
        blocks += [
            SquareAttention(
                config.channels, config.heads, config.feed_forward, activation, pre_activated=False
            )
            for _ in range(config.attention)
        ]
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
