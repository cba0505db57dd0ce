"""One writer per run folder: every command that writes into a folder over time holds its lock.

The operating system drops the lock when the process ends, however it ends, so a killed run
leaves nothing to clean up. Waiting is never useful here (a run lasts hours): whoever comes second
gets an error that names the first.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

LOCK_FILE = ".lock"
#: Longest command line quoted in a message, in characters.
_COMMAND_LENGTH = 120


class InUseError(OSError):
    """Another process writes there. The message says which, and since when."""


class RunLock:
    """Exclusive use of a folder (`RunLock(folder)`) or of one file (`RunLock.of_file(path)`).

    A context manager. Entering it while the lock is held, by an earlier `acquire` of the same
    object, keeps it; leaving it releases it. The lock of a folder leaves an empty `.lock` behind;
    the lock of a file leaves nothing.
    """

    def __init__(self, folder: Path | str) -> None:
        self.place = Path(folder)
        self._is_file = False
        self._lock = _file_lock(self.place / LOCK_FILE)

    @classmethod
    def of_file(cls, path: Path | str) -> Self:
        """The lock of a single file that several runs may keep in one folder."""
        lock = cls.__new__(cls)
        lock.place = Path(path)
        lock._is_file = True
        lock._lock = _file_lock(lock.place.with_name(f".{lock.place.name}.lock"))
        return lock

    @property
    def is_held(self) -> bool:
        return self._lock.is_locked

    def acquire(self) -> Self:
        """Take the lock, creating the folder where it is missing; does nothing when held.

        Raises InUseError when another process, or another RunLock of this one, holds it, and
        OSError when the folder can't be written.
        """
        if self.is_held:
            return self
        path = Path(self._lock.lock_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise InUseError(f"{self.place}: in use by {self._holder()}") from None
        with contextlib.suppress(OSError):  # a full disk: the lock holds without it
            self._holder_path.write_text(json.dumps(_this_process()), encoding="utf-8")
        return self

    def release(self) -> None:
        """Give the lock back; does nothing when it isn't held."""
        if not self.is_held:
            return
        with contextlib.suppress(OSError):
            self._holder_path.unlink()
        if self._is_file:
            # Safe while held: whoever opened the old file sees that it has no name any more.
            with contextlib.suppress(OSError):
                Path(self._lock.lock_file).unlink()
        self._lock.release(force=True)

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @property
    def _holder_path(self) -> Path:
        return Path(self._lock.lock_file + "-holder")

    def _holder(self) -> str:
        try:
            facts = json.loads(self._holder_path.read_text(encoding="utf-8"))
            where = "" if facts["host"] == socket.gethostname() else f" on {facts['host']}"
            return f"process {facts['pid']}{where} since {facts['since']} ({facts['command']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


def _file_lock(path: Path) -> FileLock:
    # Not per thread: a run may be closed by another thread than the one that began it.
    return FileLock(path, thread_local=False)


def _this_process() -> dict[str, object]:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    if len(command) > _COMMAND_LENGTH:
        command = command[: _COMMAND_LENGTH - 3] + "..."
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": command,
    }
