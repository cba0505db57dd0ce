"""A process may end while its daemon threads are in compiled code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from komadori.records import sample_path

PROGRAM = """
import sys, threading, time
from komadori.records import load_samples
from komadori.rules import Board

def work():
    while True:
        {work}

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
sys.exit(7)
"""


@pytest.mark.parametrize("work", ["Board().perft(3)", "load_samples(sys.argv[1])"])
def test_daemon_threads_do_not_abort_the_process(work: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=work), sample_path()],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (7, "")
