"""Text formats: round trips and real files."""

from __future__ import annotations

import codecs
import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komadori.records import (
    NO_SCORE,
    NO_TIME,
    End,
    Game,
    GameReader,
    GameWriter,
    RecordError,
    Winner,
    jkf,
    read_games,
    write_games,
)
from komadori.rules import HANDICAPS, Board

from .conftest import random_game, with_variations

ENDS = [
    (Winner.BLACK, End.RESIGN),
    (Winner.WHITE, End.RESIGN),
    (Winner.DRAW, End.SENNICHITE),
    (Winner.BLACK, End.PERPETUAL_CHECK),
    (Winner.WHITE, End.PERPETUAL_CHECK),
    (Winner.BLACK, End.ILLEGAL_MOVE),
    (Winner.WHITE, End.ILLEGAL_MOVE),
    (Winner.BLACK, End.DECLARATION),
    (Winner.WHITE, End.DECLARATION),
    (Winner.DRAW, End.IMPASSE),
    (Winner.BLACK, End.TIME_UP),
    (Winner.WHITE, End.TIME_UP),
    (Winner.DRAW, End.MAX_MOVES),
    (Winner.UNKNOWN, End.INTERRUPTED),
    (Winner.BLACK, End.ADJUDICATION),
    (Winner.WHITE, End.ADJUDICATION),
    (Winner.DRAW, End.ADJUDICATION),
]


def write_and_read(path: Path, games: list[Game]) -> list[Game]:
    assert write_games(path, games) == len(games)
    back = read_games(path)
    assert not back.skipped
    return list(back)


@pytest.mark.parametrize("suffix", ["csa", "kif", "jkf", "csa.gz", "kif.xz"])
def test_everything_survives_csa_kif_and_jkf(
    tmp_path: Path, games: list[Game], suffix: str
) -> None:
    back = write_and_read(tmp_path / f"games.{suffix}", games)
    for before, after in zip(games, back, strict=True):
        assert after == before


def test_everything_but_times_survives_ki2(tmp_path: Path, games: list[Game]) -> None:
    for before, after in zip(games, write_and_read(tmp_path / "a.ki2", games), strict=True):
        assert np.all(after.times_ms == NO_TIME)
        after.times_ms = before.times_ms
        assert after == before


def test_moves_and_ends_survive_usi(tmp_path: Path, games: list[Game]) -> None:
    for before, after in zip(games, write_and_read(tmp_path / "a.usi", games), strict=True):
        assert after.initial_sfen == before.initial_sfen
        assert np.array_equal(after.moves, before.moves)
        assert (after.winner, after.end) == (before.winner, before.end)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    plies=st.integers(0, 120),
    suffix=st.sampled_from(["csa", "kif"]),
    handicap=st.sampled_from(sorted(HANDICAPS)),
)
def test_random_games_survive(
    tmp_path: Path, seed: int, plies: int, suffix: str, handicap: str
) -> None:
    game = random_game(seed, sfen=HANDICAPS[handicap].sfen, plies=plies)
    assert write_and_read(tmp_path / f"a.{suffix}", [game]) == [game]


@pytest.mark.parametrize("suffix", ["csa", "kif"])
def test_diagrams_survive(tmp_path: Path, suffix: str) -> None:
    sfen = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
    game = random_game(5, sfen=sfen, plies=20)
    assert write_and_read(tmp_path / f"a.{suffix}", [game]) == [game]


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf", "usi"])
@pytest.mark.parametrize("sfen", ["", "7nl/7k1/9/6S2/9/9/9/9/9 b 2G2r2b2g3s3n3l18p 1"])
@pytest.mark.parametrize("plies", [(0, 0), (0, 2, 0, 2)])
def test_games_without_a_move_stay_apart(
    tmp_path: Path, suffix: str, sfen: str, plies: tuple[int, ...]
) -> None:
    """Such as the problems of a file, one position each."""
    moves = ["G*2c", "2b3a"] if sfen else ["7g7f", "3c3d"]
    games = [Game.from_usi(moves[:count], sfen or Board().sfen()) for count in plies]
    back = write_and_read(tmp_path / f"a.{suffix}", games)
    assert [(game.initial_sfen, game.usi_moves()) for game in back] == [
        (game.initial_sfen, game.usi_moves()) for game in games
    ]


#: What programs write below a diagram for each turn, and how many moves led there.
TURNS = {
    "{bod}": ("", ""),
    "Kifu for Windows": ("手数＝20  ▲７六歩  まで\n", "手数＝20  ▲７六歩  まで\n\n後手番\n"),
    "header": ("手番：先手\n", "手番：後手\n"),
    "count": ("手番：先手　手数＝20\n", "手番：後手　手数＝21  △８四歩まで\n"),
    "handicap": ("手番：下手\n", "上手番\n"),
}


@pytest.mark.parametrize("program", TURNS)
@pytest.mark.parametrize("turn", "bw")
def test_the_turn_below_a_diagram(tmp_path: Path, program: str, turn: str) -> None:
    board = Board(f"l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL {turn} RGgsn5p 1")
    diagram = board.bod()
    if program != "{bod}":
        diagram = diagram.rpartition("\n")[0] + "\n" + TURNS[program]["bw".index(turn)]
    if program == "handicap":
        diagram = diagram.replace("後手の持駒", "上手の持駒").replace("先手の持駒", "下手の持駒")
    path = tmp_path / "a.kif"
    path.write_text(diagram, encoding="utf-8")
    (game,) = read_games(path)
    assert (game.initial_sfen, game.headers) == (board.sfen(), {})
    move = next(iter(board.legal_moves))
    for heading in ("手数----指手--", "手数----"):
        path.write_text(f"{diagram}\n{heading}\n   1 {board.kif(move)}\n", encoding="utf-8")
        (game,) = read_games(path)
        assert (game.initial_sfen, game.usi_moves()) == (board.sfen(), [move.usi()])


@pytest.mark.parametrize(
    "files",
    [
        "",
        "９ ８ ７ ６ ５ ４ ３ ２ １\n",
        "  9 8 7 6 5 4 3 2 1\n",
        "　９　８　７　６　５　４　３　２　１\n",
        "987654321\n",
    ],
)
def test_the_files_above_a_diagram(tmp_path: Path, files: str) -> None:
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b R2b17p 1")
    text = board.bod().replace("  ９ ８ ７ ６ ５ ４ ３ ２ １\n", files) + "\n   1 ５八玉(59)\n"
    path = tmp_path / "a.kif"
    path.write_text(text * 2, encoding="utf-8")
    games = read_games(path)
    assert [(game.initial_sfen, game.usi_moves()) for game in games] == [
        (board.sfen(), ["5i5h"])
    ] * 2
    assert games.skipped == []


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf", "usi"])
@pytest.mark.parametrize("held", range(1, 19))
def test_hands_survive(tmp_path: Path, suffix: str, held: int) -> None:
    number = "" if held == 1 else held
    for hand in (f"B{number}Pr", f"Rb{number}p", f"2r2b4g4s4n4l{number}p"):
        sfen = f"4k4/9/9/9/9/9/9/9/4K4 w {hand} 1"
        game = Game.from_usi(["5a5b", "5i5h"], Board(sfen).sfen())
        (after,) = write_and_read(tmp_path / f"a.{suffix}", [game])
        assert after.initial_sfen == game.initial_sfen


@pytest.mark.parametrize("count", ["十七", "17", "１７", "一七"])
def test_numbers_of_pieces_in_hand(tmp_path: Path, count: str) -> None:
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b R2b17p 1")
    assert "歩十七" in board.bod()
    path = tmp_path / "a.kif"
    path.write_text(board.bod().replace("十七", count), encoding="utf-8")
    assert read_games(path)[0].initial_sfen == board.sfen()


@pytest.mark.parametrize("count", ["0", "19", "１００", "9" * 5000])
def test_impossible_numbers_of_pieces_in_hand_are_named(tmp_path: Path, count: str) -> None:
    path = tmp_path / "a.kif"
    text = Board("4k4/9/9/9/9/9/9/9/4K4 b R2b17p 1").bod()
    path.write_text(text.replace("十七", count), encoding="utf-8")
    with pytest.raises(RecordError, match="a diagram that can't be read"):
        read_games(path)


@pytest.mark.parametrize("suffix", ["kif", "ki2"])
def test_bookmarks_survive(tmp_path: Path, suffix: str) -> None:
    game = random_game(6)
    game.bookmarks = {0: "start", 3: "end of the opening", len(game): "最後"}
    (after,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert after.bookmarks == game.bookmarks
    assert suffix == "ki2" or after == game
    text = (tmp_path / f"a.{suffix}").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("&")] == [
        "&start",
        "&end of the opening",
        "&最後",
    ]
    (tmp_path / "b.kif").write_text("   1 ７六歩(77)\n&a\n&b\n& \n", encoding="utf-8")
    assert read_games(tmp_path / "b.kif")[0].bookmarks == {1: "a / b"}


