"""Elo arithmetic against values computed by hand or by other methods."""

from __future__ import annotations

import math
import random
import time

import pytest

from komadori.arena import elo


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.5, 0.0), (0.75, 190.8485), (0.6, 70.4365), (10 / 11, 400.0), (0.25, -190.8485)],
)
def test_elo_of_a_score(score: float, expected: float) -> None:
    assert elo.elo_from_score(score) == pytest.approx(expected, abs=1e-3)
    assert elo.score_from_elo(expected) == pytest.approx(score, abs=1e-6)


def test_elo_of_extreme_scores() -> None:
    assert elo.elo_from_score(1.0) == math.inf
    assert elo.elo_from_score(0.0) == -math.inf
    assert elo.score_from_elo(-1e9) == 0.0
    with pytest.raises(ValueError, match="score"):
        elo.elo_from_score(1.1)


@pytest.mark.parametrize(
    ("wins", "losses", "expected"),
    [
        (5, 0, 1 / 32),
        (0, 5, 1.0),
        (1, 1, 3 / 4),
        (8, 2, 56 / 1024),
        (15, 5, 0.020694732666015625),  # tables of the binomial distribution
        (60, 40, 0.02844396682049039),
        (0, 0, 1.0),
    ],
)
def test_sign_test(wins: int, losses: int, expected: float) -> None:
    assert elo.sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)


def test_sign_test_stays_exact_for_long_matches() -> None:
    assert elo.sign_test(2000, 1000) == pytest.approx(1.0e-75, rel=1e3)
    assert 0.0 < elo.sign_test(2000, 1000) < 1e-70


def test_sign_test_of_a_long_match_takes_no_time() -> None:
    began = time.process_time()
    assert elo.sign_test(10_000, 10_000) == pytest.approx(0.5028, abs=1e-4)
    assert time.process_time() - began < 2


def test_trinomial_error_by_hand() -> None:
    # 55-30-15: mean 0.7, variance (55*.09 + 30*.04 + 15*.49)/100 = 0.135, error 0.0367
    estimate = elo.trinomial(55, 30, 15)
    assert estimate.elo == pytest.approx(147.19, abs=0.01)
    half = 1.959964 * math.sqrt(0.135 / 100)
    low, high = elo.elo_from_score(0.7 - half), elo.elo_from_score(0.7 + half)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert estimate.error == pytest.approx((high - low) / 2)
    assert estimate.los == pytest.approx(elo.normal_cdf(0.2 / math.sqrt(0.00135)))


def test_pairs_of_independent_games_give_the_error_of_single_games() -> None:
    # 20 % losses, 30 % draws, 50 % wins, independent: the five outcomes by multiplication.
    n = 10_000
    loss, draw, win = 0.2, 0.3, 0.5
    pairs = [
        round(n * p)
        for p in (
            loss * loss,
            2 * loss * draw,
            draw * draw + 2 * loss * win,
            2 * draw * win,
            win * win,
        )
    ]
    by_pair = elo.pentanomial(pairs)
    by_game = elo.trinomial(round(2 * n * win), round(2 * n * draw), round(2 * n * loss))
    assert by_pair.elo == pytest.approx(by_game.elo)
    assert by_pair.error == pytest.approx(by_game.error, rel=1e-6)


def test_pairs_see_that_colours_cancel() -> None:
    """Each opening is won once by each side: every pair scores 1, with almost no variance."""
    by_pair = elo.pentanomial([0, 1, 98, 1, 0])
    by_game = elo.trinomial(99, 2, 99)
    assert by_pair.elo == pytest.approx(0.0)
    assert by_pair.error < by_game.error / 5


def test_nothing_lost_gives_a_bound() -> None:
    estimate = elo.trinomial(20, 0, 0)
    assert estimate.elo == math.inf
    assert elo.score_from_elo(estimate.low) ** 20 == pytest.approx(0.025)
    assert str(estimate).startswith("> +")
    assert str(elo.trinomial(0, 0, 20)).startswith("< -")


def test_unusable_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="no Elo"):
        elo.trinomial(0, 0, 0)


