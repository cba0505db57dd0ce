"""Leaves of the PUCT tree that an alpha-beta search values too."""

from __future__ import annotations

import math
import sys

import pytest

from komadori._core import alphabeta as core
from komadori._core.tree import Tree
from komadori.encoding.value import ELMO_COEF
from komadori.inference.fakes import RandomEvaluator, UniformEvaluator
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.search.alphabeta import AlphaBetaOptions, make_engines
from komadori.search.leaf_search import HASH_MB
from komadori.search.many import Effort, ManySearch

#: A rook and a knight in hand: the search sees what they are worth, an even network does not.
SHARP = "4k4/9/4r4/9/9/9/4P4/9/4K4 b RN 1"
NODES = 80


def searched(board: Board, nodes: int = NODES) -> float:
    """The side to move's win probability by a search of its own."""
    options = AlphaBetaOptions(threads=1, hash_mb=HASH_MB)
    (engine,) = make_engines("nnue", None, options, 1)
    limits = core.Limits()
    limits.nodes = nodes
    score = engine.search(board, limits).lines[0].score_cp
    return 1 / (1 + math.exp(-score / ELMO_COEF))


def root_value(weight: float, board: Board, **options) -> float:
    searcher = PuctSearcher(
        UniformEvaluator(1), PuctOptions(leaf_weight=weight, leaf_nodes=NODES, **options)
    )
    searcher.set_position(board)
    searcher.search(Limits(nodes=1))
    return searcher.tree.view(0).value


@pytest.mark.parametrize("sfen", ["startpos moves 7g7f 3c3d 8h2b+ 4a3b", SHARP])
def test_the_weight_mixes_the_two_values(sfen: str) -> None:
    board = Board(sfen)
    alone = min(max(searched(board), 0.001), 0.999)
    assert alone != pytest.approx(0.5, abs=0.01)
    for weight in (0.25, 1.0):
        expected = 0.5 + weight * (alone - 0.5)
        assert root_value(weight, board) == pytest.approx(expected, abs=1e-5)
    assert root_value(0.0, board) == 0.5


def test_a_new_game_repeats_the_search_exactly() -> None:
    searcher = PuctSearcher(RandomEvaluator(3), PuctOptions(leaf_weight=0.5, leaf_nodes=30))
    found = []
    for _ in range(2):
        searcher.new_game()
        searcher.set_position(Board())
        searcher.search(Limits(nodes=200))
        moves = searcher.tree.root_moves(0)
        found.append([(m.move16, m.visits, m.value) for m in moves])
        assert searcher.tree.check() == ""
    assert found[0] == found[1]


def test_switched_off_it_leaves_no_trace() -> None:
    board = Board("startpos moves 7g7f 3c3d 8h2b+ 3a2b")
    searcher = PuctSearcher(UniformEvaluator(1), PuctOptions(leaf_weight=1.0))
    searcher.set_position(board)
    searcher.search(Limits(nodes=1))
    searcher.set_option(leaf_weight=0.0)
    searcher.search(Limits(nodes=1))
    assert searcher.tree.view(0).value == 0.5


def test_many_positions_searched_at_once_use_it_too() -> None:
    boards = [Board(), Board("startpos moves 7g7f 3c3d 8h2b+ 4a3b"), Board(SHARP)]
    options = PuctOptions(leaf_weight=1.0, leaf_nodes=NODES, root_mate_plies=0)
    search: ManySearch[int] = ManySearch(UniformEvaluator(1), Effort(nodes=1), options)
    for board in boards:
        (_, found), *_ = search.search([(0, board)])
        alone = min(max(searched(board), 0.001), 0.999)
        assert found.win_rate == pytest.approx(alone, abs=1e-3)
    # Together they share the search's histories; the same positions give the same again.
    once, again = (
        {number: found.win_rate for number, found in search.search(enumerate(boards))}
        for _ in range(2)
    )
    assert once == again
    assert all(abs(value - 0.5) > 0.01 for value in once.values())


def test_bad_settings_are_named(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"leaf_weight is 1\.5"):
        PuctOptions(leaf_weight=1.5)
    with pytest.raises(ValueError, match="leaf_nodes is 0"):
        PuctOptions(leaf_nodes=0)
    with pytest.raises(OSError, match=r"none\.bin"):
        PuctSearcher(
            UniformEvaluator(1), PuctOptions(leaf_weight=0.5, leaf_file=str(tmp_path / "none.bin"))
        )


def test_a_tree_lets_go_of_a_search_that_is_replaced() -> None:
    tree = Tree(1 << 20)
    engines = make_engines("nnue", None, AlphaBetaOptions(threads=1, hash_mb=1), 2)
    alone = [sys.getrefcount(engine) for engine in engines]
    for engine in (*engines, *engines):
        tree.set_leaf_search(engine, 10, 0.5)
    del engine
    assert [sys.getrefcount(engine) for engine in engines] == [alone[0], alone[1] + 1]
    tree.set_leaf_search(None)
    assert [sys.getrefcount(engine) for engine in engines] == alone
