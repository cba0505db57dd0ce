"""What this process may compute on."""

from __future__ import annotations

import os


def available_threads() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
