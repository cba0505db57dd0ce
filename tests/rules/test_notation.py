"""CSA, KIF and KI2 text."""

import pytest

from komadori.rules import Board, IllegalMoveError, MoveError, parse_square


def test_csa():
    board = Board()
    assert board.csa(board.parse_usi("7g7f")) == "+7776FU"
    assert board.parse_csa("+7776FU") == board.parse_csa("7776FU") == board.parse_usi("7g7f")
    board.push_all(["7g7f", "3c3d"])
    assert board.csa(board.parse_usi("8h2b+")) == "+8822UM"
    board.push_usi("8h2b+")
    assert board.csa(board.parse_usi("3a2b")) == "-3122GI"
    board.push_usi("3a2b")
    assert board.csa(board.parse_usi("B*5e")) == "+0055KA"
    assert board.parse_csa("+0055KA").usi() == "B*5e"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", 1),
        ("+7776", 6),
        ("+7776FUX", 8),
        ("+7770FU", 5),
        ("+7700FU", 4),
        ("+7776XX", 6),
        ("+0055TO", 6),
        ("+0055OU", 6),
        ("+a776FU", 2),
        ("+7777FU", 4),
    ],
)
def test_csa_text_that_is_no_move(text, where):
    with pytest.raises(MoveError, match=f"character {where}:"):
        Board().parse_csa(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-7776FU", "other side's move"),
        ("+7776KI", "no such piece on 7g"),
        ("+7775FU", "not legal"),
        ("+0055FU", "not legal"),
        ("+5554FU", "no such piece on 5e"),
        ("+3334FU", "not legal"),
    ],
)
def test_csa_moves_that_are_illegal(text, why):
    with pytest.raises(IllegalMoveError, match=why):
        Board().parse_csa(text)


def test_kif():
    board = Board()
    assert board.kif(board.parse_usi("7g7f")) == "７六歩(77)"
    board.push_all(["7g7f", "3c3d"])
    assert board.kif(board.parse_usi("8h2b+")) == "２二角成(88)"
    board.push_usi("8h2b+")
    assert board.kif(board.parse_usi("3a2b")) == "同　銀(31)"
    for text in (
        "同　銀(31)",
        "同銀(31)",
        "△同銀",
        "２二銀(31)",
        "22銀(31)",
        "2二銀",
        "☖２二銀(31)",
    ):
        assert board.parse_kif(text).usi() == "3a2b", text
    board.push_usi("3a2b")
    assert board.kif(board.parse_usi("B*5e")) == "５五角打"
    assert board.ki2(board.parse_usi("B*5e")) == "５五角"
    assert board.parse_kif("５五角").usi() == board.parse_kif("５五角打").usi() == "B*5e"


def test_same_square_where_the_path_is_empty():
    board = Board.from_usi("startpos moves 7g7f 3c3d 8h2b+")
    alone = Board(board.sfen())
    with pytest.raises(MoveError, match="no move before"):
        alone.parse_kif("同　銀(31)")
    last = parse_square("2b")
    assert alone.parse_kif("同　銀(31)", last=last).usi() == "3a2b"
    assert alone.kif(alone.parse_usi("3a2b"), last=last) == "同　銀(31)"
    assert alone.kif(alone.parse_usi("3a2b")) == "２二銀(31)"


def test_kif_names_of_other_programs():
    board = Board("4k4/9/9/9/9/+L+N+S6/9/9/3+R1K3 b - 1")
    assert board.parse_kif("９五成香(96)") == board.parse_kif("９五杏(96)")
    assert board.parse_kif("８五成桂(86)") == board.parse_kif("８五圭(86)")
    assert board.parse_kif("７五成銀(76)") == board.parse_kif("７五全(76)")
    assert board.parse_kif("６八龍(69)") == board.parse_kif("６八竜(69)")
    assert board.parse_kif("４八玉(49)") == board.parse_kif("４八王(49)")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", 1),
        ("７", 4),
        ("７六", 7),
        ("７六歩(7", 12),
        ("７六歩(77", 13),
        ("７六歩(77)x", 14),
        ("同　歩", 1),
        ("７六歩打成", 7),
    ],
)
def test_kif_text_that_is_no_move(text, where):
    """Characters are counted in bytes of UTF-8."""
    with pytest.raises(MoveError, match=f"character {where}:"):
        Board().parse_kif(text)


def test_kif_moves_that_are_illegal():
    for text in ("７五歩(77)", "７六銀(77)", "５五角打", "７六歩(66)", "８八銀"):
        with pytest.raises(IllegalMoveError):
            Board().parse_kif(text)


