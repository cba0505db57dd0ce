"""The search against plain minimax, and on positions with known results."""

import threading
import time
from itertools import pairwise

import pytest
from oracles import MATE, material, minimax, random_positions, replay

from komadori.rules import Board, Move
from komadori.search.alphabeta import (
    PARTS,
    AlphaBetaOptions,
    AlphaBetaSearcher,
    engine_factory,
)
from komadori.search.protocol import Info, Limits, Searcher, SearchResult

#: All optional parts off: alpha-beta, principal variation search and move ordering remain.
BARE = frozenset(PARTS)


def searcher(**options: object) -> AlphaBetaSearcher:
    return AlphaBetaSearcher(options=AlphaBetaOptions(hash_mb=8, **options))  # type: ignore[arg-type]


def find(board: Board | str, limits: Limits, **options: object) -> SearchResult:
    engine = searcher(**options)
    engine.set_position(board if isinstance(board, Board) else Board(board))
    return engine.search(limits)


def score_of(info: Info) -> int:
    if info.mate_plies is None:
        assert info.score_cp is not None
        return info.score_cp
    return MATE - info.mate_plies if info.mate_plies > 0 else -MATE - info.mate_plies


def test_is_a_searcher() -> None:
    assert isinstance(searcher(), Searcher)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_equals_minimax_without_pruning(depth: int) -> None:
    engine = searcher(without=BARE, all_moves=True)
    for board in random_positions(12 if depth < 3 else 3, seed=depth, plies=60):
        engine.set_position(board)
        result = engine.search(Limits(depth=depth))
        assert score_of(result.infos[0]) == minimax(board, depth), board.sfen()


def test_table_changes_no_score_without_pruning() -> None:
    plain = searcher(without=BARE - {"quiescence"}, all_moves=True)
    tabled = searcher(without=BARE - {"quiescence", "table"}, all_moves=True)
    for board in random_positions(8, seed=5, plies=60):
        scores = []
        for engine in (plain, tabled):
            engine.new_game()
            engine.set_position(board)
            scores.append(score_of(engine.search(Limits(depth=3)).infos[0]))
        assert scores[0] == scores[1], board.sfen()


def test_lines_are_legal_and_the_best_move_leads_them() -> None:
    engine = searcher(multipv=3)
    for board in random_positions(25, seed=6):
        engine.set_position(board)
        infos: list[Info] = []
        result = engine.search(Limits(nodes=3000), on_info=infos.append)
        assert result.best_move in board.legal_moves
        for info in infos:
            replay(board, info.pv)
        ranks = [i.multipv for i in result.infos]
        assert ranks == list(range(1, len(ranks) + 1))
        scores = [score_of(i) for i in result.infos]
        assert scores == sorted(scores, reverse=True)
        assert len({i.pv[0] for i in result.infos}) == len(result.infos)
        assert result.infos[0].pv[0] == result.best_move


def test_repeats_itself_exactly() -> None:
    def run() -> list[Info]:
        engine = searcher()
        infos: list[Info] = []
        for board in random_positions(4, seed=7):
            engine.set_position(board)
            engine.search(Limits(nodes=4000), on_info=infos.append)
        return infos

    def facts(infos: list[Info]) -> list[tuple[object, ...]]:
        return [(i.depth, i.seldepth, i.nodes, score_of(i), tuple(i.pv)) for i in infos]

    assert facts(run()) == facts(run())


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("multipv", [1, 3])
def test_node_limit_is_exact(threads: int, multipv: int) -> None:
    """The node limit counts all threads together, and the last info reports them all."""
    engine = searcher(threads=threads, multipv=multipv)
    engine.set_position(Board())
    for nodes in (1, 2, 29, 100, 777, 5000, 20001):
        infos: list[Info] = []
        result = engine.search(Limits(nodes=nodes), on_info=infos.append)
        assert engine.nodes == nodes
        assert result.infos[0].nodes == infos[-1].nodes == nodes
        assert result.best_move in Board().legal_moves


@pytest.mark.parametrize("multipv", [1, 3])
def test_a_small_node_limit_plays_what_any_thread_found(multipv: int) -> None:
    """A helper may use up the nodes before the first thread completes an iteration."""
    options = AlphaBetaOptions(hash_mb=8, threads=2, multipv=multipv)
    engine = AlphaBetaSearcher("nnue", options=options)
    engine.set_position(Board())
    for _ in range(200):
        assert engine.search(Limits(nodes=300)).infos[0].depth > 0


