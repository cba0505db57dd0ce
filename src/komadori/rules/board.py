"""The board: a position with the moves that led to it."""

from __future__ import annotations

from typing import Self

from komadori._core.rules import Position, Repetition

BLACK, WHITE = 0, 1


class Board(Position):
    """A position and its path, changed by `push` and `pop`."""

    def __init__(self, sfen: str | None = None) -> None:
        super().__init__()
        if sfen is not None and sfen != "startpos":
            self.set_sfen(sfen)

    @classmethod
    def from_hcp(cls, hcp: bytes, ply: int = 1) -> Self:
        board = cls()
        board.set_hcp(hcp, ply)
        return board

    @classmethod
    def from_packed_sfen(cls, packed: bytes, ply: int = 1) -> Self:
        board = cls()
        board.set_packed_sfen(packed, ply)
        return board

    def is_checkmate(self) -> bool:
        """Whether the side to move is in check and has no legal move."""
        return self.is_check() and not self.legal_moves

    def is_game_over(self) -> bool:
        """Whether there is no legal move, or the position has occurred four times."""
        ended = (Repetition.DRAW, Repetition.WIN, Repetition.LOSS)
        return not self.legal_moves or self.repetition() in ended
