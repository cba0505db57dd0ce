"""Mate search (tsume): finds mates by consecutive checks."""

from komadori._core.mate import MateStatus, StopFlag
from komadori.mate.solver import MateResult, MateSolver, checking_moves, mate_within, solve

__all__ = [
    "MateResult",
    "MateSolver",
    "MateStatus",
    "StopFlag",
    "checking_moves",
    "mate_within",
    "solve",
]
