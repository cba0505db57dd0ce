"""One `go`, from the command to its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from komadori.usi.protocol import GoCommand

if TYPE_CHECKING:
    from komadori.rules import Board


class Job:
    """One `go`. Reader, worker and watch share it."""

    def __init__(self, go: GoCommand, board: Board, problem: str = "") -> None:
        """`problem`: why there is no position to search; `board` is then none of the GUI's."""
        self.go = go
        self.board = board
        self.problem = problem
        self.began = time.monotonic()
        self.halt = threading.Event()  # ends the search that runs now
        self.released = threading.Event()  # the answer may be given
        self.last_pv: tuple[str, ...] = ()
        self.last_lines: dict[int | None, str] = {}  # by MultiPV number
        self._lock = threading.Lock()
        self._is_stopped = False
        self._is_hit = False
        self._is_answered = False
        self._on_hit: Callable[[], None] | None = None
        if not (go.infinite or go.ponder):
            self.released.set()

    def stop(self) -> None:
        """End the search and let the answer be given."""
        with self._lock:
            self._is_stopped = True
            self.halt.set()
            self.released.set()

    def hit(self, go: GoCommand) -> None:
        """`ponderhit`: the clock runs from now. A search that can continue does, another ends."""
        with self._lock:
            self.go = go
            self.began = time.monotonic()
            self.released.set()
            if self._on_hit is not None and not self._is_stopped:
                self._on_hit()
                self._on_hit = None
            else:
                self._is_hit = True
                self.halt.set()

    def continue_on_hit(self, on_hit: Callable[[], None] | None) -> None:
        """What a hit does to the search that runs now, which continues; None: a hit ends it."""
        with self._lock:
            self._on_hit = on_hit if self.go.ponder else None

    def take_hit(self) -> bool:
        """Whether the real search has to follow the pondering; asked once."""
        with self._lock:
            if not self._is_hit or self._is_stopped:
                return False
            self._is_hit = False
            self.halt = threading.Event()
            return True

    def take_answer(self) -> bool:
        """True for the first who asks: the one who may answer."""
        with self._lock:
            is_first, self._is_answered = not self._is_answered, True
            return is_first

    @property
    def is_answered(self) -> bool:
        return self._is_answered

    def elapsed_s(self) -> float:
        """Since the clock began."""
        return time.monotonic() - self.began
