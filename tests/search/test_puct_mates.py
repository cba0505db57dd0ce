"""The PUCT searcher's parallel mate search."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from small_puct import MATE_IN_3, MATE_IN_7, searcher

from komadori.inference.fakes import UniformEvaluator
from komadori.rules import Board
from komadori.search import Info, Limits
from komadori.search.puct import mate_fraction
from komadori.search.root_mate import CROWDED_FRACTION


def replays_to_mate(sfen: str, infos: list[Info]) -> bool:
    board = Board(sfen)
    for move in infos[0].pv:
        board.push(move)
    return len(infos[0].pv) == infos[0].mate_plies and board.is_checkmate()


def test_df_pn_sees_a_mate_before_the_tree_does() -> None:
    without = searcher("uniform", MATE_IN_7, root_mate_plies=0).search(Limits(nodes=200))
    assert without.infos[0].mate_plies is None
    found = searcher("uniform", MATE_IN_7).search(Limits(nodes=200))
    assert found.best_move == found.infos[0].pv[0]
    assert found.ponder == found.infos[0].pv[1]
    assert found.infos[0].win_rate == 1.0
    assert not found.resign
    assert replays_to_mate(MATE_IN_7, found.infos)
    # The bound on its length is kept.
    short = searcher("uniform", MATE_IN_7, root_mate_plies=5).search(Limits(nodes=200))
    assert short.infos[0].mate_plies is None


def test_under_a_clock_a_mate_ends_the_search() -> None:
    s = searcher("uniform", MATE_IN_7)
    started = time.perf_counter()
    result = s.search(Limits(movetime_ms=20_000))
    assert time.perf_counter() - started < 10
    assert replays_to_mate(MATE_IN_7, result.infos)
    assert s.mate_nodes > 0


def test_a_mate_found_in_an_infinite_search_waits_for_stop() -> None:
    s = searcher("uniform", MATE_IN_7, multipv=3, pv_interval_ms=10)
    stop = threading.Event()
    infos: list[Info] = []
    found = threading.Event()

    def on_info(info: Info) -> None:
        infos.append(info)
        if info.mate_plies == 7:
            found.set()

    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.append(s.search(Limits(infinite=True), on_info, stop))
    )
    thread.start()
    try:
        assert found.wait(60), [(info.mate_plies, info.nodes, info.pv) for info in infos[-3:]]
        thread.join(0.1)
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join(5)
    infos = results[0].infos
    assert replays_to_mate(MATE_IN_7, infos)
    assert [info.multipv for info in infos] == [1, 2, 3]
    assert len({info.pv[0] for info in infos}) == 3


def test_an_infinite_search_that_solves_the_tree_reports_it_at_once() -> None:
    s = searcher("uniform", MATE_IN_3, root_mate_plies=0, pv_interval_ms=60_000)
    stop, reported = threading.Event(), threading.Event()

    def on_info(info: Info) -> None:
        if info.mate_plies == 3:
            reported.set()

    thread = threading.Thread(target=lambda: s.search(Limits(infinite=True), on_info, stop))
    thread.start()
    is_searching = reported.wait(20)
    stop.set()
    thread.join(5)
    assert is_searching


def test_a_mate_by_a_move_that_is_not_searched_is_not_played() -> None:
    board = Board(MATE_IN_7)
    best = searcher("uniform", MATE_IN_7).search(Limits(nodes=50)).best_move
    others = [move for move in board.legal_moves if move != best][:3]
    result = searcher("uniform", MATE_IN_7).search(Limits(nodes=50, searchmoves=others))
    assert result.best_move in others


def test_a_mate_beyond_the_ply_limit_is_none() -> None:
    result = searcher("uniform", MATE_IN_7, draw_ply=6).search(Limits(nodes=50))
    assert result.infos[0].mate_plies is None


@pytest.mark.parametrize(("threads", "fraction"), [(0, 1.0), (2, 1.0), (3, CROWDED_FRACTION)])
def test_where_the_network_needs_every_cpu_the_mate_search_takes_little(
    threads: int, fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.search.puct.available_threads", lambda: 4)
    evaluator = UniformEvaluator()
    evaluator.threads = threads  # type: ignore[attr-defined]
    assert mate_fraction(evaluator) == fraction
