"""Slow reference searches, and positions to compare them on."""

import random
from collections.abc import Iterator

from komadori.rules import BLACK, WHITE, Board, Move, Repetition

MATE = 32000

#: Material by piece type, from the specification of elmo's evaluation.
VALUES = {1: 90, 2: 315, 3: 405, 4: 495, 5: 855, 6: 990, 7: 540, 8: 0}
VALUES |= dict.fromkeys((9, 10, 11, 12), 540) | {13: 945, 14: 1395}


def material(board: Board) -> int:
    """From the side to move's viewpoint."""
    total = 0
    for square in range(81):
        code = board.piece_code(square)
        if code:
            total += VALUES[code & 15] * (1 if code >> 4 == BLACK else -1)
    for color in (BLACK, WHITE):
        for piece_type in range(1, 8):
            total += board.hand(color, piece_type) * VALUES[piece_type] * (1 - 2 * color)
    return total if board.turn == BLACK else -total


def minimax(board: Board, depth: int, ply: int = 0, repetition: bool = False) -> int:
    """Full-width minimax to `depth` with a material evaluation."""
    if repetition and ply:
        match board.repetition(2):
            case Repetition.DRAW:
                return 0
            case Repetition.WIN:
                return MATE - ply
            case Repetition.LOSS:
                return ply - MATE
            case Repetition.SUPERIOR:
                return 28000
            case Repetition.INFERIOR:
                return -28000
    moves = list(board.legal_moves)
    if not moves:
        return ply - MATE
    if depth == 0:
        return material(board)
    best = -MATE
    for move in moves:
        board.push(move)
        best = max(best, -minimax(board, depth - 1, ply + 1, repetition))
        board.pop()
    return best


def random_positions(count: int, seed: int, plies: int = 160) -> Iterator[Board]:
    """Positions of random games, captures preferred so that hands fill."""
    chance = random.Random(seed)
    while count:
        board = Board()
        for _ in range(chance.randrange(4, plies)):
            moves = list(board.legal_moves)
            if not moves or board.is_game_over():
                break
            captures = [m for m in moves if m.drop is None and board.piece_code(m.to_square)]
            board.push(chance.choice(captures if captures and chance.random() < 0.3 else moves))
        if board.legal_moves:
            count -= 1
            yield board


def replay(board: Board, line: list[Move]) -> Board:
    """The position after a line; raises if a move is illegal."""
    after = board.copy()
    for move in line:
        after.push(move)
    return after
