"""Run locks: every long-running command that writes to a folder holds its lock.

The operating system releases the lock when the process ends in any way, so a killed run leaves
nothing to clean up. Waiting for a lock is never useful (a run lasts hours): a second process gets
an error that names the first.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import socket
import sys
import time
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from komadori.atomic import hidden_name
from komadori.json_file import read_table
from komadori.whole_file import file_identity

LOCK_FILE = ".lock"
#: Suffix of the file that names the process that holds a lock.
_HOLDER = "-holder"
#: Longest command line quoted in a message, in characters.
_COMMAND_LENGTH = 120


class InUseError(OSError):
    """Another process holds the lock. The message names it and the time since when."""


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
        """The lock of a single file, for several runs in one folder."""
        lock = cls.__new__(cls)
        lock.place = Path(path)
        lock._is_file = True
        name = hidden_name(lock.place.name, f"{LOCK_FILE}{_HOLDER}").removesuffix(_HOLDER)
        lock._lock = _file_lock(lock.place.with_name(name))
        return lock

    @property
    def is_held(self) -> bool:
        return self._lock.is_locked

    def acquire(self) -> Self:
        """Acquire the lock and create the folder if missing; no-op if held.

        Raises InUseError if another process, or another RunLock of this one, holds it, and OSError
        if the folder can't be written.
        """
        if self.is_held:
            return self
        path = Path(self._lock.lock_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise InUseError(f"{self.place}: in use by {self._holder()}") from None
        except OSError as error:  # names the place, unless the lock's own file is what is wrong
            is_its_own = path.is_dir() or (
                isinstance(error, PermissionError)
                and path.exists()
                and os.access(path.parent, os.W_OK)
            )
            place = path if is_its_own else self.place
            raise OSError(error.errno, error.strerror, str(place)) from error
        self._held = file_identity(path)
        with contextlib.suppress(OSError):  # optional: the disk may be full
            self._holder_path.write_text(json.dumps(_this_process()), encoding="utf-8")
        return self

    def check_place(self) -> None:
        """Raise OSError if the folder that is held was moved, removed or replaced: what is written
        there now would not belong to the run. Precondition: the lock is held."""
        if file_identity(Path(self._lock.lock_file)) != self._held:
            reason = "was moved, removed or replaced while it was in use"
            raise OSError(errno.ENOENT, reason, str(self.place))

    def release(self) -> None:
        """Release the lock; no-op if it isn't held."""
        if not self.is_held:
            return
        with contextlib.suppress(OSError):
            self._holder_path.unlink()
        if self._is_file:
            # Safe while held: a process that opened the old file detects that it was unlinked.
            with contextlib.suppress(OSError):
                Path(self._lock.lock_file).unlink()
        self._lock.release(force=True)

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def _holder_path(self) -> Path:
        return _holder_path(Path(self._lock.lock_file))

    def _holder(self) -> str:
        try:
            facts = read_table(self._holder_path)
            where = "" if facts["host"] == socket.gethostname() else f" on {facts['host']}"
            return f"process {facts['pid']}{where} since {facts['since']} ({facts['command']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


def check_free(folder: Path) -> None:
    """Raise InUseError if another process holds the lock of an existing folder."""
    if (folder / LOCK_FILE).is_file():
        try:
            RunLock(folder).acquire().release()
        except InUseError:
            raise
        except OSError:  # read-only: nobody else writes there either
            return


def was_released(folder: Path) -> bool:
    """Return whether the last process that held the folder's lock has released it.

    False for one that was killed, and for a folder that had no lock.
    """
    path = folder / LOCK_FILE
    return path.is_file() and not _holder_path(path).is_file()


def _holder_path(lock: Path) -> Path:
    return Path(f"{lock}{_HOLDER}")


def _file_lock(path: Path) -> FileLock:
    # Not per thread: a run may be closed by another thread than the one that opened it.
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
