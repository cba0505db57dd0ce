"""Positions as pages send them."""

from __future__ import annotations

from komadori.rules import BLACK, Board, Move, Repetition
from komadori.web.errors import RefusedError
from komadori.web.shapes import Color

COLOR_NAMES: tuple[Color, Color] = ("black", "white")

#: Moves of a game that a page may send.
MOST_MOVES = 2000


def read_position(text: str) -> Board:
    """The board of `startpos moves ...` or `sfen ... moves ...`. Raises RefusedError."""
    if text.count(" ") > MOST_MOVES:
        raise RefusedError("bad_position", f"more than {MOST_MOVES} moves")
    try:
        return Board.from_usi(text)
    except ValueError as error:
        raise RefusedError("bad_position", str(error)) from error


def read_move(board: Board, text: str) -> Move:
    """A legal move of the board. Raises RefusedError."""
    try:
        return board.parse_usi(text)
    except ValueError as error:
        raise RefusedError("illegal_move", str(error)) from error


def turn_of(board: Board) -> Color:
    return COLOR_NAMES[board.turn]


def outcome_of(board: Board) -> str:
    """As `protocol.Analysis.outcome` words it; a declaration under the 27-point rule."""
    ended = board.outcome()
    if ended is not None:
        return ended.termination.value.replace(" ", "_")
    return "declaration" if board.can_declare_win() else ""


def ended_win_rate(board: Board) -> float:
    """What a position that the rules have ended is worth to the side to move."""
    if not board.legal_moves:
        return 0.0
    match board.repetition():
        case Repetition.WIN:
            return 1.0
        case Repetition.LOSS:
            return 0.0
    return 0.5


def after_pass(board: Board) -> Board | None:
    """The position with the other side to move; None in check, where a pass would lose the king."""
    if board.is_check():
        return None
    fields = board.sfen().split()
    fields[1] = "w" if board.turn == BLACK else "b"
    return Board(" ".join(fields))