def test_kif_text_that_means_two_moves():
    board = Board("4k4/9/9/9/9/9/9/3G1G3/4K4 b - 1")
    with pytest.raises(IllegalMoveError, match="could mean"):
        board.parse_kif("５八金")


# Positions after the examples on the Japan Shogi Association's page on notation: the pieces'
# squares, the move, and the words it prints.
@pytest.mark.parametrize(
    ("pieces", "usi", "text"),
    [
        ("G9c G7b", "9c8b", "８二金上"),
        ("G9c G7b", "7b8b", "８二金寄"),
        ("G4c G3a", "4c3b", "３二金上"),
        ("G4c G3a", "3a3b", "３二金引"),
        ("G5f G4e", "5f5e", "５五金上"),
        ("G5f G4e", "4e5e", "５五金寄"),
        ("S8i S7g", "8i8h", "８八銀上"),
        ("S8i S7g", "7g8h", "８八銀引"),
        ("S4i S2g", "4i3h", "３八銀上"),
        ("S4i S2g", "2g3h", "３八銀引"),
        ("G9b G7b", "9b8a", "８一金左"),
        ("G9b G7b", "7b8a", "８一金右"),
        ("G3b G1b", "3b2b", "２二金左"),
        ("G3b G1b", "1b2b", "２二金右"),
        ("S6f S4f", "6f5e", "５五銀左"),
        ("S6f S4f", "4f5e", "５五銀右"),
        ("G8i G7i", "8i7h", "７八金左"),
        ("G8i G7i", "7i7h", "７八金直"),
        ("S3i S2i", "3i3h", "３八銀直"),
        ("S3i S2i", "2i3h", "３八銀右"),
        ("G6c G5c G4c", "6c5b", "５二金左"),
        ("G6c G5c G4c", "5c5b", "５二金直"),
        ("G6c G5c G4c", "4c5b", "５二金右"),
        ("+P9i +P8i +P7i +P9h +P8g", "7i8h", "８八と右"),
        ("+P9i +P8i +P7i +P9h +P8g", "8i8h", "８八と直"),
        ("+P9i +P8i +P7i +P9h +P8g", "9i8h", "８八と左上"),
        ("+P9i +P8i +P7i +P9h +P8g", "9h8h", "８八と寄"),
        ("+P9i +P8i +P7i +P9h +P8g", "8g8h", "８八と引"),
        ("S2i S1g S1i S3g", "2i2h", "２八銀直"),
        ("S2i S1g S1i S3g", "1g2h", "２八銀右引"),
        ("S2i S1g S1i S3g", "1i2h", "２八銀右上"),
        ("S2i S1g S1i S3g", "3g2h", "２八銀左"),
        ("+R9a +R8d", "9a8b", "８二龍引"),
        ("+R9a +R8d", "8d8b", "８二龍上"),
        ("+R5b +R2c", "2c4c", "４三龍寄"),
        ("+R5b +R2c", "5b4c", "４三龍引"),
        ("+R9i +R8i", "9i8h", "８八龍左"),
        ("+R9i +R8i", "8i8h", "８八龍右"),
        ("+R2h +R1i", "2h1g", "１七龍左"),
        ("+R2h +R1i", "1i1g", "１七龍右"),
        ("+B9a +B8a", "9a8b", "８二馬左"),
        ("+B9a +B8a", "8a8b", "８二馬右"),
        ("+B9e +B6c", "9e8e", "８五馬寄"),
        ("+B9e +B6c", "6c8e", "８五馬引"),
        ("+B1a +B3d", "1a1b", "１二馬引"),
        ("+B1a +B3d", "3d1b", "１二馬上"),
        ("+B9i +B5i", "9i7g", "７七馬左"),
        ("+B9i +B5i", "5i7g", "７七馬右"),
        ("+B4g +B1h", "4g2i", "２九馬左"),
        ("+B4g +B1h", "1h2i", "２九馬右"),
    ],
)
def test_words_that_tell_pieces_apart(pieces, usi, text):
    cells = {}
    for item in pieces.split():
        cells[item[-2:]] = item[:-2]
    rows = []
    for rank in "abcdefghi":
        rows.append("".join(cells.get(f"{file}{rank}", "1") for file in "987654321"))
    board = Board("/".join(rows) + " b - 1")
    move = board.parse_usi(usi)
    promotes = board.ki2(move).removesuffix("不成")
    assert promotes == text
    assert board.parse_kif(board.ki2(move)) == move
