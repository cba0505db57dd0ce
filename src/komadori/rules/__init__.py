"""The rules of shogi: boards, moves, legality.

Squares are ints, `9*(file-1) + (rank-1)`; colours are `BLACK` (0, moves first) and `WHITE` (1).
"""

from komadori._core.rules import (
    HcpError,
    IllegalMoveError,
    LegalMoves,
    Move,
    MoveError,
    PositionError,
    Repetition,
    RulesError,
    SfenError,
)
from komadori.rules.board import BLACK, WHITE, Board

__all__ = [
    "BLACK",
    "WHITE",
    "Board",
    "HcpError",
    "IllegalMoveError",
    "LegalMoves",
    "Move",
    "MoveError",
    "PositionError",
    "Repetition",
    "RulesError",
    "SfenError",
]
