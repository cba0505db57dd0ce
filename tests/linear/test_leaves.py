"""Quiescence leaves and elmo's loss, shared by all evaluation learners."""

from __future__ import annotations

import numpy as np
import pytest

from komadori import records
from komadori._core import linear as core
from komadori.linear import TwoPieceWeights
from komadori.rules import BLACK, Board

KINDS = [
    {"result_weight": 1.0, "teacher_weight": 0.5, "squared": False},
    {"result_weight": 0.0, "teacher_weight": 1.0, "squared": True},
    {"result_weight": 1.0, "teacher_weight": 0.33, "squared": True},
]


@pytest.fixture(scope="module")
def hcps() -> np.ndarray:
    return records.load_samples([records.sample_path()]).hcp[::7]


def test_the_leaf_value_is_the_root_value(hcps: np.ndarray) -> None:
    weights = TwoPieceWeights.material().core()
    leaf, value, same_turn, is_settled, nodes = core.find_leaves(weights, hcps, 1)
    assert leaf.shape == hcps.shape
    assert nodes > len(hcps)
    moved = np.any(leaf != hcps, axis=1)
    assert 0.05 < moved.mean() < 0.95
    assert is_settled.mean() > 0.9
    for i in np.flatnonzero(is_settled)[:400]:
        root, end = Board.from_hcp(hcps[i].tobytes()), Board.from_hcp(leaf[i].tobytes())
        black = weights.evaluate(end)
        assert value[i] == (black if root.turn == BLACK else -black)
        assert same_turn[i] == (root.turn == end.turn)
        if not moved[i]:
            assert not root.is_check()


def test_leaves_do_not_depend_on_threads(hcps: np.ndarray) -> None:
    weights = TwoPieceWeights.material().core()
    one, three = (core.find_leaves(weights, hcps, threads) for threads in (1, 3))
    for a, b in zip(one, three, strict=True):
        assert np.array_equal(a, b)


def test_a_mate_is_not_quiet() -> None:
    mated = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w 2R2B3G4S4N4L17P 1")
    hcp = np.frombuffer(mated.hcp(), np.uint8)[None]
    _, _, _, is_settled, _ = core.find_leaves(TwoPieceWeights.material().core(), hcp, 1)
    assert not is_settled[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_is_that_of_the_loss(kind: dict) -> None:
    rng = np.random.default_rng(1)
    value, teacher = rng.normal(0, 900, (2, 200))
    result = rng.choice([0.0, 0.5, 1.0], 200)

    def terms(at: np.ndarray) -> np.ndarray:
        return core.loss_terms(at, teacher, result, scale_cp=600.0, **kind)

    def total(at: np.ndarray) -> np.ndarray:
        found = terms(at)
        return kind["result_weight"] * found[0] + kind["teacher_weight"] * found[1]

    step = 0.01
    slope = (total(value + step) - total(value - step)) / (2 * step) * 600
    assert slope == pytest.approx(terms(value)[4], abs=1e-6)


def test_the_floor_is_reached_at_the_teachers_score() -> None:
    teacher = np.array([-40000.0, -700.0, 0.0, 30.0, 2500.0])
    result = np.array([0.0, 1.0, 0.5, 1.0, 1.0])
    at_teacher = core.loss_terms(teacher, teacher, result, scale_cp=600.0, **KINDS[0])
    assert at_teacher[1] == pytest.approx(at_teacher[3], abs=1e-9)
    for off in (-50.0, 50.0):
        shifted = core.loss_terms(teacher + off, teacher, result, scale_cp=600.0, **KINDS[0])
        assert np.all(shifted[1, 1:] > at_teacher[1, 1:])
    assert list(at_teacher[2]) == pytest.approx([0, 0, np.log(2), 0, 0])
    assert np.all(np.isfinite(at_teacher))


def test_the_loss_is_the_definition() -> None:
    q, p = 1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(0.25))
    found = core.loss_terms(
        np.array([300.0]), np.array([-150.0]), np.array([1.0]), scale_cp=600.0, **KINDS[0]
    )[:, 0]
    cross = -p * np.log(q) - (1 - p) * np.log(1 - q)
    slope = (q - 1) + 0.5 * (q - p)
    assert found == pytest.approx(
        [-np.log(q), cross, 0, -p * np.log(p) - (1 - p) * np.log(1 - p), slope]
    )
