"""How the process keeps its memory while it trains."""

from __future__ import annotations

import ctypes
import sys

# glibc's malloc.h
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER_TRIM = 2**31 - 1


def keep_freed_memory() -> bool:
    """Have the C library keep freed blocks for the next step; whether it does (glibc only).

    By default it hands blocks of over 32 MB back to the system each time, which fills their
    pages with zeros anew: of a step with a fully connected head (a gradient of 120 MB) that is
    two thirds. The memory stays the process's until its end.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM))
