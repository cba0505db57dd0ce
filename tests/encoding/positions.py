"""Positions of random games, played by cshogi."""

import random
from collections.abc import Iterator

import cshogi
import numpy as np
from numpy.typing import NDArray


def hcp_of(board: cshogi.Board) -> NDArray[np.uint8]:
    row = np.zeros(1, cshogi.HuffmanCodedPos)
    board.to_hcp(row)
    return np.frombuffer(row.tobytes(), np.uint8)


def random_play(seed: int, every: int = 1) -> Iterator[tuple[cshogi.Board, int]]:
    """Every `every`-th position of an endless run of random games, with the move played."""
    rng = random.Random(seed)
    board = cshogi.Board()
    while True:
        board.reset()
        for ply in range(250):
            moves = list(board.legal_moves)
            if not moves:
                break
            move = rng.choice(moves)
            if ply % every == 0:
                yield board, move
            board.push(move)
