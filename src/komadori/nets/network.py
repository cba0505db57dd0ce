"""What every network of the package is."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval


@dataclass(frozen=True)
class Interface:
    """The tensors a network meets.

    inputs: the shape of one position in each input tensor, such as (62, 9, 9).
    labels: the number of move labels.
    """

    inputs: tuple[tuple[int, ...], ...]
    labels: int


#: dlshogi's two tensors, features1 [N, 62, 9, 9] and features2 [N, 57, 9, 9], and its labels.
DLSHOGI = Interface(inputs=((62, 9, 9), (57, 9, 9)), labels=2187)


class Network(nn.Module):
    """`forward(*inputs) -> (policy_logits [N, labels], value_logit [N])`.

    Inputs are float, one [N, *shape] tensor for each shape of `interface.inputs`, seen from
    the side to move; so is the value.
    """

    interface: Interface

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def folded(self) -> Network:
        """A network for evaluation only, with the same function in fewer operations.

        Families with batch normalisation fold it into their convolutions.
        """
        return self


def fold(conv: nn.Conv2d, norm: nn.Module) -> nn.Conv2d:
    """The convolution followed by the batch normalisation, as one convolution (evaluation)."""
    assert isinstance(norm, nn.BatchNorm2d)
    fused: nn.Conv2d = fuse_conv_bn_eval(conv, norm)
    return fused


def parameter_count(network: nn.Module) -> int:
    """Trained parameters; the running statistics of batch normalisation don't count."""
    return sum(parameter.numel() for parameter in network.parameters())
