"""Moving roots, exhausted memory, excluded moves."""

import contextlib
import random

import pytest
from driving import Driver

from komadori._core.tree import Tree
from komadori.inference import load
from komadori.rules import Board, Move
from komadori.search.options import PuctOptions
from komadori.search.protocol import Limits
from komadori.search.puct import PuctSearcher

MIDDLE = "l2g1k1nl/1r1s1gs2/p1nppp1pp/2p3p2/1p7/2PP2P2/PPSSPP1PP/3R1G3/LN2KG1NL b Bb 25"


def test_the_subtree_is_kept_after_a_move_and_its_answer() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board).run(600)
    best = driver.tree.root_moves(driver.root)[0]
    line = driver.tree.variation(driver.root, best.move16, 4)
    known = driver.tree.view(driver.root, line[:2])
    assert known.visits > 10
    board.push(Move.from_move16(line[0]))
    board.push(Move.from_move16(line[1]))
    assert driver.place(board) == known.visits
    assert driver.tree.check() == ""


def test_a_position_reached_by_other_moves_is_known_too() -> None:
    driver = Driver(load("random:4"), Board()).run(600)
    board = Board()
    for usi in ("7g7f", "3c3d", "2g2f"):
        board.push_usi(usi)
    first = driver.place(board)
    driver.run(first + 50)
    other = Board()
    for usi in ("2g2f", "3c3d", "7g7f"):
        other.push_usi(usi)
    assert driver.place(other) == first + 50


def test_a_private_root_is_found_again_along_the_game() -> None:
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b - 1")
    for usi in ("5i4i", "5a4a", "4i5i", "4a5a"):
        board.push_usi(usi)
    driver = Driver(load("random:6"), board).run(500)
    assert driver.tree.view(driver.root).is_private
    for usi in ("5i5h", "5a5b"):
        move = board.push_usi(usi)
        visits = driver.tree.view(driver.root, [move.move16]).visits
        assert driver.place(board) == visits > 5
    assert driver.tree.check() == ""


def test_a_full_tree_frees_nodes_and_continues() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board, memory=1 << 20)
    seen = 0
    for _ in range(8):
        driver.run(driver.visits() + 500, rows=8)
        assert driver.tree.check() == ""
        assert driver.tree.fullness <= 1
        assert driver.visits() > seen  # the root's own count is never lost
        seen = driver.visits()
    assert driver.tree.stats.reclaims > 0
    assert driver.tree.node_count < 2000


def test_a_full_tree_with_batches_out() -> None:
    driver = Driver(load("random:9", max_batch=16, slots=3), Board(MIDDLE), memory=1 << 20)
    driver.run_mixed(5000, seed=1)
    assert driver.tree.stats.reclaims > 0
    assert driver.tree.check() == ""
    assert driver.in_flight() == 0


def test_reclaiming_keeps_what_the_root_reaches() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board).run(500)
    board.push(Move.from_move16(driver.tree.root_moves(driver.root)[0].move16))
    driver.place(board)
    edges, nodes = driver.edges(), driver.tree.node_count
    assert driver.tree.reclaim(0.0)
    assert driver.edges() == edges
    assert driver.tree.node_count < nodes
    assert not driver.tree.reclaim(0.99)
    assert driver.tree.check() == ""


def test_only_search_moves_are_searched() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board).run(200)
    before = driver.edges()
    allowed = [m.move16 for m in random.Random(0).sample(list(board.legal_moves), 3)]
    driver.tree.set_search_moves(driver.root, allowed)
    driver.run(400)
    after = driver.edges()
    names = {Move.from_move16(m).usi() for m in allowed}
    assert {u for u in after if after[u] != before.get(u)} == names
    assert {m.move16 for m in driver.tree.root_moves(driver.root)} == set(allowed)
    assert driver.tree.check() == ""


@pytest.mark.parametrize("rows", [1, 8])
def test_search_moves_leave_the_root_as_it_was(rows: int) -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board).run(200, rows=rows)
    before, best = driver.edges(), driver.tree.root_moves(driver.root)[0].move16
    worst = [m for m in driver.tree.root_moves(driver.root) if m.visits][-1].move16
    driver.tree.set_search_moves(driver.root, [worst])
    assert driver.visits() == 1 + before[Move.from_move16(worst).usi()][0]
    driver.run(300, rows=rows)
    driver.tree.set_search_moves(driver.root, [worst, best])
    driver.run(300, rows=rows)
    assert driver.tree.root_moves(driver.root)[0].move16 == best
    driver.tree.set_search_moves(driver.root, [worst])  # continues from where it was
    assert driver.visits() >= 300
    assert driver.tree.check() == ""
    driver.tree.set_search_moves(driver.root, [])
    assert driver.edges() == before
    driver.place(board)
    assert driver.edges() == before
    assert driver.tree.check() == ""


def test_search_moves_keep_repetitions_of_the_game() -> None:
    board = Board()
    for usi in ["2h3h", "8b7b", "3h2h", "7b8b", "2h3h", "8b7b", "3h2h"]:
        board.push(Move.from_usi(usi))
    back = Move.from_usi("7b8b").move16
    driver = Driver(load("random:4"), board)
    driver.tree.set_search_moves(driver.root, [back, Move.from_usi("3c3d").move16])
    driver.run(200)
    repeats = {m.move16: m for m in driver.tree.root_moves(driver.root)}[back]
    assert repeats.visits > 0
    assert repeats.value == 0.5
    assert driver.tree.check() == ""


