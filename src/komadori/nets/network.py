"""The interface of every network of the package."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from komadori.wording import counted, names_arguments


@names_arguments
@dataclass(frozen=True)
class Interface:
    """The tensors of a network.

    inputs: the shape of one position in each input tensor, such as (62, 9, 9).
    labels: the number of move labels.
    heads: the number of labels of each policy output, if there are several; their logits are
    concatenated.
    """

    inputs: tuple[tuple[int, ...], ...]
    labels: int
    heads: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.heads and sum(self.heads) != self.labels:
            raise ValueError(f"policy outputs of {self.heads} labels are not {self.labels}")


#: dlshogi's two tensors, features1 [N, 62, 9, 9] and features2 [N, 57, 9, 9], and its labels.
DLSHOGI = Interface(inputs=((62, 9, 9), (57, 9, 9)), labels=2187)


@runtime_checkable
class Foldable(Protocol):
    """A module with batch norms that fold into convolutions for evaluation."""

    def fold(self) -> None:
        """Fold norms into convolutions, once; evaluation only from then on."""
        ...


class Network(nn.Module):
    """`forward(*inputs) -> (policy_logits [N, labels], value_logit [N])`.

    inputs: float, one [N, *shape] tensor for each shape of `interface.inputs`, from the side to
    move's view, as is the value, whose sigmoid is the win probability. Families define `outputs`.
    """

    interface: Interface
    _is_folded = False

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs for training: as `forward`, but a win/draw/loss value is [N, 3] logits."""
        raise NotImplementedError

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        if len(inputs) != len(self.interface.inputs):
            shapes = ", ".join(f"[N, {', '.join(map(str, s))}]" for s in self.interface.inputs)
            raise TypeError(
                f"inputs: expected tensors {shapes}, got {counted(len(inputs), 'tensor')}"
            )
        policy, value = self.outputs(*inputs)
        return policy, win_logit(value)

    def folded(self) -> Self:
        """A copy for evaluation, with batch norms folded into the convolutions."""
        network = copy.deepcopy(self).eval()
        if not self._is_folded:
            for module in list(network.modules()):
                if isinstance(module, Foldable):
                    module.fold()
            network._is_folded = True
        return network


@names_arguments
def win_logit(value: Tensor) -> Tensor:
    """The logit [N] of the win probability, a draw being half a win.

    value: that logit itself, or [N, 3] logits of win, draw and loss.
    """
    if value.ndim == 1:
        return value
    win, draw, loss = value.unbind(1)
    half = draw - math.log(2)
    # log(e^win + e^half) - log(e^loss + e^half), in operations that ONNX and OpenVINO have.
    return F.softplus(win - half) - F.softplus(loss - half)


def fold(conv: nn.Conv2d, norm: nn.Module) -> nn.Conv2d:
    """The convolution followed by the batch normalisation, as one convolution (evaluation)."""
    assert isinstance(norm, nn.BatchNorm2d)
    fused: nn.Conv2d = fuse_conv_bn_eval(conv, norm)
    return fused


@names_arguments
def parameter_count(network: nn.Module) -> int:
    """Trainable parameters, without the running statistics of batch norms."""
    return sum(parameter.numel() for parameter in network.parameters())
