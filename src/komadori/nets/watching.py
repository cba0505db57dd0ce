"""Recording of attention weights."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

_seen: list[Tensor] | None = None
_one_at_a_time = threading.Lock()


@contextmanager
def watched_attention() -> Iterator[list[Tensor]]:
    """Record the weights of each attention layer that runs in the block: [N, heads, queries, keys],
    rows sum to 1.
    """
    global _seen
    with _one_at_a_time:
        found: list[Tensor] = []
        _seen = found
        try:
            yield found
        finally:
            _seen = None


def is_watched() -> bool:
    return _seen is not None


def show_weights(weights: Tensor) -> None:
    """Called by attention layers while `is_watched()`."""
    if _seen is not None:
        _seen.append(weights.detach().float().cpu())
