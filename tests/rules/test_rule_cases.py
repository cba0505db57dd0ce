"""Edge cases of the rules that implementations get wrong."""

import pytest

from komadori.rules import (
    BLACK,
    WHITE,
    Board,
    Declaration,
    IllegalMoveError,
    Move,
    Outcome,
    Repetition,
    Termination,
)


def is_legal(sfen: str, usi: str) -> bool:
    return Board(sfen).is_legal(Move.from_usi(usi))


# name, SFEN, the pawn drop, whether it is legal
PAWN_DROPS = [
    ("uchifuzume", "6snk/6ss1/8G/9/9/9/9/9/4K4 b P 1", "P*1b", False),
    ("White's uchifuzume", "4k4/9/9/9/9/9/g8/1SS6/KNS6 w p 1", "P*9h", False),
    ("the king can take the pawn", "6snk/6ss1/9/9/9/9/9/9/4K4 b P 1", "P*1b", True),
    ("the king has a way out", "6s1k/6s2/8G/9/9/9/9/9/4K4 b P 1", "P*1b", True),
    ("a piece can take the pawn", "6sgk/6sg1/8G/9/9/9/9/9/4K4 b P 1", "P*1b", True),
    ("the taker is pinned", "4R2gk/7s1/8G/9/9/9/9/9/4K4 b P 1", "P*1b", False),
    ("pinned along the file, it takes", "3nkn3/9/3Gg1G2/9/9/4R4/9/9/4K4 b P 1", "P*5b", True),
    ("the pawn blocks a guard", "3nkn3/R8/9/9/9/9/9/9/4K4 b P 1", "P*5b", True),
    ("another guard remains", "3nkn3/R8/6G2/9/9/9/9/9/4K4 b P 1", "P*5b", False),
    ("no check", "6snk/6ss1/8G/9/9/9/9/9/4K4 b P 1", "P*1e", True),
]


@pytest.mark.parametrize(
    ("sfen", "usi", "legal"), [c[1:] for c in PAWN_DROPS], ids=[c[0] for c in PAWN_DROPS]
)
def test_pawn_drops(sfen, usi, legal):
    """A pawn's drop is illegal exactly if it would leave no reply, which is found here by setting
    up the position after it."""
    board = Board(sfen)
    move = Move.from_usi(usi)
    after = dropped(board, move)
    mate = after.is_check() and not list(after.legal_moves)
    assert board.is_legal(move) == (not mate) == legal
    assert (move in list(board.legal_moves)) == board.is_legal(move)


def dropped(board: Board, move: Move) -> Board:
    """The position after a pawn drop, legal or not."""
    rows, turn, hands, ply = board.sfen().split()
    cells = [c for row in rows.split("/") for c in expand(row)]
    file, rank = divmod(move.to_square, 9)
    cells[9 * rank + 8 - file] = "P" if turn == "b" else "p"
    text = "/".join(shrink(cells[9 * r : 9 * r + 9]) for r in range(9))
    hand = hands.replace("P" if turn == "b" else "p", "", 1) or "-"
    return Board(f"{text} {'w' if turn == 'b' else 'b'} {hand} {ply}")


def expand(row: str) -> list[str]:
    cells: list[str] = []
    for c in row:
        if c.isdigit():
            cells += [""] * int(c)
        elif cells and cells[-1] == "+":
            cells[-1] += c
        else:
            cells.append(c)
    return cells


def shrink(cells: list[str]) -> str:
    text = "".join(c or "1" for c in cells)
    for n in range(9, 1, -1):
        text = text.replace("1" * n, str(n))
    return text


def test_two_pawns_on_a_file():
    sfen = "4k4/9/9/9/9/9/4P4/3+P5/4K4 b P 1"
    assert not is_legal(sfen, "P*5e")
    assert is_legal(sfen, "P*6e")  # a promoted pawn doesn't count
    assert is_legal("4k4/9/9/9/9/9/4p4/9/3K5 b P 1", "P*5e")  # nor does the other side's


