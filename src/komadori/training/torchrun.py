"""The environment that torchrun sets for its processes."""

from __future__ import annotations

import os

from komadori.training.errors import TrainingError


def rank_and_size() -> tuple[int, int]:
    """Return this process's rank and the number of processes; (0, 1) without torchrun.

    Raises TrainingError if a variable is missing or has another value than torchrun sets.
    """
    size = _number("WORLD_SIZE", "1")
    if size < 1:
        raise TrainingError(f"WORLD_SIZE is {size} in the environment, at least 1 is needed")
    if size == 1:
        return 0, 1
    rank = _number("RANK", "")
    if not rank < size:
        raise TrainingError(f"RANK is {rank} in the environment, below WORLD_SIZE={size} is needed")
    return rank, size


def local_rank() -> int:
    """Return this process's number on its machine; 0 without torchrun. Raises TrainingError."""
    return _number("LOCAL_RANK", "0")


def _number(name: str, default: str) -> int:
    text = os.environ.get(name) or default
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        found = f"is {text!r}" if text else "is missing"
        raise TrainingError(f"{name} {found} in the environment, torchrun sets a number")
    return int(text)
