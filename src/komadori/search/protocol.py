"""The searcher protocol: limits in, analysis and a move out. Imports nothing heavy."""

from __future__ import annotations

import atexit
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast, runtime_checkable

from komadori.rules import Board, Move
from komadori.wording import check_type, names_arguments, not_expected

M = TypeVar("M", bound=Callable[..., Any])


#: Fields of `Limits` that aren't numbers of nodes, plies or milliseconds.
_NOT_COUNTS = ("infinite", "ponder", "searchmoves")
#: The largest number that a search holds in 64 bits.
_INT64_MAX = 2**63 - 1


@names_arguments
@dataclass(frozen=True)
class Limits:
    """Limits of a search, which ends at the first that is reached; without any, when stopped.

    Times are in milliseconds, as in USI's `go`. Raises TypeError for a limit that isn't an integer,
    ValueError for a negative one or one above 2^63 - 1.
    """

    nodes: int | None = None
    """New playouts of this search."""
    playouts: int | None = None
    """Playouts at the root, including those kept from earlier searches."""
    movetime_ms: int | None = None
    btime_ms: int | None = None
    wtime_ms: int | None = None
    byoyomi_ms: int | None = None
    binc_ms: int | None = None
    winc_ms: int | None = None
    depth: int | None = None
    """Length of the principal variation, in plies."""
    infinite: bool = False
    """Don't return before `stop`, not even when the position is solved."""
    ponder: bool = False
    """Like `infinite`, until `ponderhit` sets the limits."""
    mate: int | None = None
    """Search for a mate for this long (milliseconds; 0: until stopped)."""
    searchmoves: Sequence[Move] = ()
    """Search only these moves at the root; empty: all."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is None or name in _NOT_COUNTS:
                continue
            if not isinstance(value, Integral):
                raise not_expected(name, value, "int")
            if value < 0:
                raise ValueError(f"{name} is {value}, at least 0 is needed")
            if int(value) > _INT64_MAX:
                raise ValueError(f"{name} is {value}, at most {_INT64_MAX} is possible")
        for move in self.searchmoves:
            check_type("searchmoves", move, Move)

    @property
    def has_clock(self) -> bool:
        """Whether time is measured by a game clock, which may be empty."""
        clock = (self.btime_ms, self.wtime_ms, self.byoyomi_ms, self.binc_ms, self.winc_ms)
        return any(value is not None for value in clock)

    @property
    def waits(self) -> bool:
        """Whether the result must wait for `stop` or `ponderhit` after the search has ended."""
        return self.infinite or self.ponder


@names_arguments
class StopEvent(threading.Event):
    """A `stop` that calls functions when it is set, so that a search needn't poll it."""

    def __init__(self) -> None:
        super().__init__()
        self._functions: list[Callable[[], None]] = []
        self._lock = threading.RLock()  # a signal handler may set the event

    def set(self) -> None:
        with self._lock:
            super().set()
            for function in self._functions:
                function()

    @contextmanager
    def calling(self, function: Callable[[], None]) -> Iterator[None]:
        """During the block, `set` calls this function; at once if the event is already set.

        The function must not use the event. It isn't called after the block.
        """
        with self._lock:
            self._functions.append(function)
            if self.is_set():
                function()
        try:
            yield
        finally:
            with self._lock:
                self._functions.remove(function)


#: The events that end the searches in progress.
_stops: list[threading.Event] = []


@contextmanager
def stopped_at_exit(stop: threading.Event | None) -> Iterator[threading.Event]:
    """Provide `stop`, or a new event for None; it is set if the interpreter exits in the block.

    At exit Python kills a daemon thread that tries to take the GIL. Unwinding the C++ code above
    it aborts the process.
    """
    stop = StopEvent() if stop is None else stop
    _stops.append(stop)
    try:
        yield stop
    finally:
        _stops.remove(stop)


@atexit.register
def _stop_searches() -> None:
    """Stop the searches of daemon threads, and wait for them."""
    for stop in list(_stops):
        stop.set()
    deadline = time.monotonic() + 1
    while _stops and time.monotonic() < deadline:
        time.sleep(0.005)


class OneAtATime:
    """An object whose `one_at_a_time` methods exclude each other, such as a searcher."""

    BUSY: ClassVar[str] = "the searcher is already searching; use one searcher per thread"

    def __init__(self) -> None:
        self._in_use = threading.Lock()


def one_at_a_time(method: M) -> M:
    """Decorate a method that needs its object for itself.

    It raises RuntimeError (`BUSY`) while another such method runs, in another thread or as the
    caller of `on_info`.
    """

    @functools.wraps(method)
    def exclusive(self: OneAtATime, *arguments: Any, **options: Any) -> Any:
        lock = self._in_use
        if not lock.acquire(blocking=False):
            raise RuntimeError(self.BUSY)
        try:
            return method(self, *arguments, **options)
        finally:
            lock.release()

    return cast("M", exclusive)


def check_searchmoves(limits: Limits, board: Board) -> None:
    """Raise ValueError if `searchmoves` is not empty and contains no legal move."""
    check_type("limits", limits, Limits)
    if limits.searchmoves and board.legal_moves:
        legal = set(board.legal_moves)
        if not any(move in legal for move in limits.searchmoves):
            names = " ".join(move.usi() for move in limits.searchmoves)
            raise ValueError(f"searchmoves: none of {names} is legal in {board.sfen()}")


@dataclass(frozen=True)
class Info:
    """One line of analysis, from the view of the side to move."""

    depth: int
    seldepth: int
    nodes: int
    nps: int
    time_ms: int
    hashfull: int
    """Memory in use, per mille."""
    multipv: int
    """1 for the best line, 2 for the second, ..."""
    score_cp: int | None
    """Centipawns; None if `mate_plies` is set."""
    mate_plies: int | None
    """Plies to mate: positive if the side to move wins, negative if it loses."""
    win_rate: float
    pv: list[Move]
    visits: int
    """Visits of the line's first move."""
    bound: Literal["", "lowerbound", "upperbound"] = ""
    """The score is a bound: the search was interrupted, or is still searching the line again."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a search."""

    best_move: Move | None
    """None if there is no legal move."""
    ponder: Move | None = None
    """The expected reply."""
    resign: bool = False
    """The searcher resigns, by its resignation rule; `best_move` is still set."""
    declare_win: bool = False
    """The side to move may declare a win by the entering-king rule."""
    infos: list[Info] = field(default_factory=list)
    """The last analysis, best line first."""


@runtime_checkable
class Searcher(Protocol):
    """Finds moves. Runs one search at a time; `stop` may be set from any thread.

    During a search, another one, `set_position`, `new_game` and new options raise RuntimeError.
    """

    def set_position(self, board: Board) -> None:
        """Set the position to search, with the moves that led to it; earlier work is reused."""
        ...

    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Search the position until a limit is met or `stop` is set."""
        ...

    def ponderhit(self, limits: Limits) -> None:
        """Continue under these limits after the opponent made the pondered move.

        Time and nodes count from now. May be called from any thread.
        """
        ...

    def new_game(self) -> None:
        """Clear the state of the last game."""
        ...

    def close(self) -> None:
        """Release memory and threads. The owner closes the evaluator.

        During a search it ends the search, or raises RuntimeError.
        """
        ...
