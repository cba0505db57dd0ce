"""The Python API of Board and Move."""

import pickle
import random
import xml.etree.ElementTree as ET

import pytest
from playouts import positions

from komadori.rules import (
    BLACK,
    HANDICAPS,
    WHITE,
    Board,
    HcpError,
    IllegalMoveError,
    Move,
    MoveError,
    Piece,
    PieceType,
    PositionError,
    RulesError,
    SfenError,
    parse_square,
    square_name,
)

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


def test_start():
    board = Board()
    assert board.sfen() == START == Board("startpos").sfen()
    assert (board.turn, board.ply, len(board.legal_moves)) == (BLACK, 1, 30)
    assert board.piece_at(parse_square("2h")) == Piece(BLACK, PieceType.ROOK)
    assert board.piece_at(parse_square("8b")).symbol == "r"
    assert board.piece_at(40) is None
    assert board.king(WHITE) == parse_square("5a")
    assert board.hand(BLACK, PieceType.PAWN) == 0
    assert not board.is_game_over()
    assert board.outcome() is None


def test_push_and_pop():
    board = Board()
    move = board.push_usi("7g7f")
    assert (board.turn, board.ply, board.peek(), board.moves) == (WHITE, 2, move, [move])
    board.push(board.parse_usi("3c3d"))
    board.push_usi("8h2b+")
    assert board.hand(BLACK, PieceType.BISHOP) == 1
    assert [m.usi() for m in board.moves] == ["7g7f", "3c3d", "8h2b+"]
    assert board.pop().usi() == "8h2b+"
    assert board.root() == Board()
    board.pop()
    board.pop()
    assert board == Board()
    with pytest.raises(IndexError, match="no move"):
        board.pop()
    with pytest.raises(IndexError, match="no move"):
        board.peek()


def test_legal_moves_is_a_view():
    board = Board()
    moves = board.legal_moves
    assert Move.from_usi("7g7f") in moves
    assert Move.from_usi("7g7e") not in moves
    assert "7g7f" in moves
    for move in moves:  # the iteration isn't disturbed by pushing
        board.push(move)
        board.pop()
    board.push_usi("7g7f")
    assert Move.from_usi("7g7f") not in moves
    assert Move.from_usi("3c3d") in moves
    assert bool(moves)
    assert "3c3d" in repr(moves)


def test_a_view_keeps_its_board_alive():
    assert len(Board().legal_moves) == 30


def test_move():
    move = Move.from_usi("8h2b+")
    assert (move.from_square, move.to_square) == (parse_square("8h"), parse_square("2b"))
    assert move.promotion
    assert move.drop is None
    drop = Move.from_usi("P*5e")
    assert (drop.drop, drop.from_square, drop.to_square) == (PieceType.PAWN, None, 40)
    assert drop.move16 == 40 | 81 << 7
    assert Move.from_move16(drop.move16) == drop
    assert {move: 1}[Move.from_usi("8h2b+")] == 1
    assert move != drop
    assert move != "8h2b+"
    assert repr(move) == "Move('8h2b+')"
    assert Move("8h2b+") is move
    assert str(move) == "8h2b+"
    assert pickle.loads(pickle.dumps(move)) == move
    with pytest.raises(AttributeError):
        move.promotion = False


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", 1),
        ("7", 2),
        ("7g", 3),
        ("7g7", 4),
        ("0g7f", 1),
        ("7j7f", 2),
        ("7g7g", 3),
        ("7g7f=", 5),
        ("7g7f++", 6),
        ("X*5e", 1),
        ("K*5e", 1),
        ("P*5", 4),
        ("P*5e+", 5),
        ("resign", 1),
    ],
)
def test_usi_text_that_is_no_move(text, where):
    with pytest.raises(MoveError, match=f"character {where}:"):
        Move.from_usi(text)
    with pytest.raises(MoveError):
        Board().push_usi(text)


@pytest.mark.parametrize("move16", [-1, 0, 81, 1 << 15, 88 << 7, 81 << 7 | 1 << 14, 1 << 20])
def test_bits_that_are_no_move(move16):
    with pytest.raises(MoveError):
        Move.from_move16(move16)
    with pytest.raises(MoveError):
        Board().move_from_move16(move16)


