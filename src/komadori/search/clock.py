"""How much of its time a search uses."""

from __future__ import annotations

from dataclasses import dataclass

from komadori.rules import BLACK
from komadori.search.protocol import Limits


@dataclass(frozen=True)
class TimeBudget:
    """Milliseconds from the start of a search; None: no bound."""

    minimum_ms: float = 0
    optimum_ms: float | None = None
    """Stop here unless the choice is doubtful."""
    maximum_ms: float | None = None
    """Never go on beyond."""


def margin_ms(available_ms: float, setting_ms: int | None) -> float:
    """What is kept back of the time available for a move: the setting, or by default a tenth,
    at least 35 and at most 500 ms.
    """
    if setting_ms is not None:
        return setting_ms
    return min(max(available_ms / 10, 35.0), 500.0)


def budget(
    limits: Limits,
    turn: int,
    ply: int,
    *,
    time_margin_ms: int | None = None,
    byoyomi_margin_ms: int | None = None,
    minimum_ms: float = 0,
) -> TimeBudget:
    """The time for the move number `ply`.

    Main time is spread as dlshogi spreads it: remaining / (14 + max(0, 30 - ply)) + increment.
    Byoyomi is used in full, `movetime_ms` without a margin. The maximum is twice the optimum
    where the clock allows.
    """
    if limits.movetime_ms is not None:
        return TimeBudget(limits.movetime_ms, limits.movetime_ms, limits.movetime_ms)
    if limits.mate:
        return TimeBudget(0, limits.mate, limits.mate)
    if limits.infinite or not limits.has_clock:
        return TimeBudget()
    remaining = (limits.btime_ms if turn == BLACK else limits.wtime_ms) or 0
    increment = (limits.binc_ms if turn == BLACK else limits.winc_ms) or 0
    byoyomi = limits.byoyomi_ms or 0
    # An increment is added after the move on some servers: it is planned with, and relied on only
    # where there is nothing else.
    available = remaining + byoyomi or increment
    setting = byoyomi_margin_ms if byoyomi and not remaining else time_margin_ms
    margin = margin_ms(available, setting)
    maximum = max(available - margin, 1.0)
    spread = remaining / (14 + max(0, 30 - ply)) + increment
    optimum = min(max(spread, byoyomi - margin, minimum_ms, 1.0), maximum)
    return TimeBudget(min(minimum_ms, maximum), optimum, min(2 * optimum, maximum))
