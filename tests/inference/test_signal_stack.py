"""A signal arrives when the network that the main thread loaded is gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc, signal, sys, threading
from komadori import inference

def handle(*_):
    print("handled", flush=True)

signal.signal(signal.SIGINT, handle)
loaded = [inference.load("default") for _ in range(2)]
{close}
loaded.clear()
gc.collect()
signal.raise_signal(signal.SIGINT)
"""
IN_A_THREAD = """
for one in loaded:
    thread = threading.Thread(target=one.close)
    thread.start()
    thread.join()
del one, thread
"""
IN_ORDER = "while loaded: loaded.pop(0).close()"


@pytest.mark.parametrize("close", [IN_A_THREAD, IN_ORDER], ids=["in a thread", "in order"])
def test_a_signal_after_the_networks_are_closed_is_handled(close: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(close=close)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled\n", "")
