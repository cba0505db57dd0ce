"""Nodes decided by the rules: repetitions, mates, declarations, the ply limit."""

import numpy as np
import pytest
from driving import Driver

from komadori._core.tree import Proof
from komadori.inference import load
from komadori.inference.fakes import UniformEvaluator
from komadori.rules import Board, Move, Repetition

KINGS = "4k4/9/9/9/9/9/9/9/4K4 b - 1"
ROOK = "4k4/9/9/9/9/9/9/9/R3K4 b - 1"
# Black mates by 5c5b, which 4c guards.
MATE_IN_1 = "4k4/9/4GS3/9/9/9/9/9/4K4 b - 1"
# G*5c, whatever White answers, then mate.
MATE_IN_3 = "4k4/9/9/4S4/9/9/9/9/4K4 b 2G 1"
ENTERING = "4K4/+P+P+P+P+P+P+P+P+P/+P8/9/9/9/9/9/4k4 w 2R2B 1"


def move16(usi: str) -> int:
    return Move.from_usi(usi).move16


def board_after(sfen: str, moves: str) -> Board:
    board = Board(sfen)
    for usi in moves.split():
        board.push_usi(usi)
    return board


# -- repetitions


def test_a_move_that_repeats_a_position_of_the_game_is_worth_a_draw() -> None:
    board = board_after("startpos", "2h3h 8b7b 3h2h 7b8b")
    driver = Driver(load("random:1"), board, draw_value=(0.9, 0.5)).run(300)
    moves = {m.move16: m for m in driver.tree.root_moves(driver.root)}
    repeating = moves[move16("2h3h")]
    assert repeating.repetition == Repetition.DRAW
    assert repeating.visits > 0
    assert repeating.value == pytest.approx(0.9, abs=1e-3)  # Black's move makes the draw
    assert driver.tree.root_moves(driver.root)[0].move16 == move16("2h3h")


def test_the_repetition_of_one_path_does_not_spoil_another() -> None:
    """The same tree, once with a history in which 2h3h repeats and once without."""
    evaluator = load("random:1")
    driver = Driver(evaluator, board_after("startpos", "2h3h 8b7b 3h2h 7b8b"), draw_value=(1, 1))
    driver.run(400)
    assert driver.tree.root_value(driver.root) > 0.7
    driver.place(Board())
    assert driver.tree.view(driver.root).is_private is False
    driver.run(driver.visits() + 200)
    fresh = Driver(evaluator, Board(), draw_value=(1, 1)).run(driver.visits())
    spoilt, clean = (
        {m.move16: m.value for m in d.tree.root_moves(d.root)} for d in (driver, fresh)
    )
    assert spoilt[move16("2h3h")] == pytest.approx(clean[move16("2h3h")], abs=0.05)
    assert driver.tree.check() == ""


def test_only_nodes_of_their_own_hold_repetitions() -> None:
    """Two paths into a cycle: path-dependent values stay out of the shared nodes."""
    driver = Driver(load("uniform"), Board(KINGS)).run(3000)
    assert driver.tree.stats.repeated > 100
    stack: list[list[int]] = [[]]
    shared = private = 0
    while stack:
        path = stack.pop()
        view = driver.tree.view(driver.root, path)
        if not view.found:
            continue
        board = Board(KINGS)
        for move in path:
            board.push(Move.from_move16(move))
        for edge in view.edges:
            if not edge[1]:
                continue
            board.push(Move.from_move16(edge[0]))
            if board.repetition(2) == Repetition.NONE:
                if len(path) < 6:
                    stack.append([*path, edge[0]])
            elif view.is_private:
                private += 1
                assert edge[2] == edge[1] * 2048  # draws, nothing else
            else:
                shared += 1  # stored from paths on which the move doesn't repeat
            board.pop()
    assert private > 10


def test_a_repetition_is_entered_by_the_losing_side_and_avoided_by_the_winning() -> None:
    history = "5i4i 5a4a 4i5i 4a5a"
    for favourable in (0.9, 0.1):
        board = board_after(ROOK, history)
        driver = Driver(RookJudge(favourable), board).run(400)
        best = driver.tree.root_moves(driver.root)[0]
        assert (best.repetition == Repetition.DRAW) == (favourable < 0.5)
        value = driver.tree.root_value(driver.root)
        assert value == pytest.approx(max(favourable, 0.5), abs=0.12)


