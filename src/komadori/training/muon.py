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

    matrix: [..., rows, columns], one or a batch, any float dtype; computed in bfloat16 on a GPU.
    """
    x = matrix.bfloat16() if matrix.is_cuda else matrix.float()
    is_tall = x.shape[-2] > x.shape[-1]
    if is_tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    result: Tensor = (x.mT if is_tall else x).to(matrix.dtype)
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
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
                update = self._muon if group["muon"] else self._adamw
                update(parameters, [p.grad for p in parameters], group)
        return loss

    def _muon(
        self, parameters: list[Tensor], gradients: list[Tensor], group: dict[str, Any]
    ) -> None:
        for new in (p for p in parameters if not self.state[p]):
            self.state[new]["momentum"] = torch.zeros_like(new)
        momenta = [self.state[p]["momentum"] for p in parameters]
        torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
        directions = torch._foreach_lerp(gradients, momenta, group["momentum"])
        # Matrices of one shape are one batch: a GPU takes as long for one as for many.
        same_shape: dict[torch.Size, list[int]] = {}
        for index, direction in enumerate(directions):
            same_shape.setdefault(direction.shape, []).append(index)
        for shape, indices in same_shape.items():
            matrices = torch.stack([directions[index].flatten(1) for index in indices])
            scale = 0.2 * max(matrices.shape[1:]) ** 0.5
            updates = [update.view(shape) for update in orthogonalize(matrices)]
            of_shape = [parameters[index] for index in indices]
            torch._foreach_add_(of_shape, updates, alpha=-group["lr"] * scale)

    def _adamw(
        self, parameters: list[Tensor], gradients: list[Tensor], group: dict[str, Any]
    ) -> None:
        for new in (p for p in parameters if not self.state[p]):
            self.state[new]["step"] = torch.zeros(())
            self.state[new]["exp_avg"] = torch.zeros_like(new)
            self.state[new]["exp_avg_sq"] = torch.zeros_like(new)
        states = [self.state[p] for p in parameters]
        means = [state["exp_avg"] for state in states]
        squares = [state["exp_avg_sq"] for state in states]
        first, second = group["betas"]
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - second)
        torch._foreach_add_([state["step"] for state in states], 1)
        steps = [float(state["step"]) for state in states]
        roots = torch._foreach_div(squares, [1 - second**step for step in steps])
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, group["eps"])
        sizes = [-group["lr"] / (1 - first**step) for step in steps]
        torch._foreach_addcdiv_(parameters, means, roots, sizes)
