"""Optimizers by name."""

from __future__ import annotations

from typing import Any

import torch

from komadori.nets import Network
from komadori.training.config import OptimizerConfig
from komadori.training.muon import Muon, matrix_parameters


def make_optimizer(network: Network, config: OptimizerConfig) -> torch.optim.Optimizer:
    """The config's optimizer, fused where torch has that for the device.

    Weight decay applies to parameters of more than one dimension, not to biases and norms.
    """
    parameters = list(network.parameters())
    device = parameters[0].device.type
    fused = device in ("cpu", "cuda") or None  # None: torch's default
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    betas = (config.betas[0], config.betas[1])
    match config.name:
        case "muon":
            return _muon(network, config)
        case "adamw":
            return torch.optim.AdamW(groups, betas=betas, fused=fused)
        case "adam":
            return torch.optim.Adam(groups, betas=betas, fused=fused)
        case "rmsprop":
            return torch.optim.RMSprop(groups, alpha=config.alpha)
        case "adagrad":
            return torch.optim.Adagrad(groups, fused=device == "cpu" or None)
    nesterov = config.nesterov and config.momentum > 0
    return torch.optim.SGD(groups, lr=1.0, momentum=config.momentum, nesterov=nesterov, fused=fused)


def _muon(network: Network, config: OptimizerConfig) -> Muon:
    matrices = matrix_parameters(network)
    chosen = set(map(id, matrices))
    others = [p for p in network.parameters() if id(p) not in chosen]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "muon": True, "weight_decay": config.weight_decay},
        {"params": [p for p in others if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in others if p.ndim <= 1]},
    ]
    betas = (config.betas[0], config.betas[1])
    return Muon(
        [group for group in groups if group["params"]], momentum=config.momentum, betas=betas
    )
