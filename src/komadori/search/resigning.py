"""Resignation: after several consecutive low scores, from a move number on."""

from __future__ import annotations

from dataclasses import dataclass

from komadori.rules import Board

#: Pieces of an even game; a start with fewer is a handicap.
ALL_PIECES = 40


@dataclass(frozen=True)
class ResignRule:
    """Conditions for resigning."""

    moves: int = 3
    """Consecutive own moves below the threshold before resigning; a proven mate needs one."""
    ply: int = 20
    """Never resign before this move of the game."""


class Resigning:
    """Counts consecutive low scores in a game."""

    def __init__(self) -> None:
        self._last_ply = 0
        self._count = 0

    def new_game(self) -> None:
        self._last_ply = self._count = 0

    def resigns(self, board: Board, rule: ResignRule, *, is_low: bool, is_mated: bool) -> bool:
        """Return whether to resign. Call once per move of one side.

        A side that gave a handicap resigns only to a proven mate, since its value is low from the
        start.
        """
        if not (is_low or is_mated):
            self._count = 0
            return False
        if board.ply == self._last_ply + 2:
            self._count += 1
        elif board.ply != self._last_ply:
            self._count = 1
        self._last_ply = board.ply
        if board.ply < rule.ply:
            return False
        return is_mated or (self._count >= rule.moves and not self._is_handicap(board))

    def _is_handicap(self, board: Board) -> bool:
        start = board.copy()
        while start.moves:
            start.pop()
        return piece_count(start) < ALL_PIECES


def piece_count(board: Board) -> int:
    """Count the pieces on the board and in both hands."""
    on_board = sum(board.piece_code(square) != 0 for square in range(81))
    return on_board + sum(board.hand(side, kind) for side in (0, 1) for kind in range(1, 8))
