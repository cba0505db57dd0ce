"""Searchers in a forked process, which lacks the threads of its parent."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork")

PROGRAM = """
import os, signal, sys, threading, time
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaSearcher

searcher = AlphaBetaSearcher()
searcher.search(Limits(nodes=1000))
if {is_searching}:
    thread = threading.Thread(target=searcher.search, args=[Limits(movetime_ms=1000)])
    thread.start()
    time.sleep(0.2)
child = os.fork()
if not child:
    signal.alarm(30)
    {work}
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
WORK = {
    "nothing": "pass",
    "search": "assert searcher.search(Limits(nodes=1000)).best_move in Board().legal_moves",
    "close": "searcher.close()",
    "replace": "searcher = AlphaBetaSearcher()\n    searcher.search(Limits(nodes=1000))",
}


def _run(work: str, *, is_searching: bool) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=work, is_searching=is_searching)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("work", WORK)
def test_a_searcher_may_be_used_in_a_forked_process(work: str) -> None:
    assert _run(WORK[work], is_searching=False) == (0, "")


@pytest.mark.parametrize("work", ["nothing", "close", "replace"])
def test_a_process_forked_during_a_search_ends(work: str) -> None:
    assert _run(WORK[work], is_searching=True) == (0, "")


@pytest.mark.parametrize("call", ["engine.new_game()", "evaluate(Board())"])
def test_a_searcher_that_searched_at_the_fork_says_so(call: str) -> None:
    code, errors = _run(f"searcher.{call}", is_searching=True)
    assert code == 1
    assert errors.splitlines()[-1] == (
        "RuntimeError: the engine was searching when this process was forked; make one in each "
        "process"
    )


def test_a_blocking_search_in_a_forked_process_can_be_stopped() -> None:
    program = """
import os, signal, sys, threading
from komadori._core import alphabeta as core
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, make_engines

engine, = make_engines("material", None, AlphaBetaOptions(threads=2, hash_mb=1), 1)
limits = core.Limits()
limits.nodes = 2000
engine.search(Board(), limits)
child = os.fork()
if not child:
    signal.alarm(30)
    limits.nodes, limits.infinite = 0, True
    threading.Timer(0.3, engine.stop).start()
    assert engine.search(Board(), limits).best is not None
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