@pytest.mark.parametrize(
    ("usi", "legal"),
    [
        ("P*1a", False),
        ("L*1a", False),
        ("N*1a", False),
        ("N*1b", False),
        ("S*1a", True),
        ("P*1b", True),
        ("L*1b", True),
        ("N*1c", True),
    ],
)
def test_drops_with_no_further_move(usi, legal):
    assert is_legal("4k4/9/9/9/9/9/9/9/4K4 b SNLP 1", usi) == legal
    mirrored = usi[:3] + "ihgfedcba"["abcdefghi".index(usi[3])]
    assert is_legal("4k4/9/9/9/9/9/9/9/4K4 w snlp 1", mirrored) == legal


@pytest.mark.parametrize(
    ("sfen", "usi", "legal"),
    [
        ("4k4/1P7/9/9/9/9/9/9/4K4 b - 1", "8b8a", False),
        ("4k4/1P7/9/9/9/9/9/9/4K4 b - 1", "8b8a+", True),
        ("4k4/9/1P7/9/9/9/9/9/4K4 b - 1", "8c8b", True),
        ("4k4/9/1L7/9/9/9/9/9/4K4 b - 1", "8c8a", False),
        ("4k4/9/1L7/9/9/9/9/9/4K4 b - 1", "8c8b", True),
        ("4k4/9/1L7/9/9/9/9/9/4K4 b - 1", "8c8b+", True),
        ("4k4/9/9/1N7/9/9/9/9/4K4 b - 1", "8d7b", False),
        ("4k4/9/9/1N7/9/9/9/9/4K4 b - 1", "8d7b+", True),
        ("4k4/9/9/9/1N7/9/9/9/4K4 b - 1", "8e7c", True),
        ("4k4/9/1B7/9/9/9/9/9/4K4 b - 1", "8c7d", True),
        ("4k4/9/1B7/9/9/9/9/9/4K4 b - 1", "8c7d+", True),
        ("4k4/9/1G7/9/9/9/9/9/4K4 b - 1", "8c8b+", False),
        ("4k4/9/1+R7/9/9/9/9/9/4K4 b - 1", "8c8b+", False),
        ("4k4/9/9/9/9/9/9/1p7/4K4 w - 1", "8h8i", False),
        ("4k4/9/9/9/9/9/9/1p7/4K4 w - 1", "8h8i+", True),
    ],
)
def test_promotion(sfen, usi, legal):
    assert is_legal(sfen, usi) == legal


def test_a_pinned_piece_moves_along_its_pin_only():
    board = Board("4k4/9/9/4r4/9/9/4S4/9/4K4 b - 1")
    assert [m.usi() for m in board.legal_moves if m.from_square == 4 * 9 + 6] == ["5g5f"]
    assert board.pinned(BLACK) == [4 * 9 + 6]


def test_a_pinned_piece_still_guards():
    """White's gold is pinned, yet the black king can't take what it guards."""
    board = Board("4k4/4g4/3pK4/9/9/4R4/9/9/9 b - 1")
    assert not board.is_legal(Move.from_usi("5c6c"))


def test_evasions_of_a_far_check():
    """Block by a move or a drop, take, or step aside."""
    board = Board("4r3k/9/9/9/9/9/9/3G5/4K4 b P 1")
    assert board.is_check()
    moves = {m.usi() for m in board.legal_moves}
    assert {"6h5h", "P*5b", "P*5h"} <= moves
    assert "5i5h" not in moves
    assert all(not m.startswith("P*") or m[2] == "5" for m in moves)


def test_only_the_king_moves_out_of_a_double_check():
    board = Board("8k/9/4r4/9/9/9/3n5/9/4K4 b GP 1")
    assert len(board.checkers()) == 2
    assert all(m.from_square == board.king(BLACK) for m in board.legal_moves)


def test_the_king_does_not_step_back_on_the_line_of_a_slider():
    board = Board("k8/9/9/9/4r4/9/4K4/9/9 b - 1")
    assert not board.is_legal(Move.from_usi("5g5h"))


def test_stalemate_loses():
    board = Board("k8/2S6/1K7/9/9/9/9/9/9 w - 1")
    assert not board.is_check()
    assert not board.has_legal_moves()
    assert board.outcome() == Outcome(Termination.NO_LEGAL_MOVES, BLACK)


def test_checkmate():
    board = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert board.is_checkmate()
    assert board.outcome() == Outcome(Termination.CHECKMATE, BLACK)


