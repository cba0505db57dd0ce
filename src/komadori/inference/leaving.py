"""Calls of networks' libraries end before the interpreter exits.

At exit Python kills a daemon thread that tries to take the GIL. Unwinding the C++ code above it
aborts the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator

#: Seconds for which the exit waits: some loads take that long, calls are short.
_WAIT_S = 10.0

_changed = threading.Condition()
_calls: list[threading.Thread] = []
_is_leaving = False


@contextlib.contextmanager
def ended_before_exit() -> Iterator[None]:
    """At exit the interpreter waits for the end of the block if a daemon thread is in it. One that
    gets here later waits for the process's end."""
    thread = threading.current_thread()
    with _changed:
        while _is_leaving and thread.daemon and thread not in _calls:
            _changed.wait()
        _calls.append(thread)
    try:
        yield
    finally:
        with _changed:
            _calls.remove(thread)
            _changed.notify_all()


@atexit.register
def _wait_for_calls() -> None:
    global _is_leaving
    deadline = time.monotonic() + _WAIT_S
    with _changed:
        _is_leaving = True
        while any(thread.daemon for thread in _calls):
            if not _changed.wait(max(0.0, deadline - time.monotonic())):
                return


def _forget_those_of_the_parent() -> None:
    global _changed
    _changed = threading.Condition()
    this = threading.current_thread()
    _calls[:] = [thread for thread in _calls if thread is this]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_those_of_the_parent)
