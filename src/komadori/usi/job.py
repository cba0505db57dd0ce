"""The state of one `go`, from the command to its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from komadori.search.protocol import StopEvent
from komadori.usi.protocol import GoCommand

if TYPE_CHECKING:
    from komadori.rules import Board


class Job:
    """One `go`, shared by the reader, the worker and the watchdog."""

    def __init__(self, go: GoCommand, board: Board, problem: str = "") -> None:
        """`problem`: error message if the position is invalid; then `board` is meaningless."""
        self.go = go
        self.board = board
        self.problem = problem
        self.clock_start = time.monotonic()
        self.halt = StopEvent()  # ends the running search
        self.released = threading.Event()  # the answer may be sent
        self.last_pv: tuple[str, ...] = ()
        self.last_lines: dict[int | None, str] = {}  # by MultiPV number
        self.is_stuck = False  # answered, but the search hasn't ended
        self._lock = threading.Lock()
        self._is_stopped = False
        self._is_hit = False
        self._is_answered = False
        self._on_hit: Callable[[], None] | None = None
        if not (go.infinite or go.ponder):
            self.released.set()

    def stop(self) -> None:
        """End the search and release its answer."""
        with self._lock:
            self._is_stopped = True
            self.halt.set()
            self.released.set()

    @property
    def awaits_hit(self) -> bool:
        """Whether `ponderhit` is for this job: a stopped one may still be about to end."""
        with self._lock:
            return self.go.ponder and not self._is_stopped

    def hit(self, go: GoCommand) -> None:
        """Handle `ponderhit`: restart the clock, and continue the search if it can, else end it."""
        with self._lock:
            self.go = go
            self.clock_start = time.monotonic()
            self.released.set()
            if self._on_hit is not None and not self._is_stopped:
                self._on_hit()
                self._on_hit = None
            else:
                self._is_hit = True
                self.halt.set()

    def continue_on_hit(self, on_hit: Callable[[], None] | None) -> None:
        """Set the callback that continues the search on `ponderhit`; None: `ponderhit` ends it."""
        with self._lock:
            self._on_hit = on_hit if self.go.ponder else None

    def take_hit(self) -> bool:
        """Return whether a new search must follow the pondering; True only once."""
        with self._lock:
            if not self._is_hit or self._is_stopped:
                return False
            self._is_hit = False
            self.halt = StopEvent()
            return True

    def take_answer(self) -> bool:
        """Return True to the first caller, which may answer, and False to all others."""
        with self._lock:
            is_first, self._is_answered = not self._is_answered, True
            return is_first

    @property
    def is_answered(self) -> bool:
        return self._is_answered

    def elapsed_s(self) -> float:
        """Return the time since the clock started."""
        return time.monotonic() - self.clock_start
