"""The tree equals a plain PUCT, playout by playout."""

import pytest
from driving import Driver
from tree_oracle import Oracle

from komadori.inference import load
from komadori.rules import Board

POSITIONS = {
    "start": "startpos",
    "middle game": "l2g1k1nl/1r1s1gs2/p1nppp1pp/2p3p2/1p7/2PP2P2/PPSSPP1PP/3R1G3/LN2KG1NL b Bb 25",
    "matsuri": ("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"),
    "two kings": "4k4/9/9/9/9/9/9/9/4K4 b - 1",
    "near a mate": "4k4/9/4G4/9/9/9/9/9/4K4 b G 1",
}


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("model", ["uniform", "random:5"])
def test_visits_and_values_of_all_root_moves(name: str, model: str) -> None:
    board = Board(POSITIONS[name])
    oracle = Oracle(board, load(model))
    driver = Driver(load(model), board, declaration_points=(0, 0))
    for visits in (2, 10, 50, 150, 300):
        oracle.run(driver.run(visits).visits())
        assert driver.edges() == oracle.edges(), visits
    assert driver.tree.check() == ""


def test_with_a_history_that_the_search_can_repeat() -> None:
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b - 1")
    for usi in ("5i4i", "5a4a", "4i5i", "4a5a", "5i4i", "5a6a"):
        board.push_usi(usi)
    oracle = Oracle(board, load("random:2"))
    driver = Driver(load("random:2"), board, declaration_points=(0, 0))
    for visits in (20, 100, 400):
        oracle.run(driver.run(visits).visits())
        assert driver.edges() == oracle.edges(), visits
    assert driver.tree.stats.repeated > 20
