"""Waiting for other processes."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds between looks for a stop.
_STOP_S = 0.1


def pause(seconds: float, stop: Callable[[], bool]) -> bool:
    """Wait until the next poll. Returns False as soon as `stop` says so."""
    ends = time.monotonic() + seconds
    while not stop():
        if (left_s := ends - time.monotonic()) <= 0:
            return True
        time.sleep(min(_STOP_S, left_s))
    return False
