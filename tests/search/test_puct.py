"""The PUCT searcher on fake networks: limits and results."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from small_puct import DECLARABLE, MATE_IN_1, MATE_IN_3, MIDDLE, searcher, summary

from komadori import search
from komadori.inference import load
from komadori.inference.fakes import FixedEvaluator, UniformEvaluator
from komadori.inference.future_slots import FutureSlots
from komadori.rules import Board, Move
from komadori.search import Info, Limits, OnePlySearcher, PuctOptions, PuctSearcher, Searcher
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.search.root_mate import MATE_MOVES_PER_NODE, MAX_MATE_MOVES


def test_a_puct_searcher_is_a_searcher() -> None:
    assert isinstance(searcher(), Searcher)


def test_searchers_say_what_they_search_with() -> None:
    network = "<RandomEvaluator: dlshogi -> 2187, 2 x 16 rows>"
    evaluator = load("random:1")
    assert repr(PuctSearcher(evaluator)) == f"<PuctSearcher on {network}>"
    assert repr(OnePlySearcher(evaluator)) == f"<OnePlySearcher on {network}>"
    assert repr(search.PolicySearcher(evaluator)) == f"<PolicySearcher on {network}>"
    assert repr(AlphaBetaSearcher()) == "<AlphaBetaSearcher on 'material'>"
    ordered = AlphaBetaSearcher(policy=evaluator)
    assert repr(ordered) == f"<AlphaBetaSearcher on 'material', ordered by {network}>"


# -- limits


@pytest.mark.parametrize("nodes", [1, 2, 50, 500])
def test_nodes_are_counted(nodes: int) -> None:
    result = searcher().search(Limits(nodes=nodes))
    assert result.best_move is not None
    assert result.infos[0].nodes == nodes


@pytest.mark.parametrize("make", [AlphaBetaSearcher, lambda: PuctSearcher(load("random:7"))])
@pytest.mark.parametrize("limits", [Limits(nodes=0), Limits(depth=0), Limits(playouts=0)])
def test_without_nodes_the_move_is_that_of_a_search_stopped_at_once(
    make: Callable[[], Searcher], limits: Limits
) -> None:
    stop = threading.Event()
    stop.set()
    # The best capture, and the policy's move: neither is the first of the legal moves.
    board = Board("4k4/9/4p4/9/4R3r/9/9/9/4K4 b - 1")
    moves = []
    for wanted, event in ((limits, None), (Limits(), stop)):
        s = make()
        s.set_position(board)
        best = s.search(wanted, stop=event).best_move
        assert best is not None
        moves.append(best)
        s.close()
    assert moves[0] == moves[1] != next(iter(board.legal_moves))


def test_playouts_count_what_is_kept() -> None:
    s = searcher()
    s.search(Limits(nodes=300))
    again = s.search(Limits(playouts=400))
    assert 90 <= again.infos[0].nodes <= 110
    assert s.tree.root_visits(0) == 400


def test_a_search_in_one_call() -> None:
    result = search.search("startpos", "uniform", nodes=64, multipv=3)
    assert [i.multipv for i in result.infos] == [1, 2, 3]
    assert search.search(Board(MIDDLE), load("uniform")).infos[0].nodes >= 800


def test_a_search_in_one_call_ends() -> None:
    moves = [Move.from_usi("9g9f")]
    for settings in ({"searchmoves": moves}, {"nodes": None}, {"infinite": False}):
        result = search.search("startpos", "uniform", **settings)
        assert 800 <= result.infos[0].nodes < 1000, settings
    for settings in ({"infinite": True}, {"ponder": True, "nodes": 10}, {"mate": 0}):
        with pytest.raises(ValueError, match="waits for a stop"):
            search.search("startpos", "uniform", **settings)


def test_only_search_moves_are_answered() -> None:
    moves = [Move.from_usi("9g9f"), Move.from_usi("1g1f")]
    s = searcher(multipv=5)
    result = s.search(Limits(nodes=100, searchmoves=moves))
    assert {i.pv[0] for i in result.infos} == set(moves)
    assert len(s.search(Limits(nodes=100)).infos) == 5


def test_search_moves_without_a_legal_one_are_an_error() -> None:
    for make in (searcher, lambda: OnePlySearcher(load("uniform")), AlphaBetaSearcher):
        s = make()
        s.set_position(Board())
        with pytest.raises(ValueError, match="none of 1a1b is legal"):
            s.search(Limits(nodes=10, searchmoves=[Move.from_usi("1a1b")]))


def test_stopped_before_it_begins_the_policy_s_move_is_played() -> None:
    evaluator = FixedEvaluator(max_batch=8, slots=3)
    evaluator.add(Board(), {"2g2f": 0.6, "7g7f": 0.3}, 0.5)
    for make_limits in (Limits(infinite=True), Limits(nodes=0), Limits(movetime_ms=0)):
        s, stop = PuctSearcher(evaluator, PuctOptions(root_mate_plies=0)), threading.Event()
        s.set_position(Board())
        stop.set()
        assert s.search(make_limits, stop=stop).best_move == Move.from_usi("2g2f")


def test_a_search_of_one_move_does_not_affect_later_searches() -> None:
    s = searcher(multipv=593)
    alone = s.search(Limits(nodes=300)).infos
    best, worst = alone[0].pv[0], alone[-1].pv[0]
    s.search(Limits(nodes=500, searchmoves=[worst]))
    assert s.search(Limits(nodes=1)).infos[0].pv[0] == best
    fresh = searcher()
    fresh.search(Limits(nodes=500, searchmoves=[worst]))
    assert fresh.search(Limits(nodes=300)).infos[0].pv[0] != worst


class Slow(FutureSlots):
    """Answers by the inputs, after a delay."""

    name, features, labels, threads = "slow", "dlshogi", "2187", 1

    def __init__(self, delays_s: Sequence[float]) -> None:
        super().__init__("slow", 8, 3, workers=1)
        self._delays = itertools.cycle(delays_s)
        self._planes = [
            (np.zeros((8, 62, 9, 9), np.float32), np.zeros((8, 57, 9, 9), np.float32))
            for _ in range(3)
        ]
        self._weights = np.random.default_rng(1).normal(size=(62 * 81, 2188)).astype(np.float32)

    def inputs(self, slot: int) -> Any:
        return self._planes[slot]

    def _run(self, slot: int, n: int) -> Any:
        time.sleep(next(self._delays))
        found = np.stack([row @ self._weights for row in self._planes[slot][0][:n].reshape(n, -1)])
        return found[:, :2187] * 0.2, 1 / (1 + np.exp(-found[:, 2187] * 0.1))


def test_the_result_does_not_depend_on_how_slow_the_network_is() -> None:
    found = []
    for delays in ([0.0], [0.03], [0.0, 0.0, 0.05]):
        s = PuctSearcher(Slow(delays), PuctOptions(root_mate_plies=0, multipv=593))
        found.append(summary(s.search(Limits(nodes=150)).infos))
    assert found[0] == found[1] == found[2]


def test_counts_hold_where_playouts_end_without_the_network() -> None:
    for nodes in (10, 100, 333):
        s = searcher("uniform", "4k4/9/4GS3/9/9/9/9/9/4K4 w - 1", mate_in_one=False)
        assert s.search(Limits(nodes=nodes)).infos[0].nodes <= nodes


def test_a_draw_by_repetition_is_not_lost_by_what_was_proven_before() -> None:
    board = Board("k8/9/P1G6/8p/9/9/9/9/8K w G 31")
    s = searcher("uniform", board.sfen(), root_mate_plies=0)
    assert s.search(Limits(nodes=100)).resign
    for usi in ("9a8a", "7c7d", "8a9a", "7d7c") * 3:
        board.push_usi(usi)
    s.set_position(board)
    result = s.search(Limits(nodes=100))
    assert result.best_move == Move.from_usi("9a8a")
    assert not result.resign
    assert result.infos[0].win_rate == 0.5
    assert s.tree.check() == ""


#: df-pn searches for seconds without finding or disproving a mate.
OPEN = "9/9/9/9/4k4/9/9/9/K8 b BG2N2L2P 1"


def test_stop_ends_a_search_with_a_count_while_it_looks_for_a_mate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("komadori.search.puct.MAX_MATE_MOVES", 10**9)
    s, stop = searcher("uniform", OPEN), threading.Event()
    threading.Timer(0.3, stop.set).start()
    started = time.perf_counter()
    result = s.search(Limits(nodes=10**8), stop=stop)
    assert result.best_move is not None
    assert time.perf_counter() - started < 1.5


def test_the_mate_search_before_a_count_is_bounded() -> None:
    s = searcher("uniform", OPEN)
    s.search(Limits(nodes=1))
    assert s.mate_nodes < 100 * MATE_MOVES_PER_NODE
    stop = threading.Event()
    reported = threading.Event()
    s.set_option(pv_interval_ms=10)
    thread = threading.Thread(
        target=lambda: s.search(Limits(nodes=10**8), lambda info: reported.set(), stop)
    )
    thread.start()
    is_searching = reported.wait(20)  # so the tree search has begun
    stop.set()
    thread.join(5)
    assert is_searching
    assert s.mate_nodes <= 2 * MAX_MATE_MOVES


def test_a_count_ends_an_infinite_search_which_then_waits_for_stop() -> None:
    s, stop = searcher(), threading.Event()
    s.set_option(pv_interval_ms=0)
    infos: list[Info] = []
    threading.Timer(1.0, stop.set).start()
    started = time.perf_counter()
    result = s.search(Limits(infinite=True, nodes=100), infos.append, stop)
    assert time.perf_counter() - started > 0.9
    assert result.infos[0].nodes == 100
    assert infos == result.infos  # once, not again at the end


def test_movetime_is_kept() -> None:
    s = searcher()
    for ms in (30, 150):
        started = time.perf_counter()
        s.search(Limits(movetime_ms=ms))
        assert ms * 0.5 < (time.perf_counter() - started) * 1000 < ms + 250


def test_byoyomi_leaves_a_margin() -> None:
    s = searcher(early_stop=False)
    result = s.search(Limits(btime_ms=0, wtime_ms=0, byoyomi_ms=1000))  # of which it plans 900
    assert 450 < result.infos[0].time_ms <= 1000


def test_stop_ends_an_infinite_search() -> None:
    s, stop = searcher(), threading.Event()
    threading.Timer(0.1, stop.set).start()
    result = s.search(Limits(infinite=True), stop=stop)
    assert result.best_move is not None
    assert 80 < result.infos[0].time_ms < 600


def test_an_infinite_search_of_a_solved_position_waits_for_stop() -> None:
    for sfen in (MATE_IN_1, MATE_IN_3):
        s, stop = searcher(sfen=sfen), threading.Event()
        started = time.perf_counter()
        threading.Timer(1.0, stop.set).start()
        result = s.search(Limits(infinite=True), stop=stop)
        assert time.perf_counter() - started > 0.99
        assert result.infos[0].mate_plies in (1, 3)


def test_pondering_continues_under_new_limits_after_a_hit() -> None:
    s = searcher()
    threading.Timer(0.15, s.ponderhit, [Limits(movetime_ms=100)]).start()
    started = time.perf_counter()
    result = s.search(Limits(ponder=True))
    assert result.best_move is not None
    assert 0.2 < time.perf_counter() - started < 0.8


@pytest.mark.parametrize("make", [searcher, AlphaBetaSearcher])
def test_a_hit_before_the_search_has_begun_ends_the_pondering(make: Callable[[], Any]) -> None:
    s, stop = make(), threading.Event()
    s.set_position(Board())
    watchdog = threading.Timer(5.0, stop.set)
    watchdog.start()
    s.ponderhit(Limits(nodes=300))
    result = s.search(Limits(ponder=True), stop=stop)
    watchdog.cancel()
    assert not stop.is_set()
    assert result.infos[0].nodes <= 310
    # A hit that came too late isn't the next search's.
    s.ponderhit(Limits(nodes=1))
    s.set_position(Board())
    threading.Timer(0.3, stop.set).start()
    started = time.perf_counter()
    s.search(Limits(ponder=True), stop=stop)
    assert time.perf_counter() - started > 0.25


def test_pondering_is_stopped_too() -> None:
    s, stop = searcher(), threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert s.search(Limits(ponder=True, nodes=1), stop=stop).best_move is not None


def test_depth_ends_a_search() -> None:
    result = searcher().search(Limits(depth=4))
    assert len(result.infos[0].pv) >= 4


def test_an_only_move_is_played_at_once() -> None:
    sfen = "4k4/9/9/9/9/9/9/4r4/3NKN3 b - 1"
    assert len(Board(sfen).legal_moves) == 1
    assert searcher("uniform", sfen).search(Limits(byoyomi_ms=3000)).infos[0].time_ms < 1000


def test_a_lead_that_can_not_be_caught_up_saves_time() -> None:
    evaluator = FixedEvaluator(max_batch=8, slots=3)
    evaluator.add(Board(), {"7g7f": 0.9999}, 0.5)
    for early_stop, at_most, at_least in ((True, 1300, 0), (False, 2000, 1600)):
        s = PuctSearcher(evaluator, PuctOptions(early_stop=early_stop))
        s.set_position(Board())
        result = s.search(Limits(byoyomi_ms=2000))
        assert result.best_move == Move.from_usi("7g7f")
        assert at_least <= result.infos[0].time_ms <= at_most


# -- results


def test_a_search_repeats_itself() -> None:
    evaluator = load("random:7", max_batch=8, slots=3)
    runs = []
    for _ in range(2):
        s = PuctSearcher(evaluator, PuctOptions(multipv=5))
        s.set_position(Board())
        runs.append(summary(s.search(Limits(nodes=1000)).infos))
        s.new_game()
        s.set_position(Board())
        runs.append(summary(s.search(Limits(nodes=1000)).infos))
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_the_tree_is_kept_between_moves() -> None:
    s, board = searcher(), Board(MIDDLE)
    first = s.search(Limits(nodes=8000))
    for move in first.infos[0].pv[:2]:
        board.push(move)
    s.set_position(board)
    kept = s.search(Limits(nodes=1))
    assert kept.infos[0].visits > 5
    s.set_option(reuse_subtree=False)
    s.set_position(board)
    assert s.search(Limits(nodes=1)).infos[0].visits <= 1


def test_lines_are_legal_and_infos_consistent() -> None:
    seen: list[Info] = []
    s = searcher(multipv=4, pv_interval_ms=10)
    result = s.search(Limits(nodes=3000), on_info=seen.append)
    assert len(seen) > 4
    assert seen[-4:] == result.infos
    for info in seen:
        board = Board(MIDDLE)
        for move in info.pv:
            assert move in board.legal_moves
            board.push(move)
        assert info.depth == len(info.pv) <= info.seldepth
        assert 0 <= info.win_rate <= 1
        assert info.score_cp is not None
        assert (info.score_cp > 0) == (info.win_rate > 0.5) or abs(info.win_rate - 0.5) < 1e-3
    assert [i.multipv for i in result.infos] == [1, 2, 3, 4]
    assert [i.visits for i in result.infos] == sorted(i.visits for i in result.infos)[::-1]
    assert result.best_move == result.infos[0].pv[0]
    assert result.ponder == result.infos[0].pv[1]


def test_a_mate_in_one_needs_no_network() -> None:
    result = searcher("uniform", MATE_IN_1).search(Limits(nodes=100))
    board = Board(MATE_IN_1)
    assert result.best_move is not None
    board.push(result.best_move)
    assert board.is_checkmate()
    assert (result.infos[0].mate_plies, result.infos[0].nodes) == (1, 0)


def test_a_mate_in_three_is_announced() -> None:
    result = searcher("uniform", MATE_IN_3).search(Limits(nodes=5000))
    assert result.infos[0].mate_plies == 3
    assert result.infos[0].score_cp is None
    board = Board(MATE_IN_3)
    for move in result.infos[0].pv:
        board.push(move)
    assert board.is_checkmate()


def test_a_lost_position_still_has_a_best_move() -> None:
    s = PuctSearcher(load("uniform"))
    for ply, resigns in ((1, False), (30, True)):
        board = Board(MATE_IN_3.removesuffix("1") + str(ply))
        board.push_usi("G*5c")
        s.set_position(board)
        result = s.search(Limits(nodes=5000))
        assert result.resign == resigns
    assert result.best_move is not None
    assert result.infos[0].mate_plies is not None
    assert result.infos[0].mate_plies < 0


def test_no_move_and_a_declaration() -> None:
    mated = Board("4k4/4G4/4S4/9/9/9/9/9/4K4 w - 1")
    assert mated.is_checkmate()
    s = PuctSearcher(load("uniform"))
    s.set_position(mated)
    result = s.search(Limits(nodes=10))
    assert result.best_move is None
    assert result.resign
    s.set_position(Board(DECLARABLE))
    assert s.search(Limits(nodes=10)).declare_win
    s.set_option(declaration="none")
    s.set_position(Board(DECLARABLE))
    assert not s.search(Limits(nodes=10)).declare_win


def test_a_repetition_of_the_game_is_not_entered_when_better() -> None:
    """Both sides shuffle; the network favours the side to move."""

    class Optimist(UniformEvaluator):
        def _evaluate(self, inputs: Any, policy: Any, value: Any) -> None:
            # Black owns the only rook: planes 5 and 13 of the side to move.
            has_rook = inputs[0][:, [5, 13]].any(axis=(1, 2, 3))
            value[:] = np.where(has_rook, 0.8, 0.2)

    board = Board("4k4/9/9/9/9/9/9/9/R3K4 b - 1")
    for usi in ("9i8i", "5a4a", "8i9i", "4a5a"):
        board.push_usi(usi)
    s = PuctSearcher(Optimist(max_batch=8))
    s.set_position(board)
    result = s.search(Limits(nodes=300))
    assert result.best_move is not None
    assert result.best_move.usi() != "9i8i"
    assert result.infos[0].win_rate > 0.6