def test_draws_alone_leave_an_error_that_shrinks() -> None:
    errors = [elo.trinomial(0, n, 0).error for n in (2, 20, 200)]
    assert errors[0] > 100
    assert errors[0] > errors[1] > errors[2] > 1
    assert elo.trinomial(0, 2, 0).los == 0.5
    better = elo.pentanomial([0, 0, 0, 4, 0])
    assert better.low < better.elo < better.high
    with pytest.raises(ValueError, match="five counts"):
        elo.pentanomial([1, 2, 3])
    with pytest.raises(ValueError, match="negative"):
        elo.sign_test(-1, 0)
    with pytest.raises(ValueError, match="elo0"):
        elo.Sprt(5, 0)
    with pytest.raises(ValueError, match="alpha"):
        elo.Sprt(0, 5, alpha=0.7)
    with pytest.raises(ValueError, match="elo1 lies within ±2,000"):
        elo.Sprt(0, 1e300)
    assert math.isfinite(elo.Sprt(-2000, 2000).llr([0, 0, 0, 0, 9]))


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    chance = random.Random(1)
    truth = elo.elo_from_score(0.6)
    covered = 0
    for _ in range(600):
        wins, draws, losses = 0, 0, 0
        for _ in range(200):
            r = chance.random()
            wins += r < 0.45
            draws += 0.45 <= r < 0.75
            losses += r >= 0.75
        estimate = elo.trinomial(wins, draws, losses)
        covered += estimate.low <= truth <= estimate.high
    assert 0.925 < covered / 600 < 0.975


# ---------------------------------------------------------------------------- sequential test


def test_bounds() -> None:
    test = elo.Sprt(0, 10)
    assert test.upper == pytest.approx(math.log(19))
    assert test.lower == pytest.approx(-math.log(19))


def brute_force_llr(counts: list[int], mean0: float, mean1: float) -> float:
    """With two outcomes the mean determines the distribution."""
    losses, wins = counts
    return wins * math.log(mean1 / mean0) + losses * math.log((1 - mean1) / (1 - mean0))


def test_ratio_with_two_outcomes_is_that_of_coins() -> None:
    s0, s1 = 0.5, 0.55
    got = elo.log_likelihood_ratio([30, 50], [0.0, 1.0], s0, s1)
    assert got == pytest.approx(brute_force_llr([30, 50], s0, s1), rel=1e-9)


def test_most_likely_distribution_has_the_mean_and_no_better_neighbour() -> None:
    observed = [0.1, 0.2, 0.3, 0.25, 0.15]
    mean = 0.6
    best = elo._most_likely(observed, elo.PAIR_SCORES, mean)
    assert sum(best) == pytest.approx(1.0)
    assert sum(p * s for p, s in zip(best, elo.PAIR_SCORES, strict=True)) == pytest.approx(mean)

    def likelihood(ps: list[float]) -> float:
        return sum(o * math.log(p) for o, p in zip(observed, ps, strict=True))

    # Directions that change neither sum nor mean.
    for direction in ([1, -2, 1, 0, 0], [0, 1, -2, 1, 0], [0, 0, 1, -2, 1], [1, -1, 0, -1, 1]):
        for step in (1e-4, -1e-4):
            moved = [p + step * d for p, d in zip(best, direction, strict=True)]
            assert likelihood(moved) < likelihood(best)


def test_decisions() -> None:
    test = elo.Sprt(0, 20)
    assert test.llr([0, 0, 0, 0, 0]) == 0.0
    assert test.decision([5, 10, 30, 12, 6]) is None
    assert test.decision([10, 60, 200, 150, 60]) == "H1"
    assert test.decision([60, 150, 200, 60, 10]) == "H0"
    assert test.decision([0, 0, 3000, 0, 0]) == "H0"


def test_risks_are_kept() -> None:
    """At H0 the test accepts H1 with a probability of about alpha."""
    chance = random.Random(3)
    test = elo.Sprt(0, 60, alpha=0.1, beta=0.1)
    wrong = 0
    trials = 150
    for _ in range(trials):
        counts = [0, 0, 0]
        while (decision := test.decision(counts)) is None:
            counts[chance.choices((0, 1, 2), (0.4, 0.2, 0.4))[0]] += 1
        wrong += decision == "H1"
    assert wrong / trials < 0.18
