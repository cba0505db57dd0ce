"""Evaluators without a network."""

import numpy as np
import pytest

from komadori.encoding import encode_labels, encode_planes
from komadori.inference import Evaluator, ModelError, evaluate, load
from komadori.inference.fakes import FixedEvaluator, row_keys
from komadori.rules import Board


def hcps(n: int) -> np.ndarray:
    board = Board()
    rows = []
    while len(rows) < n:
        rows.append(np.frombuffer(board.hcp(), np.uint8))
        moves = list(board.legal_moves)
        board.push(moves[len(rows) * 7 % len(moves)])
    return np.stack(rows)


@pytest.mark.parametrize("name", ["uniform", "random:1", "fixed"])
def test_fakes_are_evaluators(name: str) -> None:
    evaluator = load(name, max_batch=5, slots=3)
    assert isinstance(evaluator, Evaluator)
    assert (evaluator.max_batch, evaluator.slots) == (5, 3)
    policy, value = evaluate(evaluator, *encode_planes(hcps(12)))
    assert policy.shape == (12, 2187)
    assert value.shape == (12,)
    assert ((value >= 0) & (value <= 1)).all()


@pytest.mark.parametrize("name", ["uniform", "random:1", "fixed"])
@pytest.mark.parametrize("option", ["max_batch", "slots"])
def test_batches_and_slots_are_positive(name: str, option: str) -> None:
    with pytest.raises(ModelError, match=f"{option}=0"):
        load(name, **{option: 0})


def test_uniform_knows_nothing() -> None:
    policy, value = evaluate(load("uniform"), *encode_planes(hcps(3)))
    assert not policy.any()
    assert (value == 0.5).all()


def test_random_depends_on_the_position_and_the_seed_alone() -> None:
    features = encode_planes(hcps(30))
    policy, value = evaluate(load("random:1", max_batch=7), *features)
    again = evaluate(load("random:1", max_batch=16), *features)
    np.testing.assert_array_equal(policy, again[0])
    np.testing.assert_array_equal(value, again[1])
    assert len(np.unique(value)) == 30
    other = evaluate(load("random:2"), *features)
    assert not np.isclose(policy, other[0]).all(axis=1).any()
    assert abs(np.corrcoef(value, other[1])[0, 1]) < 0.6


def test_random_is_the_same_for_both_feature_tables() -> None:
    rows = hcps(4)
    short = evaluate(load("random:1"), *encode_planes(rows))
    long = evaluate(
        load("random:1", features="dlshogi-119"), *encode_planes(rows, features="dlshogi-119")
    )
    np.testing.assert_array_equal(short[0], long[0])


def test_row_keys_tell_positions_apart() -> None:
    features = encode_planes(hcps(200))
    assert len(set(row_keys(features).tolist())) == 200


def test_fixed_answers_from_its_table() -> None:
    board = Board()
    evaluator = FixedEvaluator(default_value=0.3)
    evaluator.add(board, {"7g7f": 0.6, "2g2f": 0.3}, 0.7)
    policy, value = evaluate(evaluator, *encode_planes(hcps(2)))
    assert value.tolist() == pytest.approx([0.7, 0.3])
    assert not policy[1].any()
    move16 = np.array([m.move16 for m in board.legal_moves], np.uint16)
    hcp = np.repeat(hcps(1), len(move16), axis=0)
    probability = dict(
        zip(
            (m.usi() for m in board.legal_moves),
            np.exp(policy[0, encode_labels(hcp, move16)]),
            strict=True,
        )
    )
    assert probability["7g7f"] == pytest.approx(0.6)
    assert probability["2g2f"] == pytest.approx(0.3)
    assert sum(probability.values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="7g7e is not legal"):
        evaluator.add(board, {"7g7e": 1.0}, 0.5)


def test_a_seed_that_is_no_number() -> None:
    with pytest.raises(ModelError, match="whole number"):
        load("random:seven")


def test_rows_out_of_range() -> None:
    evaluator = load("uniform", max_batch=4)
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"{n} rows"):
            evaluator.start(0, n)


def test_a_fake_says_what_it_is() -> None:
    text = repr(load("random:1", max_batch=8, slots=3))
    assert text == "<RandomEvaluator: dlshogi -> 2187, 3 x 8 rows>"
