"""Layers shared by the families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from komadori._core import attention as core
from komadori.nets.network import fold
from komadori.nets.watching import is_watched, show_weights

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "swish": F.silu, "mish": F.mish}


def check_activation(name: str) -> None:
    """Raise ValueError for a name not in `ACTIVATIONS`."""
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


class Dropout(nn.Module):
    """Dropout (arXiv 1207.0580).

    On a CPU torch's random numbers take a quarter of a Wide ResNet's training time; here one draw
    serves four activations, with the probability rounded to 2^-16.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.probability or x.device.type != "cpu":
            return F.dropout(x, self.probability, self.training)
        dropped = min(round(self.probability * 2**16), 2**16 - 1)  # of 2^16
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        order = torch.empty_like(x, device="meta").stride()  # x's own, where it has no gaps
        bits = draws.view(torch.int16).as_strided(x.shape, order)
        return x * (bits >= dropped - 2**15).to(x.dtype).mul_(2**16 / (2**16 - dropped))


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
        self.dropout = Dropout(dropout)
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
    """Squeeze-and-excitation: channels scaled by a gate of their means over the board (arXiv
    1709.01507)."""

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        hidden = max(1, channels // reduction)
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, channels)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.excite(F.relu(self.squeeze(x.mean((2, 3))))).sigmoid()
        out: Tensor = x * scale[:, :, None, None]
        return out


#: Larger heads are as fast in torch, without a learned bias or dropout (`bench/attention.py`).
_LARGEST_SMALL = 16


class _CoreAttention(torch.autograd.Function):
    """Attention on the CPU with its gradient, by the core."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float
    ) -> Tensor:
        n, heads, tokens, size = query.shape
        out = torch.empty(n, tokens, heads, size)
        log_sum = torch.empty(n, heads, tokens)
        seed = int(torch.empty((), dtype=torch.int64).random_()) if dropout else 0
        ctx.how = {"dropout": dropout, "seed": seed, "threads": torch.get_num_threads()}
        core.attend(*_arrays(query, key, value, bias, out, log_sum), **ctx.how)
        ctx.save_for_backward(query, key, value, bias, out, log_sum)
        return out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_out: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, bias, out, log_sum = ctx.saved_tensors
        by_out = _neighbours(by_out)
        by_inputs = [torch.empty_like(out) for _ in range(3)]
        by_bias = None if bias is None else torch.empty_like(bias)
        core.attend_gradient(
            *_arrays(query, key, value, bias, out, log_sum, by_out, *by_inputs, by_bias), **ctx.how
        )
        return *(gradient.transpose(1, 2) for gradient in by_inputs), by_bias, None


def _neighbours(vectors: Tensor) -> Tensor:
    """The tensor with contiguous vectors (last dimension)."""
    return vectors if vectors.stride(3) == 1 else vectors.contiguous()


def _arrays(*tensors: Tensor | None) -> list[Any]:
    """The tensors' memory as arrays."""
    return [None if tensor is None else tensor.detach().numpy() for tensor in tensors]


def attend(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Scaled dot-product attention. query, key, value: [N, heads, tokens, width]; bias: [heads,
    tokens, tokens]; dropout: of the weights. Returns [N, heads, tokens, width]."""
    if is_watched():
        scores = query.float() @ key.float().transpose(2, 3) * query.shape[3] ** -0.5
        show_weights((scores if bias is None else scores + bias.float()).softmax(3))
    if query.device.type == "cpu":  # where torch's takes four times as long in bfloat16
        with torch.autocast("cpu", enabled=False):
            query, key, value = query.float(), key.float(), value.float()
            size = query.shape[3]
            is_plain = not (torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export())
            is_slow = is_plain and (size <= _LARGEST_SMALL or bias is not None or dropout)
            if is_slow and size <= core.MAX_SIZE:
                parts = (_neighbours(part) for part in (query, key, value))
                own = None if bias is None else bias.float().contiguous()
                out: Tensor = _CoreAttention.apply(*parts, own, dropout)  # type: ignore[no-untyped-call]
                return out
            return F.scaled_dot_product_attention(query, key, value, bias, dropout)
    mask = None if bias is None else bias.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout)
