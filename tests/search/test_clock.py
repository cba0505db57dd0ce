"""Time management."""

import pytest

from komadori.rules import BLACK, WHITE
from komadori.search import Limits
from komadori.search.clock import TimeBudget, budget, hard_limit_ms, iteration_budget, margin_ms


def test_main_time_is_spread_as_dlshogi_spreads_it() -> None:
    limits = Limits(btime_ms=600_000, wtime_ms=300_000)
    assert budget(limits, BLACK, 1).optimum_ms == pytest.approx(600_000 / 43)
    assert budget(limits, WHITE, 10).optimum_ms == pytest.approx(300_000 / 34)
    assert budget(limits, BLACK, 80).optimum_ms == pytest.approx(600_000 / 14)


def test_an_increment_is_added() -> None:
    limits = Limits(btime_ms=60_000, wtime_ms=60_000, binc_ms=5000, winc_ms=1000)
    assert budget(limits, BLACK, 40).optimum_ms == pytest.approx(60_000 / 14 + 5000)
    assert budget(limits, WHITE, 40).optimum_ms == pytest.approx(60_000 / 14 + 1000)


def test_byoyomi_is_used_but_for_the_margin() -> None:
    assert budget(Limits(byoyomi_ms=1000), BLACK, 1) == TimeBudget(0, 900, 900)
    assert budget(Limits(byoyomi_ms=100), BLACK, 1) == TimeBudget(0, 65, 65)
    assert budget(Limits(byoyomi_ms=30_000), BLACK, 1) == TimeBudget(0, 29_500, 29_500)
    assert budget(Limits(byoyomi_ms=1000), BLACK, 1, byoyomi_margin_ms=400).maximum_ms == 600


def test_byoyomi_is_used_while_main_time_is_left() -> None:
    limits = Limits(btime_ms=5000, byoyomi_ms=1000)
    assert budget(limits, BLACK, 1) == TimeBudget(0, 900, 1800)
    assert budget(limits, BLACK, 1, byoyomi_margin_ms=400).optimum_ms == 600


@pytest.mark.parametrize("remaining", [0, 1, 50, 500, 10_000, 3_600_000])
@pytest.mark.parametrize("byoyomi", [0, 100, 1000, 60_000])
@pytest.mark.parametrize("increment", [0, 100, 10_000])
@pytest.mark.parametrize("ply", [1, 30, 300])
def test_the_clock_is_never_overstepped(
    remaining: int, byoyomi: int, increment: int, ply: int
) -> None:
    limits = Limits(
        btime_ms=remaining,
        wtime_ms=remaining,
        byoyomi_ms=byoyomi,
        binc_ms=increment,
        winc_ms=increment,
    )
    available = remaining + byoyomi or increment
    for plan in (budget, iteration_budget):
        times = plan(limits, BLACK, ply, minimum_ms=1000)
        assert times.maximum_ms is not None
        assert times.optimum_ms is not None
        assert 1 <= times.optimum_ms <= times.maximum_ms
        assert times.minimum_ms <= times.maximum_ms
        if available > 35:
            assert times.maximum_ms <= available - margin_ms(available, None) + 0.5
        else:
            assert times.maximum_ms == 1


def test_without_a_clock_there_is_no_bound() -> None:
    for limits in (
        Limits(),
        Limits(nodes=10),
        Limits(infinite=True, btime_ms=1000, wtime_ms=1000),
    ):
        assert budget(limits, BLACK, 1).maximum_ms is None


@pytest.mark.parametrize("name", ["btime_ms", "wtime_ms", "byoyomi_ms", "binc_ms", "winc_ms"])
def test_an_empty_clock_is_a_clock(name: str) -> None:
    limits = Limits(**{name: 0})
    for plan in (budget, iteration_budget):
        assert plan(limits, BLACK, 1).maximum_ms == 1
    assert hard_limit_ms(limits, BLACK) == 1


def test_other_limits_in_milliseconds() -> None:
    assert budget(Limits(movetime_ms=700), BLACK, 1).maximum_ms == 700
    assert budget(Limits(mate=5000), BLACK, 1).maximum_ms == 5000


def test_a_clock_that_is_all_but_gone_does_not_free_the_increment() -> None:
    limits = Limits(btime_ms=1, wtime_ms=1, binc_ms=1000, winc_ms=1000)
    assert budget(limits, BLACK, 1).maximum_ms == 1


def test_iterations_spread_main_time_over_the_moves_to_come() -> None:
    limits = Limits(btime_ms=600_000, wtime_ms=600_000)
    times = iteration_budget(limits, BLACK, 1)
    assert times.optimum_ms == 600_000 // 50 - 500
    assert times.maximum_ms == 4 * (600_000 // 50)
    late = iteration_budget(limits, BLACK, 200)
    assert late.optimum_ms == 600_000 // 15 - 500
    slow = iteration_budget(limits, BLACK, 1, slow_mover=200)
    assert slow.optimum_ms == 2 * 600_000 // 50 - 500
    assert iteration_budget(limits, BLACK, 1, minimum_ms=30_000).optimum_ms == 30_000 - 500


@pytest.mark.parametrize(("main_ms", "increment_ms"), [(5_000, 50), (10_000, 100), (20_000, 0)])
def test_the_margin_leaves_iterations_half_of_a_short_time(main_ms: int, increment_ms: int) -> None:
    limits = Limits(btime_ms=main_ms, binc_ms=increment_ms)
    planned = main_ms // 50 + increment_ms * 4 // 5
    assert iteration_budget(limits, BLACK, 1).optimum_ms == planned // 2
    tenth = iteration_budget(Limits(btime_ms=60_000), BLACK, 1, slow_mover=10)
    assert tenth.optimum_ms == 60_000 // 50 // 10 // 2


def test_iterations_use_byoyomi_in_full() -> None:
    assert iteration_budget(Limits(byoyomi_ms=1000), BLACK, 1) == TimeBudget(900, 900, 900)
    nearly = Limits(btime_ms=1100, byoyomi_ms=1000)
    assert iteration_budget(nearly, BLACK, 1).optimum_ms == 2100 - 210
    with_main_time = iteration_budget(Limits(btime_ms=5000, byoyomi_ms=1000), BLACK, 1)
    assert with_main_time.minimum_ms == with_main_time.optimum_ms == 900
    assert iteration_budget(Limits(movetime_ms=70), BLACK, 1) == TimeBudget(70, 70, 70)
    assert iteration_budget(Limits(nodes=5), BLACK, 1) == TimeBudget()
