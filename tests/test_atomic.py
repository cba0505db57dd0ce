"""Files appear whole or not at all; pipes, links, leftovers of killed processes."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from komadori.atomic import atomic_writer, discard_unfinished, write_text


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail() -> None:
        with atomic_writer(path) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == {"a.txt"}


def test_an_error_leaves_no_folder_that_was_made_for_the_file(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for path in (tmp_path / "old" / "a" / "b" / "x", tmp_path / "new" / ("x" * 300)):
        with pytest.raises((ZeroDivisionError, OSError)), atomic_writer(path):
            raise ZeroDivisionError
    outer, inner = atomic_writer(tmp_path / "new" / "1"), atomic_writer(tmp_path / "new" / "2")
    with pytest.raises(ZeroDivisionError), outer, inner:
        raise ZeroDivisionError
    assert list(tmp_path.rglob("*")) == [tmp_path / "old"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/file")  # which doesn't exist yet
    for text in ("one", "two"):
        write_text(link, text)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").read_text() == text


def test_a_fifo_is_written_through(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    found = []
    reader = threading.Thread(target=lambda: found.append(fifo.read_text()))
    reader.start()
    write_text(fifo, "through")
    reader.join()
    assert found == ["through"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_standard_output_is_written_through_and_appended_to(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("before\n")
    code = (
        "from pathlib import Path; from komadori.atomic import write_text;"
        "write_text(Path('/dev/stdout'), 'after\\n')"
    )
    with out.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert out.read_text() == "before\nafter\n"


def test_permissions_follow_the_umask_or_the_file_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    before = os.umask(0o027)
    try:
        write_text(path, "")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write_text(path, "again")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_the_umask_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was set"))
    write_text(tmp_path / "a", "")


_WRITE_AND_WAIT = """
import sys
from pathlib import Path
from komadori.atomic import atomic_writer
with atomic_writer(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_leftovers_of_a_killed_process_are_reused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "old")
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITE_AND_WAIT, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    write_text(path, "other")  # while it is being written: another temporary file
    assert names(tmp_path) == {"a", ".a.tmp"}
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.read_text() == "other"
    write_text(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == {"a"}


def test_the_leftover_of_another_user_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / ".a.txt.tmp"
    other.write_text("theirs")
    open_file = os.open

    def open_own(name: str, flags: int, *arguments: int, **options: int) -> int:
        if str(name) == str(other) and not flags & os.O_EXCL:
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return open_file(name, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", open_own)
    write_text(tmp_path / "a.txt", "mine")
    assert names(tmp_path) == {"a.txt", ".a.txt.tmp"}
    assert (other.read_text(), (tmp_path / "a.txt").read_text()) == ("theirs", "mine")


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and sockets in folders")
@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere"), _make_socket],
    ids=["folder", "pipe", "link", "socket"],
)
def test_what_is_no_file_is_left_alone(make: Callable[[Path], None], tmp_path: Path) -> None:
    other = tmp_path / ".a.txt.tmp"
    make(other)
    kind = other.lstat().st_mode
    write_text(tmp_path / "a.txt", "mine")
    assert (tmp_path / "a.txt").read_text() == "mine"
    assert names(tmp_path) == {"a.txt", ".a.txt.tmp"}
    assert other.lstat().st_mode == kind


def test_a_full_disk_names_the_file_and_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*/a'$") as caught:
            write_text(path, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.errno == errno.EFBIG
    assert path.read_text() == "old"
    assert names(tmp_path) == {"a"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="/file") as caught:
        write_text(tmp_path / "file" / "b" / "c", "")
    assert ".tmp" not in str(caught.value)


def test_unfinished_files_can_be_discarded_without_unwinding(tmp_path: Path) -> None:
    with atomic_writer(tmp_path / "a") as file:
        file.write(b"x")
        assert names(tmp_path) == {".a.tmp"}
        discard_unfinished()
        assert names(tmp_path) == set()
        write_text(tmp_path / "b", "")
        os.link(tmp_path / "b", tmp_path / ".a.tmp")  # so that the block can end


@pytest.mark.parametrize("name", ["a" * 255, "歩" * 85, "a" * 247])
def test_a_name_as_long_as_possible_can_be_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for text in ("old", "new"):
        write_text(path, text)
        assert path.read_text() == text
    with atomic_writer(path) as first:  # a second writer's temporary name is longer
        first.write(b"first")
        write_text(path, "second")
    assert path.read_text() == "first"
    assert names(tmp_path) == {name}


def test_an_error_of_a_long_temporary_name_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too long") as caught:
        write_text(tmp_path / ("a" * 256), "text")
    assert caught.value.filename == str(tmp_path / ("a" * 256))


@pytest.mark.parametrize("function", ["open", "ftruncate", "fdopen"])
def test_an_interrupt_while_the_temporary_file_is_made_leaves_none(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal's exception comes out of the call that has just succeeded."""
    real = getattr(os, function)

    def interrupted(*arguments: object, **options: object) -> None:
        real(*arguments, **options)
        monkeypatch.setattr(os, function, real)
        raise KeyboardInterrupt

    path = tmp_path / "new" / "out.csa"
    monkeypatch.setattr(os, function, interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_writer(path):
        pass
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "out.csa"
    with atomic_writer(path) as other:  # another writer's file stays
        monkeypatch.setattr(os, function, interrupted)
        with pytest.raises(KeyboardInterrupt), atomic_writer(path):
            pass
        other.write(b"kept")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csa"]
    assert path.read_bytes() == b"kept"