def test_an_interrupted_iteration_reports_every_line() -> None:
    """Lines that it didn't reach keep the depth and score of the previous iteration. If the line
    above now has less, they show that score, as a lower bound: it isn't what was found."""
    engine = searcher(multipv=3)
    mixed = bounds = 0
    for board in random_positions(20, seed=19):
        if len(list(board.legal_moves)) < 3:
            continue
        engine.new_game()
        engine.set_position(board)
        infos: list[Info] = []
        result = engine.search(Limits(nodes=5000), on_info=infos.append)
        blocks = [infos[i : i + 3] for i in range(0, len(infos), 3)]
        assert all([info.multipv for info in block] == [1, 2, 3] for block in blocks)
        assert result.infos == blocks[-1]
        assert len({info.pv[0] for info in blocks[-1]}) == 3
        depths = [info.depth for info in blocks[-1]]
        assert max(depths) - min(depths) <= 1
        mixed += max(depths) > min(depths)
        for info in blocks[-1]:
            replay(board, info.pv)
        before = {info.pv[0]: info for info in blocks[-2]}
        for above, info in pairwise(blocks[-1]):
            old = before.get(info.pv[0])
            if old is None or info.depth > old.depth or score_of(info) == score_of(old):
                continue
            assert score_of(info) == score_of(above) < score_of(old)
            assert info.bound == "lowerbound"
            bounds += 1
    assert mixed
    assert bounds


def test_searchmoves_bind() -> None:
    board = Board()
    only = [Move.from_usi("9g9f"), Move.from_usi("1g1f")]
    for depth in (1, 5):
        assert find(board, Limits(depth=depth, searchmoves=only)).best_move in only


def test_static_evaluation_is_material() -> None:
    engine = searcher()
    for board in random_positions(50, seed=8):
        assert engine.evaluate(board) == material(board)


def test_stop_is_obeyed_at_once() -> None:
    engine = searcher()
    engine.set_position(Board())
    stop = threading.Event()
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    result = engine.search(Limits(infinite=True), stop=stop)
    late = time.perf_counter()
    timer.join()
    assert result.best_move in Board().legal_moves
    assert time.perf_counter() - late < 1.0
    stop.set()
    assert engine.search(Limits(infinite=True), stop=stop).best_move in Board().legal_moves


def test_threads_share_a_search() -> None:
    """The node count is that of all threads, whichever thread's line is chosen."""
    engine = searcher(threads=3)
    for board in random_positions(20, seed=15):
        engine.new_game()
        engine.set_position(board)
        result = engine.search(Limits(nodes=5000))
        assert result.best_move in board.legal_moves
        assert result.infos[0].pv[0] == result.best_move
        assert result.infos[0].nodes == engine.nodes
        assert engine.nodes >= 5000 or result.infos[0].mate_plies is not None
        replay(board, result.infos[0].pv)


def test_table_stays_within_its_megabytes() -> None:
    for megabytes in (1, 3, 16):
        engine = AlphaBetaSearcher(options=AlphaBetaOptions(hash_mb=megabytes))
        assert engine.table_bytes <= megabytes << 20
        engine.set_position(Board())
        infos = engine.search(Limits(nodes=60000)).infos
        assert 0 < infos[0].hashfull <= 1000


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="threads is 0"):
        AlphaBetaOptions(threads=0)
    with pytest.raises(ValueError, match="no part sorcery"):
        AlphaBetaOptions(without=frozenset({"sorcery"}))
    with pytest.raises(ValueError, match="evaluation is 'magic'"):
        AlphaBetaSearcher("magic")
    with pytest.raises(ValueError, match="takes no weights"):
        AlphaBetaSearcher("material", weights="x.bin")
    with pytest.raises(ValueError, match="takes no weights"):
        engine_factory("material", "x.bin")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_largest_node_limit_is_no_limit(threads: int) -> None:
    found = find(Board(), Limits(nodes=2**63 - 1, depth=4), threads=threads)
    assert found.infos[0].depth == 4
