"""Playouts weighted by the certainty of their leaves, recomputed one by one."""

from __future__ import annotations

import pytest
from driving import Driver
from tree_oracle import ONE

from komadori.inference import load
from komadori.rules import Board, Move
from komadori.search.alphabeta import AlphaBetaOptions, make_engines

LEAF_WEIGHT = 0.5
#: As in `cpp/komadori/tree/uncertainty.h`.
FLOOR = 0.5


class Weights:
    """The weights of the definition, from all uncertainties so far."""

    def __init__(self) -> None:
        self.uncertainties: list[float] = []
        self.raw: list[float] = []

    def of(self, uncertainty: float) -> float:
        self.uncertainties.append(uncertainty)
        mean = sum(self.uncertainties) / len(self.uncertainties)
        self.raw.append(1 / (FLOOR + uncertainty / mean))
        return self.raw[-1] * len(self.raw) / sum(self.raw)

    def of_certainty(self) -> float:
        return len(self.raw) / FLOOR / sum(self.raw)


def driver_of(strength: float, leaf_weight: float = LEAF_WEIGHT, **options: object) -> Driver:
    driver = Driver(load("random:5"), Board(), uncertainty_weight=strength, **options)
    if leaf_weight:
        (engine,) = make_engines("nnue", None, AlphaBetaOptions(threads=1, hash_mb=1), 1)
        driver.tree.set_leaf_search(engine, 10, leaf_weight)
        driver.place(Board())
    return driver


def path_in_flight(driver: Driver) -> list[int]:
    """The moves of the only playout in flight."""
    path: list[int] = []
    while True:
        edges = driver.tree.view(driver.root, path).edges
        moves = [move16 for move16, visits, *_ in edges if visits]
        flying = [m for m in moves if driver.tree.view(driver.root, [*path, m]).in_flight]
        if not flying:
            return path
        (move16,) = flying
        path.append(move16)


def expanded(driver: Driver) -> tuple[list[int], float, float]:
    """Expand the only playout in flight; return its moves, its leaf's value and uncertainty."""
    path = path_in_flight(driver)
    batch = driver.batches[0]
    driver.evaluator.start(0, batch.rows)
    policy, value = driver.evaluator.wait(0)
    network = float(value[0])
    driver.tree.expand(batch, policy, value)
    leaf = driver.tree.view(driver.root, path).value
    return path, leaf, abs(leaf - network) / LEAF_WEIGHT


@pytest.mark.parametrize("strength", [0.4, 1.0])
def test_a_playout_moves_the_mean_of_its_move_by_its_weight(strength: float) -> None:
    driver = driver_of(strength)
    weights = Weights()
    moved = 0
    for _ in range(200):
        before = driver.edges()
        if not driver.collect(0, 1):
            continue
        path, leaf, uncertainty = expanded(driver)
        weight = 1 + strength * (weights.of(uncertainty) - 1)
        if not path:
            continue
        usi = Move.from_move16(path[0]).usi()
        n, total = before.get(usi, (0, 0))
        backed_up = leaf if len(path) % 2 == 0 else 1 - leaf
        if n:
            mean = total / n / ONE
            backed_up = min(max(mean + weight * (backed_up - mean), 0.0), 1.0)
            moved += abs(weight - 1) > 0.1
        assert driver.edges()[usi][0] == n + 1
        assert driver.edges()[usi][1] - total == pytest.approx(backed_up * ONE, abs=1.5)
    assert driver.tree.check() == ""
    assert moved > 50


def test_a_draw_by_the_rules_is_certain() -> None:
    driver = driver_of(1.0, draw_ply=2, draw_value=[0.9, 0.9])
    weights = Weights()
    certain = 0
    for _ in range(200):
        before = driver.edges()
        if driver.tree.collect(0, driver.batches[0], 1, 1):
            weights.of(expanded(driver)[2])
            continue
        # Black's move, then White's, which draws and is worth 0.9 to White.
        after = driver.edges()
        (usi,) = [move for move in after if after[move] != before.get(move)]
        n, total = before[usi]
        mean = total / n
        moved = mean + weights.of_certainty() * (ONE - round(0.9 * ONE) - mean)
        assert after[usi][1] - total == pytest.approx(max(moved, 0.0), abs=0.6)
        certain += 1
    assert certain > 20


def test_without_a_leaf_search_all_playouts_weigh_the_same() -> None:
    weighted, usual = driver_of(1.0, leaf_weight=0.0), driver_of(0.0, leaf_weight=0.0)
    assert weighted.run(300).edges() == usual.run(300).edges()
    searched, plain = driver_of(1.0), driver_of(0.0)
    assert searched.run(300).edges() != plain.run(300).edges()


def test_batches_in_flight_leave_the_sums_consistent() -> None:
    driver = driver_of(1.0)
    driver.run_mixed(400, seed=3)
    assert driver.tree.check() == ""
    assert driver.in_flight() == 0
