"""Kill engines and commands when the program that started them ends, in whatever way.

A small shell process holds the reading end of a pipe and receives each one's process group. The
pipe closes when this process ends, even by SIGKILL; groups still running a second later are
killed. Start-up takes a millisecond once. Windows has no process groups; there an engine only sees
the end of its input.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

#: Seconds for an engine to quit after its input ends.
GRACE_S = 1

#: Environment variable by which an engine is found that isn't registered yet.
VARIABLE = "KOMADORI_ENGINE"

# "? TOKEN" announces a process, "+ TOKEN GROUP" registers it, "! TOKEN" withdraws the announcement,
# "- GROUP" unregisters a group. In `without`, the list $1 has spaces around each item.
_SCRIPT = f"""
trap '' INT TERM HUP
without() {{
  rest=' '
  for one in $1; do [ "$one" = "$2" ] || rest="$rest$one "; done
}}
live=' ' announced=' '
while read -r sign name group; do
  case $sign in
    '?') announced="$announced$name " ;;
    '!') without "$announced" "$name"; announced=$rest ;;
    +) without "$announced" "$name"; announced=$rest live="$live$group " ;;
    -) without "$live" "$name"; live=$rest ;;
  esac
done
[ "$live$announced" = '  ' ] && exit 0
sleep {GRACE_S}
for token in $announced; do
  for process in /proc/[0-9]*; do
    grep -qsF "{VARIABLE}=$token" "$process/environ" && live="$live${{process#/proc/}} "
  done
done
for group in $live; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class Reaper:
    """Kills the registered process groups when this process ends. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own, as `subprocess.Popen` does, and register the
        group, to be killed when this process ends. Raises OSError.

        The process is announced before it starts, so it's killed even if this process ends before
        it knows the process's number (Linux)."""
        with self._lock:
            self._count += 1
            token = f"{os.getpid()}-{self._count}."
        self._send("?", token)
        try:
            process = subprocess.Popen(
                list(command),
                start_new_session=True,
                env={**os.environ, VARIABLE: token},
                **options,
            )
        except BaseException:
            self._send("!", token)
            raise
        self._send("+", token, process.pid)
        return process

    def release(self, group: int) -> None:
        """Unregister a process group that has ended."""
        self._send("-", group)

    def _send(self, *words: str | int) -> None:
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
            self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())
            self._process.stdin.flush()


#: The reaper of this process.
reaper = Reaper()
