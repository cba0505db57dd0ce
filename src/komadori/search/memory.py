"""Check memory sizes set by options."""

from __future__ import annotations

import os


def check_memory(name: str, megabytes: int) -> None:
    """Raise MemoryError if `megabytes` exceeds the machine's memory."""
    installed = _physical_mb()
    if installed and megabytes > installed:
        raise MemoryError(
            f"{name}: {megabytes} MiB are more than this machine's memory ({installed} MiB)"
        )


def _physical_mb() -> int:
    """Return the physical memory in MiB; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    except (AttributeError, OSError, ValueError):
        return 0
