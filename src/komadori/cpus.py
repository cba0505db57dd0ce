"""The CPUs of this process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

#: Maximum number of threads in settings and options.
MAX_THREADS = 512

#: Environment variable: default number of threads of an engine. A match sets it for its
#: processes, to divide the CPUs.
THREADS_VARIABLE = "KOMADORI_THREADS"


def threads_from_environment() -> int:
    """Return the value of `THREADS_VARIABLE`; 0 without one: all CPUs. Raises ValueError."""
    text = os.environ.get(THREADS_VARIABLE) or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= MAX_THREADS):
        raise ValueError(f"{THREADS_VARIABLE} is {text!r}, 0 to {MAX_THREADS} is needed")
    return int(text)


def available_threads() -> int:
    """CPUs that this process may use: those it may run on (taskset, cpusets), and no more than its
    control groups grant (containers: `docker run --cpus 2`), rounded up. At least 1."""
    may_run_on = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, math.ceil(min(may_run_on, _granted())))


@cache
def _granted() -> float:
    return min(quotas(Path("/")), default=math.inf)


def quotas(root: Path) -> Iterator[float]:
    """The limits of this process's control groups and of those above them, in CPUs (Linux: version
    1 and 2, read below `root`). Yields nothing where there is none, or none that can be read."""
    mounts = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folder = mounts
        elif "cpu" in controllers.split(","):
            folder = next((found for name in (controllers, "cpu")
                           if (found := mounts / name).is_dir()), mounts)  # fmt: skip
        else:
            continue
        # A container may see its own group mounted as the root while it reads the host's path here.
        inner = PurePosixPath(group.lstrip("/"))
        for path in (folder / inner, *(folder / above for above in inner.parents)):
            words = _text(path / "cpu.max").split() or [
                *_text(path / "cpu.cfs_quota_us").split(),
                *_text(path / "cpu.cfs_period_us").split(),
            ]
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
                yield int(words[0]) / int(words[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
