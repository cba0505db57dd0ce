"""Attention, forward and backward on one core: komadori's implementation compared to torch's.

    python bench/attention.py [--rounds R]

For each shape, in turns: median CPU time of forward and backward in ms, and the ratio of torch's
time to komadori's. The networks use the core's kernel where it is faster.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from komadori.nets.layers import attend

#: Positions, heads, tokens, head size, learned bias, dropout; the network with this shape.
SHAPES = (
    (256, 8, 137, 8, False, 0.0, "the diary's encoder, 8 heads of 64"),
    (256, 8, 137, 8, False, 0.1, "the same with its dropout"),
    (256, 8, 137, 8, True, 0.0, "with a learned geometry"),
    (256, 8, 137, 8, True, 0.1, "with both"),
    (128, 4, 81, 16, False, 0.0, "squares alone, 4 heads of 64"),
    (128, 2, 81, 32, False, 0.0, "nested bottleneck transformer of 128"),
)


def milliseconds(attention: Callable[..., Tensor], inputs: list[Tensor], grad: Tensor) -> float:
    for tensor in inputs:
        tensor.grad = None
    start = time.process_time()
    attention(*inputs).backward(grad)  # type: ignore[no-untyped-call]
    return 1e3 * (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(f"{'ours':>8} {'torch':>8} {'ratio':>6}")
    for n, heads, tokens, size, with_bias, dropout, where in SHAPES:
        inputs = [torch.randn(n, heads, tokens, size, requires_grad=True) for _ in range(3)]
        if with_bias:
            inputs.append(torch.randn(heads, tokens, tokens, requires_grad=True))
        grad = torch.randn(n, heads, tokens, size)
        times: tuple[list[float], list[float]] = ([], [])

        def by_core(
            q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, dropout: float = dropout
        ) -> Tensor:
            return attend(q, k, v, bias, dropout)

        def by_torch(
            q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, dropout: float = dropout
        ) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, bias, dropout)

        for _ in range(rounds + 1):
            for column, attention in zip(times, (by_core, by_torch), strict=True):
                column.append(milliseconds(attention, inputs, grad))
        ours, torchs = (statistics.median(column[1:]) for column in times)
        print(f"{ours:8.1f} {torchs:8.1f} {torchs / ours:6.2f}  {where}")


if __name__ == "__main__":
    main()