@pytest.mark.parametrize("suffix", ["kif", "ki2"])
def test_writing_a_game_copies_no_boards(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy takes as long as its history: a game of 40,000 moves took half a minute."""
    game = random_game(3, plies=40)
    copies: list[Board] = []
    copy = Board.copy
    monkeypatch.setattr(Board, "copy", lambda board: copies.append(board) or copy(board))
    write_games(tmp_path / f"a.{suffix}", [game])
    assert not copies


@pytest.mark.parametrize(("winner", "end"), ENDS)
@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf"])
@pytest.mark.parametrize("plies", [10, 11])
def test_ends_survive(tmp_path: Path, winner: Winner, end: End, suffix: str, plies: int) -> None:
    game = random_game(1, plies=plies, notes=False)
    game.winner, game.end = winner, end
    (after,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert after.winner == winner
    loser_resigns = winner == (Winner.WHITE if plies % 2 == 0 else Winner.BLACK)
    if end == End.RESIGN and not loser_resigns:
        assert after.end in (End.RESIGN, End.ADJUDICATION)  # no format can express this
    else:
        assert after.end == end


def test_a_score_of_white_keeps_its_sign(tmp_path: Path) -> None:
    """In memory from the side to move's viewpoint, in both formats from Black's."""
    game = Game.from_usi(["7g7f", "3c3d"], scores_cp=[30, 8])
    write_games(tmp_path / "a.csa", [game])
    write_games(tmp_path / "a.kif", [game])
    assert "+7776FU\n'** 30\n-3334FU\n'** -8\n" in (tmp_path / "a.csa").read_text()
    kif = (tmp_path / "a.kif").read_text()
    assert "**評価値=30\n" in kif
    assert "**評価値=-8\n" in kif
    for name in ("a.csa", "a.kif"):
        assert read_games(tmp_path / name)[0].scores_cp.tolist() == [30, 8]


def test_a_floodgate_comment_and_a_kif_comment_mean_the_same(tmp_path: Path) -> None:
    csa = tmp_path / "a.csa"
    csa.write_text("V2\nPI\n+\n+7776FU\nT1\n'** 30 -3334FU\n-3334FU\nT2\n'** 8 +2726FU\n")
    kif = tmp_path / "a.kif"
    kif.write_text("手合割：平手\n   1 ７六歩(77)\n**評価値=30\n   2 ３四歩(33)\n*#評価値=8\n")
    assert read_games(csa)[0].scores_cp.tolist() == [30, -8]
    assert read_games(kif)[0].scores_cp.tolist() == [30, -8]
    assert read_games(csa)[0].pvs == {1: "3c3d", 2: "2g2f"}


@pytest.mark.parametrize("score", [30, 31_111, -32_000, 30_000])
def test_a_score_and_a_line_are_the_same_in_every_format(tmp_path: Path, score: int) -> None:
    """As the browser interface writes them."""
    rows = [f"*評価値={score}", "*読み筋=△３四歩(33)▲２二角成(88)", "text", "", "more"]
    starred = "".join(f"*{row}\n" for row in rows)
    texts = {
        "csa": f"PI\n+\n+7776FU\n'** {score} -3334FU +8822UM\n'*text\n'*\n'*more\n%CHUDAN\n",
        "kif": f"手合割：平手\n   1 ７六歩(77)\n{starred}   2 中断\n",
        "ki2": f"手合割：平手\n▲７六歩\n{starred}まで1手で中断\n",
        "jkf": json.dumps(
            {
                "header": {},
                "moves": [
                    {},
                    {
                        "move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"},
                        "comments": rows,
                    },
                    {"special": "CHUDAN"},
                ],
            }
        ),
    }
    expected = Game.from_usi(["7g7f"], end=End.INTERRUPTED, scores_cp=[score])
    expected.comments, expected.pvs = {1: "text\n\nmore"}, {1: "3c3d 8h2b+"}
    for suffix, text in texts.items():
        (tmp_path / f"a.{suffix}").write_text(text, encoding="utf-8")
        assert list(read_games(tmp_path / f"a.{suffix}")) == [expected]
        for other in texts:
            assert write_and_read(tmp_path / f"b.{other}", [expected]) == [expected]


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf"])
def test_a_second_score_at_a_move_and_a_line_before_the_first_survive(
    tmp_path: Path, suffix: str
) -> None:
    """The first score and its line are the move's, as in CSA the one in floodgate's form."""
    text = """手合割：平手
**評価値=10
**読み筋=▲７六歩(77)
   1 ７六歩(77)
**評価値=12
**読み筋=△３四歩(33)
**評価値=15
**読み筋=△８四歩(83)
**評価値=12.5
   2 ３四歩(33)
**評価値=1
**評価値=2
**読み筋=▲２六歩(27)
   3 中断
"""
    (tmp_path / "a.kif").write_text(text, encoding="utf-8")
    (game,) = read_games(tmp_path / "a.kif")
    assert (game.scores_cp.tolist(), game.pvs) == ([12, -1], {1: "3c3d"})
    assert game.comments == {
        0: "*評価値=10\n*読み筋=▲７六歩(77)",
        1: "*評価値=15\n*読み筋=△８四歩(83)",
        2: "*評価値=2\n*読み筋=▲２六歩(27)",
    }
    assert write_and_read(tmp_path / f"b.{suffix}", [game]) == [game]


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf"])
@pytest.mark.parametrize(
    ("row", "score"),
    [
        ("評価値=120くらい", 120),
        ("*評価値=-詰3", -30_000),
        ("*評価値=+詰 5", 30_000),
        ("#評価値=7 x", 7),
    ],
)
def test_a_line_that_says_more_than_a_score_stays(
    tmp_path: Path, row: str, score: int, suffix: str
) -> None:
    path = tmp_path / "a.kif"
    path.write_text(f"手合割：平手\n   1 ７六歩(77)\n*{row}\n*b\n   2 中断\n", encoding="utf-8")
    (game,) = read_games(path)
    assert (game.scores_cp.tolist(), game.comments) == ([score], {1: f"{row}\nb"})
    assert write_and_read(tmp_path / f"b.{suffix}", [game]) == [game]


@pytest.mark.parametrize("moves", ["   1 ７六歩(77)\n", ""])
def test_an_unknown_handicap_is_reported_at_its_line(tmp_path: Path, moves: str) -> None:
    kif = tmp_path / "a.kif"
    kif.write_text(f"先手：A\n手合割：四枚半落ち\n後手：B\n{moves}", encoding="utf-8")
    with pytest.raises(RecordError, match="line 2: unknown handicap '四枚半落ち'"):
        read_games(kif)


def test_white_moves_first_in_a_handicap_game(tmp_path: Path) -> None:
    kif = tmp_path / "a.kif"
    kif.write_text("手合割：二枚落ち\n上手：U\n下手：S\n   1 ６二銀(71)\n**評価値=500\n   2 投了\n")
    (game,) = read_games(kif)
    assert game.scores_cp.tolist() == [-500]
    assert (game.black, game.white) == ("S", "U")
    assert game.winner == Winner.WHITE  # it is Black who resigns


@pytest.mark.parametrize("suffix", ["kif", "ki2"])
@pytest.mark.parametrize("winner", [Winner.BLACK, Winner.WHITE])
@pytest.mark.parametrize("handicap", ["even", "lance", "two-piece"])
def test_the_result_names_the_sides_as_the_headers_do(
    tmp_path: Path, suffix: str, winner: Winner, handicap: str
) -> None:
    game = Game(
        initial_sfen=HANDICAPS[handicap].sfen,
        moves=np.empty(0, np.uint16),
        winner=winner,
        end=End.RESIGN,
        headers={"black": "B", "white": "W"},
    )
    path = tmp_path / f"a.{suffix}"
    write_games(path, [game])
    sides = ("先手", "後手") if handicap == "even" else ("下手", "上手")
    text = path.read_text()
    assert f"{sides[0]}：B\n{sides[1]}：W\n" in text
    assert f"{sides[winner == Winner.WHITE]}の勝ち" in text
    assert read_games(path)[0].winner == winner


def test_a_players_score_goes_before_a_researchers(tmp_path: Path) -> None:
    kif = tmp_path / "a.kif"
    kif.write_text(
        "   1 ７六歩(77)\n*#評価値=999\n**評価値=+12\n*text\n   2 ３四歩(33)\n*#評価値=-詰\n"
    )
    (game,) = read_games(kif)
    assert game.scores_cp.tolist() == [12, 30000]
    assert game.comments == {1: "#評価値=999\ntext", 2: "#評価値=-詰"}


@pytest.mark.parametrize("suffix", ["kif", "jkf"])
def test_shogihomes_mates_are_scores_and_keep_their_length(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "mates.kif"
    path.write_text(
        "   1 ７六歩(77)\n**詰み=先手勝ち:15手\n**評価値=900\n*#評価値=8\n"
        "   2 ３四歩(33)\n**詰み=先手勝ち\n   3 ２六歩(27)\n*#詰み=後手勝ち:8手\n",
        "utf-8",
    )
    game = read_games(path)[0]
    assert game.scores_cp.tolist() == [30000, -30000, -30000]
    assert game.comments == {
        1: "*詰み=先手勝ち:15手\n*評価値=900\n#評価値=8",
        2: "*詰み=先手勝ち",
        3: "#詰み=後手勝ち:8手",
    }
    write_games(tmp_path / f"again.{suffix}", [game])
    again = read_games(tmp_path / f"again.{suffix}")[0]
    assert again.scores_cp.tolist() == game.scores_cp.tolist()
    assert again.comments == game.comments


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "utf-16"])
def test_kif_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.kif"
    text = "先手：竜王戦の人\n手合割：平手\n   1 ７六歩(77)   ( 0:01/00:00:01)\n*角道\n   2 投了\n"
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    (game,) = read_games(path)
    assert game.black == "竜王戦の人"
    assert game.comments == {1: "角道"}
    assert (game.winner, game.end) == (Winner.BLACK, End.RESIGN)
    assert game.times_ms.tolist() == [1000]


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "utf-16"])
@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "usi"])
def test_lines_may_end_with_a_carriage_return_alone(
    tmp_path: Path, suffix: str, encoding: str
) -> None:
    games = [random_game(6), random_game(7)]
    path = tmp_path / f"a.{suffix}"
    kept = write_and_read(path, games)
    text = path.read_text(encoding="utf-8")
    path.write_bytes(text.encode(encoding))
    begins = [game.source.offset for game in read_games(path) if game.source is not None]
    path.write_bytes(text.replace("\n", "\r").encode(encoding))
    read = read_games(path)
    assert list(read) == list(kept)
    assert [game.source.offset for game in read if game.source is not None] == begins
    assert read.skipped == []


def test_errors_name_lines_that_end_with_a_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_bytes("先手：A\r   1 ７六歩(77)\r   2 ９九玉(51)\r".encode())
    read = read_games(path)
    assert [game.usi_moves() for game in read] == [["7g7f"]]
    assert "line 3: ply 2: " in read.skipped[0].reason


@pytest.mark.parametrize("name", ["a.csa", "a.kif", "a.ki2", "a.jkf", "a.usi", "a.sfen"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_every_text_format_is_read_after_a_byte_order_mark(
    name: str, mark: bytes, encoding: str, tmp_path: Path
) -> None:
    path, plain = tmp_path / name, tmp_path / f"plain-{name}"
    write_games(plain, [random_game(3), random_game(4)])
    text = plain.read_text(encoding="utf-8")
    if name == "a.csa":
        text = text.replace("\nPI", "\n'*𠮷\nPI", 1)  # not in the basic plane
        plain.write_text(text, encoding="utf-8")
    path.write_bytes(mark + text.encode(encoding))
    games, expected = read_games(path), read_games(plain)
    assert games == expected
    assert games.skipped == []
    for game in games:
        assert game.source is not None
        begin = path.read_bytes()[game.source.offset :].decode(encoding).lstrip("\ufeff")
        assert text.endswith(begin)


@pytest.mark.parametrize("name", ["a.csa", "a.kif", "a.ki2", "a.jkf", "a.usi"])
def test_uploads_and_lines_of_positions_may_be_utf16(name: str, tmp_path: Path) -> None:
    from komadori.arena import read_openings
    from komadori.cli.mate import _problems
    from komadori.web.uploads import read_upload

    path = tmp_path / name
    write_games(path, [random_game(3)])
    data = path.read_text(encoding="utf-8").encode("utf-16")
    for given_name in (name, ""):
        assert read_upload(data, given_name) == (name[2:], read_games(path), [])
    lines = tmp_path / "lines.txt"
    lines.write_text("startpos moves 7g7f\n", encoding="utf-16")
    assert [opening.moves for opening in read_openings(lines)] == [("7g7f",)]
    lines.write_text("9/4k4/9/4P4/9/9/9/9/9 b G 1\n", encoding="utf-16")
    assert _problems(lines, []) == ["9/4k4/9/4P4/9/9/9/9/9 b G 1"]


def test_offsets_of_utf16_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    text = "V2.2\nN+𠮷田\nPI\n+\n+7776FU\n%TORYO\n/\nN+b\nPI\n+\n+7775FU\n%TORYO\n"
    path.write_bytes(text.encode("utf-16"))
    games = read_games(path)
    assert games[0].black == "𠮷田"
    (skip,) = games.skipped
    assert path.read_bytes()[skip.offset :].decode("utf-16-le").startswith("+7775FU")
    assert (skip.begin, skip.end) < (skip.offset, path.stat().st_size + 1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "utf-16"])
def test_csa_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csa"
    text = "V2.2\nN+名人コブラ\nN-表ソ\nPI\n+\n+7776FU\nT1\n'*角道\n%TORYO\n"
    path.write_bytes(text.encode(encoding))
    (game,) = read_games(path)
    assert (game.black, game.white) == ("名人コブラ", "表ソ")
    assert game.comments == {1: "角道"}
    assert game.winner == Winner.BLACK


def test_shift_jis_can_be_written(tmp_path: Path) -> None:
    game = random_game(3)
    for name in ("a.csa", "a.kif", "a.ki2"):
        write_games(tmp_path / name, [game], encoding="cp932")
        data = (tmp_path / name).read_bytes()
        assert "試験".encode("cp932") in data
        assert name == "a.csa" or b"version=2.0 encoding=Shift_JIS" in data
        (back,) = read_games(tmp_path / name)
        if name == "a.ki2":
            back.times_ms = game.times_ms
        assert back == game


CSA_ENDS = {
    "%TORYO": (Winner.WHITE, End.RESIGN),
    "%TSUMI": (Winner.WHITE, End.MATE),
    "%KACHI": (Winner.BLACK, End.DECLARATION),
    "%SENNICHITE": (Winner.DRAW, End.SENNICHITE),
    "%JISHOGI": (Winner.DRAW, End.IMPASSE),
    "%HIKIWAKE": (Winner.DRAW, End.IMPASSE),
    "%TIME_UP": (Winner.WHITE, End.TIME_UP),
    "%ILLEGAL_MOVE": (Winner.WHITE, End.ILLEGAL_MOVE),
    "%+ILLEGAL_ACTION": (Winner.WHITE, End.ILLEGAL_MOVE),
    "%-ILLEGAL_ACTION": (Winner.BLACK, End.ILLEGAL_MOVE),
    "%MAX_MOVES": (Winner.DRAW, End.MAX_MOVES),
    "%CHUDAN": (Winner.UNKNOWN, End.INTERRUPTED),
    "%MATTA": (Winner.UNKNOWN, End.INTERRUPTED),
    "%UNHEARD_OF": (Winner.UNKNOWN, End.UNKNOWN),
}


@pytest.mark.parametrize("statement", CSA_ENDS)
def test_ends_of_csa(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "a.csa"
    path.write_text(f"PI\n+\n+7776FU,T1\n-3334FU,T2\n{statement},T5\n")
    (game,) = read_games(path)
    assert (game.winner, game.end) == CSA_ENDS[statement]
    assert game.times_ms.tolist() == [1000, 2000]


@pytest.mark.parametrize("end", End)
def test_csa_makes_no_result_of_a_game_without_one(tmp_path: Path, end: End) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.UNKNOWN, end=end)
    write_games(tmp_path / "a.csa", [game])
    assert read_games(tmp_path / "a.csa")[0].winner == Winner.UNKNOWN


@pytest.mark.parametrize("time", ["T1x", "T-5", "T99999999", "T", "T1.5.2", "T１"])
def test_what_is_no_time_in_csa_costs_no_game(tmp_path: Path, time: str) -> None:
    path = tmp_path / "a.csa"
    path.write_text(
        f"PI\n+\n+7776FU,T1\n-3334FU\n{time}\n+2726FU,{time}\n-8384FU,T4\n%TORYO,{time}\n"
    )
    reader = GameReader(path)
    (game,) = reader
    assert game.times_ms.tolist() == [1000, NO_TIME, NO_TIME, 4000]
    assert game.comments == {2: time, 3: time}  # not lost
    assert (game.winner, game.end) == (Winner.WHITE, End.RESIGN)
    assert reader.skipped == []


@pytest.mark.parametrize(
    "time",
    ["( 0:xx/00:00:00)", "( 99999999:00/0)", "(abc)", "( 0:01/", "( -1:00/0)", "0:05", "+ ?"],
)
def test_what_is_no_time_in_kif_costs_no_move(tmp_path: Path, time: str) -> None:
    path = tmp_path / "a.kif"
    path.write_text(
        f"手合割：平手\n   1 ７六歩(77)   {time}\n   2 ３四歩(33)   ( 0:02/00:00:02)\n"
        f"   3 ２二角成(88)   {time}\n"
        "   4 同　銀(31)   ( 0:03/00:00:03)+\n   5 投了   ( 0:04/00:00:04)\n"
    )
    reader = GameReader(path)
    (game,) = reader
    assert game.times_ms.tolist() == [NO_TIME, 2000, NO_TIME, 3000]
    assert game.comments == {1: time.lstrip("+ "), 3: time.lstrip("+ ")}
    assert (game.winner, game.end) == (Winner.WHITE, End.RESIGN)
    assert reader.skipped == []


@pytest.mark.parametrize("suffix", ["kif", "ki2"])
def test_a_game_of_any_length_survives(tmp_path: Path, suffix: str) -> None:
    """Numbers of moves may have five digits, also in a variation."""
    moves = ["2h3h", "8b7b", "3h2h", "7b8b"] * 2501
    game = Game.from_usi(moves)
    before = Game.from_usi(moves[:10_001])
    game.variations = {10_001: [Game.from_usi(["8b6b"], before.final_board().sfen())]}
    (read,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert read.usi_moves() == moves
    assert [line.usi_moves() for line in read.variations[10_001]] == [["8b6b"]]


@pytest.mark.parametrize("number", ["３", " ３ ", "　３"])
def test_numbers_of_kif_may_be_full_width(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.kif"
    variation = "変化：２手\n２ ８四歩(83)\n"
    path.write_text(f"1 ７六歩(77)\n2 ３四歩(33)\n{number} ２六歩(27)\n{variation}")
    (game,) = read_games(path)
    assert game.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert [line.usi_moves() for line in game.variations[1]] == [["8c8d"]]


@pytest.mark.parametrize(
    "end", ["   3 中断", "   3 封じ手", "まで2手で中断", "   3 投了\nまで2手で後手の勝ち"]
)
def test_moves_after_the_end_of_kif_are_reported(tmp_path: Path, end: str) -> None:
    """Such as those of a game that went on, or of a second game without headers."""
    path = tmp_path / "a.kif"
    moves = "   1 ７六歩(77)\n   2 ３四歩(33)\n"
    path.write_text(f"手合割：平手\n{moves}{end}\n   3 ２六歩(27)\n   4 ８四歩(83)\n")
    games = read_games(path)
    assert games[0].usi_moves() == ["7g7f", "3c3d"]
    (skip,) = games.skipped
    line = 5 + end.count("\n")
    assert skip.reason.startswith(f"line {line}: move 3 follows the end of the game; the moves")
    path.write_text(f"手合割：平手\n{moves}{end}\n   3 投了\n")  # an end given twice
    assert not read_games(path).skipped


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("a.kif", "備考：一\n先手：A\n備考：二\n備考：一\n1 ７六歩(77)\n", "備考"),
        ("a.csa", "N+A\n$NOTE:一\n$NOTE:二\n$NOTE:一\nPI\n+\n+7776FU\n", "NOTE"),
    ],
)
def test_a_header_given_twice_keeps_both_values(
    tmp_path: Path, name: str, text: str, key: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (game,) = read_games(path)
    assert game.headers[key] == "一 / 二 / 一"
    for suffix in ("kif", "csa", "jkf"):
        assert write_and_read(tmp_path / f"b.{suffix}", [game])[0].headers[key] == "一 / 二 / 一"


def test_a_header_repeated_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_text("先手：A\n先手：A\n1 ７六歩(77)\n", encoding="utf-8")
    assert read_games(path)[0].headers == {"black": "A"}


_TWO_MOVES = "手数----指手---------消費時間--\n1 ７六歩(77)\n2 ３四歩(33)\n"


@pytest.mark.parametrize(
    ("name", "moves", "head"),
    [
        ("a.kif", _TWO_MOVES, "先手:C\n後手:D\n"),
        (
            "a.kif",
            f"{_TWO_MOVES}3 投了\nまで2手で後手の勝ち\n\n",
            "手合割:平手\n先手:C\n\n後手:D\n",
        ),
        ("a.kif", _TWO_MOVES, "先手:C\n後手：D\n"),
        ("a.kif", _TWO_MOVES, "先手：C\n後手:D\n"),
        ("a.ki2", "▲７六歩 △３四歩\n", "先手:C\n後手:D\n"),
    ],
)
def test_headers_with_half_width_colons_begin_the_next_game(
    tmp_path: Path, name: str, moves: str, head: str
) -> None:
    path = tmp_path / name
    path.write_text(f"先手:A\n後手:B\n{moves}{head}{moves}", encoding="utf-8")
    games = read_games(path)
    assert not games.skipped
    players = [{"black": "A", "white": "B"}, {"black": "C", "white": "D"}]
    assert [game.headers for game in games] == players
    assert [game.usi_moves() for game in games] == 2 * [["7g7f", "3c3d"]]
    assert not any(game.comments for game in games)


def test_comments_like_headers_with_half_width_colons_begin_no_game(tmp_path: Path) -> None:
    """A game begins with headers, not with a text among the moves, below them or in variations."""
    path = tmp_path / "a.kif"
    path.write_text(
        "先手：A\n1 ７六歩(77)\n戦型:これから\n2 ３四歩(33)\n場所:庭\n変化：1手\n1 ２六歩(27)\n"
        "場所:室内\nおわり\n先手：B\n1 ２六歩(27)\n場所:店\n#KIF\n先手：C\n1 ２六歩(27)\n",
        encoding="utf-8",
    )
    games = read_games(path)
    assert not games.skipped
    assert [game.headers for game in games] == [{"black": name} for name in "ABC"]
    assert games[1].comments == {1: "場所:店"}
    assert games[0].comments == {1: "戦型:これから", 2: "場所:庭"}
    (variation,) = games[0].variations[0]
    assert variation.comments == {1: "場所:室内\nおわり"}


def test_lines_between_and_below_the_moves_of_kif_are_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    head = "手数----指手---------消費時間--\n"
    path.write_text(
        f"{head}1 ７六歩(77)\nここまでは定跡\n*対して\n2 ３四歩(33)\n{head}3 投了\n以上\n"
        f"変化：2手\n2 ８四歩(83)\n（別の案）\n"
    )
    (game,) = games = read_games(path)
    assert games.skipped == []
    assert game.comments == {1: "ここまでは定跡\n対して", 2: "以上"}
    assert game.variations[1][0].comments == {1: "（別の案）"}


@pytest.mark.parametrize("time", ["(1:20:10/01:20:10)", "( 01:20:10 )+", "(80:10/01:20:10)"])
def test_a_time_in_kif_may_have_hours(tmp_path: Path, time: str) -> None:
    path = tmp_path / "a.kif"
    path.write_text(f"手合割：平手\n   1 ７六歩(77)   {time}\n   2 投了   {time}\n")
    (game,) = read_games(path)
    assert (game.times_ms.tolist(), game.end_time_ms) == ([4_810_000], 4_810_000)
    assert game.comments == {}


def test_an_illegal_last_move_is_what_the_end_is_about(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text("PI\n+\n+7776FU\n-3334FU\n+0055FU\nT3\n%ILLEGAL_MOVE\n")
    (game,) = read_games(path)
    assert len(game) == 2
    assert (game.winner, game.end) == (Winner.WHITE, End.ILLEGAL_MOVE)


FLOODGATE = """V2
N+gikou
N-ponanza:x
'Max_Moves:256
$EVENT:wdoor+floodgate-300-10F+gikou+ponanza+20200101
$START_TIME:2020/01/01 00:00:00
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
'rating:gikou+a:ponanza+b
'black_rate:gikou+a:4000.5
'white_rate:ponanza+b:3900
+7776FU
T12
-3334FU
T1
%SENNICHITE
'summary:oute_sennichite:gikou lose:ponanza:x win
'$END_TIME:2020/01/01 00:30:00
"""


def test_what_floodgate_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text(FLOODGATE)
    (game,) = read_games(path)
    assert (game.rating(0), game.rating(1)) == (4000.5, 3900)
    assert (game.winner, game.end) == (Winner.WHITE, End.PERPETUAL_CHECK)
    assert game.headers["Max_Moves"] == "256"
    assert game.headers["event"].startswith("wdoor+floodgate")
    assert game.times_ms.tolist() == [12000, 1000]


def test_fractions_of_seconds_need_csa_3(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], times_ms=[1234, 50])
    write_games(tmp_path / "a.csa", [game])
    assert "V3.0\n" in (tmp_path / "a.csa").read_text()
    assert read_games(tmp_path / "a.csa")[0] == game


def test_placements_of_csa(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text("PI82HI22KA\n-\n-3334FU\n/\nP-51OU\nP+53KI00KI\nP-00AL\n+\n+0052KI\n%TSUMI\n")
    handicap, problem = read_games(path)
    assert handicap.initial_sfen == HANDICAPS["two-piece"].sfen
    assert problem.initial_sfen == "4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1"
    assert (problem.winner, problem.end) == (Winner.BLACK, End.MATE)


BAD_CSA = [
    (b"+7776FU\n-3334FU\n", b"+9999OU\n-8384FU\n%TORYO\n"),
    (b"+7776FU\n", b"hello\n%TORYO\n"),
    (b"+7776FU\n", b"+2726FU\n%TORYO\n"),
    (b"", b"+9999OU\n-3334FU\n%TORYO\n"),
]


@pytest.mark.parametrize(("sound", "bad"), BAD_CSA)
@pytest.mark.parametrize("separator", [b"/\n", b""])
def test_a_bad_game_of_csa_keeps_the_moves_before_the_fault(
    tmp_path: Path, sound: bytes, bad: bytes, separator: bytes
) -> None:
    good = b"V2.2\nN+a\nN-b\nPI\n+\n+7776FU\n%TORYO\n"
    parts = [good, b"V2.2\nPI\n+\n" + sound + bad, good]
    path = tmp_path / "a.csa"
    path.write_bytes(separator.join(parts))
    games = read_games(path)
    kept = sound.count(b"\n")
    assert [len(game) for game in games] == [1, kept, 1] if sound else [1, 1]
    (skip,) = games.skipped
    data = path.read_bytes()
    assert data[skip.begin :].startswith(bad if sound else b"V2.2\nPI")
    assert data[: skip.end].count(bad) == 1
    assert data[skip.offset :].startswith(bad)
    assert str(path) in str(skip)
    assert skip.reason.endswith("; the moves before it are kept") == bool(sound)
    if sound:
        assert games[1].usi_moves() == ["7g7f", "3c3d"][:kept]
        assert (games[1].end, games[1].winner) == (End.UNKNOWN, Winner.UNKNOWN)


@pytest.mark.parametrize(
    ("bad", "at"),
    [
        *((bad, at) for bad in ("$SITE", "N", "hello", "$TIME+600+0+10") for at in (1, 2, 3)),
        ("T", 1),
        ("T", 2),
        ("+", 3),
        ("-", 3),
    ],
)
def test_a_bad_line_in_the_header_of_csa_costs_nothing_else(
    tmp_path: Path, bad: str, at: int
) -> None:
    names, position = "V2.2\nN+a\nN-b\n$EVENT:c\n", "PI82HI22KA\n"
    parts = [names, position, "-\n"]
    good = f"{''.join(parts)}-7162GI\n+7776FU\n%TORYO\n"
    parts.insert(at, f"{bad}\n")
    path = tmp_path / "a.csa"
    path.write_text("".join(parts) + good.removeprefix(f"{names}{position}-\n") + good)
    games = read_games(path)
    assert [game.headers for game in games] == [{"black": "a", "white": "b", "event": "c"}] * 2
    assert [game.initial_sfen for game in games] == [HANDICAPS["two-piece"].sfen] * 2
    assert [(game.usi_moves(), game.end) for game in games] == [(["7a6b", "7g7f"], End.RESIGN)] * 2
    (skip,) = games.skipped
    assert path.read_bytes()[skip.begin : skip.end] == bad.encode()
    assert bad in skip.reason
    assert skip.reason.endswith("; the rest of the game is kept")


@pytest.mark.parametrize("suffix", [".kif", ".ki2"])
@pytest.mark.parametrize("bad", ["NHK cup, final", "第3局", "coding=UTF-8"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_bad_line_above_the_moves_of_kif_costs_nothing_else(
    tmp_path: Path, suffix: str, bad: str, at: int
) -> None:
    headers = ["先手：a\n", "手合割：二枚落ち\n"]
    if suffix == ".kif":
        moves = "   1 ６二銀(71)\n   2 ７六歩(77)\n   3 投了\n"
    else:
        moves = "△６二銀 ▲７六歩\nまで2手で下手の勝ち\n"
    good = "".join(headers) + moves
    path = tmp_path / f"a{suffix}"
    path.write_text("".join([*headers[:at], f"{bad}\n", *headers[at:]]) + moves + good)
    games = read_games(path)
    assert [game.initial_sfen for game in games] == [HANDICAPS["two-piece"].sfen] * 2
    assert [(game.usi_moves(), game.end) for game in games] == [(["7a6b", "7g7f"], End.RESIGN)] * 2
    assert [game.headers["black"] for game in games] == ["a", "a"]
    (skip,) = games.skipped
    assert path.read_bytes()[skip.begin : skip.end].decode().rstrip() == bad
    assert f"line {at + 1}: " in skip.reason
    assert skip.reason.endswith("; the rest of the game is kept")


@pytest.mark.parametrize("suffix", [".kif", ".ki2"])
@pytest.mark.parametrize(
    ("result", "is_cut"),
    [
        ("まで2手で後手の勝ち", False),
        ("まで1手で後手の勝ち", False),
        ("まで3手で後手の反則負け", False),  # the illegal move is counted
        ("まで3手で先手の勝ち", True),
        ("まで３手で千日手", True),
        (f"まで{'9' * 5000}手で中断", True),
        ("まで先手の勝ち", False),
    ],
)
def test_a_result_that_counts_missing_moves_is_reported(
    tmp_path: Path, suffix: str, result: str, is_cut: bool
) -> None:
    moves = "▲７六歩 △３四歩\n" if suffix == ".ki2" else "   1 ７六歩(77)\n   2 ３四歩(33)\n"
    path = tmp_path / f"a{suffix}"
    path.write_text(f"先手：a\n{moves}{result}\n先手：b\n{moves}まで2手で後手の勝ち\n")
    games = read_games(path)
    assert [game.usi_moves() for game in games] == [["7g7f", "3c3d"]] * 2
    assert (games[0].winner, games[0].end) != (Winner.UNKNOWN, End.UNKNOWN)
    assert len(games.skipped) == is_cut
    for skip in games.skipped:
        line = 3 + (suffix == ".kif")
        assert skip.reason.startswith(f"line {line}: {result[:24]!r} after 2 moves; ")
        assert path.read_bytes()[skip.begin : skip.end].decode().rstrip() == result


def test_a_result_may_count_from_the_number_of_the_initial_position(tmp_path: Path) -> None:
    path = tmp_path / "a.ki2"
    diagram = Board().bod().rpartition("\n")[0]
    for count in ("手番：先手\n手数＝20\n", "手番：先手　手数＝20\n", "手番：先手\n"):
        path.write_text(f"{diagram}\n{count}▲２六歩 △８四歩\nまで22手で後手の勝ち\n")
        games = read_games(path)
        assert len(games[0].moves) == 2
        assert len(games.skipped) == ("20" not in count)


@pytest.mark.parametrize(
    "bad", ["?７六歩(77)", "手合割 香落ち", "先手の持駒 飛", "v香v桂|一", "1 ?六歩(77)"]
)
def test_a_bad_line_that_may_hold_a_move_or_the_position_of_kif_costs_the_game(
    tmp_path: Path, bad: str
) -> None:
    path = tmp_path / "a.kif"
    path.write_text(f"先手：a\n{bad}\n▲２六歩 △８四歩\nまで2手で投了\n")
    with pytest.raises(RecordError, match="line 2: "):
        read_games(path)


def test_a_header_of_csa_without_a_game_is_skipped_by_its_first_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text("V2.2\nN+x\nhello\nworld\nV2.2\nN+a\nPI\n+\n+7776FU\n%TORYO\n")
    games = read_games(path)
    assert [(game.headers, len(game)) for game in games] == [({"black": "a"}, 1)]
    assert [skip.reason for skip in games.skipped] == ["not a CSA statement: 'hello'"]


def test_moves_after_the_end_of_a_game_of_csa_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text("PI\n+\n+7776FU\n%TORYO\n-3334FU\n")
    games = read_games(path)
    assert [(len(game), game.end, game.winner) for game in games] == [(1, End.RESIGN, Winner.BLACK)]
    assert games.skipped[0].reason == "a move after the end; the game before it is kept"


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "usi"])
def test_a_file_cut_anywhere_keeps_the_whole_moves_before(tmp_path: Path, suffix: str) -> None:
    game = random_game(3, plies=12)
    path = tmp_path / f"a.{suffix}"
    write_games(path, [game])
    data = path.read_bytes()
    read = [0]
    for end in range(len(data)):
        path.write_bytes(data[:end])
        games = list(GameReader(path))
        assert all(kept.usi_moves() == game.usi_moves()[: len(kept)] for kept in games)
        read.append(max((len(kept) for kept in games), default=0))
        assert read[-1] >= max(read) - 1  # only the move that is cut may be left out
    assert read[-1] == 12


KIF = """手合割：平手
先手：a
   1 ７六歩(77) ( 0:01/00:00:01)
   2 ３四歩(33) ( 0:02/00:00:02)
   3 投了
"""


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("３四歩(33)", "３四歩(34)", "   2 ３四歩(34)"),
        ("   2 ３四歩(33)", "   ", "   3 投了"),
        ("手合割：平手", "手合割：百枚落ち", "手合割"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_one_bad_game_of_kif_loses_only_itself(
    tmp_path: Path, old: str, new: str, where: str, encoding: str
) -> None:
    path = tmp_path / "a.kif"
    path.write_bytes((KIF + KIF.replace(old, new) + KIF).encode(encoding))
    games = read_games(path)
    is_begun = "手合割" not in where
    assert [len(game) for game in games] == ([2, 1, 2] if is_begun else [2, 2])
    (skip,) = games.skipped
    data = path.read_bytes()
    assert skip.begin == (skip.offset if is_begun else len(KIF.encode(encoding)))
    assert data[skip.offset :].decode(encoding).startswith(where) or "手合割" in where


VARIATIONS = "\n変化：2手\n   2 ８四歩(83)\n   3 ２六歩(27)\n\n変化：2手\n   2 ４四歩(43)\n"


def test_variations_of_kif(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_text(KIF + VARIATIONS + KIF)
    first, second = read_games(path)
    assert first.usi_moves() == second.usi_moves() == ["7g7f", "3c3d"]
    assert {ply: [v.usi_moves() for v in lines] for ply, lines in first.variations.items()} == {
        1: [["8c8d", "2g2f"], ["4c4d"]]
    }
    assert not second.variations


@pytest.mark.parametrize("suffix", ["kif", "ki2", "jkf"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("handicap", ["even", "six-piece"])
def test_variations_survive(tmp_path: Path, suffix: str, seed: int, handicap: str) -> None:
    game = random_game(seed, sfen=HANDICAPS[handicap].sfen, plies=20)
    with_variations(game, seed)
    (after,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    if suffix == "ki2":
        for line in (game, *game.all_variations()):
            line.times_ms[:] = NO_TIME
    assert after == game
    assert len(list(after.all_variations())) > 4


def test_the_square_of_the_move_before_is_known_in_a_variation(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_text(
        "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ２二角成(88)\n   4 同　銀(31)\n"
        "変化：4手\n   4 同　飛(82)\n"
    )
    (game,) = read_games(path)
    assert game.variations[3][0].usi_moves() == ["8b2b"]
    document = json.loads(_jkf(game, tmp_path))
    document["moves"][4]["forks"][0][0]["move"].pop("to")
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    assert read_games(tmp_path / "a.jkf")[0].variations[3][0].usi_moves() == ["8b2b"]


def _jkf(game: Game, folder: Path) -> str:
    write_games(folder / "written.jkf", [game])
    return (folder / "written.jkf").read_text()


def test_totals_of_times_run_through_variations(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], times_ms=[61_000, 2000])
    game.variations[2] = [
        Game.from_usi(["2g2f"], game.final_board().sfen(), times_ms=[3000]),
    ]
    write_games(tmp_path / "a.kif", [game])
    assert "   3 ２六歩(27)   ( 0:03/00:01:04)" in (tmp_path / "a.kif").read_text().splitlines()
    fork = json.loads(_jkf(game, tmp_path))["moves"][3]["forks"][0]
    assert fork[0]["time"] == {"now": {"m": 0, "s": 3}, "total": {"m": 1, "s": 4}}


@pytest.mark.parametrize(
    ("old", "new", "where", "left"),
    [
        ("   3 ２六歩(27)", "   3 ２六歩(28)", "line 9: ply 3: ２六歩(28) is not legal", [1, 1]),
        ("変化：2手", "変化：9手", "line 7: a variation at move 9 of a line of 2", [1]),
        ("変化：2手", "変化：x", "line 7: not the head of a variation: '変化：x'", [1]),
    ],
)
def test_a_bad_variation_loses_only_itself(
    tmp_path: Path, old: str, new: str, where: str, left: list[int]
) -> None:
    path = tmp_path / "a.kif"
    path.write_text(KIF + VARIATIONS.replace(old, new, 1))
    games = read_games(path)
    assert games[0].usi_moves() == ["7g7f", "3c3d"]
    assert games[0].winner != Winner.UNKNOWN
    assert [len(line) for line in games[0].all_variations()] == left
    assert where in games.skipped[0].reason


def test_a_bad_variation_of_jkf_loses_only_itself(tmp_path: Path) -> None:
    game = with_variations(random_game(3, plies=9), 3, depth=1)
    document = json.loads(_jkf(game, tmp_path))
    bad = document["moves"][1]["forks"]
    for junk in ([], [3], {"a": 1}, [{"move": {"from": {"x": 1, "y": 1}, "to": {"x": 9, "y": 9}}}]):
        document["moves"][1]["forks"] = [junk, *bad]
        (tmp_path / "a.jkf").write_text(json.dumps(document))
        games = read_games(tmp_path / "a.jkf")
        assert list(games) == [game]
        assert "a variation after 0 moves" in games.skipped[0].reason


@pytest.mark.parametrize(
    "bad",
    [
        {"move": {"from": {"x": 5, "y": 5}, "to": {"x": 5, "y": 4}, "piece": "HI"}},
        {"move": {"from": {"x": 5, "y": 5}, "to": {"x": 55, "y": 4}}},
        {"move": 5},
        5,
    ],
)
def test_a_bad_move_of_jkf_keeps_the_moves_before_it(bad: object, tmp_path: Path) -> None:
    game = with_variations(random_game(3, plies=9), 3, depth=1)
    document = json.loads(_jkf(game, tmp_path))
    moves = document["moves"]
    for at in (1, 2, 5, 9):
        forks = {"forks": moves[at]["forks"]} if "forks" in moves[at] else {}
        fault = {**bad, **forks} if isinstance(bad, dict) else bad
        document["moves"] = [*moves[:at], fault, *moves[at + 1 :]]
        (tmp_path / "a.jkf").write_text(f"{json.dumps(document)}\n{json.dumps({'moves': [{}]})}\n")
        if at == 1:
            with pytest.raises(RecordError, match=r"not a move|illegal move|invalid JKF"):
                jkf.read_game(json.dumps(document))
            continue
        games = read_games(tmp_path / "a.jkf")
        assert games[0].usi_moves() == game.usi_moves()[: at - 1]
        last = at - isinstance(bad, int)
        kept = {ply: lines for ply, lines in game.variations.items() if ply < last}
        assert games[0].variations == kept
        assert [reason.reason.partition(":")[0] for reason in games.skipped] == [f"ply {at}"]
        assert "the moves before it are kept" in games.skipped[0].reason
        assert len(games) == 2
    long = [{}, *moves[1:-1] * 3000, bad]
    with pytest.raises(RecordError, match="more than 10,000 moves"):
        jkf.read_game(json.dumps({**document, "moves": long}))


@pytest.mark.parametrize("blanks", ["  ", "\t", "\u3000"])
@pytest.mark.parametrize("suffix", ["kif", "ki2"])
@pytest.mark.parametrize("handicap", ["even", "lance", ""])
def test_games_that_are_indented_as_a_whole_are_read(
    tmp_path: Path, handicap: str, suffix: str, blanks: str
) -> None:
    sfen = HANDICAPS[handicap].sfen if handicap else "4k4/9/9/9/9/9/9/9/4K4 b RB2g 1"
    board, moves = Board(sfen), []
    for _ in range(8):
        moves.append(sorted(move.usi() for move in board.legal_moves)[0])
        board.push_usi(moves[-1])
    game = Game.from_usi(moves, sfen, winner=Winner.BLACK, end=End.RESIGN)
    game.winner = Winner.WHITE if board.turn == 0 else Winner.BLACK
    game.headers = {"black": "A", "white": "B", "event": "E"}
    game.comments = {0: "first", 3: "one\n two"}
    game.bookmarks = {2: "here"}
    if suffix == "kif":
        game.scores_cp[4] = 30
    path = tmp_path / f"a.{suffix}"
    write_games(path, [game, game])
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(blanks + line for line in text.splitlines(keepends=True)), "utf-8")
    games = read_games(path)
    assert games.skipped == []
    assert list(games) == [game, game]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_truncated_jkf_keeps_the_moves_before_its_end(indent: int | None, tmp_path: Path) -> None:
    game = with_variations(random_game(3, plies=9), 3, depth=1)
    game.end, game.winner = End.TIME_UP, Winner.WHITE if game.final_board().turn else Winner.BLACK
    document = json.loads(_jkf(game, tmp_path))
    text = json.dumps(document, indent=indent)
    path = tmp_path / "a.jkf"
    path.write_text(text)
    (whole,) = read_games(path)
    kept: set[int] = set()
    for cut in range(1, len(text) - 1, 7):
        path.write_text(f"{text[:cut]}\n{text}\n")  # as where a writer was ended and began again
        games = read_games(path)
        *damaged, after = games
        assert after == whole
        for part in damaged:
            kept.add(len(part))
            assert part.usi_moves() == whole.usi_moves()[: len(part)]
            if len(part) < len(whole):
                assert (part.winner, part.end) == (Winner.UNKNOWN, End.UNKNOWN)
        (skipped,) = games.skipped
        # after a comma the next game stands where a move is due
        assert skipped.reason.startswith(("not JSON: ", f"ply {max(kept, default=0) + 1}: "))
        assert skipped.reason.endswith("; the moves before it are kept") == bool(damaged)
    assert kept == set(range(1, len(whole) + 1))


def test_many_damaged_games_of_jkf_take_time_in_proportion_and_are_placed() -> None:
    """Each error counted all lines before it: 30,000 games took half a minute."""
    move = '{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":6},"color":0,"piece":"FU"}}'
    line, count = f'{{"moves":[{{}},{move},x]}}\n', 30_000
    begun = time.process_time()
    found = list(jkf.documents(line * count + line.replace(",x", "")))
    assert time.process_time() - begun < 8.0
    assert [at for at, _, _ in found] == [number * len(line) for number in range(count + 1)]
    column = line.index("x]") + 1
    for number in (1, count // 2, count):
        at, document, error = found[number - 1]
        assert json.loads(document) == {"moves": [{}, json.loads(move)]}
        place = f"line {number} column {column} (char {at + column - 1})"
        assert str(error) == f"not JSON: Expecting value: {place}; the moves before it are kept"
    assert found[-1][2] is None


@pytest.mark.parametrize(
    "text",
    [
        '{"moves": [{}, {"comments": ["a"]}, ',
        '{"moves": {"a": [',
        '{"header": {"a": "b"}, "moves"',
        "{moves: [",
        "{",
        '{"moves": [{"move": ' + "[" * 200_000,
        '{"moves": [{}, {"move": 5}, {',
    ],
)
def test_damaged_jkf_without_a_move_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    path.write_text(text)
    with pytest.raises(
        RecordError, match=r"a\.jkf: byte 0: (not JSON|invalid JKF|ply 1|not a move)"
    ):
        read_games(path)


@pytest.mark.parametrize("name", ["mve", "time", "Special"])
@pytest.mark.parametrize("at", [2, 9, 10])
def test_an_entry_of_jkf_without_a_move_or_an_end_is_reported(
    name: str, at: int, tmp_path: Path
) -> None:
    """rsshogi passes over it."""
    game = random_game(3, plies=9)
    game.end, game.winner = End.TIME_UP, Winner.WHITE if game.final_board().turn else Winner.BLACK
    document = json.loads(_jkf(game, tmp_path))
    entry = document["moves"][at]
    document["moves"][at] = {name: entry.get("move") or {"now": {"m": 0, "s": 1}}}
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert games[0].usi_moves() == game.usi_moves()[: at - 1]
    assert (games[0].winner, games[0].end) == (Winner.UNKNOWN, End.UNKNOWN)
    (skipped,) = games.skipped
    assert skipped.reason.startswith(f"ply {at}: neither a move nor an end: '{name}'")


@pytest.mark.parametrize("at", [1, 3, 9, 10])
def test_a_move_of_jkf_after_the_end_is_reported(at: int, tmp_path: Path) -> None:
    game = random_game(3, plies=9)
    document = json.loads(_jkf(game, tmp_path))
    moves = document["moves"][:10]
    document["moves"] = [*moves[:at], {"special": "TORYO"}, *moves[at:], moves[9]]
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert games[0].usi_moves() == game.usi_moves()[: at - 1]
    assert games[0].end == End.RESIGN
    (skipped,) = games.skipped
    assert skipped.reason == f"a move after the end: the game ends after {at - 1} moves"


@pytest.mark.parametrize("at", [3, 9])
def test_an_end_in_the_entry_of_a_move_of_jkf_comes_after_the_move(at: int, tmp_path: Path) -> None:
    """rsshogi drops it."""
    game = random_game(3, plies=9)
    document = json.loads(_jkf(game, tmp_path))
    document["moves"] = document["moves"][:10]
    document["moves"][at]["special"] = "TORYO"
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert games[0].usi_moves() == game.usi_moves()[:at]
    assert games[0].end == End.RESIGN
    reasons = [skipped.reason for skipped in games.skipped]
    assert reasons == [f"a move after the end: the game ends after {at} moves"][: 9 - at]


def test_an_end_before_the_first_move_of_jkf_is_reported(tmp_path: Path) -> None:
    document = json.loads(_jkf(random_game(3, plies=9), tmp_path))
    document["moves"][0]["special"] = "TORYO"
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert len(games[0]) == 0
    (skipped,) = games.skipped
    assert skipped.reason == "a move after the end: the game ends after 0 moves"


def test_a_position_without_data_in_jkf_is_not_the_usual_one() -> None:
    with pytest.raises(RecordError, match="OTHER, without its data"):
        jkf.read_game(json.dumps({"initial": {"preset": "OTHER"}, "moves": [{}]}))


def test_a_bad_move_in_a_variation_of_jkf_keeps_the_moves_before_it(tmp_path: Path) -> None:
    game = with_variations(random_game(3, plies=9), 3, depth=1)
    document = json.loads(_jkf(game, tmp_path))
    (fork,) = [entry["forks"] for entry in document["moves"] if entry.get("forks")][:1]
    fork[0][1] = {"move": 5}
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    (first, *_) = game.variations.items()
    assert games[0].variations[first[0]][0].usi_moves() == first[1][0].usi_moves()[:1]
    assert games.skipped[0].reason.startswith(f"a variation after {first[0]} moves: ply 2: ")


def test_forks_behind_the_end_of_a_game_of_jkf_are_reported(tmp_path: Path) -> None:
    game = with_variations(random_game(3, plies=9), 3, depth=1)
    document = json.loads(_jkf(game, tmp_path))
    document["moves"].insert(3, {"special": "CHUDAN"})
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert [len(game) for game in games] == [2]
    assert "the game ends after 2 moves" in games.skipped[0].reason


@pytest.mark.parametrize("suffix", ["kif", "ki2", "jkf"])
@pytest.mark.parametrize(("ply", "reason"), [(3, "of a game of 2"), (1, "another position")])
def test_a_variation_of_another_position_is_not_written(
    tmp_path: Path, suffix: str, ply: int, reason: str
) -> None:
    game = Game.from_usi(["7g7f", "3c3d"])
    game.variations[ply] = [Game.from_usi(["2g2f"])]
    with pytest.raises(RecordError, match=rf"a variation after {ply} moves? .*{reason}"):
        write_games(tmp_path / f"a.{suffix}", [game])


@pytest.mark.parametrize("suffix", ["kif", "ki2", "jkf"])
def test_variations_keep_a_winner_that_no_word_tells(tmp_path: Path, suffix: str) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.BLACK, end=End.RESIGN)
    line = Game.from_usi(["2g2f"], winner=Winner.BLACK, end=End.PERPETUAL_CHECK)
    game.variations[0] = [line]
    write_games(tmp_path / f"a.{suffix}", [game])
    assert read_games(tmp_path / f"a.{suffix}")[0].variations == {0: [line]}


@pytest.mark.parametrize(("deep", "kept"), [(100, 100), (200, 100)])
def test_forks_nested_too_deep_cost_no_game(tmp_path: Path, deep: int, kept: int) -> None:
    move = {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU", "color": 0}
    entry: dict[str, object] = {"move": move}
    for _ in range(deep):
        entry = {"move": move, "forks": [[entry]]}
    (tmp_path / "a.jkf").write_text(json.dumps({"header": {}, "moves": [{}, entry]}))
    games = read_games(tmp_path / "a.jkf")
    assert [len(list(game.all_variations())) for game in games] == [kept]
    assert ["nested more than 100 deep" in one.reason for one in games.skipped] == [True] * (
        deep > kept
    )


@pytest.mark.parametrize("junk", [5, "x", {"a": 1}, True])
def test_forks_that_are_no_list_cost_no_game(tmp_path: Path, junk: object) -> None:
    document = json.loads(_jkf(random_game(3, plies=9), tmp_path))
    document["moves"][1]["forks"] = junk
    (tmp_path / "a.jkf").write_text(json.dumps(document))
    games = read_games(tmp_path / "a.jkf")
    assert [len(game) for game in games] == [9]
    assert "not a list of moves" in games.skipped[0].reason


def test_many_and_deep_variations_are_read_at_once(tmp_path: Path) -> None:
    shuffle = ["   {} ３八飛(28)", "   {} ７二飛(82)", "   {} ２八飛(38)", "   {} ８二飛(72)"]
    moves = [shuffle[ply % 4].format(ply + 1) for ply in range(1000)]
    path = tmp_path / "a.kif"
    path.write_text("\n".join(moves) + "\n" + f"変化：999手\n{moves[998]}\n" * 5000)
    (game,) = read_games(path)
    assert len(game.variations[998]) == 5000
    deep = [line for ply in range(1, 150) for line in (f"変化：{ply + 1}手", moves[ply])]
    path.write_text("\n".join([*moves, *deep]))
    games = read_games(path)
    assert len(list(games[0].all_variations())) == 100
    assert "variations nested more than 100 deep" in games.skipped[0].reason


@pytest.mark.parametrize(
    ("blank", "colon", "brackets"),
    [("", "：", "()"), ("  ", ":", "（）"), ("\u3000", " ：", "（）")],
)
def test_kif_edited_by_hand_is_read(tmp_path: Path, blank: str, colon: str, brackets: str) -> None:
    left, right = brackets
    one = (
        f"{blank}先手{colon}a\n後手{colon}b\n備考{colon.strip()}x\n{blank}手合割{colon}平手\n"
        f"1 ７六歩(77) {left} 0:05/00:00:05{right}\n2 ３四歩(33){left}0:07/00:00:07{right}\n"
        f"{blank}まで2手で後手の勝ち\n{blank}変化：2手\n2 ８四歩(83)\n"
    )
    path = tmp_path / "a.kif"
    path.write_text(one * 2)
    games = read_games(path)
    assert not games.skipped
    assert len(games) == 2
    for game in games:
        assert game.usi_moves() == ["7g7f", "3c3d"]
        assert game.headers == {"black": "a", "white": "b", "備考": "x"}
        assert list(game.times_ms) == [5000, 7000]
        assert (game.winner, game.end) == (Winner.WHITE, End.RESIGN)
        assert [line.usi_moves() for line in game.variations[1]] == [["8c8d"]]
        assert not game.comments


@pytest.mark.parametrize("move", ["２六歩(27)", "3２六歩(27)", "同　銀(31)", "５五角打"])
def test_a_last_move_of_kif_without_a_number_is_reported(tmp_path: Path, move: str) -> None:
    path = tmp_path / "a.kif"
    path.write_text(f"1 ７六歩(77)\n2 ３四歩(33)\n２六歩が本筋\n{move}\n")
    games = read_games(path)
    assert [(game.usi_moves(), game.comments) for game in games] == [
        (["7g7f", "3c3d"], {2: "２六歩が本筋"})
    ]
    reason = f"line 4: a move without a number: {move!r}; the moves before it are kept"
    assert [skip.reason for skip in games.skipped] == [reason]


def test_ki2_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "a.ki2"
    path.write_text(
        "先手：a\n後手：b\n\n▲７六歩    △３四歩    ▲２二角成  △同　銀\n*comment\n"
        "まで4手で後手の勝ち\n"
    )
    (game,) = read_games(path)
    assert game.usi_moves() == ["7g7f", "3c3d", "8h2b+", "3a2b"]
    assert game.comments == {4: "comment"}
    assert (game.winner, game.end) == (Winner.WHITE, End.RESIGN)


def test_a_line_of_usi_may_be_short(tmp_path: Path) -> None:
    path = tmp_path / "a.usi"
    path.write_text(
        "startpos moves 7g7f 3c3d resign\nposition startpos\n7g7f 8c8d\n"
        "position startpos moves 7g7f 7g7f\n\n# remark\n"
        "sfen 4k4/9/4G4/9/9/9/9/9/9 b G 1 moves G*5b\n"
    )
    games = read_games(path)
    assert [len(game) for game in games] == [2, 0, 2, 1, 1]
    assert games[0].winner == Winner.WHITE
    assert games[4].end == End.MATE
    assert (games[3].end, games[3].winner) == (End.UNKNOWN, Winner.UNKNOWN)
    (skip,) = games.skipped
    assert path.read_bytes()[skip.offset :].startswith(b"position startpos moves 7g7f 7g7f")


@pytest.mark.parametrize("prefix", ["", "sfen ", "position sfen "])
def test_the_start_position_is_a_position_however_it_is_written(
    tmp_path: Path, prefix: str
) -> None:
    path = tmp_path / "a.sfen"
    path.write_text(f"{prefix}{Board().sfen()}\nresign\nposition\nmoves\nsfen\n")
    games = read_games(path)
    assert [(game.initial_sfen, len(game)) for game in games] == [(Board().sfen(), 0)]
    assert len(games.skipped) == 4


def test_a_bad_document_of_jkf_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    write_games(path, [random_game(1, plies=5), random_game(2, plies=5)])
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second[:200]}\n{second}\n")
    games = read_games(path)
    assert len(games) == 2
    assert len(games.skipped) == 1


@pytest.mark.parametrize(
    "text", ["{}", '{"name": "x", "version": 1}', '{"header": {}}', '{"moves": 3}', '[{"a": []}]']
)
def test_other_json_is_no_game(text: str, tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text(text)
    with pytest.raises(RecordError, match="not JKF: no list of moves"):
        read_games(path)


def test_every_score_and_time_is_missing_where_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text("PI\n+\n+7776FU\n-3334FU\n")
    (game,) = read_games(path)
    assert game.scores_cp.tolist() == [NO_SCORE] * 2
    assert game.times_ms.tolist() == [NO_TIME] * 2
    assert (game.winner, game.end) == (Winner.UNKNOWN, End.UNKNOWN)


def test_kif_has_whole_seconds_and_the_time_before_the_end(tmp_path: Path) -> None:
    game = Game.from_usi(
        ["7g7f", "3c3d", "2g2f"],
        winner=Winner.BLACK,
        end=End.RESIGN,
        times_ms=[1700, 61_999, 1700],
    )
    game.end_time_ms = 65_500
    write_games(tmp_path / "a.kif", [game])
    rows = (tmp_path / "a.kif").read_text("utf-8").splitlines()
    assert [row.partition("   (")[2] for row in rows if row[:4].strip().isdigit()] == [
        " 0:01/00:00:01)", " 1:01/00:01:01)", " 0:01/00:00:03)", " 1:05/00:02:07)",
    ]  # fmt: skip
    again = read_games(tmp_path / "a.kif")[0]
    assert again.times_ms.tolist() == [1000, 61_000, 1000]
    assert again.end_time_ms == 65_000
    write_games(tmp_path / "b.kif", [again])
    assert read_games(tmp_path / "b.kif")[0].end_time_ms == 65_000


@pytest.mark.parametrize(
    ("winner", "end"), [(Winner.WHITE, End.RESIGN), (Winner.BLACK, End.ADJUDICATION)]
)
@pytest.mark.parametrize(("suffix", "ms"), [("csa", 65_500), ("kif", 65_000), ("jkf", 65_000)])
def test_the_time_before_the_end_survives(
    tmp_path: Path, suffix: str, ms: int, winner: Winner, end: End
) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], winner=winner, end=end, times_ms=[1000, 2000])
    game.end_time_ms = ms
    (again,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert (again, again.end_time_ms) == (game, ms)
    game.end_time_ms = NO_TIME
    (again,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert again.end_time_ms == NO_TIME


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf"])
def test_empty_lines_and_stars_of_comments_survive(tmp_path: Path, suffix: str) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.WHITE, end=End.RESIGN)
    game.comments = {0: "\none\n\n* 30 +7776FU\n\n", 1: "* two\n\nthree", 2: "\n"}
    assert write_and_read(tmp_path / f"a.{suffix}", [game]) == [game]


@pytest.mark.parametrize("line", ["* 12", "*  -3.5 lead", "* +7 moves", "* 2手前が疑問"])
def test_a_comment_written_to_csa_never_becomes_a_score(tmp_path: Path, line: str) -> None:
    """`'** 12` after a move is floodgate's score."""
    game = Game.from_usi(["7g7f", "3c3d"], scores_cp=[None, 50], winner=Winner.WHITE)
    game.comments = {1: f"above\n{line}", 2: line}
    [read] = write_and_read(tmp_path / "a.csa", [game])
    assert read.scores_cp.tolist() == [NO_SCORE, 50]
    assert read.comments == {1: f"above\n {line}", 2: f" {line}"}


@pytest.mark.parametrize("name", ["先手", "下手", "棋戦", "開始日時", "持ち時間", "戦型"])
def test_headers_of_csa_with_a_name_of_jkf_replace_none(tmp_path: Path, name: str) -> None:
    """`$先手` isn't the player; in JKF, as in KIF, its name gets a `_`."""
    path = tmp_path / "a.csa"
    named = (
        "N+A\nN-B\n$EVENT:E\n$START_TIME:2020/01/01 10:00:00\n$TIME_LIMIT:00:10+00\n$OPENING:O\n"
    )
    path.write_text(f"V2.2\n{named}${name}:他\nPI\n+\n+7776FU\n%TORYO\n", encoding="utf-8")
    [game] = read_games(path)
    write_games(tmp_path / "a.jkf", [game])
    [again] = read_games(tmp_path / "a.jkf")
    assert again.headers.pop(f"{name}_") == game.headers.pop(name) == "他"
    assert again.headers == game.headers


def test_a_player_named_twice_in_jkf_keeps_both_names(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    path.write_text('{"header":{"先手":"A","下手":"C","後手":"B"},"moves":[{}]}', encoding="utf-8")
    [game] = read_games(path)
    assert game.headers == {"black": "A / C", "white": "B"}


def test_headers_of_jkf_have_the_names_of_kif(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    header = {"下手": "弱", "上手": "強", "戦型": "矢倉", "備考欄": "x"}
    path.write_text(json.dumps({"header": header, "moves": [{}]}))
    (game,) = read_games(path)
    assert (game.black, game.white) == ("弱", "強")
    assert game.headers["opening"] == "矢倉"
    assert game.headers["備考欄"] == "x"


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf"])
def test_headers_keep_the_spaces_of_names(tmp_path: Path, suffix: str) -> None:
    headers = {"black": "髙橋　一郎", "white": "Ann  O\u00a0Hara", "event": "第３回　大会"}
    game = Game.from_usi(["7g7f"], headers=headers)
    (read,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert {key: read.headers[key] for key in headers} == headers


@pytest.mark.parametrize("suffix", ["kif", "ki2"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x0b", "\u2028"])
def test_headers_and_bookmarks_stay_on_one_line(
    tmp_path: Path, suffix: str, line_break: str
) -> None:
    game = Game.from_usi(["7g7f"], headers={"event": f"a{line_break}手合割：香落ち"})
    game.bookmarks[1] = f"別　案{line_break}b"
    (read,) = write_and_read(tmp_path / f"a.{suffix}", [game])
    assert read.headers["event"] == "a 手合割：香落ち"
    assert read.bookmarks[1] == "別　案 b"


def test_jkf_keeps_notes_and_time_limits(tmp_path: Path) -> None:
    headers = {"black": "A", "time_limit": "各5時間", "備考": "公開対局", "opening": "矢倉"}
    game = Game.from_usi(["7g7f"], headers=headers)
    (read,) = write_and_read(tmp_path / "a.jkf", [game])
    assert read.headers == headers
    assert '"持ち時間":"各5時間"' in (tmp_path / "a.jkf").read_text(encoding="utf-8")


def test_a_writer_outside_its_block_says_so(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f"])
    writer = GameWriter(tmp_path / "a.kif")
    with pytest.raises(ValueError, match=r"a\.kif isn't open: write in the writer's `with` block"):
        writer.write(game)
    with writer:
        writer.write(game)
    with pytest.raises(ValueError, match=r"a\.kif isn't open"):
        writer.write(game)
    assert len(read_games(tmp_path / "a.kif")) == 1


def test_scores_of_another_number_are_counted_in_words() -> None:
    with pytest.raises(RecordError, match=r"^2 values for 1 move$"):
        Game.from_usi(["7g7f"], scores_cp=[1, 2])


def test_null_in_jkf_is_no_end(tmp_path: Path) -> None:
    """As serializers write it that leave no key out."""
    moves = [
        {"move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}},
        {"move": {"from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"}},
    ]
    entries = [{**move, "special": None, "comments": [str(ply)]} for ply, move in enumerate(moves)]
    path = tmp_path / "a.jkf"
    first = {"comments": None}
    document = {"header": {}, "initial": None, "moves": [first, *entries]}
    path.write_text(json.dumps(document), encoding="utf-8")
    (game,) = read_games(path)
    assert (game.usi_moves(), game.comments) == (["7g7f", "3c3d"], {1: "0", 2: "1"})


@pytest.mark.parametrize("encoding", ["UTF-8", "latin-1", "utf-16", "nonsense"])
def test_records_are_written_in_two_encodings_only(tmp_path: Path, encoding: str) -> None:
    """In another one the first line would name a wrong encoding, or texts would be lost."""
    path = tmp_path / "a.kif"
    write_games(path, [random_game(1)])
    before = path.read_bytes()
    with pytest.raises(RecordError, match="one of utf-8, cp932"):
        write_games(path, [random_game(2)], encoding=encoding)
    assert path.read_bytes() == before


def test_kif_typed_by_hand_may_have_other_widths(tmp_path: Path) -> None:
    """Half-width colons, full-width parentheses and digits; in comments they are kept."""
    path = tmp_path / "a.kif"
    path.write_text(
        "先手:羽生\n後手 : 谷川\n手合割:平手\n"
        "   1 ７六歩（77）\n*先手:（７７）\n"
        "   2 ３四歩(３３)   (0:01/00:00:01)\n先手:x\n   3 中断\n"
    )
    (game,) = games = read_games(path)
    assert not games.skipped
    assert game.headers == {"black": "羽生", "white": "谷川"}
    assert game.usi_moves() == ["7g7f", "3c3d"]
    assert game.comments == {1: "先手:（７７）", 2: "先手:x"}
    assert game.times_ms.tolist()[1] == 1000


@pytest.mark.parametrize("winner", [Winner.BLACK, Winner.WHITE])
def test_an_adjudicated_win_is_no_win_by_default_after_moves(
    tmp_path: Path, winner: Winner
) -> None:
    """不戦勝 says that the other side did not play."""
    path = tmp_path / "a.kif"
    for plies in range(3):
        game = Game.from_usi(["7g7f", "3c3d"][:plies], winner=winner, end=End.ADJUDICATION)
        write_games(path, [game])
        text = path.read_text(encoding="utf-8")
        assert ("不戦" in text) == (plies == 0)
        assert ("中断" in text) == (plies > 0)
        (read,) = read_games(path)
        assert (read.winner, read.end) == (winner, End.ADJUDICATION)


@pytest.mark.parametrize(
    ("preset", "name"),
    [
        ("HIRATE", "even"),
        ("KY", "lance"),
        ("KY_R", "right-lance"),
        ("KA", "bishop"),
        ("HI", "rook"),
        ("HIKY", "rook-lance"),
        ("2", "two-piece"),
        ("3", "three-piece"),
        ("4", "four-piece"),
        ("5", "five-piece"),
        ("5_L", "left-five-piece"),
        ("6", "six-piece"),
        ("7_L", "left-seven-piece"),
        ("7_R", "right-seven-piece"),
        ("8", "eight-piece"),
        ("10", "ten-piece"),
    ],
)
def test_every_preset_of_jkf(preset: str, name: str) -> None:
    document = {"header": {}, "initial": {"preset": preset}, "moves": [{}, {"special": "CHUDAN"}]}
    game, fault = jkf.read_game(json.dumps(document))
    assert (game.initial_sfen, fault) == (HANDICAPS[name].sfen, None)
