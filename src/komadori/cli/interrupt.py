"""Ctrl-C as a wish that long work may heed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interrupt_sets(event: threading.Event) -> Iterator[None]:
    """The first Ctrl-C sets the event, the second one interrupts as usual."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    old = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
