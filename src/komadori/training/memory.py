"""malloc settings for training."""

from __future__ import annotations

import ctypes
import sys

# glibc's malloc.h
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER_TRIM = 2**31 - 1


def keep_freed_memory() -> bool:
    """Make malloc keep freed blocks for reuse; returns whether it does (glibc only).

    By default glibc returns blocks of over 32 MB to the system, and page faults on the next
    allocation take two thirds of a step with a fully connected head (a gradient of 120 MB).
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM))
