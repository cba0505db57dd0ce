"""Converts a searcher's reports and results to USI lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from komadori.usi.protocol import BestMove, InfoLine, Score

if TYPE_CHECKING:
    from komadori.search.protocol import Info, SearchResult
    from komadori.usi.job import Job

RESIGN = BestMove("resign")


def best_move(result: SearchResult) -> BestMove:
    """Convert a searcher's result to `bestmove`."""
    if result.declare_win:
        return BestMove("win")
    if result.resign or result.best_move is None:
        return RESIGN
    return BestMove(result.best_move.usi(), result.ponder.usi() if result.ponder else "")


def info_line(info: Info) -> InfoLine:
    """Convert a searcher's report to an `info` line, side to move's view."""
    if info.mate_plies is not None:
        score = Score(mate_plies=info.mate_plies, bound=info.bound)
    elif info.score_cp is not None:
        score = Score(cp=round(info.score_cp), bound=info.bound)
    else:
        score = None
    return InfoLine(
        depth=info.depth,
        seldepth=info.seldepth,
        nodes=info.nodes,
        nps=info.nps,
        time_ms=info.time_ms,
        hashfull=info.hashfull,
        multipv=info.multipv,
        score=score,
        pv=tuple(move.usi() for move in info.pv),
    )


def fallback_answer(job: Job, error: Exception | None = None) -> BestMove:
    """Return an answer if the search gave no result: the last best line, else the first legal move,
    or resignation if the network failed.
    """
    from komadori.inference import InferenceError

    if job.last_pv:
        return BestMove(job.last_pv[0])
    if not isinstance(error, InferenceError):
        for move in job.board.legal_moves:
            return BestMove(move.usi())
    return RESIGN
