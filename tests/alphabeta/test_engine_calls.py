"""The core's engine, called by several threads at once and with settings that it can't have."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from komadori._core import alphabeta as core
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaSearcher

MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 2"
DECLARES = "4K4/GGSSPPP2/RRBBPPP2/9/9/9/9/9/4k4 b - 1"


def options(threads: int = 1, hash_mb: int = 1) -> core.Options:
    made = core.Options()
    made.threads = threads
    made.hash_mb = hash_mb
    return made


def limits(*, depth: int = 0, infinite: bool = False) -> core.Limits:
    made = core.Limits()
    made.depth = depth
    made.infinite = infinite
    return made


@contextmanager
def running(thread: threading.Thread) -> Iterator[None]:
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "call",
    ["assert engine.nodes == 0", "assert engine.options.threads in (1, 2, 3)", "engine.stop()"],
)
def test_another_thread_may_ask_while_the_options_change(call: str) -> None:
    program = f"""
import threading, time
from komadori._core import alphabeta as core

def options(threads):
    made = core.Options()
    made.hash_mb, made.threads, made.turns = 1, threads, core.Turns(threads)
    return made

engine = core.Engine("material", options(1))
end = time.monotonic() + 1

def change():
    number = 0
    while time.monotonic() < end:
        number += 1
        engine.set_options(options(1 + number % 3))

thread = threading.Thread(target=change)
thread.start()
while time.monotonic() < end:
    {call}
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("sfen", [MATED, DECLARES])
def test_an_infinite_search_without_a_move_to_search_waits_for_stop(sfen: str) -> None:
    searcher = AlphaBetaSearcher("material")
    board = Board(sfen)
    assert bool(board.legal_moves) == board.can_declare_win() == (sfen == DECLARES)
    searcher.set_position(board)
    stop = threading.Event()
    results = []
    thread = threading.Thread(
        target=lambda: results.append(searcher.search(Limits(infinite=True), stop=stop))
    )
    with running(thread):
        thread.join(0.2)
        assert thread.is_alive()
        stop.set()
    assert results[0].best_move is None
    assert results[0].declare_win == (sfen == DECLARES)


def test_a_ponderhit_ends_a_search_without_a_move_to_search() -> None:
    engine = core.Engine("material", options())
    engine.start(Board(MATED), limits(infinite=True))
    time.sleep(0.05)
    assert engine.is_searching
    engine.ponderhit(limits(depth=1))
    assert engine.result().best is None


def test_a_search_that_waits_for_another_keeps_the_position_of_its_call() -> None:
    engine = core.Engine("material", options())
    engine.start(Board(), limits(infinite=True))
    board = Board()
    with running(threading.Thread(target=lambda: engine.start(board, limits(depth=1)))):
        time.sleep(0.2)
        board.push_usi("7g7f")
        engine.stop()
    assert engine.result().best in {move.move16 for move in Board().legal_moves}


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"threads": -1}, {"hash_mb": 0}])
def test_an_engine_needs_a_thread_and_memory(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least 1"):
        core.Engine("material", options(**wrong))
    engine = core.Engine("material", options())
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least 1"):
        engine.set_options(options(**wrong))
    assert engine.options.threads == 1
    assert engine.evaluate(Board()) == 0