KINGS = ("5i5h", "5a5b", "5h5i", "5b5a")


@pytest.mark.parametrize("is_whole_first", [True, False])
def test_search_moves_where_the_game_has_repeated(is_whole_first: bool) -> None:
    """With a history, the root and its children have private nodes."""
    start = Board("4k4/9/9/9/9/9/9/9/4K4 b - 1")
    for usi in KINGS:
        start.push(Move.from_usi(usi))
    driver = Driver(load("uniform"), start)
    orders = [[], *([move.move16] for move in start.legal_moves)]
    for allowed in orders if is_whole_first else orders[::-1]:
        driver.tree.set_search_moves(driver.root, allowed)
        driver.run(3000 if not allowed else 200)
        moves = driver.tree.root_moves(driver.root)
        assert {m.move16 for m in moves} == set(allowed or [m.move16 for m in start.legal_moves])
        for move in moves:
            board = start.copy()
            for move16 in driver.tree.variation(driver.root, move.move16, 20):
                board.push(Move.from_move16(move16))  # raises where it is illegal
    assert driver.tree.check() == ""


def test_search_moves_change_while_a_batch_is_out() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4", max_batch=16), board)
    move = next(iter(board.legal_moves)).move16
    batch = driver.batches[0]
    driver.tree.set_search_moves(driver.root, [move])
    assert driver.tree.collect(driver.root, batch, 4) > 0
    driver.tree.set_search_moves(driver.root, [])
    driver.tree.set_search_moves(driver.root, [move])
    driver.answer(0)
    assert driver.in_flight() == 0
    assert driver.tree.check() == ""


def test_search_moves_survive_the_move_that_is_played() -> None:
    board = Board(MIDDLE)
    driver = Driver(load("random:4"), board)
    move = next(iter(board.legal_moves))
    driver.tree.set_search_moves(driver.root, [move.move16])
    driver.run(100)
    board.push(move)
    driver.place(board)
    assert driver.visits() >= 99
    driver.tree.reclaim(0.0)
    assert driver.tree.check() == ""


def test_search_moves_that_all_lose_are_solved() -> None:
    board = Board("4k4/9/4GS3/9/9/9/9/9/4K4 w - 1")
    losing = []
    for move in board.legal_moves:
        board.push(move)
        if board.mate_in_one():
            losing.append(move.move16)
        board.pop()
    assert 0 < len(losing) < len(board.legal_moves)
    driver = Driver(load("uniform"), board)
    driver.tree.set_search_moves(driver.root, losing)
    driver.run(100)
    assert driver.tree.root_solved(driver.root)


def test_several_roots_share_one_tree_and_one_batch() -> None:
    driver = Driver(load("random:4", max_batch=16), Board())
    other = driver.tree.add_root()
    driver.tree.set_root(other, Board(MIDDLE))
    batch = driver.batches[0]
    while driver.tree.root_visits(other) < 200:
        added = sum(driver.tree.collect(root, batch, 8) for root in (driver.root, other))
        assert added == batch.rows
        driver.answer(0)
    alone = Driver(load("random:4", max_batch=16), Board(MIDDLE))
    alone.run(driver.tree.root_visits(other), rows=8)
    first, second = (
        {m.move16: m.visits for m in tree.root_moves(root)}
        for tree, root in ((driver.tree, other), (alone.tree, alone.root))
    )
    assert first == second
    assert driver.tree.check() == ""


def test_an_unknown_root_is_refused() -> None:
    driver = Driver(load("uniform"), Board())
    with pytest.raises(IndexError):
        driver.tree.root_moves(5)


@pytest.mark.parametrize("seed", range(12))
def test_reclaiming_keeps_the_nodes_of_batches_in_flight(seed: int) -> None:
    """A repetition makes a private copy of a node; visits in flight remain with the original."""
    evaluator = load(f"random:{seed}", max_batch=16, slots=3)
    options = PuctOptions(memory_mb=1, root_mate_plies=0)
    with contextlib.closing(PuctSearcher(evaluator, options)) as searcher:
        searcher.set_position(Board("4k4/4g4/9/9/9/9/9/4G4/4K4 b - 1"))
        for playouts in (3000, 6000):
            searcher.search(Limits(playouts=playouts))
            assert searcher.tree.check() == ""
        assert searcher.tree.stats.reclaims > 0


def test_more_roots_than_fit_are_refused() -> None:
    tree, board, rng = Tree(1 << 20), Board(), random.Random(0)

    def add_roots() -> None:
        nonlocal board
        for _ in range(2000):
            if not board.legal_moves or board.ply > 200:
                board = Board()
            board.push(rng.choice(list(board.legal_moves)))
            tree.set_root(tree.add_root(), Board(board.sfen()))

    with pytest.raises(ValueError, match="too small for its roots"):
        add_roots()
    assert tree.check() == ""
