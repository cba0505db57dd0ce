"""Search options that are off by default, against plain PUCT or their definition."""

from __future__ import annotations

import math

import pytest
from driving import Driver
from tree_oracle import ONE, Oracle

from komadori._core.tree import Proof, TreeOptions
from komadori.inference import load
from komadori.inference.fakes import RandomEvaluator
from komadori.rules import Board

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
TWO_KINGS = "4k4/9/9/9/9/9/9/9/4K4 b - 1"


@pytest.mark.parametrize("sfen", ["startpos", MATSURI, TWO_KINGS])
@pytest.mark.parametrize(
    ("ours", "oracle"),
    [
        ({"c_growth": 60.0}, {"growth": 60.0}),
        ({"stdev_scale": 0.85}, {"stdev_scale": 0.85}),
        ({"temperature_root": 3.0}, {"temperature_root": 3.0}),
        ({"value_bias": 0.45}, {"value_bias": 0.45}),
        (
            {"c_growth": 20.0, "stdev_scale": 1.2, "temperature_root": 1.0},
            {"growth": 20.0, "stdev_scale": 1.2, "temperature_root": 1.0},
        ),
    ],
)
def test_equal_to_plain_puct(sfen: str, ours: dict[str, float], oracle: dict[str, float]) -> None:
    board = Board(sfen)
    plain = Oracle(board, load("random:5"), **oracle)
    usual = Oracle(board, load("random:5"))
    driver = Driver(load("random:5"), board, declaration_points=(0, 0), **ours)
    for visits in (2, 10, 50, 150, 300, 600):
        plain.run(driver.run(visits).visits())
        assert driver.edges() == plain.edges(), visits
    usual.run(driver.visits())
    assert usual.edges() != plain.edges()  # the option has an effect here
    assert driver.tree.check() == ""


def test_squares_are_those_of_the_values() -> None:
    """With one visit per node below the root, each value is known separately."""
    evaluator = RandomEvaluator(3, spread=0.0)
    driver = Driver(evaluator, Board(), c_init_root=100.0).run(31)
    edges = [e for e in driver.tree.view(driver.root).edges if e[1]]
    assert all(e[1] == 1 for e in edges)
    root = driver.tree.view(driver.root)
    own = root.value_sum - sum(e[2] for e in edges)
    assert root.square_sum == own**2 + sum(e[2] ** 2 for e in edges)


def lower_bound(driver: Driver, move16: int, visits: int, value: float, stdevs: float) -> float:
    node = driver.tree.view(driver.root, [move16])
    n = node.visits
    spread = max(0.0, node.square_sum - node.value_sum**2 / n) / ONE**2
    variance = (2 * 0.2**2 + spread) / (2 + n)
    return value - stdevs * math.sqrt(variance / visits)


def test_the_best_move_by_its_lower_bound() -> None:
    differs = 0
    for seed in range(12):
        driver = Driver(load(f"random:{seed}"), Board(MATSURI), mate_in_one=False, lcb_stdevs=2.0)
        moves = driver.run(150).tree.root_moves(driver.root)
        open_moves = [m for m in moves if m.visits and m.proof == Proof.NONE]
        most = max(m.visits for m in open_moves)
        bounds = {
            m.move16: lower_bound(driver, m.move16, m.visits, m.value, 2.0) for m in open_moves
        }
        for m in open_moves:
            assert m.lower_bound == pytest.approx(bounds[m.move16], abs=1e-4)
        wanted = max(
            (m for m in open_moves if m.visits >= 0.15 * most), key=lambda m: bounds[m.move16]
        )
        assert open_moves[0].move16 == wanted.move16
        others = [m.visits for m in open_moves[1:]]
        assert others == sorted(others, reverse=True)
        differs += wanted.visits != most
    assert differs


def test_a_proven_win_comes_before_every_bound() -> None:
    board = Board("4k4/9/4G4/9/9/9/9/9/4K4 b G 1")
    driver = Driver(load("random:1"), board, lcb_stdevs=5.0).run(100)
    assert driver.tree.root_moves(driver.root)[0].proof == Proof.WIN


@pytest.mark.parametrize("per_flight", [1, 2, 8])
def test_playouts_in_flight_are_limited_by_visits(per_flight: int) -> None:
    driver = Driver(load("random:1", max_batch=64), Board(), visits_per_flight=per_flight)
    for _ in range(60):
        finished = driver.visits()
        added = driver.collect(0, 64)
        # The last of them is begun with one fewer in flight.
        assert added <= max(1, finished // per_flight)
        assert added
        driver.answer(0)
        assert driver.tree.check() == ""
    free = Driver(load("random:1", max_batch=64), Board()).run(8)
    assert free.collect(0, 64) > 8


def test_a_change_of_options_that_change_values_clears_the_tree() -> None:
    driver = Driver(load("random:1"), Board()).run(50)
    changed = driver.tree.options
    changed.stdev_scale = 0.85
    driver.tree.options = changed
    assert driver.visits() >= 50
    changed.value_bias = 0.45
    driver.tree.options = changed
    assert driver.place(Board()) == 0
    driver.run(50)
    changed.temperature_root = 2.0
    driver.tree.options = changed
    assert driver.place(Board()) == 0
    driver.run(50)
    changed.uncertainty_weight = 1.0
    driver.tree.options = changed
    assert driver.place(Board()) == 0


@pytest.mark.parametrize("at_root", [False, True])
@pytest.mark.parametrize("n", [0, 1, 800, 100_000])
def test_exploration_is_the_factor_of_the_paper(n: int, at_root: bool) -> None:
    options = TreeOptions()
    options.c_growth, options.c_base, options.c_base_root = 0.45, 500, 900
    options.c_init, options.c_init_root = 1.5, 1.1
    init, base = (1.1, 900) if at_root else (1.5, 500)
    expected = (0.45 * math.log((n + base + 1) / base) + init) * math.sqrt(max(1, n))
    assert options.exploration(n, at_root) == pytest.approx(expected, rel=1e-5)
