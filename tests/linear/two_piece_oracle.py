"""The two-piece evaluation by its definition, from SFENs alone, and test positions."""

from __future__ import annotations

import random
import re

from komadori.linear import TwoPieceWeights
from komadori.rules import Board

#: Kinds on the board in the order of the features, and where each type begins in a hand.
KINDS = {"P": 0, "L": 1, "N": 2, "S": 3, "G": 4, "B": 5, "R": 6, "+B": 7, "+R": 8, "K": 9}
KINDS |= {"+P": 4, "+L": 4, "+N": 4, "+S": 4}
FIRST_IN_HAND = {"P": 0, "L": 18, "N": 22, "S": 26, "G": 30, "B": 34, "R": 36}
FIRST_ON_BOARD = 76
VALUES = {"P": 90, "L": 315, "N": 405, "S": 495, "G": 540, "B": 855, "R": 990, "K": 0}
VALUES |= {"+P": 540, "+L": 540, "+N": 540, "+S": 540, "+B": 945, "+R": 1395}

_HAND_ORDER = "RBGSNLPrbgsnlp"


def features(board: Board) -> list[int]:
    rows, _, hands, _ = board.sfen().split()
    found = []
    for rank, row in enumerate(rows.split("/")):
        file = 8
        for piece in re.findall(r"\d|\+?[A-Za-z]", row):
            if piece.isdigit():
                file -= int(piece)
                continue
            kind = KINDS[piece.upper()] + (10 if piece[-1].islower() else 0)
            found.append(FIRST_ON_BOARD + 81 * kind + 9 * file + rank)
            file -= 1
    for count, piece in re.findall(r"(\d*)([A-Za-z])", hands):
        begin = FIRST_IN_HAND[piece.upper()] + (38 if piece.islower() else 0)
        found += range(begin, begin + int(count or 1))
    return found


def material(board: Board) -> int:
    rows, _, hands, _ = board.sfen().split()
    pieces = [("1", piece) for piece in re.findall(r"\+?[A-Za-z]", rows)]
    pieces += re.findall(r"(\d*)([A-Za-z])", hands)
    return sum(
        VALUES[piece.upper()] * int(count or 1) * (-1 if piece[-1].islower() else 1)
        for count, piece in pieces
    )


def value(weights: TwoPieceWeights, board: Board) -> int:
    """Material and the sum of all pairs and of the hand's own weights, over 32."""
    a = features(board)
    w = weights.pairs.astype(int)
    total = sum(w[a[i], a[j]] for i in range(len(a)) for j in range(i))
    total += sum(w[f, f] for f in a if f < FIRST_ON_BOARD)
    return material(board) + (abs(total) // 32) * (1 if total >= 0 else -1)


def positions(count: int, seed: int) -> list[Board]:
    """From random games, without their history."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        board = Board()
        for _ in range(rng.randint(0, 160)):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
        found.append(Board(board.sfen()))
    return found


def mirrored(board: Board) -> Board:
    """Mirrored left to right."""
    rows, *rest = board.sfen().split()
    turned = ["".join(reversed(re.findall(r"\d|\+?[A-Za-z]", row))) for row in rows.split("/")]
    return Board(" ".join(["/".join(turned), *rest]))


def swapped(board: Board) -> Board:
    """Rotated by 180 degrees, colours swapped."""
    rows, turn, hands, ply = board.sfen().split()
    turned = [
        "".join(reversed(re.findall(r"\d|\+?[A-Za-z]", row))).swapcase()
        for row in reversed(rows.split("/"))
    ]
    held = re.findall(r"\d*[A-Za-z]", hands.swapcase())
    held.sort(key=lambda piece: _HAND_ORDER.index(piece[-1]))
    return Board(
        " ".join(["/".join(turned), "w" if turn == "b" else "b", "".join(held) or "-", ply])
    )
