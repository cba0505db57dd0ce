"""Players without a network: random moves, and one-ply material."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from komadori.players.player import Decision, Named
from komadori.rules.outcome import DECLARATION_POINTS
from komadori.usi.protocol import GoCommand
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board, Move

#: Centipawns of a piece, by piece type (pawn 1, lance, knight, silver, bishop, rook, gold,
#: king; a promoted piece is its base type + 8). YaneuraOu's material values.
PIECE_CP = (0, 90, 315, 405, 495, 855, 990, 540, 0, 540, 540, 540, 540, 945, 1395)

_PROMOTED = 8
_KING = 8

#: Material gained by a capture: the piece leaves the board and enters the hand, unpromoted.
_CAPTURE_CP = tuple(
    value + PIECE_CP[kind - _PROMOTED if kind > _KING else kind]
    for kind, value in enumerate(PIECE_CP)
)


def material_cp(board: Board) -> int:
    """Return material on the board and in hand, in centipawns, side to move's view."""
    total = 0
    turn = board.turn
    for square in range(81):
        code = board.piece_code(square)
        if code:
            value = PIECE_CP[code & 15]
            total += value if code >> 4 == turn else -value
    for kind in range(1, _KING):
        total += PIECE_CP[kind] * (board.hand(turn, kind) - board.hand(1 - turn, kind))
    return total


def gain_cp(board: Board, move: Move) -> int:
    """Return the mover's material gain by captures and promotion, in centipawns."""
    gain = _CAPTURE_CP[board.piece_code(move.to_square) & 15]
    if move.promotion:
        origin = move.from_square
        assert origin is not None
        kind = board.piece_code(origin) & 15
        gain += PIECE_CP[kind + _PROMOTED] - PIECE_CP[kind]
    return gain


def allowed_moves(board: Board, go: GoCommand) -> list[Move]:
    """Return the legal moves, restricted by `go searchmoves`."""
    moves = list(board.legal_moves)
    return [move for move in moves if move.usi() in go.searchmoves] or moves


@names_arguments
class SimplePlayer(Named, ABC):
    """A player without a network: it declares a win where it can, and resigns without a move."""

    def __init__(self, name: str, seed: int | None = None) -> None:
        self.name = name
        self._random = random.Random(seed)
        self._points = DECLARATION_POINTS["27"]

    def set_declaration(self, rule: str) -> None:
        """Declare wins by a rule, a key of `rules.DECLARATION_POINTS`, from now on."""
        self._points = DECLARATION_POINTS[rule]

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        if seed is not None:
            self._random.seed(seed)

    def play(self, board: Board, go: GoCommand) -> Decision:
        if self._points[0] > 0 and board.can_declare_win(*self._points):
            return Decision(declares_win=True)
        moves = allowed_moves(board, go)
        return self._choose(board, moves) if moves else Decision(resigns=True)

    def close(self) -> None:
        pass

    @abstractmethod
    def _choose(self, board: Board, moves: list[Move]) -> Decision:
        """Choose among at least one move."""


@names_arguments
class RandomPlayer(SimplePlayer):
    """Plays a random legal move, with uniform probability."""

    def __init__(self, name: str = "random", seed: int | None = None) -> None:
        super().__init__(name, seed)

    def _choose(self, board: Board, moves: list[Move]) -> Decision:
        return Decision(move=self._random.choice(moves))


@names_arguments
class MaterialPlayer(SimplePlayer):
    """Looks one ply ahead and counts material.

    It plays a mate in one if there is one; otherwise the move with the best material after it,
    ties at random. It doesn't consider replies.
    """

    def __init__(self, name: str = "material", seed: int | None = None) -> None:
        super().__init__(name, seed)

    def _choose(self, board: Board, moves: list[Move]) -> Decision:
        mate = None if board.is_check() else board.mate_in_one()
        if mate is not None and mate in moves:
            return Decision(move=mate, mate_plies=1, pv=(mate.usi(),))
        best: list[Move] = []
        best_gain = -1
        for move in moves:
            gain = gain_cp(board, move)
            if gain > best_gain:
                best, best_gain = [move], gain
            elif gain == best_gain:
                best.append(move)
        move = self._random.choice(best)
        return Decision(move=move, score_cp=material_cp(board) + best_gain, pv=(move.usi(),))
