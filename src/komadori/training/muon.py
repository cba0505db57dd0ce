"""Muon: momentum with orthogonalised updates of matrices; AdamW for the other parameters.

A few directions dominate the gradient of a matrix; orthogonalisation brings all singular values of
the update near 1. Convolutions are matrices [outputs, inputs x kernel]. Updates are scaled by
0.2 sqrt(max(rows, columns)), to match the size of AdamW's, so that one learning rate and weight
decay serve both.

Sources: K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024), whose
Newton-Schulz coefficients these are; J. Liu et al., "Muon is scalable for LLM training",
arXiv 2502.16982, for the scale. torch.optim.Muon takes two-dimensional parameters only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

#: Coefficients of the quintic Newton-Schulz iteration (Jordan et al.).
_A, _B, _C = 3.4445, -4.7750, 2.0315
ITERATIONS = 5


def orthogonalize(matrix: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """Approximate U V^T of the singular value decomposition U S V^T; singular values 0.7 to 1.2.

    matrix: [rows, columns], any float dtype; computed in bfloat16 on a GPU.
    """
    x = matrix.bfloat16() if matrix.is_cuda else matrix.float()
    is_tall = x.shape[0] > x.shape[1]
    if is_tall:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(iterations):
        gram = x @ x.T
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    result: Tensor = (x.T if is_tall else x).to(matrix.dtype)
    return result


def matrix_parameters(network: nn.Module) -> list[nn.Parameter]:
    """The weights of linear and convolution layers, in the network's order."""
    layers = (nn.Linear, nn.Conv1d, nn.Conv2d)
    found = [m.weight for m in network.modules() if isinstance(m, layers)]
    return list(dict.fromkeys(weight for weight in found if isinstance(weight, nn.Parameter)))


class Muon(torch.optim.Optimizer):
    """Groups with `muon` true are stepped by Muon (Nesterov momentum), the others by AdamW."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        defaults = {
            "lr": 1.0,
            "muon": False,
            "momentum": momentum,
            "betas": betas,
            "eps": eps,
            "weight_decay": 0.0,
        }
        super().__init__(list(groups), defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None if closure is None else closure()
        for group in self.param_groups:
            update = self._muon if group["muon"] else self._adamw
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    update(parameter, parameter.grad, group)
        return loss

    def _muon(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum = state["momentum"]
        momentum.lerp_(gradient, 1 - group["momentum"])
        direction = gradient.lerp(momentum, group["momentum"])
        matrix = direction.flatten(1)
        update = orthogonalize(matrix)
        scale = 0.2 * max(matrix.shape) ** 0.5
        parameter.add_(update.view_as(direction), alpha=-group["lr"] * scale)

    def _adamw(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        first, second = group["betas"]
        state["exp_avg"].lerp_(gradient, 1 - first)
        state["exp_avg_sq"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        step = float(state["step"])
        size = group["lr"] / (1 - first**step)
        root = (state["exp_avg_sq"] / (1 - second**step)).sqrt_().add_(group["eps"])
        parameter.addcdiv_(state["exp_avg"], root, value=-size)
