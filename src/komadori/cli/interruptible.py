"""Long work that Ctrl-C ends at once, whatever it is in the middle of."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import click

T = TypeVar("T")

#: Exit status after Ctrl-C, as shells have it.
INTERRUPTED = 130


class _Work(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.result: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result.append(self._work())
        except BaseException as error:
            self.error = error


def run(work: Callable[[], T], advice: str, on_interrupt: Callable[[], None] | None = None) -> T:
    """What `work` returns or raises. Ctrl-C ends the process with status 130 and `advice`.

    Only for work that is safe to kill at any moment: it isn't told that it ends.
    """
    thread = _Work(work)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(1.0)
    except KeyboardInterrupt:
        if on_interrupt is not None:
            on_interrupt()
        click.echo(f"Interrupted. {advice}", err=True)
        os._exit(INTERRUPTED)
    if thread.error is not None:
        raise thread.error
    return thread.result[0]
