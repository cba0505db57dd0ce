"""Golden trees. A difference means that the search plays differently; update only on purpose."""

import pytest
from driving import Driver

from komadori.inference import load
from komadori.inference.fakes import FixedEvaluator
from komadori.rules import Board, Move

MIDDLE = "l2g1k1nl/1r1s1gs2/p1nppp1pp/2p3p2/1p7/2PP2P2/PPSSPP1PP/3R1G3/LN2KG1NL b Bb 25"
MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"


def test_a_tree_small_enough_for_pencil_and_paper() -> None:
    """Policy 0.5 / 0.3 / 0.2, values 0.6, 0.3 and 0.5 to Black behind the moves, temperature 1.

    At the root C = 1.16 and unvisited moves count as the mean so far (its reduction is 0):
    2 7g7f  0.5  + 1.16*1*0.5 = 1.08 is the largest: W(7g7f) = 0.6
    3 2g2f  mean 0.55 + 1.16*1*0.3 = 0.898 against 7g7f 0.6 + 1.16*0.5/2 = 0.89: W(2g2f) = 0.3
    4 7g7f  0.6 + 1.16*sqrt(2)*0.5/2 = 1.0101 against 2g2f 0.546, 6i7h 0.7948: goes deeper
    """
    evaluator = FixedEvaluator(max_batch=1)
    board = Board()
    root = {"7g7f": 0.5, "2g2f": 0.3, "6i7h": 0.2 - 27e-6}
    evaluator.add(board, root, 0.5)
    for usi, value in (("7g7f", 0.6), ("2g2f", 0.3), ("6i7h", 0.5)):
        board.push_usi(usi)
        evaluator.add(board, {}, 1 - value)
        board.pop()
    driver = Driver(evaluator, board, temperature=1.0)

    def edge(usi: str) -> tuple[int, float]:
        visits, total = driver.edges().get(usi, (0, 0))
        return visits, total / 4096

    driver.run(2)
    assert edge("7g7f") == (1, pytest.approx(0.6, abs=2e-4))
    driver.run(3)
    assert edge("2g2f") == (1, pytest.approx(0.3, abs=2e-4))
    driver.run(4)
    assert edge("7g7f") == (2, pytest.approx(0.6 + 0.5, abs=4e-4))
    assert sum(n for n, _ in driver.edges().values()) == 3


GOLDEN = {
    ("start", "random:1"): {"2h1h": 156, "6i7h": 140, "7i6h": 99, "2h3h": 71, "2h6h": 67},
    ("middle", "random:1"): {"6h9h": 88, "B*5f": 81, "B*6i": 59, "B*7i": 57, "B*5e": 50},
    ("matsuri", "uniform"): {"3i1g+": 295, "S*3h": 32, "N*1g": 19, "S*2h": 18, "G*3h": 18},
    ("matsuri", "random:1"): {"P*3h": 270, "S*7h": 163, "P*4h": 98, "G*9e": 31, "S*8g": 18},
}


@pytest.mark.parametrize(("name", "model"), GOLDEN)
def test_visits_of_the_best_moves(name: str, model: str) -> None:
    sfen = {"start": "startpos", "middle": MIDDLE, "matsuri": MATSURI}[name]
    driver = Driver(load(model, max_batch=8), Board(sfen)).run(1000, rows=8)
    moves = driver.tree.root_moves(driver.root)[:5]
    assert {Move.from_move16(m.move16).usi(): m.visits for m in moves} == GOLDEN[name, model]
