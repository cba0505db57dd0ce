"""Wide ResNet (arXiv 1605.07146): full pre-activation, dropout between the convolutions.

Source: diary, その48 (ResNet) and その49 (再学習), 2017.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from komadori.nets.conv_trunk import ConvTrunk
from komadori.nets.heads import HeadsConfig
from komadori.nets.layers import ACTIVATIONS, PreActivationPair, check_activation
from komadori.nets.network import Interface
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class WideResNetConfig(HeadsConfig):
    """Short name `wide-resnet5x192`: blocks x channels.

    end_activation: False omits the norm and activation before the heads: the bug that the diary
    fixed on 2017-11-19.
    """

    blocks: int = 5
    channels: int = 192
    dropout: float = 0.4
    activation: str = "relu"
    end_activation: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 0 or self.channels < 1 or not 0 <= self.dropout < 1:
            raise ValueError("a Wide ResNet needs blocks >= 0, channels >= 1, 0 <= dropout < 1")
        check_activation(self.activation)


@names_arguments
class WideResNet(ConvTrunk):
    def __init__(self, config: WideResNetConfig, interface: Interface) -> None:
        activation = ACTIVATIONS[config.activation]
        super().__init__(
            config,
            interface,
            config.channels,
            activation,
            (
                PreActivationPair(config.channels, activation, config.dropout)
                for _ in range(config.blocks)
            ),
            pre_activated=True,
            end_activation=config.end_activation,
        )


def _parse(name: str) -> WideResNetConfig | None:
    match = re.fullmatch(r"wide-resnet(\d+)x(\d+)", name)
    return WideResNetConfig(int(match[1]), int(match[2])) if match else None


def _short_name(config: WideResNetConfig) -> str:
    return f"wide-resnet{config.blocks}x{config.channels}"


register(Family("wide-resnet", WideResNetConfig, WideResNet, _parse, _short_name))
