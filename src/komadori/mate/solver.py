"""The df-pn solver on boards."""

from __future__ import annotations

import time
from dataclasses import dataclass

from komadori._core import mate as _core
from komadori._core.mate import MateStatus, StopFlag
from komadori.rules import Board, Move


@dataclass(frozen=True, slots=True)
class MateResult:
    """What a solve found."""

    status: MateStatus
    #: Of a mate: the checks and, between them, the answers that hold out longest in what was
    #: searched, up to the mate itself. Legal throughout. Interpositions that only delay are moves
    #: like any other. Empty otherwise.
    moves: tuple[Move, ...]
    #: Moves made by the search, in this call.
    nodes: int
    seconds: float
    #: Proven that no mate is shorter (looked for only with `shortest`).
    is_shortest: bool

    @property
    def is_mate(self) -> bool:
        return self.status == MateStatus.MATE

    def usi(self) -> str:
        """The answer to USI's `go mate`."""
        if self.status == MateStatus.MATE:
            return "checkmate " + " ".join(move.usi() for move in self.moves)
        return "checkmate " + ("nomate" if self.status == MateStatus.NO_MATE else "timeout")


class MateSolver:
    """A solver with its own table of at most `hash_mb` MiB (rounded down to a power of two).

    A full table makes the search slower, never wrong. The memory is taken from the system as the
    search fills it. One solve at a time (RuntimeError otherwise); solvers share nothing.
    """

    def __init__(self, hash_mb: float = 64) -> None:
        self._solver = _core.Solver(hash_mb)

    def solve(
        self,
        board: Board,
        max_nodes: int = 0,
        max_ply: int = 0,
        *,
        time_ms: int = 0,
        shortest: bool = False,
        share: float = 1.0,
        stop: StopFlag | None = None,
    ) -> MateResult:
        """Search for a mate by the side to move; a limit of 0 is none.

        NO_MATE is exact: no sequence of checks mates, or with `max_ply` none that short. UNKNOWN
        means that a limit or `stop` came first. With `shortest` the mate found is shortened until
        none shorter exists or a limit is met. `share` (0.01 to 1) of a CPU's time is taken
        after the first 100,000 moves, for a solve beside other work. The same call gives the same
        result and nodes, whatever was solved before, unless `time_ms` or `stop` cut it off.

        The side to move may be without a king; PositionError if the other one is. Positions that
        the board's path holds three times already count as failed for the attacker. Runs
        without the GIL, on a copy of the board.
        """
        start = time.perf_counter()
        found = self._solver.solve(board, max_nodes, max_ply, time_ms, shortest, share, stop)
        return MateResult(
            found.status,
            tuple(Move.from_move16(bits) for bits in found.moves),
            found.nodes,
            time.perf_counter() - start,
            found.is_shortest,
        )

    @property
    def hashfull(self) -> int:
        """Thousandths of the table in use after the last solve."""
        return self._solver.permille_used


def solve(
    board: Board,
    max_nodes: int = 1_000_000,
    max_ply: int = 0,
    *,
    time_ms: int = 0,
    shortest: bool = False,
    stop: StopFlag | None = None,
    hash_mb: float = 64,
) -> MateResult:
    """`MateSolver.solve` with a solver of its own."""
    return MateSolver(hash_mb).solve(
        board, max_nodes, max_ply, time_ms=time_ms, shortest=shortest, stop=stop
    )


def mate_within(board: Board, plies: int) -> Move | None:
    """The first move of a mate by checks in at most `plies` plies, or None: exact.

    Plain depth-first search: meant for 1, 3 and 5 plies.
    """
    bits = _core.mate_within(board, plies)
    return Move.from_move16(bits) if bits else None


def checking_moves(board: Board) -> list[Move]:
    """The legal moves that give check."""
    return [Move.from_move16(bits) for bits in _core.checking_moves(board)]
