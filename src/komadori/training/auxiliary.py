"""An auxiliary policy head that learns a flattened target, in training only.

It sits beside the policy head, on the same input and of the same make, and learns the target
raised to 1/4 and scaled to 1 in all: what tells the poor moves from the poorer ones, of which the
sharp target says little, shapes the trunk. The exported network hasn't got it.

Source: KataGo, docs/KataGoMethods.md, "Auxiliary soft policy target" (power 1/4, weight 8).
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from komadori.nets import Network
from komadori.training.config import ConfigError

#: The power of the target.
POWER = 0.25


class _Tap:
    """Keeps the input that the policy head was last called with. Copied along with its network."""

    def __init__(self) -> None:
        self.trunk: Tensor | None = None

    def take(self, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.trunk = inputs[0]


class WithSoftPolicy(Network):
    """A network and its auxiliary head. `outputs` gives the head's logits [N, labels] third."""

    def __init__(self, network: Network) -> None:
        """Raises ConfigError for a network without a policy head of its own (`policy`)."""
        super().__init__()
        head = getattr(network, "policy", None)
        if not isinstance(head, nn.Module):
            raise ConfigError("loss.soft_policy_weight: this network has no head `policy` to copy")
        self.interface = network.interface
        self.network = network
        self.soft = copy.deepcopy(head)
        for module in self.soft.modules():
            reset = getattr(module, "reset_parameters", None)
            if callable(reset):
                reset()
        self._tap = _Tap()
        head.register_forward_pre_hook(self._tap.take)

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        policy, value = self.network.outputs(*inputs)
        trunk, self._tap.trunk = self._tap.trunk, None
        assert trunk is not None
        return policy, value, self.soft(trunk)


def flattened(probs: Tensor) -> Tensor:
    """Target probabilities [N, moves] to the power, 1 in all again; rows of zeros stay."""
    raised = torch.where(probs > 0, probs.clamp_min(1e-30) ** POWER, 0.0)
    return raised / raised.sum(1, keepdim=True).clamp_min(1e-30)
