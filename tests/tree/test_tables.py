"""The tree over every feature table and label scheme."""

from __future__ import annotations

import numpy as np
import pytest
from driving import MEMORY, Driver, options

from komadori._core.tree import Batch, Tree
from komadori.encoding import FEATURES, LABELS, encode_boards, move_probabilities
from komadori.inference.fakes import RandomEvaluator
from komadori.rules import Board


def boards() -> list[Board]:
    """Positions of a game of random moves, hands and promoted pieces among them."""
    board, random, found = Board(), np.random.default_rng(4), []
    for ply in range(120):
        if ply % 20 == 0:
            found.append(board.copy())
        board.push(random.choice(list(board.legal_moves)))
    return found


@pytest.mark.parametrize("features", FEATURES)
def test_inputs_are_the_encoder_s(features: str) -> None:
    table = FEATURES[features]
    for dtype in (np.float32, np.uint8) if table.is_binary else (np.float32,):
        arrays = tuple(np.full((3, *one.shape), 7, dtype) for one in table.inputs)
        for board in boards():
            tree = Tree(MEMORY)
            tree.set_root(tree.add_root(), board)
            assert tree.collect(0, Batch(arrays, features), 1) == 1
            for ours, wanted in zip(arrays, encode_boards([board], features), strict=True):
                np.testing.assert_array_equal(ours[0], wanted[0])
                assert (ours[1] == 7).all()


@pytest.mark.parametrize("labels", LABELS)
def test_priors_are_the_encoder_s(labels: str) -> None:
    evaluator = RandomEvaluator(3, labels=labels)
    for board in boards():
        driver = Driver(evaluator, board, temperature=1.3)
        assert driver.collect(0, 1) == 1
        evaluator.start(0, 1)
        policy, value = evaluator.wait(0)
        driver.tree.expand(driver.batches[0], policy, value)
        priors = {edge[0]: edge[3] for edge in driver.tree.view(driver.root).edges}
        wanted = move_probabilities(board, policy[0], labels, temperature=1.3)
        for move, probability in zip(board.legal_moves, wanted, strict=True):
            assert priors[move.move16] == pytest.approx(probability, rel=3e-4)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("features", ["attention", "diary-turn"])
def test_a_search_adds_up(features: str, labels: str) -> None:
    driver = Driver(RandomEvaluator(1, features=features, labels=labels), Board())
    driver.run(300, rows=8)
    assert driver.visits() >= 300
    assert driver.tree.check() == ""


def test_one_tree_takes_batches_of_several_networks() -> None:
    """Two networks that play each other may share a process but not a tree; a batch defines
    how to read its own outputs."""
    tree = Tree(MEMORY, options())
    root = tree.add_root()
    tree.set_root(root, Board())
    for labels in ("8181", "2187", "from-to", "1134"):
        evaluator = RandomEvaluator(1, labels=labels)
        batch = Batch(evaluator.inputs(0), evaluator.features, labels)
        added = tree.collect(root, batch, 4)
        assert added
        evaluator.start(0, added)
        tree.expand(batch, *evaluator.wait(0))
        assert tree.check() == ""


def test_a_private_root_does_not_wait_for_another_root_s_batch() -> None:
    """A root whose position is in another root's batch, and repeats in its own game, gets a private
    node that receives no evaluation."""
    start = Board("4k4/9/9/9/9/9/9/9/R3K4 b - 1")
    game = start.copy()
    for usi in ("9i8i", "5a4a", "8i9i", "4a5a"):
        game.push_usi(usi)
    evaluator = RandomEvaluator(1)
    tree = Tree(MEMORY, options())
    first, second = tree.add_root(), tree.add_root()
    tree.set_root(first, start)
    batches = [Batch(evaluator.inputs(slot)) for slot in range(2)]
    assert tree.collect(first, batches[0], 1) == 1
    tree.set_root(second, game)
    assert tree.view(second).is_private
    assert tree.collect(second, batches[1], 1) == 1
    for slot, batch in enumerate(batches):
        evaluator.start(slot, batch.rows)
        tree.expand(batch, *evaluator.wait(slot))
    assert tree.root_visits(first) == tree.root_visits(second) == 1
    assert tree.check() == ""


def test_a_batch_refuses_what_its_table_has_not() -> None:
    planes = (np.zeros((4, 62, 9, 9), np.float32), np.zeros((4, 57, 9, 9), np.float32))
    tokens = (np.zeros((4, 137, 64), np.uint8),)
    assert Batch(tokens, "attention").rows == 0
    with pytest.raises(ValueError, match=r"tokens is not \[4, 137, 64\]"):
        Batch((np.zeros((4, 136, 64), np.uint8),), "attention")
    with pytest.raises(ValueError, match="2 arrays for attention, which has 1 inputs"):
        Batch(planes, "attention")
    with pytest.raises(ValueError, match="unknown feature table x"):
        Batch(planes, "x")
    with pytest.raises(ValueError, match="unknown label scheme x"):
        Batch(planes, "dlshogi", "x")
    turn = tuple(np.zeros((4, *one.shape), np.uint8) for one in FEATURES["diary-turn"].inputs)
    with pytest.raises(TypeError, match="float32 only"):
        Batch(turn, "diary-turn")
