"""Legal moves, codes and SFEN against cshogi and rsshogi on random positions."""

from __future__ import annotations

import numpy as np
import pytest
from playouts import positions
from rsshogi.core import Board as RsBoard

from komadori.rules import Board, PositionError

cshogi = pytest.importorskip("cshogi")


def moves_of_cshogi(board: cshogi.Board) -> list[int]:
    return sorted(move & 0x7FFF for move in board.legal_moves)


def moves_of_rsshogi(board: RsBoard) -> list[str]:
    return sorted(move.to_usi() for move in board.legal_moves())


def compare_moves(number: int, seed: int) -> None:
    theirs = cshogi.Board()
    for board in positions(number, seed):
        theirs.set_sfen(board.sfen())
        moves = list(board.legal_moves)
        assert sorted(move.move16 for move in moves) == moves_of_cshogi(theirs), board.sfen()
        assert len(board.legal_moves) == len(moves)
        assert board.is_check() == theirs.is_check()
        expected = moves_of_rsshogi(RsBoard(board.sfen()))
        assert sorted(move.usi() for move in moves) == expected, board.sfen()


@pytest.mark.parametrize("seed", range(5))
def test_legal_moves(seed):
    compare_moves(10_000, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_legal_moves_of_a_million_positions(seed):
    compare_moves(10_000, seed)


def test_codes_and_sfen():
    packed = np.empty(32, np.uint8)
    theirs = cshogi.Board()
    for board in positions(3_000, seed=7):
        sfen = board.sfen()
        theirs.set_sfen(sfen)
        assert theirs.sfen() == sfen
        theirs.to_hcp(packed)
        assert board.hcp() == packed.tobytes()
        theirs.to_psfen(packed)
        assert board.packed_sfen() == packed.tobytes()
        other = RsBoard(sfen)
        assert other.to_sfen() == sfen
        assert bytes(other.to_packed_sfen()) == board.packed_sfen()
        assert bytes(other.to_hcp()) == board.hcp()


def test_csa_text():
    for i, board in enumerate(positions(1_500, seed=8)):
        if i % 3:
            continue
        theirs = cshogi.Board(board.sfen())
        moves = {move & 0x7FFF: move for move in theirs.legal_moves}
        for move in board.legal_moves:
            assert board.csa(move)[1:] == cshogi.move_to_csa(moves[move.move16])


def test_ki2_text():
    for i, board in enumerate(positions(2_000, seed=9)):
        if i % 3:
            continue
        alone = Board(board.sfen())  # no last move: no 同
        theirs = RsBoard(alone.sfen())
        for move in theirs.legal_moves():
            assert alone.ki2(alone.parse_usi(move.to_usi())) == move.to_ki2(theirs)[1:]


def test_declaration():
    """On positions with kings deep in the other camp."""
    rng = np.random.default_rng(5)
    declared = 0
    for _ in range(6_000):
        try:
            board = entering_king(rng)
        except PositionError:  # it gives check to the king that isn't to move
            continue
        theirs = cshogi.Board(board.sfen())
        assert board.can_declare_win() == theirs.is_nyugyoku(), board.sfen()
        declared += board.can_declare_win()
    assert 100 < declared < 3_000


def entering_king(rng: np.random.Generator) -> Board:
    """White's king deep at home, Black's in the zone with pieces round it."""
    squares = rng.permutation(27)
    squares = [9 * int(s % 9) + int(s // 9) for s in squares]
    names = list("KRRBBGGGGSSSSNNLLPPPPPPPPP")
    board = {squares[0]: "K"}
    held = {}
    count = int(rng.integers(8, 14))
    pieces = [names[i + 1] for i in rng.permutation(len(names) - 1)]
    files = set()
    for piece in pieces:
        if len(board) < count:
            square = squares[len(board)]
            rank = square % 9
            stuck = (rank == 0 and piece in "PLN") or (rank == 1 and piece == "N")
            name = "+" + piece if stuck or (piece == "P" and square // 9 in files) else piece
            if name == "P":
                files.add(square // 9)
            board[square] = name
        else:
            held[piece] = held.get(piece, 0) + 1
    white_turn = bool(rng.integers(2))
    board[9 * 4 + 8] = "k"
    rows = []
    for rank in range(9):
        cells = [board.get(9 * file + rank, "1") for file in range(8, -1, -1)]
        rows.append("".join(cells))
    hands = "".join(f"{n if n > 1 else ''}{p}" for p, n in held.items()) or "-"
    text = "/".join(rows)
    if white_turn:  # turned by 180 degrees and the colours swapped
        cells = [c for row in rows for c in split_row(row)][::-1]
        text = "/".join("".join(c.swapcase() for c in cells[9 * r : 9 * r + 9]) for r in range(9))
        hands = hands.lower()
    compact = "/".join(join_row(split_row(row)) for row in text.split("/"))
    return Board(f"{compact} {'w' if white_turn else 'b'} {hands} 1")


def split_row(row: str) -> list[str]:
    cells: list[str] = []
    for c in row:
        if cells and cells[-1] == "+":
            cells[-1] += c
        else:
            cells.append(c)
    return cells


def join_row(cells: list[str]) -> str:
    text, empty = "", 0
    for cell in [*cells, ""]:
        if cell == "1":
            empty += 1
            continue
        text += (str(empty) if empty else "") + cell
        empty = 0
    return text
