"""Data parallelism over CPU threads.

By default torch splits every operation among its threads, which synchronise hundreds of times per
step and all wait whenever another program holds a core. Here each thread runs the whole network
on its shard of the batch; they synchronise once per step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from komadori.nets import Network
from komadori.training.loader import Batch

T = TypeVar("T")
#: Fewest positions of a shard: for fewer a thread doesn't pay, and batch norm gets too noisy.
SMALLEST_SHARD = 8


class Workers:
    """`count` threads with `threads_each` torch threads each; a count of 1 is the calling thread.

    Until `close`, torch's thread count is `threads_each` in the caller too.
    """

    def __init__(self, count: int, threads_each: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        if count > 1:
            self._threads_before = torch.get_num_threads()
            torch.set_num_threads(threads_each)
            self._pool = ThreadPoolExecutor(count, "shard", torch.set_num_threads, (threads_each,))

    def map(self, function: Callable[[int, Batch], T], batch: Batch) -> list[T]:
        """`function(i, shard)` for each shard of the batch, in order of the rows."""
        if not len(batch):
            return []
        shards = min(self.count, max(1, len(batch) // SMALLEST_SHARD))
        if self._pool is None or shards == 1:
            return [function(0, batch)]
        edges = [len(batch) * i // shards for i in range(shards + 1)]
        parts = [batch.part(edges[i], edges[i + 1]) for i in range(shards)]
        return list(self._pool.map(function, range(shards), parts))

    def close(self) -> None:
        """End the threads and restore torch's thread count."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            torch.set_num_threads(self._threads_before)


class Replicas:
    """The network and copies that share its weights, each with its own gradients.

    Batch norm uses each shard's own statistics; the running statistics kept are the network's, as
    in torch's DistributedDataParallel.
    """

    def __init__(self, network: Network, count: int) -> None:
        self.networks = [network]
        for _ in range(count - 1):
            replica = copy.deepcopy(network)
            for own, shared in zip(replica.parameters(), network.parameters(), strict=True):
                own.data = shared.data
            self.networks.append(replica)

    def gather(self) -> None:
        """Add the copies' gradients to the network's, in a fixed order."""
        first, *others = ([*network.parameters()] for network in self.networks)
        for other in others:
            for total, part in zip(first, other, strict=True):
                if part.grad is None:
                    continue
                if total.grad is None:
                    total.grad = part.grad
                else:
                    total.grad += part.grad
                part.grad = None
