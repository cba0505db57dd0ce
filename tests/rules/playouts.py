"""Random positions for tests: games of random moves that prefer captures and drops, so
that hands are full and pieces mixed."""

import random
from collections.abc import Iterator

from komadori.rules import Board


def playout(rng: random.Random, plies: int = 300, drop_heavy: bool = False) -> Iterator[Board]:
    """The board before each move of a random game; the board is one and the same object."""
    board = Board()
    for _ in range(plies):
        moves = list(board.legal_moves)
        yield board
        if not moves:
            return
        move = rng.choice(moves)
        if drop_heavy and rng.random() < 0.5:
            chosen = [m for m in moves if board.piece_code(m.to_square)]  # captures
            move = rng.choice(chosen or moves)
        board.push(move)


def positions(number: int, seed: int) -> Iterator[Board]:
    """`number` positions of random games, every other game drop-heavy."""
    rng = random.Random(seed)
    made = games = 0
    while made < number:
        games += 1
        for board in playout(rng, drop_heavy=games % 2 == 0):
            yield board
            made += 1
            if made == number:
                return
