"""df-pn mate search at the root, concurrent with the tree search."""

from __future__ import annotations

import contextlib
import threading

from komadori.mate import MateResult, MateSolver, StopFlag
from komadori.rules import Board, Move, PositionError
from komadori.search.memory import check_memory

#: Values of `root_mate_plies` from this on mean any length.
ANY_LENGTH = 1000

#: Moves of the mate search per node of a node-limited search.
MATE_MOVES_PER_NODE = 10

#: Their maximum, which takes a few tenths of a second.
MAX_MATE_MOVES = 500_000

#: Interval at which `solve` checks `stop`, in seconds.
POLL_S = 0.01

#: Fraction of a CPU for the mate search if the network uses all CPUs.
CROWDED_FRACTION = 0.02


class RootMate:
    """Searches for a mate in one position at a time, in the background or synchronously."""

    def __init__(self, memory_mb: int) -> None:
        check_memory("the mate search", memory_mb)
        self._solver = MateSolver(memory_mb)
        self._stop = StopFlag()
        self._thread: threading.Thread | None = None
        self._result: MateResult | None = None
        self.moves: tuple[Move, ...] = ()
        """The mating line found; () if none."""

    def start(self, board: Board, plies: int, cpu_fraction: float) -> None:
        """Start searching for a mate in the background; do nothing if no thread can be started."""
        with contextlib.suppress(RuntimeError):
            self._begin(board, plies, 0, cpu_fraction)

    def solve(self, board: Board, plies: int, moves: int, stop: threading.Event) -> None:
        """Search for a mate with a budget of `moves`, and return. Deterministic unless `stop`
        ends it.
        """
        try:
            self._begin(board, plies, moves, 1.0)
        except RuntimeError:  # no more threads
            self._solve(board, moves, plies, 1.0, self._stop)
            return
        thread = self._thread
        assert thread is not None
        while thread.is_alive() and not stop.is_set():
            thread.join(POLL_S)
        self.stop()
        self.wait()

    def _begin(self, board: Board, plies: int, moves: int, cpu_fraction: float) -> None:
        self.stop()
        self.wait()
        self._stop = StopFlag()
        self._result, self.moves = None, ()
        thread = threading.Thread(
            target=self._solve,
            args=(board.copy(), moves, plies, cpu_fraction, self._stop),
            name="root mate",
            daemon=True,
        )
        thread.start()
        self._thread = thread

    def _solve(
        self, board: Board, moves: int, plies: int, cpu_fraction: float, stop: StopFlag
    ) -> None:
        # No mate is found without an opposing king or enough memory.
        with contextlib.suppress(PositionError, MemoryError):
            self._result = self._solver.solve(
                board, moves, _max_ply(plies), cpu_fraction=cpu_fraction, stop=stop
            )
            self.moves = self._result.moves

    @property
    def nodes(self) -> int:
        """Moves made by the last search; waits for its end."""
        self.wait()
        return self._result.nodes if self._result is not None else 0

    def forget(self) -> None:
        """Stop the search and discard its result."""
        self.stop()
        self.wait()
        self._result, self.moves = None, ()

    def stop(self) -> None:
        """Stop the search without waiting."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until the search has ended."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def _max_ply(plies: int) -> int:
    return 0 if plies >= ANY_LENGTH else plies
