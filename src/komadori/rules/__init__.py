"""The rules of shogi: boards, moves, legality, notation.

Squares are ints, `9*(file-1) + (rank-1)`; colours are `BLACK` (0, moves first) and `WHITE` (1).
Errors in input are ValueErrors: `RulesError` and its subclasses.
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
from komadori.rules.board import Board
from komadori.rules.handicaps import HANDICAPS, Handicap
from komadori.rules.outcome import DECLARATION_POINTS, Declaration, Outcome, Termination
from komadori.rules.pieces import (
    BLACK,
    COLORS,
    HAND_TYPES,
    SQUARES,
    WHITE,
    Piece,
    PieceType,
    parse_square,
    square_name,
)

__all__ = [
    "BLACK",
    "COLORS",
    "DECLARATION_POINTS",
    "HANDICAPS",
    "HAND_TYPES",
    "SQUARES",
    "WHITE",
    "Board",
    "Declaration",
    "Handicap",
    "HcpError",
    "IllegalMoveError",
    "LegalMoves",
    "Move",
    "MoveError",
    "Outcome",
    "Piece",
    "PieceType",
    "PositionError",
    "Repetition",
    "RulesError",
    "SfenError",
    "Termination",
    "parse_square",
    "square_name",
]
