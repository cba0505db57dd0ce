"""Ratings of many players from all their games."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from komadori.arena.elo import Z95, elo_from_score
from komadori.arena.ratings import LOGIT, Tally, _Problem, fit


def simulate(
    elos: dict[str, float], games: int, first_elo: float, draw: float, seed: int
) -> list[Tally]:
    """Every player against every other, with both colours."""
    chance = random.Random(seed)
    tallies = []
    for black in elos:
        for white in elos:
            if black == white:
                continue
            gap = (elos[black] - elos[white] + first_elo) / LOGIT
            won = 1 / (1 + math.exp(-(gap - draw)))
            lost = 1 / (1 + math.exp(gap + draw))
            counts = [0, 0, 0]
            for _ in range(games):
                x = chance.random()
                counts[0 if x < won else 2 if x < won + lost else 1] += 1
            tallies.append(Tally(black, white, *counts))
    return tallies


def test_two_players_have_the_elo_of_their_score() -> None:
    fitted = fit(["a", "b"], [Tally("a", "b", 300, 0, 100), Tally("b", "a", 100, 0, 300)])
    gap = fitted.of("a").elo - fitted.of("b").elo
    assert gap == pytest.approx(elo_from_score(0.75), abs=3)
    expected = LOGIT * math.sqrt(1 / (800 * 0.75 * 0.25))
    assert fitted.difference_error("a", "b") == pytest.approx(expected, rel=0.03)
    assert [rating.name for rating in fitted.ratings] == ["a", "b"]
    assert fitted.of("a").elo == pytest.approx(-fitted.of("b").elo)
    assert fitted.superiority("a", "b") > 0.999
    assert (fitted.of("a").games, fitted.of("a").wins, fitted.of("a").losses) == (800, 600, 200)


def test_errors_cover_the_truth_as_often_as_they_say() -> None:
    truth = {"a": 150.0, "b": 30.0, "c": -20.0, "d": -160.0}
    inside = total = 0
    firsts, draws = [], []
    for seed in range(60):
        fitted = fit(list(truth), simulate(truth, 20, 40.0, 0.15, seed))
        firsts.append(fitted.first_move_elo)
        draws.append(fitted.draw_fraction)
        for a, b in (("a", "b"), ("b", "c"), ("a", "d")):
            gap = fitted.of(a).elo - fitted.of(b).elo
            inside += abs(gap - truth[a] + truth[b]) < Z95 * fitted.difference_error(a, b)
            total += 1
    assert 0.90 <= inside / total <= 0.99
    assert np.mean(firsts) == pytest.approx(40, abs=12)
    assert np.mean(draws) == pytest.approx(math.tanh(0.075), abs=0.02)


def test_anchors_stay_and_the_others_are_relative_to_them() -> None:
    tallies = [Tally("a", "b", 60, 0, 40), Tally("b", "c", 50, 0, 50)]
    free = fit(["a", "b", "c"], tallies)
    fixed = fit(["a", "b", "c"], tallies, {"c": 1500.0})
    assert fixed.of("c").elo == pytest.approx(1500)
    assert fixed.of("c").error == 0
    gap = free.of("a").elo - free.of("c").elo
    assert fixed.of("a").elo - 1500 == pytest.approx(gap, abs=2)
    assert fixed.of("a").error > fixed.of("b").error > 0


def test_who_won_everything_has_a_finite_rating_with_a_large_error() -> None:
    fitted = fit(["a", "b", "new"], [Tally("a", "b", 20, 0, 0), Tally("b", "a", 0, 0, 20)])
    assert 400 < fitted.of("a").elo - fitted.of("b").elo < 3000
    assert fitted.of("a").error > 300
    assert fitted.of("new").error > 1000


def test_the_gradient_is_that_of_the_value() -> None:
    tallies = simulate({"a": 100, "b": 0, "c": -50}, 10, 30, 0.2, 3)
    problem = _Problem({"a": 0, "b": 1, "c": 2}, tallies, {})
    x = np.array([0.3, -0.1, 0.2, 0.1, -1.5])
    for i, slope in enumerate(problem.gradient(x)):
        shift = np.zeros(5)
        shift[i] = 1e-6
        expected = (problem.value(x + shift) - problem.value(x - shift)) / 2e-6
        assert slope == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_results_of_nobody_are_refused() -> None:
    with pytest.raises(ValueError, match="'x'"):
        fit(["a"], [Tally("a", "x", 1)])
    with pytest.raises(ValueError, match="'a'"):
        fit(["a"], [Tally("a", "a", 1)])
    assert fit([], []).ratings == ()
