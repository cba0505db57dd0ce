"""Searchers without a tree."""

import numpy as np
import pytest

from komadori.inference import InferenceError, load
from komadori.inference.fakes import FixedEvaluator
from komadori.rules import Board, Move
from komadori.search import Limits, OnePlySearcher, PolicySearcher, Searcher


def test_both_are_searchers() -> None:
    assert isinstance(PolicySearcher(load("uniform")), Searcher)
    assert isinstance(OnePlySearcher(load("uniform")), Searcher)


def fixed() -> FixedEvaluator:
    evaluator = FixedEvaluator(default_value=0.5)
    board = Board()
    evaluator.add(board, {"7g7f": 0.2, "2g2f": 0.7}, 0.55)
    board.push_usi("3g3f")
    evaluator.add(board, {}, 0.3)  # from White's viewpoint: good for Black
    return evaluator


def test_the_policy_plays_its_likeliest_move() -> None:
    s = PolicySearcher(fixed())
    s.set_position(Board())
    result = s.search(Limits())
    assert result.best_move == Move.from_usi("2g2f")
    assert result.infos[0].win_rate == pytest.approx(0.55)
    assert result.infos[0].nodes == 1
    only = s.search(Limits(searchmoves=[Move.from_usi("7g7f"), Move.from_usi("1g1f")]))
    assert only.best_move == Move.from_usi("7g7f")


def test_one_ply_plays_into_the_best_position() -> None:
    s = OnePlySearcher(fixed())
    s.set_position(Board())
    result = s.search(Limits())
    assert result.best_move == Move.from_usi("3g3f")
    assert result.infos[0].win_rate == pytest.approx(0.7)
    assert result.infos[0].nodes == 30


def test_a_temperature_draws_by_the_policy() -> None:
    s = PolicySearcher(fixed(), temperature=1.0, seed=5)
    s.set_position(Board())
    drawn = [s.search(Limits()).best_move for _ in range(300)]
    fraction = sum(m == Move.from_usi("2g2f") for m in drawn) / 300
    assert 0.6 < fraction < 0.8
    s.new_game()
    assert [s.search(Limits()).best_move for _ in range(300)] == drawn


def test_ties_are_broken_at_random_with_a_seed() -> None:
    plain, random = OnePlySearcher(load("uniform")), OnePlySearcher(load("uniform"), seed=3)
    for s in (plain, random):
        s.set_position(Board())
    assert len({plain.search(Limits()).best_move for _ in range(5)}) == 1
    assert len({random.search(Limits()).best_move for _ in range(30)}) > 5


def test_one_ply_sees_a_mate_and_a_repetition() -> None:
    s = OnePlySearcher(load("uniform"))
    mate = Board("4k4/9/4GS3/9/9/9/9/9/4K4 b - 1")
    s.set_position(mate)
    result = s.search(Limits())
    assert result.best_move is not None
    mate.push(result.best_move)
    assert mate.is_checkmate()


@pytest.mark.parametrize("kind", [PolicySearcher, OnePlySearcher])
def test_the_end_of_the_game(kind: type) -> None:
    s = kind(load("uniform"))
    s.set_position(Board("4k4/4G4/4S4/9/9/9/9/9/4K4 w - 1"))
    result = s.search(Limits())
    assert result.best_move is None
    assert result.resign
    s.set_position(Board("4K4/+P+P+P+P+P+P+P+P+P/+P8/9/9/9/9/9/4k4 b 2R2B 1"))
    assert s.search(Limits()).declare_win


def test_scores_are_a_distribution() -> None:
    s = PolicySearcher(load("random:1"))
    board = Board()
    moves = list(board.legal_moves)
    scores, _ = s._score_moves(board, moves)
    assert scores.sum() == pytest.approx(1.0)
    assert np.all(scores > 0)


@pytest.mark.parametrize("kind", [PolicySearcher, OnePlySearcher])
@pytest.mark.parametrize("value", [1.5, -0.5, np.nan])
def test_invalid_network_outputs_are_an_error(kind: type, value: float) -> None:
    searcher = kind(FixedEvaluator(default_value=value))
    with pytest.raises(InferenceError, match="fixed: the network's outputs aren't numbers"):
        searcher.search(Limits(nodes=1))
