"""How much of its time a search uses: every margin kept back from a clock stands here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from komadori.rules import BLACK
from komadori.search.protocol import Limits

#: Margin kept back from the time for a move: a fraction of it, within these bounds (ms).
MARGIN_SHARE, LEAST_MARGIN_MS, MOST_MARGIN_MS = 0.1, 35, 500
#: Least and most time kept back by the watch that ends a search which overran its own plan.
HARD_MARGIN_MS = (20.0, 400.0)
#: Kept back from the time of `go mate`.
MATE_MARGIN_MS = 20


@dataclass(frozen=True)
class TimeBudget:
    """Milliseconds from the start of a search; None: no bound."""

    minimum_ms: float = 0
    optimum_ms: float | None = None
    """Stop here unless the choice is doubtful."""
    maximum_ms: float | None = None
    """Never search beyond."""


def margin_ms(available_ms: float, setting_ms: int | None) -> float:
    """What is kept back of the time available for a move: the setting, or by default a tenth,
    at least 35 and at most 500 ms.
    """
    if setting_ms is not None:
        return setting_ms
    return min(max(available_ms * MARGIN_SHARE, LEAST_MARGIN_MS), MOST_MARGIN_MS)


def own_clock(limits: Limits, turn: int) -> tuple[int, int, int]:
    """Remaining time, increment and byoyomi of the side to move, milliseconds."""
    is_black = turn == BLACK
    remaining = (limits.btime_ms if is_black else limits.wtime_ms) or 0
    increment = (limits.binc_ms if is_black else limits.winc_ms) or 0
    return remaining, increment, limits.byoyomi_ms or 0


def available_ms(limits: Limits, turn: int) -> int:
    """What could be used up in this move without losing on time.

    An increment is added after the move on some servers: it is planned with, and relied on only
    where there is nothing else.
    """
    remaining, increment, byoyomi = own_clock(limits, turn)
    return remaining + byoyomi or increment


def _clockless(limits: Limits) -> TimeBudget | None:
    """The budget where no clock is to be divided: a fixed time, used without a margin, or none."""
    if limits.movetime_ms is not None:
        return TimeBudget(limits.movetime_ms, limits.movetime_ms, limits.movetime_ms)
    if limits.mate:
        return TimeBudget(0, limits.mate, limits.mate)
    if limits.infinite or not limits.has_clock:
        return TimeBudget()
    return None


def budget(
    limits: Limits,
    turn: int,
    ply: int,
    *,
    time_margin_ms: int | None = None,
    byoyomi_margin_ms: int | None = None,
    minimum_ms: float = 0,
) -> TimeBudget:
    """The time of a tree search for the move number `ply`.

    Main time is spread as dlshogi spreads it: remaining / (14 + max(0, 30 - ply)) + increment.
    Byoyomi is used in full. The maximum is twice the optimum where the clock allows.
    """
    if (fixed := _clockless(limits)) is not None:
        return fixed
    remaining, increment, byoyomi = own_clock(limits, turn)
    available = available_ms(limits, turn)
    setting = byoyomi_margin_ms if byoyomi and not remaining else time_margin_ms
    margin = margin_ms(available, setting)
    maximum = max(available - margin, 1.0)
    spread = remaining / (14 + max(0, 30 - ply)) + increment
    optimum = min(max(spread, byoyomi - margin, minimum_ms, 1.0), maximum)
    return TimeBudget(min(minimum_ms, maximum), optimum, min(2 * optimum, maximum))


def iteration_budget(
    limits: Limits,
    turn: int,
    ply: int,
    *,
    time_margin_ms: int | None = None,
    minimum_ms: int = 0,
    slow_mover: int = 100,
) -> TimeBudget:
    """The time of a search by iterative deepening for the move number `ply`.

    It begins no iteration after the optimum, so its maximum is further off: four times that, as
    far as the clock allows. Main time is to last for 15 more moves of this side at least (games
    have some 120 to 160 plies). `slow_mover`: per cent of that share. The optimum equals the
    maximum where byoyomi is all there is: it is used in full.
    """
    if (fixed := _clockless(limits)) is not None:
        return fixed
    remaining, increment, byoyomi = own_clock(limits, turn)
    available = available_ms(limits, turn)
    margin = round(margin_ms(available, time_margin_ms))
    longest = max(available - margin, 1)
    if byoyomi and remaining < 1.2 * byoyomi:
        return TimeBudget(longest, longest, longest)
    moves_left = min(max(75 - ply // 2, 15), 50)
    share = remaining // moves_left + increment * 4 // 5 + byoyomi * 4 // 5
    optimum = share * slow_mover // 100
    maximum = min(4 * optimum, remaining // 4 + increment + byoyomi - margin)
    optimum = max(optimum, minimum_ms)
    maximum = min(max(maximum, optimum, 1), longest)
    return TimeBudget(min(minimum_ms, maximum), min(max(optimum - margin, 1), maximum), maximum)


def hard_limit_ms(limits: Limits, turn: int) -> float | None:
    """When to end a search that hasn't ended itself; None: nothing in the limits bounds its
    time.
    """
    if limits.infinite or limits.ponder:
        return None
    if limits.movetime_ms is not None:
        return float(limits.movetime_ms)
    if not limits.has_clock:
        return None
    remaining, increment, byoyomi = own_clock(limits, turn)
    # The remaining time may include the increment already: don't count it twice.
    time_ms = max(remaining, increment) + byoyomi
    least, most = HARD_MARGIN_MS
    return max(1.0, time_ms - min(max(time_ms * MARGIN_SHARE, least), most))


def delayed(limits: Limits, delay_ms: int) -> Limits:
    """The limits with every clock less a delay between the engine and whoever keeps time.

    The increment is less it where there is nothing else. A clock that runs keeps a millisecond, so
    that it is still one.
    """

    def less(time_ms: int | None) -> int | None:
        return time_ms if not time_ms else max(1, time_ms - delay_ms)

    if not delay_ms:
        return limits
    byoyomi = limits.byoyomi_ms
    return replace(
        limits,
        movetime_ms=less(limits.movetime_ms),
        btime_ms=less(limits.btime_ms),
        wtime_ms=less(limits.wtime_ms),
        byoyomi_ms=less(byoyomi),
        binc_ms=limits.binc_ms if limits.btime_ms or byoyomi else less(limits.binc_ms),
        winc_ms=limits.winc_ms if limits.wtime_ms or byoyomi else less(limits.winc_ms),
    )


def mate_time_ms(limit_ms: int | None) -> int:
    """The time for a mate search of `go mate`; 0: without a bound."""
    return 0 if limit_ms is None else max(1, limit_ms - MATE_MARGIN_MS)
