"""df-pn at the root, beside the tree search."""

from __future__ import annotations

import contextlib
import threading

from komadori.mate import MateResult, MateSolver, StopFlag
from komadori.rules import Board, Move, PositionError
from komadori.search.memory import check_memory

#: `root_mate_plies` from which on a mate may be of any length.
ANY_LENGTH = 1000

#: Moves that the mate search makes for each node of a search that is limited by nodes.
MOVES_PER_NODE = 10

#: And at most: some tenths of a second.
MOST_MOVES = 500_000

#: How often `solve` checks `stop`.
PATIENCE_S = 0.01

#: Share of a CPU for the mate search where the network uses them all.
CROWDED_SHARE = 0.02


class RootMate:
    """The mate search of one position at a time: in a thread of its own, or at once."""

    def __init__(self, memory_mb: int) -> None:
        check_memory("the mate search", memory_mb)
        self._solver = MateSolver(memory_mb)
        self._stop = StopFlag()
        self._thread: threading.Thread | None = None
        self._result: MateResult | None = None

    def start(self, board: Board, plies: int, share: float) -> None:
        """Look for a mate beside what the caller does next; not where the system has no thread
        for it.
        """
        with contextlib.suppress(RuntimeError):
            self._begin(board, plies, 0, share)

    def solve(self, board: Board, plies: int, moves: int, stop: threading.Event) -> None:
        """Look for a mate with a budget of `moves`, then return: always the same result, unless
        `stop` ends it.
        """
        try:
            self._begin(board, plies, moves, 1.0)
        except RuntimeError:  # no more threads
            self._solve(board, moves, plies, 1.0, self._stop)
            return
        thread = self._thread
        assert thread is not None
        while thread.is_alive() and not stop.is_set():
            thread.join(PATIENCE_S)
        self.stop()
        self.wait()

    def _begin(self, board: Board, plies: int, moves: int, share: float) -> None:
        self.stop()
        self.wait()
        self._stop = StopFlag()
        self._result = None
        thread = threading.Thread(
            target=self._solve,
            args=(board.copy(), moves, plies, share, self._stop),
            name="root mate",
            daemon=True,
        )
        thread.start()
        self._thread = thread

    def _solve(self, board: Board, moves: int, plies: int, share: float, stop: StopFlag) -> None:
        # Without a king of the other side, or without memory, there is no mate to be found.
        with contextlib.suppress(PositionError, MemoryError):
            self._result = self._solver.solve(board, moves, _max_ply(plies), share=share, stop=stop)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The mate found so far, () for none."""
        result = self._result
        return result.moves if result is not None else ()

    @property
    def nodes(self) -> int:
        """Moves made by the last search, which has ended."""
        self.wait()
        return self._result.nodes if self._result is not None else 0

    def forget(self) -> None:
        """Stop, and have no result."""
        self.stop()
        self.wait()
        self._result = None

    def stop(self) -> None:
        """End the search; returns at once."""
        self._stop.set()

    def wait(self) -> None:
        """Until the search has ended."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def _max_ply(plies: int) -> int:
    return 0 if plies >= ANY_LENGTH else plies
