"""Batches in flight: any number, any order, cancelled or dropped, leaving no trace."""

import numpy as np
import pytest
from driving import Driver, uniform_outputs
from tree_oracle import label

from komadori._core.tree import Batch, Tree
from komadori.inference import load
from komadori.inference.fakes import FixedEvaluator
from komadori.rules import Board

MIDDLE = "l2g1k1nl/1r1s1gs2/p1nppp1pp/2p3p2/1p7/2PP2P2/PPSSPP1PP/3R1G3/LN2KG1NL b Bb 25"
KINGS = "4k4/9/9/9/9/9/9/9/4K4 b - 1"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sfen", [MIDDLE, KINGS])
def test_sums_hold_whatever_the_order(sfen: str, seed: int) -> None:
    driver = Driver(load(f"random:{seed}", max_batch=8, slots=3), Board(sfen))
    for playouts in (20, 200, 800):
        driver.run_mixed(playouts, seed)
        assert driver.tree.check() == ""
        assert driver.in_flight() == 0
    stats = driver.tree.stats
    if sfen == KINGS:  # few positions: playouts meet each other and known ones
        assert stats.dropped > 0
        assert stats.transposed > 0


def test_sums_hold_while_batches_are_out() -> None:
    driver = Driver(load("random:1", max_batch=8, slots=3), Board(KINGS))
    driver.run(30)
    for slot in range(3):
        assert driver.collect(slot, 4) > 0
        assert driver.tree.check() == ""
    assert driver.in_flight() > 0
    for slot in (2, 0, 1):
        driver.answer(slot)
        assert driver.tree.check() == ""
    assert driver.in_flight() == 0


def test_two_batches_may_come_back_in_either_order() -> None:
    results = []
    for order in ((0, 1), (1, 0)):
        driver = Driver(load("random:1", max_batch=8, slots=2), Board(MIDDLE)).run(40)
        assert driver.collect(0, 8) == 8
        assert driver.collect(1, 8) == 8
        for slot in order:
            driver.answer(slot)
        results.append(driver.edges())
    assert results[0] == results[1]


def test_a_cancelled_batch_leaves_no_trace() -> None:
    driver = Driver(load("random:3", max_batch=8, slots=2), Board(MIDDLE)).run(60)
    before = driver.edges()
    assert driver.collect(0, 8) > 0
    driver.tree.cancel(driver.batches[0])
    assert driver.batches[0].rows == 0
    assert driver.edges() == before
    assert driver.tree.check() == ""
    driver.run(200)  # the nodes it had met are evaluated when they are met again
    assert driver.tree.check() == ""


def test_a_leaf_in_flight_is_not_queued_twice() -> None:
    driver = Driver(load("uniform", max_batch=64, slots=2), Board())
    assert driver.collect(0, 64) == 1  # the root alone
    assert driver.collect(1, 64) == 0
    driver.answer(0)
    assert driver.collect(0, 64) >= 30  # its moves, then leaves in flight are in the way
    assert driver.tree.stats.dropped > 0
    assert sum(n for n, _ in driver.edges().values()) == driver.batches[0].rows


def test_a_visit_in_flight_counts_at_its_selection_value() -> None:
    """An unvisited move is valued by first-play urgency, a visited one by its mean."""
    evaluator = FixedEvaluator(max_batch=8, slots=2, default_value=0.3)
    evaluator.add(Board(), {"7g7f": 0.6, "2g2f": 0.3}, 0.6)
    driver = Driver(evaluator, Board(), temperature=1.0, fpu_reduction_root=0.0)
    driver.run(1)
    assert driver.collect(0, 2) == 2
    urgency = round(0.6 * 4096)
    assert driver.edges() == {"7g7f": (1, urgency), "2g2f": (1, urgency)}
    driver.answer(0)
    value = 4096 - round(0.3 * 4096)
    assert driver.edges() == {"7g7f": (1, value), "2g2f": (1, value)}
    assert driver.collect(0, 1) == 1
    assert driver.edges()["7g7f"] == (2, 2 * value)
    assert driver.tree.check() == ""


def test_few_playouts_are_lost_to_a_leaf_in_flight() -> None:
    """If one move is far likelier than all others, colliding at its leaf must
    divert the playouts soon.
    """
    evaluator = FixedEvaluator(max_batch=16, slots=2)
    evaluator.add(Board(), {"7g7f": 0.9}, 0.5)
    driver = Driver(evaluator, Board(), temperature=1.0).run(1)
    before = driver.tree.view(driver.root)
    assert driver.collect(0, 8) == 8
    assert 0 < driver.tree.stats.dropped < 40
    driver.tree.cancel(driver.batches[0])
    assert driver.edges() == {}
    assert driver.tree.view(driver.root).visits == before.visits
    assert driver.tree.check() == ""


