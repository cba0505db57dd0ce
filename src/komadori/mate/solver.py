"""The df-pn mate solver."""

from __future__ import annotations

import time
from dataclasses import dataclass

from komadori._core import mate as _core
from komadori._core.mate import MateStatus, StopFlag
from komadori.rules import Board, Move
from komadori.wording import names_arguments


@dataclass(frozen=True, slots=True)
class MateResult:
    """The result of a mate search."""

    status: MateStatus
    #: The mating line: checks and the longest defences found, up to mate, all legal; futile
    #: interpositions count as moves. Empty without a mate.
    moves: tuple[Move, ...]
    #: Nodes (moves made) of this call.
    nodes: int
    seconds: float
    #: Whether the mate is proven to be the shortest (only with `shortest`).
    is_shortest: bool

    @property
    def is_mate(self) -> bool:
        return self.status == MateStatus.MATE

    def usi(self) -> str:
        """The answer to USI's `go mate`."""
        if self.status == MateStatus.MATE:
            return "checkmate " + " ".join(move.usi() for move in self.moves)
        return "checkmate " + ("nomate" if self.status == MateStatus.NO_MATE else "timeout")


@names_arguments
class MateSolver:
    """A solver with a transposition table of up to `hash_mb` MiB (rounded down to a power of two).

    A full table slows the search down but never makes it wrong. Memory is committed as the search
    fills the table. Not reentrant (RuntimeError); solvers share nothing.
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
        cpu_fraction: float = 1.0,
        stop: StopFlag | None = None,
    ) -> MateResult:
        """Search for a mate by the side to move. max_nodes, max_ply, time_ms: 0 for no limit.

        NO_MATE is exact: no sequence of checks mates, or none of at most `max_ply` plies. UNKNOWN:
        a limit or `stop` ended the search. shortest: shorten the mate found until no shorter one
        exists or a limit is reached. cpu_fraction: fraction of a CPU (0.01 to 1) used after the
        first 100,000 nodes, for a solver in the background.

        Deterministic, independent of earlier calls, unless ended by `time_ms` or `stop`. The side
        to move may lack a king; PositionError if the other side does. Positions that occurred three
        times in the board's history count as failures of the attacker. Releases the GIL; works on a
        copy of the board.
        """
        for name, limit in ("max_nodes", max_nodes), ("max_ply", max_ply), ("time_ms", time_ms):
            if limit < 0:
                raise ValueError(f"{name} is {limit}, at least 0 is needed")
        start = time.perf_counter()
        found = self._solver.solve(board, max_nodes, max_ply, time_ms, shortest, cpu_fraction, stop)
        return MateResult(
            found.status,
            tuple(Move.from_move16(bits) for bits in found.moves),
            found.nodes,
            time.perf_counter() - start,
            found.is_shortest,
        )

    @property
    def hashfull(self) -> int:
        """Permille of the table used by the last search."""
        return self._solver.permille_used


@names_arguments
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
    """As `MateSolver.solve`, with a new solver."""
    return MateSolver(hash_mb).solve(
        board, max_nodes, max_ply, time_ms=time_ms, shortest=shortest, stop=stop
    )


@names_arguments
def mate_within(board: Board, plies: int) -> Move | None:
    """The first move of a mate by checks within `plies` plies, None if there is none; exact.

    Plain depth-first search, for 1, 3 and 5 plies. Raises ValueError unless plies is 0 to 99.
    """
    bits = _core.mate_within(board, plies)
    return Move.from_move16(bits) if bits else None


@names_arguments
def checking_moves(board: Board) -> list[Move]:
    """The legal moves that give check."""
    return [Move.from_move16(bits) for bits in _core.checking_moves(board)]