@pytest.mark.parametrize(
    ("sfen", "where", "what"),
    [
        ("", 1, "rank 1"),
        ("9/9/9/9/9/9/9/9 b - 1", 16, "'/' after rank 8"),
        ("x8/9/9/9/9/9/9/9/9 b - 1", 1, "found 'x'"),
        ("91/9/9/9/9/9/9/9/9 b - 1", 2, "'/' after rank 1"),
        ("8pp/9/9/9/9/9/9/9/9 b - 1", 3, "'/'"),
        ("82/9/9/9/9/9/9/9/9 b - 1", 2, "found more"),
        ("+G8/9/9/9/9/9/9/9/9 b - 1", 1, "can promote"),
        ("+", 2, "found the end"),
        (START.replace(" b", " x"), 59, "'b' or 'w'"),
        (START.replace("-", "K"), 61, "a piece in hand"),
        (START.replace("-", "0P"), 61, "from 1 to 18"),
        (START.replace("-", "19P"), 61, "from 1 to 18"),
        (START.replace("-", "PP"), 62, "again"),
        (START.replace("-", ""), 61, "the hands"),
        (START + " x", 64, "nothing more"),
        (START[:-1] + "x", 63, "a move number"),
        (START[:-1] + "9999999999", 63, "up to"),
        (START + "\0", 64, "nothing more"),
    ],
)
def test_sfen_errors_name_the_character(sfen, where, what):
    with pytest.raises(SfenError, match=f"character {where}:") as error:
        Board(sfen)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("sfen", "what"),
    [
        ("4k4/9/9/9/9/9/9/9/4KK3 b - 1", "second king on 5i"),
        ("4k3P/9/9/9/9/9/9/9/4K4 b - 1", "P on 1a could never move"),
        ("4k4/8N/9/9/9/9/9/9/4K4 b - 1", "N on 1b could never move"),
        ("4k4/9/9/9/9/9/9/8n/4K4 b - 1", "n on 1h could never move"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "too many pieces of type R: 3 of 2"),
        ("4k4/9/9/9/4R4/9/9/9/4K4 b - 1", "king on 5a is in check from 5e"),
    ],
)
def test_positions_that_the_rules_exclude(sfen, what):
    with pytest.raises(PositionError) as error:
        Board(sfen)
    assert what in str(error.value)


def test_two_pawns_on_a_file_are_let_in():
    board = Board("4k4/9/9/9/9/4P4/4P4/9/4K4 b P 1")
    drops = [str(move) for move in board.legal_moves if str(move).startswith("P*")]
    assert len(drops) == 8 * 8  # every square but the last rank's and file 5's


def test_a_failed_set_changes_nothing():
    board = Board()
    board.push_usi("7g7f")
    before = pickle.dumps(board)
    for bad in ("x", "4k4/9/9/9/4R4/9/9/9/4K4 b - 1"):
        with pytest.raises(RulesError):
            board.set_sfen(bad)
    with pytest.raises(HcpError):
        board.set_hcp(bytes(32))
    assert pickle.dumps(board) == before


def test_sfen_without_a_move_number():
    assert Board(START[:-2]).sfen() == START


def test_hcp_errors():
    with pytest.raises(HcpError, match="32 bytes, not 31"):
        Board.from_hcp(bytes(31))
    with pytest.raises(HcpError, match="both kings"):
        Board.from_hcp(bytes(32))
    with pytest.raises(HcpError, match="black king is on square 127"):
        Board.from_hcp(b"\xff" * 32)
    with pytest.raises(HcpError, match="without Black's king"):
        Board("4k4/9/9/9/9/9/9/9/9 b - 1").hcp()
    with pytest.raises(HcpError, match=r"pieces in the box \(of type R: 1\)"):
        Board(HANDICAPS["rook"].sfen).hcp()
    with pytest.raises(HcpError, match="packed sfen"):
        Board(HANDICAPS["rook"].sfen).packed_sfen()


def test_hcp_of_the_start_position():
    expected = [88, 164, 73, 33, 12, 215, 87, 33, 126, 142, 77, 33, 44, 175, 66, 120]
    expected += [20, 194, 171, 16, 158, 77, 33, 44, 215, 95, 33, 62, 142, 73, 33, 12]
    assert list(Board().hcp()) == expected  # as dlshogi and Apery write it


def test_from_usi():
    board = Board.from_usi("startpos moves 7g7f 3c3d")
    assert board == Board.from_usi("position startpos moves 7g7f 3c3d")
    assert [m.usi() for m in board.moves] == ["7g7f", "3c3d"]
    assert Board.from_usi(f"sfen {START}") == Board()
    assert Board.from_usi(f"sfen {START} moves 2g2f").turn == WHITE
    with pytest.raises(IllegalMoveError, match="move 2: 7g7f is not legal"):
        Board.from_usi("startpos moves 2g2f 7g7f")
    with pytest.raises(MoveError, match="move 1: "):
        Board.from_usi("startpos moves nonsense")
    with pytest.raises(SfenError, match="'startpos' or 'sfen'"):
        Board.from_usi("moves 7g7f")


def test_boards_are_compared_and_not_hashed():
    board, other = Board(), Board()
    board.push_all(["7g7f", "8c8d", "2g2f"])
    other.push_all(["2g2f", "8c8d", "7g7f"])
    assert board == other
    assert board.key == other.key
    other.push_usi("8d8e")
    assert board != other
    assert board != "board"
    with pytest.raises(TypeError):
        hash(board)


def test_copies_are_independent():
    board = Board.from_usi("startpos moves 7g7f")
    copy = board.copy()
    copy.push_usi("3c3d")
    assert (len(board.moves), len(copy.moves)) == (1, 2)
    assert type(copy) is Board


