"""Kill engine processes when the program that started them ends, in whatever way.

A small shell process holds the reading end of a pipe and receives each engine's process group. The
pipe closes when this process ends, even by SIGKILL; engines still running a second later are
killed. Start-up takes a millisecond once. Windows has no process groups; there an engine only sees
the end of its input.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

#: Seconds for an engine to quit after its input ends.
GRACE_S = 1

_SCRIPT = f"""
trap '' INT TERM HUP
live=' '
while read -r sign group; do
  case $sign in
    +) live="$live$group " ;;
    -) rest=' '
       for g in $live; do [ "$g" = "$group" ] || rest="$rest$g "; done
       live=$rest ;;
  esac
done
[ "$live" = ' ' ] && exit 0
sleep {GRACE_S}
for g in $live; do kill -s KILL -- "-$g" 2>/dev/null; done
"""


class Reaper:
    """Kills the registered process groups when this process ends. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """Register a process group, to be killed when this process ends."""
        self._send("+", group)

    def release(self, group: int) -> None:
        """Unregister a process group that has ended."""
        self._send("-", group)

    def _send(self, sign: str, group: int) -> None:
        if not hasattr(os, "killpg"):
            return
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._process is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", _SCRIPT],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            assert self._process.stdin is not None
            self._process.stdin.write(f"{sign} {group}\n".encode())
            self._process.stdin.flush()


#: The reaper of this process.
reaper = Reaper()
