"""Keep a thread's signal stack while OpenVINO loads its CPU plugin.

The plugin installs an alternate signal stack (sigaltstack), large enough for AMX registers, in the
thread that creates it. Its destructor frees the memory, but uninstalls the stack only from the
thread it runs in, and only if no later plugin has replaced it. The next signal in the first thread,
such as Ctrl-C, then crashes the process. Without an alternate stack, signals are handled on the
thread's own stack, which is large enough.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator


class _Stack(ctypes.Structure):
    """Linux's stack_t."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@contextlib.contextmanager
def kept_signal_stack() -> Iterator[None]:
    """Restore this thread's alternate signal stack on exit; only needed, and done, on Linux."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None)
    old = _Stack()
    is_known = libc.sigaltstack(None, ctypes.byref(old)) == 0
    try:
        yield
    finally:
        if is_known:
            libc.sigaltstack(ctypes.byref(old), None)
