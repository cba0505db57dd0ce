"""Data parallelism over processes, as torchrun starts them.

    torchrun --nproc-per-node 2 -m komadori train CONFIG

Each process computes its shard of every batch; gradients are summed and all take the same step.
Rank 0 evaluates, logs and saves. Batch norm uses each shard's statistics; rank 0's are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from komadori.nets import Network
from komadori.training.loss import Losses
from komadori.training.torchrun import rank_and_size

#: How long the others wait for rank 0, which may be evaluating.
_TIMEOUT = timedelta(days=1)


@dataclass(frozen=True)
class World:
    """This process's rank among `size`; alone without torchrun."""

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (never changed)

    @classmethod
    def of(cls, device: torch.device) -> World:
        """The world of torchrun's environment, joined. Raises TrainingError."""
        rank, size = rank_and_size()
        if size == 1:
            return cls()
        if not dist.is_initialized():
            backend = "nccl" if device.type == "cuda" else "gloo"
            if device.type == "cuda":
                torch.cuda.set_device(device)
            dist.init_process_group(backend, timeout=_TIMEOUT)
        return cls(rank, size, device)

    @staticmethod
    def is_first_process() -> bool:
        """Whether this is rank 0, before the world is joined. Raises TrainingError."""
        return rank_and_size()[0] == 0

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def shard(self, length: int) -> slice:
        """This process's rows of a batch of `length`."""
        return slice(length * self.rank // self.size, length * (self.rank + 1) // self.size)

    def wait(self) -> None:
        """Barrier: wait for all processes."""
        if self.size > 1:
            dist.barrier()

    def agree(self, progress: float, stop: bool) -> tuple[float, bool]:
        """The values of rank 0, which decides."""
        if self.size == 1:
            return progress, stop
        said = torch.tensor([progress, stop], dtype=torch.float64).to(self.device)
        dist.broadcast(said, 0)
        return float(said[0]), bool(said[1])

    def total(self, loss: Losses) -> Losses:
        """Sum the losses of the processes' shards."""
        if self.size == 1:
            return loss
        values = torch.stack([getattr(loss, f.name) for f in fields(loss)]).to(self.device)
        dist.all_reduce(values)
        return Losses(*values.unbind())

    def add_gradients(self, network: Network) -> None:
        """All-reduce the gradients."""
        if self.size == 1:
            return
        parameters = list(network.parameters())
        for parameter in parameters:
            if parameter.grad is None:  # an empty shard
                parameter.grad = torch.zeros_like(parameter)
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        offset = 0
        for gradient in gradients:
            gradient.copy_(flat[offset : offset + gradient.numel()].view(gradient.shape))
            offset += gradient.numel()

    def leave(self) -> None:
        """Wait for the others and leave the process group."""
        if self.size > 1:
            dist.barrier()
            dist.destroy_process_group()
