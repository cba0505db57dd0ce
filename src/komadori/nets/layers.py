"""What the families' blocks are made of."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from komadori.nets.network import fold

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "swish": F.silu, "mish": F.mish}


def check_activation(name: str) -> None:
    """ValueError for a name that is no key of `ACTIVATIONS`."""
    if name not in ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}; one of {', '.join(ACTIVATIONS)}")


class ConvNorm(nn.Module):
    """A convolution and its batch norm; `same` keeps 9 x 9 (odd kernels)."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int | tuple[int, int], *, same: bool = True
    ) -> None:
        super().__init__()
        rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (rows // 2, columns // 2) if same else 0
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(outputs)

    def fold(self) -> None:
        self.conv = fold(self.conv, self.norm)
        self.norm = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.conv(x))
        return out


class NormConv(nn.Module):
    """Pre-activation: batch norm, activation, convolution that keeps 9 x 9."""

    def __init__(self, inputs: int, outputs: int, kernel: int, activation: Activation) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(self.activation(self.norm(x)))
        return out


class PreActivationPair(nn.Module):
    """norm-act-3x3-norm-act-dropout-3x3 and a skip (He et al. 2016, arXiv 1603.05027; dropout
    between the convolutions as in Wide ResNet, arXiv 1605.07146).

    `first` replaces the first convolution.
    """

    def __init__(
        self,
        channels: int,
        activation: Activation,
        dropout: float = 0.0,
        first: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = first or nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2: nn.Module = nn.BatchNorm2d(channels)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.activation = activation

    def fold(self) -> None:
        if isinstance(self.conv1, nn.Conv2d):
            self.conv1 = fold(self.conv1, self.norm2)
            self.norm2 = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(self.activation(self.norm1(x)))
        y = self.conv2(self.dropout(self.activation(self.norm2(y))))
        out: Tensor = x + y
        return out


class SqueezeExcitation(nn.Module):
    """Channels scaled by what the whole board's means say (arXiv 1709.01507)."""

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        hidden = max(1, channels // reduction)
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, channels)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.excite(F.relu(self.squeeze(x.mean((2, 3))))).sigmoid()
        out: Tensor = x * scale[:, :, None, None]
        return out


def attend(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Scaled dot product attention of [N, heads, tokens, each]."""
    if query.device.type == "cpu":  # where the gradient takes four times as long in bfloat16
        with torch.autocast("cpu", enabled=False):
            query, key, value = query.float(), key.float(), value.float()
            return F.scaled_dot_product_attention(query, key, value, bias, dropout)
    mask = None if bias is None else bias.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout)
