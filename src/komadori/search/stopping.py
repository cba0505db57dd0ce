"""Stopping conditions, checked between batches.

Each condition is a small class, like lc0's stoppers (github.com/LeelaChessZero/lc0,
src/search/classic/stoppers). It decides whether the search ends, and sets hints for planning
the next batch.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from komadori._core.tree import RootMove, Tree
from komadori.search.clock import TimeBudget
from komadori.search.lines import MAX_PV
from komadori.search.protocol import Limits

#: Remaining playouts of a search without a limit on playouts.
UNLIMITED = 1 << 30
#: Minimum interval between expensive checks.
CHECK_S = 0.005
#: A best move with fewer visits than this times the second's is unclear.
CLEAR_LEAD = 1.5


class Progress:
    """Counts and clock of a running search."""

    def __init__(self, tree: Tree, root: int) -> None:
        self.tree = tree
        self.root = root
        self.playouts = self._first = self._clock_first = tree.playouts()
        self.visits = tree.root_visits(root)
        """Finished visits of the root, including kept ones."""
        self.may_check = True
        """Whether expensive checks are allowed now."""
        self.now = self._started = self._clock_started = time.perf_counter()
        """Time of the last update."""
        self._next_check = self._started
        self._moves: list[RootMove] | None = None

    def update(self) -> None:
        """Read the tree's counts."""
        self.playouts = self.tree.playouts()
        self.visits = self.tree.root_visits(self.root)
        self._moves = None
        self.now = time.perf_counter()
        self.may_check = self.now >= self._next_check
        if self.may_check:
            self._next_check = self.now + CHECK_S

    def restart_clock(self) -> None:
        """Restart the count of nodes and time, as after `ponderhit`."""
        self._clock_first = self.tree.playouts()
        self._clock_started = time.perf_counter()

    @property
    def nodes(self) -> int:
        """Playouts finished since the clock started."""
        return self.playouts - self._clock_first

    @property
    def has_started(self) -> bool:
        """Whether any playout has finished since the search started."""
        return self.playouts > self._first

    def elapsed_ms(self) -> float:
        """Return the time since the clock started."""
        return (time.perf_counter() - self._clock_started) * 1000

    def speed(self) -> float:
        """Return playouts per millisecond over the whole search."""
        elapsed = (time.perf_counter() - self._started) * 1000
        return (self.playouts - self._first) / max(elapsed, 1.0)

    def root_moves(self) -> list[RootMove]:
        """Return the root's moves, best first, as of the last update or later."""
        if self._moves is None:
            self._moves = self.tree.root_moves(self.root)
        return self._moves

    def depth(self) -> int:
        """Return the length of the principal variation in plies."""
        moves = self.root_moves()
        return len(self.tree.variation(self.root, moves[0].move16, MAX_PV)) if moves else 0


class Hints:
    """Estimates of the remaining search, set by the conditions."""

    __slots__ = ("deadline_ms", "planned_ms", "playouts")

    playouts: int
    """Upper bound on the remaining playouts."""
    planned_ms: float
    """Time until the planned end."""
    deadline_ms: float
    """Time until the hard limit."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Clear all hints."""
        self.playouts = UNLIMITED
        self.planned_ms = self.deadline_ms = math.inf

    @property
    def is_timed(self) -> bool:
        """Whether the search isn't limited by counts alone."""
        return self.deadline_ms < math.inf or self.playouts >= UNLIMITED


class Condition(Protocol):
    """A stopping condition of a search."""

    drains: bool
    """Whether batches in flight are still used, which makes the result independent of timing."""

    def is_met(self, progress: Progress, hints: Hints) -> bool: ...


class Stopped:
    """`stop` was set."""

    drains = False

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        return self._stop.is_set()


class NodeCount:
    """A number of new playouts is reached."""

    drains = True

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        left = self._nodes - progress.nodes
        hints.playouts = min(hints.playouts, left)
        return left <= 0