def test_keys_are_the_same_in_every_build():
    """Frozen: they may be stored."""
    assert Board().key == 0xA9D620D0FFDAED68
    assert Board.from_usi("startpos moves 7g7f").key == 0x259FD3868DA38299


def test_handicaps():
    whole = 40
    removed = {"lance": 1, "bishop": 1, "rook-lance": 2, "two-piece": 2, "ten-piece": 10}
    for name, handicap in HANDICAPS.items():
        board = Board(handicap.sfen)
        assert board.sfen() == handicap.sfen
        pieces = sum(board.piece_at(s) is not None for s in range(81))
        assert board.turn == (BLACK if name == "even" else WHITE)
        assert whole - pieces == removed.get(name, whole - pieces)
        assert board.has_legal_moves()


def test_handicaps_are_those_of_other_programs():
    from rsshogi.initial_positions import HANDICAP_TO_SFEN

    ours = {handicap.kif: handicap.sfen for handicap in HANDICAPS.values()}
    assert HANDICAP_TO_SFEN.items() <= ours.items()


def test_text_diagram():
    board = Board("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    lines = str(board).splitlines()
    assert lines[0] == "後手の持駒：金　銀　桂　歩五"
    assert lines[4] == "| ・ ・ ・ ・ ・ と ・v金v玉|二"
    assert lines[-2:] == ["先手の持駒：飛　金", "手番：後手　手数＝0"]
    assert repr(board) == f"Board({board.sfen()!r})"


def test_svg_shows_every_piece_and_arrow():
    board = Board.from_usi("startpos moves 7g7f 3c3d 8h2b+")
    root = ET.fromstring(board.svg(arrows=[("3a2b", 0.9), (Move.from_usi("8b2b"), 0.1)]))
    name = "{http://www.w3.org/2000/svg}"
    assert not list(root.iter(f"{name}text"))  # outlines: no font is needed
    defined = {group.get("id") for group in root.iter(f"{name}g")}
    used = [use.get("href", "").removeprefix("#") for use in root.iter(f"{name}use")]
    assert set(used) <= defined
    assert used.count("kmd-kanji-P") == 18
    assert used.count("kmd-kanji-xB") == used.count("kmd-kanji-B") == 1
    assert {"90%", "10%"} <= {group.get("data-label") for group in root.iter(f"{name}g")}
    kinds = [rect.get("class") for rect in root.iter(f"{name}rect")]
    assert kinds.count("last") == kinds.count("from") == 1
    ET.fromstring(board.svg(flipped=True, lastmove="8h2b+"))
    assert board._repr_svg_() == board.svg()
    western = board.svg(pieces="western")
    ET.fromstring(western)
    assert "kmd-western-xB" in western
    assert "kmd-kanji" not in western


def test_svg_with_other_pieces_is_an_error():
    with pytest.raises(ValueError, match="pieces is 'chess': one of kanji, western is needed"):
        Board().svg(pieces="chess")


@pytest.mark.parametrize("arrows", [["7g7f"], [Move("7g7f")], [("7g7f",)], [None]])
def test_svg_with_arrows_without_weights_is_an_error(arrows):
    with pytest.raises(TypeError, match=r"^arrows: expected .*tuple|^arrows: expected pairs"):
        Board().svg(arrows=arrows)


def test_svg_of_any_position():
    for i, board in enumerate(positions(300, seed=3)):
        if i % 10 == 0:
            ET.fromstring(board.svg(arrows=[(move, 0.5) for move in board.legal_moves]))


def test_squares():
    assert [square_name(s) for s in (0, 60, 80)] == ["1a", "7g", "9i"]
    assert all(parse_square(square_name(s)) == s for s in range(81))
    for bad in ("", "7", "77", "a7", "7gg"):
        with pytest.raises(ValueError, match="a square is"):
            parse_square(bad)
    for bad in (-1, 81):
        with pytest.raises(ValueError, match="a square is"):
            square_name(bad)
        with pytest.raises(IndexError):
            Board().piece_at(bad)


def test_every_rules_error_is_a_value_error():
    assert issubclass(RulesError, ValueError)
    for error in (SfenError, HcpError, PositionError, MoveError):
        assert issubclass(error, RulesError)
    assert issubclass(IllegalMoveError, MoveError)


def test_legal_moves_are_a_sequence_of_moves_and_take_usi_text() -> None:
    board = Board()
    moves = board.legal_moves
    listed = list(moves)
    assert [moves[i] for i in range(len(moves))] == listed
    assert (moves[-1], moves[3:1:-1]) == (listed[-1], listed[3:1:-1])
    with pytest.raises(IndexError):
        moves[30]
    assert all(move.usi() in moves for move in listed)
    for other in ("2b3c", "7g7f+", "junk", "", "7g7f\0", "\ud800", 3, None):
        assert other not in moves
    board.push("7g7f")
    assert "7g7f" not in moves
    assert random.choice(moves) in moves
