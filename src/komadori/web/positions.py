"""Parsing of positions sent by pages."""

from __future__ import annotations

from komadori.rules import BLACK, Board, Move, Repetition
from komadori.web.errors import RefusedError
from komadori.web.shapes import Color

COLOR_NAMES: tuple[Color, Color] = ("black", "white")

#: Maximum number of moves of a position.
MAX_MOVES = 2000


def read_position(text: str) -> Board:
    """Parse `startpos moves ...` or `sfen ... moves ...`. Raises RefusedError."""
    if text.count(" ") > MAX_MOVES:
        raise RefusedError("bad_position", f"more than {MAX_MOVES} moves")
    try:
        return Board.from_usi(text)
    except ValueError as error:
        raise RefusedError("bad_position", str(error)) from error


def read_move(board: Board, text: str) -> Move:
    """Parse a legal move. Raises RefusedError."""
    try:
        return board.parse_usi(text)
    except ValueError as error:
        raise RefusedError("illegal_move", str(error)) from error


def turn_of(board: Board) -> Color:
    return COLOR_NAMES[board.turn]


def outcome_of(board: Board) -> str:
    """Return `protocol.Analysis.outcome`, with declarations by the 27-point rule."""
    ended = board.outcome()
    if ended is not None:
        return ended.termination.value.replace(" ", "_")
    return "declaration" if board.can_declare_win() else ""


def ended_win_rate(board: Board) -> float:
    """Return the result of a finished game as the side to move's win rate."""
    if not board.legal_moves:
        return 0.0
    match board.repetition():
        case Repetition.WIN:
            return 1.0
        case Repetition.LOSS:
            return 0.0
    return 0.5


def after_pass(board: Board) -> Board | None:
    """Return the position after a pass; None in check, where passing is illegal."""
    if board.is_check():
        return None
    fields = board.sfen().split()
    fields[1] = "w" if board.turn == BLACK else "b"
    return Board(" ".join(fields))
