"""Atomic file writes: a file appears complete or not at all, even if the process is killed.

Data is written to `.NAME.tmp` beside the file (of a very long NAME, its start), which is renamed at
the end. The temporary file is
locked while it is written, so that one left by a killed process is recognized and reused by the
next writer of NAME. Pipes, devices and standard output are written directly; for a symbolic link,
the file it points to is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

#: Temporary names tried before giving up, the largest number of concurrent writers of a file.
_MAX_WRITERS = 100
#: Bytes of a file's name that nearly all file systems allow.
_MAX_NAME = 255
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}

#: Temporary files being written by this process, and the folders made for each, deepest first.
_unfinished: dict[str, list[Path]] = {}


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends without an error.

    The data is fsynced before the rename, and the folder after it. On an error, such as a full
    disk, the old file is unchanged, and the temporary file and folders made for it are removed;
    OSError names `path`. A replaced file keeps its permissions.
    """
    if is_stream(path):
        with _named(path), _open_stream(path) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))  # resolve() fails in a loop of links
    parents = (target.parent, *target.parent.parents)
    made = [folder for folder in parents if not os.path.exists(folder)]  # noqa: PTH110
    try:
        with _named(path):
            _make_folder(target.parent)
            file, temporary = _open_temporary(target)
            _unfinished[temporary] = made
    except BaseException as error:
        if not isinstance(error, Exception):  # interrupted, maybe just after the file was made
            _discard_unclaimed(target)
        _remove_empty(made)
        raise
    try:
        with _named(path), file:
            yield file
            file.flush()
            _copy_mode(target, file)
            os.fsync(file.fileno())
            if sys.platform == "win32":  # open files can't be renamed there
                file.close()
            os.replace(temporary, target)  # noqa: PTH105
            _unfinished.pop(temporary, None)
    except BaseException:
        _discard(temporary)
        raise
    sync_folder(target.parent)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically. Bytes of file names that aren't UTF-8 are written as escapes,
    in the form of JSON's."""
    with atomic_writer(path) as file:
        file.write(text.encode(errors="backslashreplace"))


def is_stream(path: Path | str) -> bool:
    """Whether the path names a pipe, a device or a file descriptor, which can't be replaced."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def file_in_the_way(folder: Path) -> Path | None:
    """The file that prevents `folder` from being one: the path itself or one of its parents."""
    for path in (folder, *folder.parents):
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError):
            continue
        return None if stat.S_ISDIR(mode) else path
    return None


def check_writable(folder: Path) -> None:
    """Raise OSError if `folder`, or the parent in which it would be created, can't be written;
    changes nothing, so it may precede long work."""
    place = next((path for path in (folder, *folder.parents) if path.exists()), None)
    if place is None:
        return
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if os.access(place, os.W_OK | os.X_OK):
        return
    code = errno.EACCES
    if sys.platform != "win32" and os.statvfs(place).f_flag & os.ST_RDONLY:
        code = errno.EROFS
    raise OSError(code, os.strerror(code), str(folder))


def sync_folder(folder: Path) -> None:
    """Fsync the folder, so that its entries survive a power failure, if the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def discard_unfinished() -> None:
    """Remove the temporary files of this process, for exits without unwinding."""
    for temporary in list(_unfinished):
        _discard(temporary)


def _discard(temporary: str) -> None:
    if (made := _unfinished.pop(temporary, None)) is not None:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):  # one that holds something stays
        for folder in folders:
            folder.rmdir()


def _descriptor(path: Path | str) -> int | None:
    text = str(path)
    match = _DESCRIPTOR.fullmatch(text)
    return int(match[1]) if match else _STANDARD.get(text)


def _open_stream(path: Path) -> BinaryIO:
    descriptor = _descriptor(path)
    if descriptor is None:
        return path.open("wb")
    # Reopening would truncate a file that standard output is redirected to.
    return os.fdopen(os.dup(descriptor), "wb")


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Make errors of the file or its temporary file name the path known to the caller."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not _is_of(error.filename, path):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _is_of(name: object, path: Path) -> bool:
    """Whether an error's file name is that of a temporary file of `path`; errors of reads and
    writes have none."""
    if name is None:
        return True
    last = Path(os.fsdecode(name) if isinstance(name, bytes) else str(name)).name
    start = _temporary_start(Path(os.path.realpath(path)).name)
    return last.startswith(f"{start}.") and last.endswith(".tmp")


def hidden_name(name: str, suffix: str) -> str:
    """The name of a hidden file beside `name`: `.NAME` and the suffix, of a very long NAME its
    start, so that file systems allow it."""
    start = f".{name}"
    while len(os.fsencode(start + suffix)) > _MAX_NAME:
        start = start[:-1]
    return start + suffix


def _temporary_start(name: str) -> str:
    """The start of the temporary names of `name`, short enough for all of them."""
    longest = f".{_MAX_WRITERS}.tmp"
    return hidden_name(name, longest).removesuffix(longest)


def _make_folder(folder: Path) -> None:
    """Create the folder and its parents, each fsynced."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _open_temporary(target: Path) -> tuple[BinaryIO, str]:
    """Open a temporary file beside the target with the umask's permissions; return its path too."""
    for temporary in _temporary_paths(target):
        file = _claim(temporary)
        if file is not None:
            return file, temporary
    raise OSError(f"{target}: {_MAX_WRITERS} other processes are writing it")


def _temporary_paths(target: Path) -> Iterator[str]:
    for number in range(_MAX_WRITERS):
        name = f"{_temporary_start(target.name)}{f'.{number}' * bool(number)}.tmp"
        yield str(target.with_name(name))


def _discard_unclaimed(target: Path) -> None:
    """Remove the target's temporary files that no process writes."""
    for temporary in _temporary_paths(target):
        if not os.path.exists(temporary):  # noqa: PTH110
            return
        if temporary not in _unfinished and (file := _claim(temporary)) is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            file.close()


def _claim(temporary: str) -> BinaryIO | None:
    """Open a temporary file, new or left by a dead process; None if one is being written, is
    another user's, or no file."""
    if sys.platform == "win32":
        with contextlib.suppress(FileNotFoundError):
            try:
                os.unlink(temporary)  # noqa: PTH108
            except PermissionError:  # open in another process
                return None
        try:
            return Path(temporary).open("xb")
        except FileExistsError:
            return None
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle, is_new = os.open(temporary, flags | os.O_EXCL, 0o666), True
    except FileExistsError:
        try:
            handle, is_new = os.open(temporary, flags, 0o666), False
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.ENXIO):
                return None  # another user's, a folder, a link or a socket
            raise
    try:
        if not _lock(handle, fcntl) and not is_new:
            raise BlockingIOError
        about = os.fstat(handle)
        is_there = os.path.samestat(about, os.stat(temporary))  # noqa: PTH116
        if not (is_there and stat.S_ISREG(about.st_mode)):
            raise FileNotFoundError
        os.ftruncate(handle, 0)
        return os.fdopen(handle, "wb")
    except (BlockingIOError, FileNotFoundError):  # being written, just renamed, or a pipe
        os.close(handle)
        return None
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(handle)
        raise


def _lock(handle: int, fcntl: Any) -> bool:
    """Lock the file; False on file systems without locks. Raises BlockingIOError if another process
    holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _copy_mode(target: Path, file: BinaryIO) -> None:
    """Keep the permissions of the file that is replaced."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