class RookJudge(UniformEvaluator):
    """A constant value for the side that has the rook."""

    def __init__(self, value: float) -> None:
        super().__init__(max_batch=1)
        self.worth = value

    def _evaluate(self, inputs, policy, value) -> None:  # type: ignore[no-untyped-def]
        own_rook = inputs[0][:, [5, 13]].any(axis=(1, 2, 3))  # rook and dragon
        value[:] = np.where(own_rook, self.worth, 1 - self.worth)


# -- mates


def test_a_mate_in_one_is_proven_at_once() -> None:
    driver = Driver(load("uniform"), Board(MATE_IN_1)).run(100)
    assert driver.tree.root_solved(driver.root)
    best = driver.tree.root_moves(driver.root)[0]
    assert (best.proof, best.proof_plies) == (Proof.WIN, 1)
    assert board_after(MATE_IN_1, Move.from_move16(best.move16).usi()).is_checkmate()
    assert driver.tree.root_value(driver.root) == 1.0


def test_a_mate_in_three_is_proven() -> None:
    driver = Driver(load("uniform"), Board(MATE_IN_3)).run(5000)
    assert driver.tree.root_solved(driver.root)
    best = driver.tree.root_moves(driver.root)[0]
    assert best.proof == Proof.WIN
    assert best.proof_plies == 3
    line = driver.tree.variation(driver.root, best.move16, 10)
    board = board_after(MATE_IN_3, " ".join(Move.from_move16(m).usi() for m in line))
    assert board.is_checkmate()
    assert driver.tree.check() == ""


def test_the_defender_is_proven_lost_and_holds_out_longest() -> None:
    board = board_after(MATE_IN_3, "G*5c")
    driver = Driver(load("uniform"), board).run(5000)
    assert driver.tree.root_solved(driver.root)
    moves = driver.tree.root_moves(driver.root)
    assert {m.proof for m in moves} == {Proof.LOSS}
    plies = [m.proof_plies for m in moves]
    assert plies == sorted(plies, reverse=True)
    assert driver.tree.root_value(driver.root) == 0.0


def test_a_mate_in_one_at_a_leaf_is_seen_before_the_network() -> None:
    """White to move may not allow 5c5b: moves that do are proven to lose when first met."""
    board = Board(MATE_IN_1.replace(" b ", " w "))
    driver = Driver(load("uniform"), board).run(50)
    proofs = {
        Move.from_move16(m.move16).usi(): m.proof for m in driver.tree.root_moves(driver.root)
    }
    for usi, proof in proofs.items():
        board.push_usi(usi)
        assert (proof == Proof.LOSS) == (board.mate_in_one() is not None), usi
        board.pop()


# -- declarations and the ply limit


def test_a_declaration_is_proven_to_win() -> None:
    board = Board(ENTERING)
    assert not board.can_declare_win()
    driver = Driver(load("uniform"), board).run(50)
    moves = driver.tree.root_moves(driver.root)
    assert {m.proof for m in moves if m.visits} == {Proof.LOSS}  # Black declares next
    without = Driver(load("uniform"), board, declaration_points=(0, 0)).run(50)
    assert {m.proof for m in without.tree.root_moves(without.root)} == {Proof.NONE}


@pytest.mark.parametrize("limit", [2, 3])
def test_beyond_the_ply_limit_the_game_is_drawn(limit: int) -> None:
    driver = Driver(load("random:1"), Board(), draw_ply=limit, draw_value=(0.25, 0.5)).run(2000)
    assert driver.tree.stats.depth <= limit
    assert driver.tree.check() == ""
    assert driver.tree.stats.evaluated <= 1 + 30 + (limit == 3) * 900
    if limit == 2:  # White's moves end the game; a draw is worth 0.5 to White
        assert driver.tree.root_value(driver.root) == pytest.approx(0.5, abs=0.01)


def test_at_the_ply_limit_the_root_still_has_a_move() -> None:
    board = board_after("startpos", "7g7f 3c3d")
    driver = Driver(load("random:1"), board, draw_ply=2).run(100)
    best = driver.tree.root_moves(driver.root)[0]
    assert (best.visits > 0, best.proof) == (True, Proof.DRAW)
