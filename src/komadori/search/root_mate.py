"""df-pn at the root, beside the tree search."""

from __future__ import annotations

import threading

from komadori.mate import MateResult, MateSolver, StopFlag
from komadori.rules import Board, Move

#: `root_mate_plies` from which on a mate may be of any length.
ANY_LENGTH = 1000

#: Moves that the mate search makes for each node of a search that is limited by nodes.
MOVES_PER_NODE = 10

#: Share of a processor for the mate search where the network uses them all.
CROWDED_SHARE = 0.02


class RootMate:
    """The mate search of one position at a time: in a thread of its own, or at once."""

    def __init__(self, memory_mb: int) -> None:
        self._solver = MateSolver(memory_mb)
        self._stop = StopFlag()
        self._thread: threading.Thread | None = None
        self._result: MateResult | None = None

    def start(self, board: Board, plies: int, share: float) -> None:
        """Look for a mate beside what the caller does next."""
        self.stop()
        self.wait()
        self._stop = StopFlag()
        self._result = None
        self._thread = threading.Thread(
            target=self._solve,
            args=(board.copy(), plies, share, self._stop),
            name="root mate",
            daemon=True,
        )
        self._thread.start()

    def solve(self, board: Board, plies: int, moves: int) -> None:
        """Look for a mate with so many moves of the search, then return: always the same result."""
        self.stop()
        self.wait()
        self._result = self._solver.solve(board, moves, _max_ply(plies))

    def _solve(self, board: Board, plies: int, share: float, stop: StopFlag) -> None:
        self._result = self._solver.solve(board, 0, _max_ply(plies), share=share, stop=stop)

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
