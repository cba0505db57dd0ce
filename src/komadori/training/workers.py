"""Threads that share a batch out among themselves.

On a CPU torch by itself splits every operation among its threads, which then wait
for each other some hundreds of times a step; where another program holds a core for a
moment, all of them stand still each time. Here each thread takes a share of the batch
through the whole network alone, and they meet once a step.
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
#: A shard of fewer positions isn't worth a thread, nor enough for batch normalisation.
SMALLEST_SHARE = 8


class Workers:
    """`count` threads of `threads_each` torch threads; with a count of one, the caller itself.

    Until `close`, torch's own threads outside are limited to `threads_each` too.
    """

    def __init__(self, count: int, threads_each: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        if count > 1:
            self._threads_before = torch.get_num_threads()
            torch.set_num_threads(threads_each)
            self._pool = ThreadPoolExecutor(count, "shard", torch.set_num_threads, (threads_each,))

    def map(self, function: Callable[[int, Batch], T], batch: Batch) -> list[T]:
        """`function(i, shard)` for each shard of the batch, in the rows' order."""
        if not len(batch):
            return []
        shards = min(self.count, max(1, len(batch) // SMALLEST_SHARE))
        if self._pool is None or shards == 1:
            return [function(0, batch)]
        edges = [len(batch) * i // shards for i in range(shards + 1)]
        parts = [batch.part(edges[i], edges[i + 1]) for i in range(shards)]
        return list(self._pool.map(function, range(shards), parts))

    def close(self) -> None:
        """End the threads and give torch its number back."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            torch.set_num_threads(self._threads_before)


class Replicas:
    """The network and copies of it that see the same weights but have gradients of their own.

    Each copy normalises its shard by the shard's own statistics; the running statistics
    that are kept are those of the network itself, as in torch's distributed training.
    """

    def __init__(self, network: Network, count: int) -> None:
        self.networks = [network]
        for _ in range(count - 1):
            replica = copy.deepcopy(network)
            for own, shared in zip(replica.parameters(), network.parameters(), strict=True):
                own.data = shared.data
            self.networks.append(replica)

    def gather(self) -> None:
        """Add the copies' gradients to the network's, always in the same order."""
        first, *others = ([*network.parameters()] for network in self.networks)
        for other in others:
            for total, share in zip(first, other, strict=True):
                if share.grad is None:
                    continue
                if total.grad is None:
                    total.grad = share.grad
                else:
                    total.grad += share.grad
                share.grad = None
