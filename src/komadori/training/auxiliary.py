"""An auxiliary policy head with a softened target, in training only.

The head copies the policy head's structure and input. Its target is the policy target raised to
1/4 and normalised, which makes the trunk rank the less likely moves too. Exported networks don't
have it.

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
    """Holds the input of the policy head's last call; copied along with its network."""

    def __init__(self) -> None:
        self.trunk: Tensor | None = None

    def take(self, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.trunk = inputs[0]


class WithSoftPolicy(Network):
    """A network and its auxiliary head, whose logits [N, labels] are the third output."""

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
    """Target probabilities [N, moves] raised to `POWER` and normalised; zero rows stay zero."""
    raised = torch.where(probs > 0, probs.clamp_min(1e-30) ** POWER, 0.0)
    return raised / raised.sum(1, keepdim=True).clamp_min(1e-30)
