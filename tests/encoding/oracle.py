"""Naive reference for planes and labels, in the sources' own coordinates and loops.

Squares here are those of python-shogi and pydlshogi, (row, column) with 9a at (0, 0); planes come
out as [file][rank] at the end.
"""

import cshogi
import numpy as np
from numpy.typing import NDArray

#: cshogi's piece types in the order of python-shogi.
PYTHON_SHOGI = [1, 2, 3, 4, 7, 5, 6, 8, 9, 10, 11, 12, 13, 14]
MAX_IN_HAND = [18, 4, 4, 4, 4, 2, 2]  # P L N S G B R
LETTERS = " PLNSBRGK"

DIRECTIONS = [
    "UP", "UP_LEFT", "UP_RIGHT", "LEFT", "RIGHT", "DOWN", "DOWN_LEFT", "DOWN_RIGHT",
    "UP2_LEFT", "UP2_RIGHT",
]  # fmt: skip
CNNSHOGI_DIRECTIONS = [
    "LEFT", "RIGHT", "UP", "DOWN", "UP_LEFT", "DOWN_RIGHT", "UP_RIGHT", "DOWN_LEFT",
    "UP2_LEFT", "UP2_RIGHT",
]  # fmt: skip
#: Directions of each piece, by cshogi's type, as the diary's table of part 8 marks them.
GOLD = ["UP", "UP_LEFT", "UP_RIGHT", "LEFT", "RIGHT", "DOWN"]
BISHOP = ["UP_LEFT", "UP_RIGHT", "DOWN_LEFT", "DOWN_RIGHT"]
ROOK = ["UP", "LEFT", "RIGHT", "DOWN"]
ALL = DIRECTIONS[:8]
MOVES_OF = {
    1: ["UP"], 2: ["UP"], 3: ["UP2_LEFT", "UP2_RIGHT"],
    4: ["UP", "UP_LEFT", "UP_RIGHT", "DOWN_LEFT", "DOWN_RIGHT"],
    5: BISHOP, 6: ROOK, 7: GOLD, 8: ALL, 9: GOLD, 10: GOLD, 11: GOLD, 12: GOLD, 13: ALL, 14: ALL,
}  # fmt: skip


def seen(square: int, turn: int) -> tuple[int, int]:
    """(row, column) of cshogi's square as the side to move sees it."""
    row, column = square % 9, 8 - square // 9
    return (row, column) if turn == cshogi.BLACK else (8 - row, 8 - column)


def to_file_rank(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    return plane[:, ::-1].T


def sides(board: cshogi.Board) -> tuple[int, int]:
    return board.turn, 1 - board.turn


def placement(board: cshogi.Board, color: int) -> list[NDArray[np.float32]]:
    planes = []
    for piece_type in PYTHON_SHOGI:
        plane = np.zeros((9, 9), np.float32)
        for square, piece in enumerate(board.pieces):
            if piece and piece % 16 == piece_type and piece // 16 == color:
                plane[seen(square, board.turn)] = 1
        planes.append(to_file_rank(plane))
    return planes


def hand(board: cshogi.Board, color: int, caps: list[int]) -> list[NDArray[np.float32]]:
    return [
        np.full((9, 9), i < count, np.float32)
        for cap, count in zip(caps, board.pieces_in_hand[color], strict=True)
        for i in range(cap)
    ]


def pydlshogi(board: cshogi.Board) -> NDArray[np.float32]:
    planes = []
    for color in sides(board):
        planes += placement(board, color) + hand(board, color, MAX_IN_HAND)
    return np.stack(planes)


def diary(board: cshogi.Board) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    own, opponent = sides(board)
    return (
        np.stack(placement(board, own) + placement(board, opponent)),
        np.stack(hand(board, own, MAX_IN_HAND) + hand(board, opponent, MAX_IN_HAND)),
    )


def attention(
    features1: NDArray[np.float32], features2: NDArray[np.float32]
) -> NDArray[np.float32]:
    """[137, 64] out of dlshogi's planes [62, 9, 9] and [57, 9, 9]."""
    tokens = np.zeros((137, 64), np.float32)
    for square in range(81):
        for k in range(62):
            tokens[square, k] = features1[k, square // 9, square % 9]
    for slot in range(56):
        tokens[81 + slot, :] = features2[slot, 0, 0]
    return tokens


def direction(board: cshogi.Board, move: int) -> str:
    (y, x), (to_y, to_x) = (
        seen(square, board.turn) for square in (cshogi.move_from(move), cshogi.move_to(move))
    )
    up, left = y - to_y, x - to_x
    if up == 2 and abs(left) == 1:
        return "UP2_LEFT" if left > 0 else "UP2_RIGHT"
    vertical = "UP" if up > 0 else "DOWN" if up < 0 else ""
    horizontal = "LEFT" if left > 0 else "RIGHT" if left < 0 else ""
    return "_".join(part for part in (vertical, horizontal) if part)


def destination(board: cshogi.Board, move: int) -> int:
    row, column = seen(cshogi.move_to(move), board.turn)
    return 9 * (8 - column) + row


def dropped(move: int) -> str:
    return "PLNSGBR"[cshogi.move_drop_hand_piece(move)]


def piece_blocks() -> list[tuple[object, ...]]:
    """The 101 planes of 8181, in order: (type, direction, promotes) and ("drop", letter)."""
    planes: list[tuple[object, ...]] = []
    for piece_type, directions in MOVES_OF.items():
        for promotes in (False, True) if piece_type <= 7 else (False,):
            planes += [(piece_type, d, promotes) for d in directions]
    return planes + [("drop", letter) for letter in "PLNSBRG"]


PIECE_PLANES = {plane: i for i, plane in enumerate(piece_blocks())}


def label_2187(board: cshogi.Board, move: int, directions: list[str], drops: str) -> int:
    if cshogi.move_is_drop(move):
        plane = 20 + drops.index(dropped(move))
    else:
        plane = directions.index(direction(board, move)) + 10 * cshogi.move_is_promotion(move)
    return 81 * plane + destination(board, move)


def label_8181(board: cshogi.Board, move: int) -> int:
    if cshogi.move_is_drop(move):
        plane = PIECE_PLANES["drop", dropped(move)]
    else:
        piece_type = board.pieces[cshogi.move_from(move)] % 16
        promotes = bool(cshogi.move_is_promotion(move))
        plane = PIECE_PLANES[piece_type, direction(board, move), promotes]
    return 81 * plane + destination(board, move)


def label_1134(board: cshogi.Board, move: int, *, after: bool = False) -> int:
    if cshogi.move_is_drop(move):
        piece_type = LETTERS.index(dropped(move))
    else:
        piece_type = board.pieces[cshogi.move_from(move)] % 16
        if after and cshogi.move_is_promotion(move):
            piece_type += 8
    return 81 * PYTHON_SHOGI.index(piece_type) + destination(board, move)


def label_from(board: cshogi.Board, move: int) -> int:
    if cshogi.move_is_drop(move):
        return 81 + "PLNSBRG".index(dropped(move))
    row, column = seen(cshogi.move_from(move), board.turn)
    return 9 * (8 - column) + row
