"""The trunk of the convolutional families: stem, blocks, heads.

board planes    --3x3--+
                       +-- norm, act -- blocks -- heads          blocks end activated
constant planes --1x1--+
                       +-- blocks -- norm, act -- heads          pre-activated blocks
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from komadori.nets.heads import ConvValueHead, HeadsConfig, policy_head
from komadori.nets.layers import Activation
from komadori.nets.network import Interface, Network, fold


def plane_counts(interface: Interface, family: str) -> tuple[int, ...]:
    """Channels of the one or two input tensors. Raises ValueError for other inputs."""
    if len(interface.inputs) not in (1, 2) or any(s[1:] != (9, 9) for s in interface.inputs):
        raise ValueError(
            f"{family} takes one or two input tensors of planes (board and constant ones), "
            f"the feature table has {interface.inputs}"
        )
    return tuple(shape[0] for shape in interface.inputs)


class ConvTrunk(Network):
    """Inputs [N, planes, 9, 9]: board planes and, for most feature tables, constant ones."""

    def __init__(
        self,
        config: HeadsConfig,
        interface: Interface,
        channels: int,
        activation: Activation,
        blocks: Iterable[nn.Module],
        *,
        pre_activated: bool = False,
        end_activation: bool = True,
    ) -> None:
        super().__init__()
        board, *constant = plane_counts(interface, type(self).__name__)
        self.config = config
        self.interface = interface
        self.activation = activation
        self.pre_activated = pre_activated
        self.ends_activated = pre_activated and end_activation
        self.stem_board = nn.Conv2d(board, channels, 3, padding=1, bias=False)
        self.stem_constant = nn.Conv2d(constant[0], channels, 1, bias=False) if constant else None
        self.stem_norm: nn.Module = nn.Identity() if pre_activated else nn.BatchNorm2d(channels)
        self.blocks = nn.Sequential(*blocks)
        self.end_norm = nn.BatchNorm2d(channels) if self.ends_activated else nn.Identity()
        self.policy = policy_head(config, channels, interface)
        self.value = ConvValueHead(config, channels)

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem_board(inputs[0])
        if self.stem_constant is not None:
            x = x + self.stem_constant(inputs[1])
        if not self.pre_activated:
            x = self.activation(self.stem_norm(x))
        x = self.blocks(x)
        if self.ends_activated:
            x = self.activation(self.end_norm(x))
        return self.policy(x), self.value(x)

    def fold(self) -> None:
        if self.pre_activated:
            return
        # The stem's norm follows a sum of two convolutions: scale both, shift the first.
        if self.stem_constant is not None:
            self.stem_constant = fold(self.stem_constant, self.stem_norm)
            self.stem_constant.bias = None
        self.stem_board = fold(self.stem_board, self.stem_norm)
        self.stem_norm = nn.Identity()
