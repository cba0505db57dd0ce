"""A process may end while its daemon threads are in compiled code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from komadori.records import sample_path

PROGRAM = """
import sys, threading, time
from komadori import inference
from komadori.records import load_samples
from komadori.rules import Board

evaluator = inference.load({model!r})

def work():
    while True:
        {work}

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep({seconds})
sys.exit(7)
"""


def _exits(work: str, model: str = "uniform", seconds: float = 0.05) -> None:
    program = PROGRAM.format(work=work, model=model, seconds=seconds)
    done = subprocess.run(
        [sys.executable, "-c", program, sample_path()],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.parametrize("work", ["Board().perft(3)", "load_samples(sys.argv[1])"])
def test_daemon_threads_do_not_abort_the_process(work: str) -> None:
    _exits(work)


@pytest.mark.parametrize("seconds", [0.3, 1.0])
@pytest.mark.parametrize(
    "work", ["inference.policy(Board(), evaluator)", "inference.load('default').close()"]
)
def test_daemon_threads_in_a_network_do_not_abort_the_process(work: str, seconds: float) -> None:
    _exits(work, "default", seconds)
