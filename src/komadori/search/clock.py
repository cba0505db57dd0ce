"""Time management: the time per move and all safety margins of the clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

from komadori.rules import BLACK
from komadori.search.protocol import Limits

#: Safety margin per move: a fraction of the available time, within these bounds (ms).
MARGIN_FRACTION, MIN_MARGIN_MS, MAX_MARGIN_MS = 0.1, 35, 500
#: Bounds on the margin of the watchdog, which stops a search that exceeds its time budget (ms).
HARD_MARGIN_MS = (20.0, 400.0)
#: Margin of `go mate` (ms).
MATE_MARGIN_MS = 20


@dataclass(frozen=True)
class TimeBudget:
    """Milliseconds from the start of a search; None: no bound."""

    minimum_ms: float = 0
    optimum_ms: float | None = None
    """Planned end, extended if the best move is unclear."""
    maximum_ms: float | None = None
    """Hard limit."""


def margin_ms(available_ms: float, setting_ms: int | None) -> float:
    """Return the safety margin for a move: the setting, or by default a tenth of the available
    time, at least 35 and at most 500 ms.
    """
    if setting_ms is not None:
        return setting_ms
    return min(max(available_ms * MARGIN_FRACTION, MIN_MARGIN_MS), MAX_MARGIN_MS)


def own_clock(limits: Limits, turn: int) -> tuple[int, int, int]:
    """Return remaining time, increment and byoyomi of the side to move, in milliseconds."""
    is_black = turn == BLACK
    remaining = (limits.btime_ms if is_black else limits.wtime_ms) or 0
    increment = (limits.binc_ms if is_black else limits.winc_ms) or 0
    return remaining, increment, limits.byoyomi_ms or 0


def available_ms(limits: Limits, turn: int) -> int:
    """Return the time that this move may take without losing on time.

    Some servers add the increment after the move, so it counts only if there is no other time.
    """
    remaining, increment, byoyomi = own_clock(limits, turn)
    return remaining + byoyomi or increment


def _clockless(limits: Limits) -> TimeBudget | None:
    """Return the budget if no game clock applies (a fixed time without margin, or no limit)."""
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
    """Return the time budget of a tree search for move number `ply`.

    Main time is allocated as in dlshogi: remaining / (14 + max(0, 30 - ply)) + increment.
    Byoyomi is used in full but for its own margin, also while main time is left. The maximum is
    twice the optimum if the clock allows.
    """
    if (fixed := _clockless(limits)) is not None:
        return fixed
    remaining, increment, byoyomi = own_clock(limits, turn)
    available = available_ms(limits, turn)
    setting = byoyomi_margin_ms if byoyomi and not remaining else time_margin_ms
    margin = margin_ms(available, setting)
    maximum = max(available - margin, 1.0)
    spread = remaining / (14 + max(0, 30 - ply)) + increment
    free = byoyomi - margin_ms(byoyomi, byoyomi_margin_ms)
    optimum = min(max(spread, free, minimum_ms, 1.0), maximum)
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
    """Return the time budget of an iterative deepening search for move number `ply`.

    No iteration starts after the optimum, so the maximum is four times the optimum, as far as
    the clock allows. Main time is planned for at least 15 more moves of this side (games
    have 120 to 160 plies). `slow_mover` scales the time per move, in per cent. If there is only
    byoyomi, the optimum equals the maximum, since it is used in full. The margin shortens the
    optimum by at most a half: on a short clock it would leave no time to search. The byoyomi, but
    for its own margin, is always used: it is free.
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
    per_move = remaining // moves_left + increment * 4 // 5 + byoyomi * 4 // 5
    optimum = per_move * slow_mover // 100
    maximum = min(4 * optimum, remaining // 4 + increment + byoyomi - margin)
    optimum = max(optimum, minimum_ms)
    maximum = min(max(maximum, optimum, 1), longest)
    free = byoyomi - round(margin_ms(byoyomi, time_margin_ms))
    optimum = max(optimum - margin, optimum // 2, free, 1)
    minimum = min(max(minimum_ms, free), maximum)
    return TimeBudget(minimum, min(optimum, maximum), maximum)


def hard_limit_ms(limits: Limits, turn: int) -> float | None:
    """Return when the watchdog must stop a search, in milliseconds; None without a time limit."""
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
    return max(1.0, time_ms - min(max(time_ms * MARGIN_FRACTION, least), most))


def delayed(limits: Limits, delay_ms: int) -> Limits:
    """Subtract the delay between engine and timekeeper from every clock of the limits.

    It is subtracted from the increment only if there is no other time. A nonzero clock keeps at
    least a millisecond, so that the increment doesn't count in its place.
    """

    def subtract(time_ms: int | None) -> int | None:
        return time_ms if not time_ms else max(1, time_ms - delay_ms)

    if not delay_ms:
        return limits
    byoyomi = limits.byoyomi_ms
    return replace(
        limits,
        movetime_ms=subtract(limits.movetime_ms),
        btime_ms=subtract(limits.btime_ms),
        wtime_ms=subtract(limits.wtime_ms),
        byoyomi_ms=subtract(byoyomi),
        binc_ms=limits.binc_ms if limits.btime_ms or byoyomi else subtract(limits.binc_ms),
        winc_ms=limits.winc_ms if limits.wtime_ms or byoyomi else subtract(limits.winc_ms),
    )


def mate_time_ms(limit_ms: int | None) -> int:
    """Return the time for a mate search of `go mate`; 0: no limit."""
    return 0 if limit_ms is None else max(1, limit_ms - MATE_MARGIN_MS)