class VisitCount:
    """A number of root visits is reached, including those kept from earlier searches."""

    drains = True

    def __init__(self, visits: int) -> None:
        self._visits = visits

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        left = self._visits - progress.visits
        hints.playouts = min(hints.playouts, left)
        return left <= 0


class MateFound:
    """The concurrent mate search has found a mate."""

    drains = False

    def __init__(self, has_mate: Callable[[], bool]) -> None:
        self._has_mate = has_mate

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        return self._has_mate()


class Clock:
    """The planned time is up, or the maximum time if the best move is unclear."""

    drains = False

    def __init__(self, times: TimeBudget, slack_ms: Callable[[], float]) -> None:
        """`slack_ms`: time from the decision to stop until the result."""
        assert times.optimum_ms is not None
        assert times.maximum_ms is not None
        self._minimum, self._optimum = times.minimum_ms, times.optimum_ms
        self._maximum = times.maximum_ms
        self._slack_ms = slack_ms
        self._is_extended = False

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        elapsed = progress.elapsed_ms()
        if elapsed + self._slack_ms() >= self._maximum:
            return True
        if elapsed >= max(self._optimum, self._minimum) and not self._is_extended:
            if not is_unclear(progress.root_moves()):
                return True
            self._is_extended = True
        end = self._maximum if self._is_extended else self._optimum
        hints.planned_ms = max(end - elapsed, 0.0)
        hints.deadline_ms = self._maximum - elapsed
        return False


class Lead:
    """The second move can't catch up in the planned time, as in lc0, or doesn't exist."""

    drains = False

    def __init__(self, minimum_ms: float) -> None:
        """Must be checked after `Clock`. Never met before `minimum_ms`."""
        self._minimum = minimum_ms

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        if not progress.may_check or progress.elapsed_ms() < self._minimum:
            return False
        moves = progress.root_moves()
        if len(moves) == 1:
            return moves[0].visits > 0
        expected = progress.speed() * hints.planned_ms
        return progress.has_started and moves[0].visits - moves[1].visits > expected


class Depth:
    """The principal variation has reached a given length."""

    drains = False

    def __init__(self, plies: int) -> None:
        self._plies = plies

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        return progress.may_check and self.holds(progress)

    def holds(self, progress: Progress) -> bool:
        return progress.depth() >= self._plies


class Conditions:
    """Ends a search when any condition is met; those that drain come last."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._checks = [(condition, condition.is_met) for condition in conditions]
        self.hints = Hints()

    def first_met(self, progress: Progress) -> Condition | None:
        """Return the first condition that is met; if None, `hints` are up to date."""
        hints = self.hints
        hints.reset()
        for condition, is_met in self._checks:
            if is_met(progress, hints):
                return condition
        return None

    def clear(self) -> None:
        """Drop the conditions, but keep the hints."""
        self._checks = []


def conditions_of(
    limits: Limits,
    times: TimeBudget,
    stop: threading.Event,
    has_mate: Callable[[], bool],
    *,
    stops_early: bool,
    slack_ms: Callable[[], float],
) -> Conditions:
    """Return the conditions for limits. While pondering, only `stop` and a mate end a search."""
    found: list[Condition] = [Stopped(stop), MateFound(has_mate)]
    if not limits.ponder:
        if times.maximum_ms is not None:
            found.append(Clock(times, slack_ms))
            if stops_early and limits.has_clock and not (limits.movetime_ms or limits.mate):
                found.append(Lead(times.minimum_ms))
        if limits.depth is not None:
            found.append(Depth(limits.depth))
        # At least one, the root, so that the policy chooses the move.
        if limits.nodes is not None:
            found.append(NodeCount(max(1, limits.nodes)))
        if limits.playouts is not None:
            found.append(VisitCount(max(1, limits.playouts)))
    return Conditions(found)


def is_unclear(moves: Sequence[RootMove]) -> bool:
    """Return whether the best move has only a small lead, or another has a higher value."""
    visited = [m for m in moves[:4] if m.visits]
    if len(visited) < 2:
        return False
    best, second = visited[0], visited[1]
    return best.visits < CLEAR_LEAD * second.visits or any(m.value > best.value for m in visited)
