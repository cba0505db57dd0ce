"""Keeps the stack on which a thread handles signals while OpenVINO starts its CPU plugin.

The plugin gives the thread that creates it an alternate stack (sigaltstack) large enough for AMX
registers. It frees this memory when it is destroyed, but takes it away only from the thread that
destroys it, if that one still uses it: the next signal of the other one, such as Ctrl-C, ends the
process with a segmentation fault. Without an alternate stack a thread's own is used, which is
large enough.
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
    """Restore this thread's alternate signal stack afterwards. Only Linux's is ever replaced."""
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
