"""Reading files whole that users name; telling files apart."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_whole(path: Path) -> bytes:
    """Read a file or pipe. Raises OSError, also for a device: /dev/zero has no end."""
    refuse_device(path)
    return path.read_bytes()


def refuse_device(path: Path) -> None:
    """Raise OSError if the path is a device, or can't be examined."""
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "is a device, not a file", str(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that takes its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
