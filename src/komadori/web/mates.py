"""Mate searches of a page: for the side to move, or for its opponent after a pass."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from komadori.mate import MateSolver, MateStatus, StopFlag
from komadori.rules import Board, PositionError
from komadori.web import protocol
from komadori.web.errors import RefusedError
from komadori.web.positions import after_pass, read_position

#: Maximum size of a search's table in MiB; it is freed after the search.
MEMORY_MB = 64

_STATUS_NAMES: dict[MateStatus, Literal["mate", "none", "unknown"]] = {
    MateStatus.MATE: "mate",
    MateStatus.NO_MATE: "none",
    MateStatus.UNKNOWN: "unknown",
}


class Mates:
    """Runs mate searches, one at a time."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._lock = asyncio.Lock()
        self._stop = StopFlag()

    async def search(self, request: protocol.AskMate) -> protocol.MateFound:
        """Search for a mate once earlier searches have ended. Raises RefusedError."""
        board = read_position(request.position)
        if not board.legal_moves:
            return _answer(request, "over")
        if request.after_pass:
            passed = after_pass(board)
            if passed is None:
                return _answer(request, "check")
            board = passed
        if request.after_pass and board.king(1 - board.turn) is None:  # of a mate problem
            return _answer(request, "none")
        stop = self._stop
        async with self._lock:
            if stop.is_set():
                return _answer(request, "unknown")
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, _solve, request, board, stop
            )

    def stop(self) -> None:
        """Cancel the running search and the queued ones."""
        self._stop.set()
        self._stop = StopFlag()


def _solve(request: protocol.AskMate, board: Board, stop: StopFlag) -> protocol.MateFound:
    try:
        result = MateSolver(MEMORY_MB).solve(board, request.nodes, shortest=True, stop=stop)
    except PositionError as error:
        raise RefusedError("bad_position", str(error)) from error
    return _answer(
        request,
        _STATUS_NAMES[result.status],
        moves=[move.usi() for move in result.moves],
        nodes=result.nodes,
        time_ms=round(1000 * result.seconds),
        is_shortest=result.is_shortest,
    )


def _answer(
    request: protocol.AskMate,
    status: Literal["mate", "none", "unknown", "check", "over"],
    *,
    moves: list[str] | None = None,
    nodes: int = 0,
    time_ms: int = 0,
    is_shortest: bool = False,
) -> protocol.MateFound:
    return protocol.MateFound(
        id=request.id,
        position=request.position,
        after_pass=request.after_pass,
        status=status,
        moves=moves or [],
        nodes=nodes,
        time_ms=time_ms,
        is_shortest=is_shortest,
    )
