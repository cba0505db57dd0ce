"""Reading files whole that users name."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_whole(path: Path) -> bytes:
    """Read a file or pipe. Raises OSError, also for a device: /dev/zero has no end."""
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "is a device, not a file", str(path))
    return path.read_bytes()
