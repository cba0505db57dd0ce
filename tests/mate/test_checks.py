"""The generator of checking moves against the legal moves that give check."""

from problems import DATA, random_attacks, random_games, read_problems

from komadori.mate import checking_moves
from komadori.rules import Board


def assert_same(board: Board) -> int:
    moves = checking_moves(board)
    expected = [move for move in board.legal_moves if board.gives_check(move)]
    assert len(moves) == len(set(moves))
    assert set(moves) == set(expected), board.sfen()
    return len(moves)


def test_random_games() -> None:
    assert sum(assert_same(board) for board in random_games(30, 200, seed=1)) > 1000


def test_attacks_without_a_king() -> None:
    assert sum(assert_same(board) for board in random_attacks(2000, seed=2)) > 5000


def test_problems() -> None:
    for problem in read_problems(DATA / "mate-1-to-7.tsv"):
        assert assert_same(Board(problem.sfen)) > 0


def test_no_king_to_check() -> None:
    assert checking_moves(Board("9/9/9/9/4R4/9/9/9/4K4 b G 1")) == []


def test_a_pawn_drop_that_mates_is_no_check() -> None:
    # The gold guards the pawn and nothing can take it.
    board = Board("7nk/6R2/8G/9/9/9/9/9/9 b P 1")
    assert "P*1b" not in [move.usi() for move in checking_moves(board)]
