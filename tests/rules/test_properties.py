"""Invariants of every position, over games drawn by hypothesis."""

import copy
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from komadori.rules import BLACK, HAND_TYPES, SQUARES, Board, Move, Repetition

FEW = settings(max_examples=60)


@st.composite
def boards(draw, plies: int = 120) -> Board:
    """The end of a game of random moves."""
    rng = draw(st.randoms(use_true_random=False))
    board = Board()
    for _ in range(draw(st.integers(0, plies))):
        moves = list(board.legal_moves)
        if not moves:
            break
        captures = [m for m in moves if board.piece_code(m.to_square)]
        board.push(rng.choice(captures if captures and rng.random() < 0.4 else moves))
    return board


def placement(board: Board) -> tuple:
    return (
        [board.piece_code(s) for s in SQUARES],
        [[board.hand(c, t) for t in HAND_TYPES] for c in (0, 1)],
        board.turn,
    )


def turned(board: Board) -> Board:
    """The board from the other side: turned by 180 degrees, colours swapped."""
    rows, turn, hands, ply = board.sfen().split()
    cells: list[str] = []
    for c in rows:
        if cells and cells[-1] == "+":
            cells[-1] += c
        else:
            cells.append(c)
    text = "".join(cells[::-1]).swapcase()
    return Board(f"{text} {'b' if turn == 'w' else 'w'} {hands_swapped(hands)} {ply}")


def hands_swapped(hands: str) -> str:
    return hands.swapcase()


@FEW
@given(boards())
def test_undo_restores_everything(board):
    before = (placement(board), board.key, board.board_key, board.sfen(), board.checkers())
    for move in board.legal_moves:
        board.push(move)
        assert board.peek() == move
        assert board.is_consistent()
        assert board.pop() == move
        after = (placement(board), board.key, board.board_key, board.sfen(), board.checkers())
        assert after == before
    assert board.is_consistent()


@FEW
@given(boards())
def test_keys_follow_the_position_alone(board):
    fresh = Board(board.sfen())
    assert fresh.key == board.key
    assert fresh.board_key == board.board_key
    assert fresh == board
    keys = set()
    for move in board.legal_moves:
        board.push(move)
        keys.add(board.key)
        board.pop()
    assert len(keys) == len(board.legal_moves)
    assert board.key not in keys


@FEW
@given(boards())
def test_codes_round_trip(board):
    for other in (
        Board(board.sfen()),
        Board.from_hcp(board.hcp(), board.ply),
        Board.from_packed_sfen(board.packed_sfen(), board.ply),
        pickle.loads(pickle.dumps(board)),
        copy.copy(board),
        copy.deepcopy(board),
    ):
        assert placement(other) == placement(board)
        assert other.sfen() == board.sfen()
        assert other == board
        assert (other.hcp(), other.packed_sfen()) == (board.hcp(), board.packed_sfen())


@FEW
@given(boards())
def test_turning_the_board_turns_the_moves(board):
    other = turned(board)

    def turn(move: Move) -> int:
        to, promotion = 80 - move.to_square, move.promotion << 14
        if move.drop is not None:
            return to | (80 + move.drop) << 7
        return to | (80 - move.from_square) << 7 | promotion

    assert sorted(turn(m) for m in board.legal_moves) == sorted(m.move16 for m in other.legal_moves)
    assert board.is_check() == other.is_check()
    assert (board.mate_in_one() is None) == (other.mate_in_one() is None)
    assert [80 - s for s in board.pinned(BLACK)][::-1] == other.pinned(1 - BLACK)


def well_formed(bits: int) -> bool:
    try:
        Move.from_move16(bits)
    except ValueError:
        return False
    return True


EVERY_MOVE = [Move.from_move16(bits) for bits in range(1 << 15) if well_formed(bits)]


@settings(max_examples=25)
@given(boards())
def test_legality_of_one_move_is_membership(board):
    legal = {move.move16 for move in board.legal_moves}
    assert [m.move16 for m in EVERY_MOVE if board.is_legal(m)] == sorted(legal)


@FEW
@given(boards())
def test_checks_and_mates_are_what_making_them_shows(board):
    mates = set()
    for move in board.legal_moves:
        gives = board.gives_check(move)
        board.push(move)
        assert board.is_check() == gives
        if board.is_checkmate():
            mates.add(move)
            assert not list(board.legal_moves)
        board.pop()
    found = board.mate_in_one()
    assert (found in mates) if mates else found is None


@FEW
@given(boards())
def test_move_texts_round_trip(board):
    seen = set()
    for move in board.legal_moves:
        assert Move.from_usi(move.usi()) is move
        assert board.parse_usi(move.usi()) == move
        assert board.parse_csa(board.csa(move)) == move
        assert board.parse_kif(board.kif(move)) == move
        text = board.ki2(move)
        assert board.parse_kif(text) == move
        seen.add(text)
    assert len(seen) == len(board.legal_moves)


def naive_repetition(history: list[tuple[tuple, bool]], occurrences: int) -> Repetition:
    """The rule applied literally to each position of the path, with its check flag."""
    now = history[-1][0]
    same = [i for i, (then, _) in enumerate(history) if then == now]
    if len(same) >= occurrences:
        start = same[-occurrences]
        if all(check for _, check in history[start + 1 :: 2]):
            return Repetition.LOSS  # each of the side to move's moves gave check
        if all(check for _, check in history[start + 2 :: 2]):
            return Repetition.WIN
        return Repetition.DRAW
    return Repetition.NONE


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.booleans())
def test_repetition_against_the_rule(rng, checks):
    """Few pieces, so that random play repeats itself; with `checks`, checks are preferred."""
    board = Board("4k4/9/9/9/9/9/9/9/R3K3r b - 1")
    history = [(placement(board), board.is_check())]
    for _ in range(60):
        moves = list(board.legal_moves)
        if not moves:
            break
        giving = [m for m in moves if board.gives_check(m)]
        back = [m for m in moves if board.moves[-2:-1] and reverses(m, board.moves[-2])]
        if back and rng.random() < 0.7:
            board.push(rng.choice(back))
        elif checks and giving and rng.random() < 0.8:
            board.push(rng.choice(giving))
        else:
            board.push(rng.choice(moves))
        history.append((placement(board), board.is_check()))
        for occurrences in (2, 3, 4):
            found = board.repetition(occurrences)
            if found in (Repetition.SUPERIOR, Repetition.INFERIOR):
                found = Repetition.NONE
            if occurrences > 2 or found is not Repetition.NONE:
                assert found is naive_repetition(history, occurrences)


def reverses(move: Move, before: Move) -> bool:
    return (move.from_square, move.to_square) == (before.to_square, before.from_square)
