"""Batch norms for weights that have them folded into their layers, so that they can be trained."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from komadori.nets.model_file import ModelFileError, load_weights
from komadori.nets.network import Network

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)


@torch.no_grad()
def unfold(
    network: Network,
    folded: Mapping[str, Tensor],
    batches: Iterable[tuple[Tensor, ...]],
    where: Path | str,
) -> None:
    """Load weights of `network.folded()` into the network itself, in evaluation mode.

    A norm that was folded gets the statistics of its inputs over `batches` (one tensor per input of
    the network), and the scale and shift that undo them: the outputs are those of the folded
    network, and training, which normalises by each batch, starts close to them.
    Raises ModelFileError unless names and shapes match.
    """
    after = network.folded()
    expected = after.state_dict()
    folded_norms = _norms(network) - _norms(after)
    counters = {name: t for name, t in expected.items() if name.endswith("num_batches_tracked")}
    found = {**counters, **folded}
    for name, tensor in expected.items():
        if name not in found or found[name].shape != tensor.shape:
            shape = "missing" if name not in found else f"{tuple(found[name].shape)}"
            raise ModelFileError(f"{where}: {name} is {shape}, {tuple(tensor.shape)} is needed")
    shifts = {
        norm: found[f"{layer}.bias"]
        for norm, layer in _layers_of(network, folded_norms).items()
        if layer
    }
    own = network.state_dict()
    load_weights(network, {name: found.get(name, tensor) for name, tensor in own.items()}, where)
    network.eval()
    norms = dict(network.named_modules())
    inputs = {name: _Moments() for name in folded_norms}
    hooks = []
    for name, moments in inputs.items():
        norm: Any = norms[name]
        _set(norm, torch.zeros_like(norm.running_mean), torch.ones_like(norm.running_var))
        if name in shifts:
            norm.bias.copy_(shifts[name])
        hooks.append(norm.register_forward_hook(moments.add))
    try:
        for batch in batches:
            network(*batch)
    finally:
        for hook in hooks:
            hook.remove()
    for name, moments in inputs.items():
        norm = norms[name]
        mean, variance = moments.mean(), moments.variance()
        _set(norm, mean, variance)
        norm.bias.copy_(mean + shifts[name] if name in shifts else mean)


def _set(norm: Any, mean: Tensor, variance: Tensor) -> None:
    """Make the norm the identity in evaluation mode, but for the shift of its mean."""
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(variance)
    norm.weight.copy_((variance + norm.eps).sqrt())
    norm.bias.zero_()


def _norms(network: Network) -> set[str]:
    return {name for name, one in network.named_modules() if isinstance(one, _NORMS)}


def _layers_of(network: Network, folded_norms: set[str]) -> dict[str, str]:
    """For each folded norm the name of the layer whose bias is the norm's shift, "" if there is
    none: found by folding norms with recognizable shifts."""
    probe = copy.deepcopy(network).eval()
    modules = dict(probe.named_modules())
    shifts = {name: float(number) for number, name in enumerate(sorted(folded_norms), 1)}
    for module in modules.values():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.weight.zero_()
            if module.bias is not None:
                module.bias.zero_()
    for name, shift in shifts.items():
        norm: Any = modules[name]
        _set(norm, torch.zeros_like(norm.running_mean), torch.ones_like(norm.running_var))
        norm.bias.fill_(shift)
    own = network.state_dict()
    biases = {
        name.removesuffix(".bias"): tensor
        for name, tensor in probe.folded().state_dict().items()
        if name.endswith(".bias") and name not in own
    }
    return {
        name: next((at for at, bias in biases.items() if (bias == shift).all()), "")
        for name, shift in shifts.items()
    }


@dataclass
class _Moments:
    """Sums over all values of each channel."""

    count: int = 0
    sums: list[Tensor] = field(default_factory=list)

    def add(self, _: nn.Module, inputs: tuple[Tensor, ...], __: Tensor) -> None:
        values = inputs[0].double().transpose(0, 1).flatten(1)
        new = [values.sum(1), values.square().sum(1)]
        self.sums = [a + b for a, b in zip(self.sums, new, strict=True)] if self.sums else new
        self.count += values.shape[1]

    def mean(self) -> Tensor:
        return (self.sums[0] / max(self.count, 1)).float()

    def variance(self) -> Tensor:
        if not self.sums:
            return torch.ones(())
        mean = self.sums[0] / self.count
        return (self.sums[1] / self.count - mean.square()).clamp(min=0).float()
