"""The PUCT searcher: failing networks, wrong options, sampled openings, threads and memory."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from small_puct import MATE_IN_7, MIDDLE, searcher

from komadori.inference import InferenceError, load
from komadori.inference.fakes import FixedEvaluator, UniformEvaluator
from komadori.rules import Board, Move
from komadori.search import Info, Limits, PuctOptions, PuctSearcher
from komadori.search.alphabeta import AlphaBetaOptions
from komadori.search.options import batch_rows
from komadori.search.reclaiming import FULLNESS
from komadori.search.root_mate import CROWDED_FRACTION

# -- failures


class Failing(UniformEvaluator):
    """Fails in one `wait`, then works."""

    def __init__(self, at: int) -> None:
        super().__init__(max_batch=4, slots=3)
        self.left = at

    def wait(self, slot: int) -> Any:
        self.left -= 1
        if self.left == 0:
            raise InferenceError("the device went away")
        return super().wait(slot)


@pytest.mark.parametrize("at", [1, 2, 7, 30])
def test_a_network_that_fails_leaves_a_sound_tree(at: int) -> None:
    s = PuctSearcher(Failing(at))
    s.set_position(Board(MIDDLE))
    with pytest.raises(InferenceError, match="went away"):
        s.search(Limits(nodes=2000))
    assert s.tree.check() == ""
    assert s.tree.view(0).in_flight == 0
    assert s.search(Limits(nodes=100)).best_move is not None
    assert s.tree.check() == ""


def test_an_interrupt_leaves_a_sound_tree() -> None:
    s = searcher()

    def interrupt(info: Info) -> None:
        raise KeyboardInterrupt

    s.set_option(pv_interval_ms=5)
    s.set_position(Board(MIDDLE))
    with pytest.raises(KeyboardInterrupt):
        s.search(Limits(movetime_ms=500), on_info=interrupt)
    assert s.tree.check() == ""
    assert s.tree.view(0).in_flight == 0


@pytest.mark.parametrize(("policies", "values"), [(0, np.nan), (np.nan, 0.5), (0, 1.5), (0, -7)])
def test_invalid_network_outputs_are_an_error(policies: float, values: float) -> None:
    class Nonsense(UniformEvaluator):
        name = "nonsense"

        def _evaluate(self, inputs: Any, policy: Any, value: Any) -> None:
            policy[:], value[:] = policies, values

    s = PuctSearcher(Nonsense())
    s.set_position(Board())
    with pytest.raises(InferenceError, match="nonsense: the network's outputs aren't numbers"):
        s.search(Limits(nodes=50))
    assert s.tree.check() == ""


def test_a_small_memory_is_enough_for_a_long_search() -> None:
    s = searcher(memory_mb=1)
    result = s.search(Limits(nodes=4000))
    assert result.infos[0].nodes == 4000
    assert s.tree.stats.reclaims > 0
    assert s.tree.node_count < 2000  # of some 4,000 met
    assert s.tree.check() == ""


def test_options_out_of_range() -> None:
    for bad in (
        {"temperature": 0},
        {"declaration": "28"},
        {"memory_mb": 0},
        {"draw_value_black": 1.5},
        {"multipv": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            PuctOptions(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [PuctOptions, AlphaBetaOptions])
def test_every_number_of_the_options_is_checked(options: Any) -> None:
    """A NaN or a negative constant would play other moves without a word."""
    signed = ("fpu_reduction", "fpu_reduction_root", "random_seed", "resign_value")
    for one in fields(options):
        kind = str(one.type).split(" ")[0]
        if kind in ("int", "float") and one.name not in signed:
            with pytest.raises(ValueError, match=f"^{one.name} is -1, "):
                options(**{one.name: -1})
        if kind == "float":
            for bad in (math.nan, math.inf, -math.inf):
                with pytest.raises(ValueError, match=f"^{one.name} is {bad}, "):
                    options(**{one.name: bad})
        if kind in ("int", "bool"):
            for wrong in (math.nan, 2.5, "5"):
                with pytest.raises(TypeError, match=f"^{one.name}: expected {kind}"):
                    options(**{one.name: wrong})
            assert options(**{one.name: np.array([one.default])[0]})  # NumPy's numbers are numbers


def test_a_network_of_other_tables() -> None:
    s = PuctSearcher(load("random:1", features="diary-turn", labels="from-to"))
    s.set_position(Board())
    assert s.search(Limits(nodes=200)).infos[0].nodes == 200
    assert s.tree.check() == ""


# -- varied openings


def test_openings_are_drawn_by_visits() -> None:
    s = searcher(random_plies=40, random_cutoff=1.0, random_seed=1)
    games = []
    for _ in range(2):
        s.new_game()
        moves = []
        for _ in range(12):
            s.set_position(Board(MIDDLE))
            result = s.search(Limits(playouts=300))
            assert result.best_move is not None
            moves.append(result.best_move)
        games.append(moves)
    assert games[0] == games[1]  # the same seed gives the same games
    assert len(set(games[0])) > 3
    assert all(i.pv[0] == games[1][-1] for i in result.infos)  # the line of what is played
    best = Move.from_move16(s.tree.root_moves(0)[0].move16)
    drawn = searcher(random_plies=40, random_cutoff=1.0, random_temperature=0.1, random_seed=2)
    picks = [drawn.search(Limits(playouts=300)).best_move for _ in range(60)]
    assert max(set(picks), key=picks.count) == best  # visits are its weight


@pytest.mark.parametrize(
    "options",
    [
        {"random_plies": 24},  # it is the 25th move
        {"random_plies": 40, "random_cutoff": 0.0},
        {"random_plies": 40, "random_temperature_drop": 0.1},
        {"random_plies": 40, "random_temperature": 0.0},
    ],
)
def test_the_best_move_is_played_outside_the_sampled_opening(options: dict[str, Any]) -> None:
    s = searcher("uniform", random_seed=1, multipv=600, **options)
    for _ in range(8):
        result = s.search(Limits(playouts=100))
        best = result.infos[0]
        chosen = [i for i in result.infos if i.pv[0] == result.best_move]
        assert chosen
        assert chosen[0].win_rate >= best.win_rate


def test_a_mate_is_never_drawn_away() -> None:
    s = searcher("uniform", MATE_IN_7, random_plies=40, random_cutoff=1.0, random_seed=3)
    for _ in range(5):
        result = s.search(Limits(nodes=100))
        assert result.best_move == result.infos[0].pv[0]


def test_no_thread_is_left_behind() -> None:
    # A position that df-pn doesn't solve, so that its thread runs until stopped.
    s = searcher("uniform", "9/9/9/9/4k4/9/9/9/4K4 b 2RBG2S2N5P 1")
    s.mate_fraction = CROWDED_FRACTION
    started = time.perf_counter()
    s.search(Limits(movetime_ms=300))
    assert time.perf_counter() - started < 1.0
    assert not [t for t in threading.enumerate() if t.name == "root mate"]
    assert s.mate_nodes > 100_000


class Stuck(FixedEvaluator):
    """Once `stuck`, answers only when released."""

    def __init__(self) -> None:
        super().__init__(max_batch=4, slots=3)
        self.stuck = False
        self.dropped = 0

    def drop(self, slot: int) -> None:
        self.dropped += 1

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        if self.stuck:
            time.sleep(timeout_s or 0)
            return None
        return slots[0]


def test_time_and_stop_do_not_wait_for_the_network() -> None:
    evaluator = Stuck()
    s = PuctSearcher(evaluator, PuctOptions(root_mate_plies=0))
    s.set_position(Board())
    s.search(Limits(nodes=50))
    evaluator.stuck = True
    result = s.search(Limits(movetime_ms=30))
    assert result.best_move is not None
    assert sum(m.visits for m in s.tree.root_moves(0)) == s.tree.root_visits(0) - 1
    stop = threading.Event()
    threading.Timer(0.03, stop.set).start()
    assert s.search(Limits(infinite=True), stop=stop).best_move is not None
    assert evaluator.dropped > 0
    assert s.tree.view(0).in_flight == 0
    evaluator.stuck = False
    s.new_game()
    s.search(Limits(nodes=50))
    assert s.tree.root_visits(0) >= 50
    assert s.tree.check() == ""


def test_what_a_move_leaves_behind_is_freed_while_the_opponent_thinks() -> None:
    s = searcher("random:2", memory_mb=3, root_mate_plies=0)
    while s.tree.fullness < FULLNESS:
        best = s.search(Limits(nodes=500)).best_move
    full = s.tree.fullness
    s.reclaimer.wait()
    assert s.tree.fullness < full
    assert s.tree.check() == ""
    assert best is not None
    board = Board(MIDDLE)
    board.push(best)
    s.set_position(board)
    s.search(Limits(nodes=1))
    assert s.tree.root_visits(0) > 2  # the subtree is still there
    s.set_position(Board(MIDDLE))
    assert s.search(Limits(nodes=100)).best_move is not None
    assert s.tree.check() == ""


def test_a_ponder_that_missed_frees_nothing() -> None:
    """The opponent plays another move: the tree of the position before it must be kept."""
    s = searcher("random:2", memory_mb=3, root_mate_plies=0)
    while s.tree.fullness < FULLNESS:
        stop = threading.Event()
        threading.Timer(0.1, stop.set).start()
        assert s.search(Limits(ponder=True), stop=stop).best_move is not None
    full, visits = s.tree.fullness, s.tree.root_visits(0)
    s.reclaimer.wait()
    assert s.tree.fullness == full
    assert s.tree.root_visits(0) == visits


@pytest.mark.parametrize(
    ("visits", "expected", "rows"),
    [
        (0, 1e6, 1),  # nothing is known yet
        (40, 1e6, 11),
        (1000, 200, 1),
        (1000, 2560, 10),
        (1000, 25600, 100),
        (100, 120, 1),
    ],
)
def test_a_batch_is_a_small_part_of_the_search(visits: int, expected: float, rows: int) -> None:
    assert batch_rows(PuctOptions(), visits, expected) == rows


def test_a_searcher_is_freed_without_a_garbage_collection() -> None:
    """Trees and buffers are big, and collections of the oldest generation are rare."""
    used = searcher()
    used.search(Limits(nodes=20))
    alive = weakref.ref(used)
    gc.disable()
    try:
        del used
        assert alive() is None
    finally:
        gc.enable()
