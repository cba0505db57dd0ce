"""A searcher runs one search at a time: a second one, of another thread or inside a callback, is an
error, not the end of the process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from komadori import inference, search
from komadori._core import alphabeta as core
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.search.protocol import Info, Limits

MAKE: dict[str, Callable[[], search.Searcher]] = {
    "alphabeta": lambda: AlphaBetaSearcher("material", options=AlphaBetaOptions(hash_mb=1)),
    "puct": lambda: search.PuctSearcher(inference.load("uniform")),
    "policy": lambda: search.PolicySearcher(inference.load("uniform")),
    "one-ply": lambda: search.OnePlySearcher(inference.load("uniform")),
}
MESSAGE = "already searching; use one searcher per thread"


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("other", ["search", "set_position", "new_game"])
def test_a_searcher_in_use_rejects_what_would_change_it(kind: str, other: str) -> None:
    searcher = MAKE[kind]()
    arguments = {"search": [Limits(nodes=1)], "set_position": [Board()], "new_game": []}[other]
    errors: list[str] = []

    def call() -> None:
        try:
            getattr(searcher, other)(*arguments)
        except RuntimeError as error:
            errors.append(str(error))

    def on_info(_info: Info) -> None:
        if not errors:
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            call()  # of the thread that searches

    searcher.search(Limits(nodes=300), on_info)
    assert len(errors) >= 2
    assert all(MESSAGE in error for error in errors)
    searcher.set_position(Board())
    assert searcher.search(Limits(nodes=10)).best_move is not None
    searcher.close()


def test_a_tree_search_in_use_keeps_its_tree() -> None:
    searcher = MAKE["puct"]()
    errors: list[str] = []

    def on_info(_info: Info) -> None:
        with pytest.raises(RuntimeError) as caught:
            searcher.close()
        errors.append(str(caught.value))

    result = searcher.search(Limits(nodes=300), on_info)
    assert result.best_move is not None
    assert errors
    assert MESSAGE in errors[0]
    searcher.close()


def test_a_tree_search_is_not_closed_by_another_thread() -> None:
    searcher = MAKE["puct"]()
    stop, found = threading.Event(), list[search.SearchResult]()
    thread = threading.Thread(
        target=lambda: found.append(searcher.search(Limits(infinite=True), None, stop))
    )
    thread.start()
    time.sleep(0.2)
    try:
        with pytest.raises(RuntimeError, match=MESSAGE):
            searcher.close()
    finally:
        stop.set()
        thread.join()
    assert found[0].best_move is not None
    searcher.close()


@pytest.mark.parametrize("kind", ["alphabeta", "puct"])
def test_a_searcher_in_use_keeps_its_options(kind: str) -> None:
    searcher = MAKE[kind]()
    assert isinstance(searcher, AlphaBetaSearcher | search.PuctSearcher)
    errors: list[str] = []

    def on_info(_info: Info) -> None:
        with pytest.raises(RuntimeError) as caught:
            searcher.set_option(multipv=3)
        errors.append(str(caught.value))

    searcher.search(Limits(nodes=300), on_info)
    assert errors
    assert MESSAGE in errors[0]
    assert searcher.options.multipv == 1
    searcher.close()


def test_the_core_runs_the_searches_of_several_threads_one_after_another() -> None:
    options = AlphaBetaOptions(hash_mb=1, threads=2).to_core()
    engine = core.Engine("material", options)
    position, limits = Board(), core.Limits()
    limits.nodes = 200
    found: list[int | None] = []

    def work(number: int) -> None:
        for turn in range(30):
            if number == 0 and turn % 3 == 0:
                engine.new_game()
                engine.set_options(AlphaBetaOptions(hash_mb=1, threads=1 + turn % 2).to_core())
            if number % 2:
                engine.start(position, limits)
                engine.result()
            else:
                found.append(engine.search(position, limits).best)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60


#: An endless search in a daemon thread, of the searcher `make`.
ENDLESS = """
import subprocess
import sys
import threading
from komadori import inference, search
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.search.protocol import Limits
from komadori.usi.models import find_model

searcher = {make}
searcher.set_position(Board())
begun = threading.Event()
arguments = (Limits(infinite=True), lambda info: begun.set())
threading.Thread(target=searcher.search, args=arguments, daemon=True).start()
assert begun.wait(30)
print("the end")
"""


@pytest.mark.parametrize(
    "make",
    [
        'search.PuctSearcher(inference.load(find_model("default")))',
        'AlphaBetaSearcher("material")',
    ],
)
def test_python_ends_while_a_daemon_thread_searches(make: str) -> None:
    """Python kills the thread when it takes the GIL; in the midst of C++ code that aborted."""
    script = ENDLESS.format(make=make)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")
