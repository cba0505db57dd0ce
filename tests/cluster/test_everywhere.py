"""Commands of a worker, without a cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from komadori.cluster import ClusterError, everywhere

WORKER = """
import time
from komadori.cluster.commands import CommandWorker
worker = CommandWorker({}, "one", 1)
worker.add([["sh", "-c", "sleep 600 & echo $! > started.tmp; mv started.tmp started; wait"]])
time.sleep(600)
"""


def is_running(process: int) -> bool:
    """Whether the process exists and isn't a zombie that nobody has waited for."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_command_ends_with_its_worker(tmp_path: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER], cwd=tmp_path)
    started = tmp_path / "started"
    ends = time.monotonic() + 60
    while not started.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    worker.kill()
    worker.wait()
    process = int(started.read_text())
    try:
        ends = time.monotonic() + 20
        while is_running(process) and time.monotonic() < ends:
            time.sleep(0.05)
        assert not is_running(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Fleet:
    """One machine, on which every command fails."""

    machines, waiting = 1, 1

    def __init__(self, *_: object, **__: object) -> None:
        self.output = "first\nError: no such file\n"

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, items: object) -> None:
        pass

    def take(self, _timeout_s: float) -> list[tuple[object, object]]:
        return [(["komadori"], {"code": 3, "words": self.output})]


def test_a_failed_command_is_reported_by_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everywhere, "Fleet", Fleet)
    with pytest.raises(ClusterError, match=r"^komadori ended with status 3: Error: no such file$"):
        everywhere.run_everywhere("auto", ["komadori"])
