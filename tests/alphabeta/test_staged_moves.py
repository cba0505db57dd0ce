"""Moves generated in stages against the legal moves."""

from oracles import random_positions

from komadori._core.alphabeta import key_after, staged_moves
from komadori.rules import Board, Move

ROOK, BISHOP, PAWN, LANCE, KING_ROW = 6, 5, 1, 2, 9

#: A game's end with full hands, checks in both directions, and a side without a king.
EXTRA = [
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n16p 1",
    "4k4/9/9/9/9/9/9/9/9 b 2R2B4G4S4N4L18P 1",
    "8k/9/8N/6N2/9/9/9/8R/8L b P 1",
]


def boards() -> list[Board]:
    return [*random_positions(150, seed=1), *(Board(sfen) for sfen in EXTRA)]


def is_idle(board: Board, move: Move) -> bool:
    """A non-promotion that the generator skips because promoting is never worse."""
    if move.drop is not None or move.promotion:
        return False
    kind = board.piece_code(move.from_square) & 15
    ranks = {move.from_square % 9, move.to_square % 9}
    if board.turn == 1:
        ranks = {8 - r for r in ranks}
        last = 8 - move.to_square % 9
    else:
        last = move.to_square % 9
    if kind == PAWN:
        return last <= 2
    if kind == LANCE:
        return last <= 1
    return kind in (ROOK, BISHOP) and min(ranks) <= 2


def staged(board: Board, all_moves: bool) -> list[int]:
    if board.is_check():
        return staged_moves(board, "evasions", all_moves)
    return staged_moves(board, "captures", all_moves) + staged_moves(board, "quiets", all_moves)


def test_stages_make_up_the_legal_moves() -> None:
    for board in boards():
        moves = staged(board, all_moves=True)
        assert len(set(moves)) == len(moves), board.sfen()
        assert set(moves) == {m.move16 for m in board.legal_moves}, board.sfen()


def test_what_is_left_out_is_idle_and_has_a_promoting_twin() -> None:
    seen = 0
    for board in boards():
        legal = {m.move16: m for m in board.legal_moves}
        kept = set(staged(board, all_moves=False))
        assert kept == {bits for bits, m in legal.items() if not is_idle(board, m)}, board.sfen()
        for bits in legal.keys() - kept:
            seen += 1
            assert bits | 1 << 14 in kept
    assert seen > 100


def test_the_kinds_are_what_they_say() -> None:
    promotions = 0
    for board in boards():
        if board.is_check():
            continue
        takes = {
            kind: [
                board.piece_code(Move.from_move16(bits).to_square) != 0
                for bits in staged_moves(board, kind, True)
            ]
            for kind in ("captures", "quiets")
        }
        assert all(takes["captures"])
        assert not any(takes["quiets"])
        both = staged_moves(board, "captures and promotions", True)
        others = set(both) - set(staged_moves(board, "captures", True))
        assert len(both) == len(others) + len(takes["captures"])
        for bits in others:
            move = Move.from_move16(bits)
            assert move.drop is None
            assert move.promotion
            assert board.piece_code(move.from_square) & 15 == PAWN
        promotions += len(others)
    assert promotions > 10


def test_key_after_is_the_key_once_the_move_is_made() -> None:
    for board in boards()[:40]:
        for move in list(board.legal_moves):
            expected = key_after(board, move.move16)
            board.push(move)
            assert board.key == expected
            board.pop()
