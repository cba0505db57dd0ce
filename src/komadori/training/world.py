"""Several processes that train one network, as torchrun starts them.

    torchrun --nproc-per-node 2 -m komadori train CONFIG

Each process takes its share of every batch through the whole network; the gradients add up to
that of the batch, and all take the same step. The first process measures, logs and saves.
Batch normalisation sees the share, and the statistics kept are those of the first process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from komadori.nets import Network
from komadori.training.loss import Losses

#: How long the others wait for the first process, which may be measuring.
_PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class World:
    """This process among `size` of them; alone without torchrun."""

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (never changed)

    @classmethod
    def of(cls, device: torch.device) -> World:
        """The world that torchrun's environment tells; joins it."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls()
        if not dist.is_initialized():
            backend = "nccl" if device.type == "cuda" else "gloo"
            if device.type == "cuda":
                torch.cuda.set_device(device)
            dist.init_process_group(backend, timeout=_PATIENCE)
        return cls(int(os.environ["RANK"]), size, device)

    @staticmethod
    def is_first_process() -> bool:
        """Whether this is rank 0, asked before the world is joined."""
        return os.environ.get("RANK", "0") == "0"

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def shard(self, length: int) -> slice:
        """This process's rows of a batch of so many."""
        return slice(length * self.rank // self.size, length * (self.rank + 1) // self.size)

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            dist.barrier()

    def agree(self, progress: float, stop: bool) -> tuple[float, bool]:
        """What the first process says, whose clock and wishes count."""
        if self.size == 1:
            return progress, stop
        said = torch.tensor([progress, stop], dtype=torch.float64).to(self.device)
        dist.broadcast(said, 0)
        return float(said[0]), bool(said[1])

    def total(self, loss: Losses) -> Losses:
        """The batch's losses from those of the processes' shares."""
        if self.size == 1:
            return loss
        values = torch.stack([getattr(loss, f.name) for f in fields(loss)]).to(self.device)
        dist.all_reduce(values)
        return Losses(*values.unbind())

    def add_gradients(self, network: Network) -> None:
        """Make each process's gradients their sum."""
        if self.size == 1:
            return
        parameters = list(network.parameters())
        for parameter in parameters:
            if parameter.grad is None:  # a share without a position
                parameter.grad = torch.zeros_like(parameter)
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        offset = 0
        for gradient in gradients:
            gradient.copy_(flat[offset : offset + gradient.numel()].view(gradient.shape))
            offset += gradient.numel()

    def leave(self) -> None:
        """Wait for the others and take leave of them."""
        if self.size > 1:
            dist.barrier()
            dist.destroy_process_group()