def test_a_batch_from_before_a_clear_is_void() -> None:
    driver = Driver(load("uniform"), Board()).run(10)
    assert driver.collect(0, 4) > 0
    driver.tree.clear()
    driver.place(Board())
    driver.answer(0)
    assert driver.tree.root_visits(driver.root) == 0
    assert driver.run(10).tree.check() == ""


def test_outputs_that_are_not_numbers_count_as_even() -> None:
    driver = Driver(load("uniform"), Board())
    driver.collect(0, 1)
    policy, value = uniform_outputs(1)
    policy[:], value[:] = np.nan, np.nan
    assert driver.tree.expand(driver.batches[0], policy, value) == 1
    assert driver.tree.root_value(driver.root) == 0.5
    assert {round(edge[3], 4) for edge in driver.tree.view(driver.root).edges} == {0.0333}


def test_a_batch_refuses_arrays_of_other_shapes() -> None:
    good1 = np.zeros((4, 62, 9, 9), np.float32)
    good2 = np.zeros((4, 57, 9, 9), np.float32)
    for bad1, bad2 in (
        (good1[:3], good2),
        (np.zeros((4, 61, 9, 9), np.float32), good2),
        (good1, np.zeros((4, 58, 9, 9), np.float32)),
        (np.zeros((0, 62, 9, 9), np.float32), np.zeros((0, 57, 9, 9), np.float32)),
    ):
        with pytest.raises(ValueError, match="features"):
            Batch((bad1, bad2))
    with pytest.raises(TypeError):
        Batch((good1.astype(np.float64), good2))
    tree = Tree(1 << 20)
    tree.set_root(tree.add_root(), Board())
    batch = Batch((good1, good2))
    tree.collect(0, batch, 1)
    with pytest.raises(ValueError, match="2187"):
        tree.expand(batch, np.zeros((1, 2186), np.float32), np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="fewer outputs"):
        tree.expand(batch, np.zeros((0, 2187), np.float32), np.zeros(0, np.float32))


def test_priors_are_the_softmax_of_the_legal_moves() -> None:
    driver = Driver(load("uniform"), Board(), temperature=2.0)
    driver.collect(0, 1)
    policy, value = uniform_outputs(1)
    policy[:] = 50.0  # of labels that no legal move has
    board = Board()
    for move in board.legal_moves:
        policy[0, label(move, 0)] = 3.0 if move.usi() == "7g7f" else 1.0
    driver.tree.expand(driver.batches[0], policy, value)
    priors = {e[0]: e[3] for e in driver.tree.view(driver.root).edges}
    total = np.e + 29
    assert priors[board.parse_usi("7g7f").move16] == pytest.approx(np.e / total, rel=3e-4)
    assert priors[board.parse_usi("2g2f").move16] == pytest.approx(1 / total, rel=3e-4)


@pytest.mark.parametrize("channels2", [57, 119])
def test_bytes_are_the_planes_that_floats_are(channels2: int) -> None:
    filled = []
    for dtype in (np.float32, np.uint8):
        arrays = [np.full((6, planes, 9, 9), 7, dtype) for planes in (62, channels2)]
        tree = Tree(1 << 22)
        tree.set_root(tree.add_root(), Board(MIDDLE))
        table = "dlshogi" if channels2 == 57 else "dlshogi-119"
        first, second = Batch(arrays, table), Batch(arrays, table)
        assert tree.collect(0, first, 1) == 1
        tree.expand(first, *uniform_outputs(1))
        assert tree.collect(0, second, 6) == 6
        filled.append(arrays)
    for floats, numbers in zip(*filled, strict=True):
        assert set(np.unique(numbers)) == {0, 1}
        np.testing.assert_array_equal(floats, numbers)


def test_a_batch_is_of_one_type() -> None:
    with pytest.raises(TypeError):
        Batch((np.zeros((1, 62, 9, 9), np.float32), np.zeros((1, 57, 9, 9), np.uint8)))


def test_a_batch_with_rows_belongs_to_its_tree() -> None:
    own = Driver(load("random:1", max_batch=8, slots=1), Board()).run(20)
    other = Driver(load("random:1", max_batch=8, slots=1), Board()).run(20)
    before = other.edges()
    batch = own.batches[0]
    rows = own.collect(0, 4)
    assert rows > 0
    calls = (
        lambda: other.tree.expand(batch, *uniform_outputs(rows)),
        lambda: other.tree.cancel(batch),
        lambda: other.tree.collect(other.root, batch, 4),
    )
    for call in calls:
        with pytest.raises(ValueError, match="another tree"):
            call()
    assert batch.rows == rows
    assert other.edges() == before
    own.answer(0)
    assert own.tree.check() == other.tree.check() == ""
    assert other.tree.collect(other.root, batch, 4) > 0  # an empty batch serves any tree
    other.tree.cancel(batch)
