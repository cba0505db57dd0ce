"""Many searches at once: how they are stopped, their threads' priority, and turns."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from komadori._core.alphabeta import Turns
from komadori.rules import Board
from komadori.search import Limits, SearchResult, StopEvent
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness here")
INFINITE = Limits(infinite=True)
#: The system's greatest niceness, which further steps leave as it is.
LOWEST = 19


def searcher(turns: Turns | None = None, **options: Any) -> AlphaBetaSearcher:
    return AlphaBetaSearcher("nnue", None, AlphaBetaOptions(hash_mb=4, **options), turns=turns)


@contextmanager
def searching(*searchers: AlphaBetaSearcher) -> Iterator[list[SearchResult]]:
    """Search without limits until the end of the block; the results follow."""
    stop, results = StopEvent(), list[SearchResult]()
    threads = [
        threading.Thread(target=lambda s=s: results.append(s.search(INFINITE, None, stop)))
        for s in searchers
    ]
    for thread in threads:
        thread.start()
    try:
        yield results
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def tasks() -> set[int]:
    return {int(path.name) for path in Path("/proc/self/task").iterdir()}


def until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class Counted:
    """An engine that counts its `wait`s."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.waits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def wait(self, timeout_ms: int) -> Any:
        self.waits += 1
        return self._engine.wait(timeout_ms)


def test_a_stop_event_is_not_polled() -> None:
    engine = searcher()
    engine.set_position(Board("8k/9/8P/9/9/9/9/9/4K4 b G 1"))  # soon searched to every depth
    counted = engine._engine = Counted(engine._engine)
    infos = []
    stop, began = StopEvent(), time.monotonic()
    timer = threading.Timer(1.0, stop.set)
    timer.start()
    engine.search(INFINITE, infos.append, stop)
    assert counted.waits <= 10 * (time.monotonic() - began) + len(infos) + 5


def test_a_stop_event_calls_functions_only_during_the_block() -> None:
    stop, calls = StopEvent(), []
    with stop.calling(lambda: calls.append("first")):
        pass
    with stop.calling(lambda: calls.append("second")):
        stop.set()
        assert calls == ["second"]
    with stop.calling(lambda: calls.append("third")):  # already set
        assert calls == ["second", "third"]
    stop.set()
    assert calls == ["second", "third"]


def test_a_set_stop_ends_a_search_at_once() -> None:
    stop = StopEvent()
    stop.set()
    engine = searcher()
    assert engine.search(INFINITE, None, stop).best_move


@LINUX
def test_only_the_search_threads_have_the_lower_priority() -> None:
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    engine = searcher(threads=2, niceness=3)
    others = tasks()
    with searching(engine):
        until(lambda: engine.nodes > 1000)
        names = {thread.native_id for thread in threading.enumerate()}
        priorities = [os.getpriority(os.PRIO_PROCESS, task) for task in tasks() - names - others]
        assert priorities == [min(nice + 3, LOWEST)] * 2
        assert {os.getpriority(os.PRIO_PROCESS, name) for name in names if name} == {nice}


@LINUX
def test_searches_take_turns() -> None:
    turns = Turns(1)
    engines = [searcher(turns) for _ in range(6)]
    others = tasks()
    with searching(*engines) as results:
        until(lambda: all(engine.nodes > 50_000 for engine in engines))
        names = {thread.native_id for thread in threading.enumerate()}
        threads = tasks() - others - names
        assert len(threads) == len(engines)
        running = []
        for _ in range(200):
            states = [
                Path(f"/proc/self/task/{task}/stat").read_text().rpartition(")")[2].split()[0]
                for task in threads
            ]
            running.append(states.count("R"))
            time.sleep(0.001)
        assert sum(running) / len(running) < 2  # two while one passes its turn on
    assert len(results) == len(engines)
    assert all(result.best_move for result in results)


def test_waiting_searches_are_stopped() -> None:
    turns = Turns(1)
    first, second = searcher(turns), searcher(turns)
    with searching(first):
        for _ in range(20):
            with searching(second):
                pass
    limited = searcher(turns, threads=3)
    assert limited.search(Limits(nodes=50_000)).best_move
    assert limited.nodes >= 50_000