def test_sennichite():
    board = Board()
    for round_ in range(3):
        assert board.repetition() is Repetition.NONE
        assert board.repetition(2) is (Repetition.DRAW if round_ else Repetition.NONE)
        board.push_all(["2h3h", "8b7b", "3h2h", "7b8b"])
    assert board.repetition() is Repetition.DRAW
    assert board.outcome() == Outcome(Termination.SENNICHITE, None)
    board.pop()
    assert board.outcome() is None


def test_perpetual_check():
    """Black's rook gives perpetual check: on the fourth occurrence Black loses."""
    board = Board("4k4/9/9/9/9/9/9/9/4K3R b - 1")
    board.push_all(["1i1a", "5a5b"])
    for _ in range(3):
        assert board.outcome() is None
        board.push_all(["1a1b", "5b5a", "1b1a", "5a5b"])
    assert board.turn == BLACK
    assert board.repetition() is Repetition.LOSS
    assert board.outcome() == Outcome(Termination.PERPETUAL_CHECK, WHITE)
    board.pop()
    assert board.repetition() is Repetition.WIN  # White to move, at the same count
    assert board.outcome() == Outcome(Termination.PERPETUAL_CHECK, WHITE)


def test_one_quiet_move_makes_it_a_plain_sennichite():
    board = Board("4k4/9/9/9/9/9/9/9/4K3R b - 1")
    for _ in range(3):
        board.push_all(["1i1a", "5a5b", "1a1i", "5b5a"])
    assert board.repetition() is Repetition.DRAW


def test_superior_and_inferior():
    """White drops a pawn and loses it; then the board is as before."""
    board = Board("8k/9/9/9/9/9/9/4R4/5K3 b p 1")
    board.push_all(["4i5i", "P*5d", "5h5d", "1a2a", "5d5h", "2a1b", "5i4i"])
    assert board.repetition() is Repetition.NONE
    board.push_usi("1b1a")
    assert board.repetition() is board.repetition(2) is Repetition.SUPERIOR
    board.push_usi("4i5i")
    assert board.repetition() is board.repetition(2) is Repetition.INFERIOR
    assert board.outcome() is None


def entering_king(pieces: int, hand: str) -> Board:
    """Black's king on 5a among `pieces` promoted pawns in the zone."""
    squares = [(f, r) for r in (1, 2) for f in range(9)][:pieces]
    rows = [["1"] * 9 for _ in range(9)]
    rows[0][4] = "K"
    for file, rank in squares:
        rows[rank][file] = "+P"
    rows[8][4] = "k"
    text = "/".join(shrink(["" if c == "1" else c for c in row]) for row in rows)
    return Board(f"{text} b {hand} 1")


def test_declaration():
    board = entering_king(10, "2R2B")  # 10 + 20
    assert board.declaration_points() == 30
    assert board.can_declare_win()
    assert board.declaration() is Declaration.WIN
    assert board.declaration(24) is Declaration.DRAW
    assert not board.can_declare_win(31, 31)
    assert entering_king(9, "2R2B").declaration_points() is None  # one piece too few
    assert entering_king(10, "2RBG2S").declaration_points() == 28
    assert entering_king(10, "2RBG2S").can_declare_win()
    assert not entering_king(10, "2RB2S").can_declare_win()
    assert entering_king(10, "2R2BG").declaration(24) is Declaration.WIN


def test_white_needs_one_point_less_to_declare():
    sfen = "4K4/9/9/9/9/9/1+p+p+p+p+p+p2/+p+p+p+p5/4k4 w 2rb2s 1"
    assert Board(sfen).declaration_points() == 27
    assert Board(sfen).can_declare_win()
    assert Board(sfen.replace("2s", "s")).declaration() is Declaration.NONE


def test_no_declaration_in_check():
    board = Board("4K3r/1+P+P+P+P+P+P+P1/+P+P+P6/9/9/9/9/9/4k4 b R2B 1")
    assert board.is_check()
    assert board.declaration_points() is None


def test_one_king_is_enough_for_a_mate_problem():
    board = Board("7nk/9/7G1/9/9/9/9/9/9 b G 1")
    assert board.king(BLACK) is None
    assert board.mate_in_one() is not None
    board.push(board.mate_in_one())
    assert board.is_checkmate()


def test_the_illegal_move_is_named():
    board = Board()
    with pytest.raises(IllegalMoveError, match="7g7e is not legal in lnsg"):
        board.push_usi("7g7e")
    assert board.sfen() == Board().sfen()
