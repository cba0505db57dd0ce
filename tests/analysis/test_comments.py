# ruff: noqa: E501
"""Analyses in comments, in the formats of other programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from komadori.analysis import AnalysedGame, annotated, from_comments
from komadori.analysis.comments import read_remarks, without_analysis
from komadori.analysis.positions import UNKNOWN_LENGTH, Line
from komadori.encoding.value import win_rate_from_score
from komadori.records import Game, GameWriter, read_games

MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]


def game_with(**comments: str) -> Game:
    game = Game.from_usi(MOVES)
    game.comments.update({int(ply.removeprefix("at")): text for ply, text in comments.items()})
    return game


@pytest.mark.parametrize(
    ("comment", "score", "mate", "nodes"),
    [
        # ShogiHome
        ("互角\n#評価値=58\n#読み筋=▲７六歩(77)\n#深さ=20/32\n#ノード数=1234", 58, None, 1234),
        ("#評価値=-60", -60, None, 0),
        ("#詰み=先手勝ち", None, UNKNOWN_LENGTH, 0),
        ("#詰み=後手勝ち:8手", None, -8, 0),
        ("*評価値=80", 80, None, 0),
        # ShogiGUI and Kifu for Windows
        ("*解析 0 △ 候補1 時間 00:05.2 深さ 17/24 ノード数 1,234 評価値 88 読み筋 x", 88, None, 1234),
        ("*解析 0 ○ 評価値 -詰 3 読み筋 x", None, -3, 0),
        ("*解析 0  候補1 時間 00:10.0 深さ 34 ノード数 178144 評価値 -64↓ 読み筋 x", -64, None, 178144),
        ("検討 候補1 時間 00:06.0 深さ 27/43 ノード数 44995318 評価値 -7 読み筋 x", -7, None, 44995318),
        ("*解析 0 ○ 評価値 -詰 読み筋 x", None, -UNKNOWN_LENGTH, 0),
        ("対局 時間 00:00.8 深さ 22/28 ノード数 744743 評価値 +詰 15 読み筋 x", None, 15, 744743),
        # ours, before ShogiHome's word for a mate
        ("#評価値=-詰3", None, -3, 0),
    ],
)  # fmt: skip
def test_scores_of_programs(comment: str, score: int | None, mate: int | None, nodes: int) -> None:
    remarks, _ = read_remarks(comment)
    assert [(r.score_cp, r.mate_plies, r.nodes) for r in remarks] == [(score, mate, nodes)]


def test_what_is_no_analysis() -> None:
    for comment in (
        "",
        "良い手だ",
        "評価値は高い",
        "#評価値=",
        "#評価値=abc",
        "解析する",
        "*解析 0 評価値",
    ):
        assert [
            r for r in read_remarks(comment)[0] if (r.score_cp, r.mate_plies) != (None, None)
        ] == []


def test_an_analysis_becomes_a_game() -> None:
    game = game_with(
        at0="*Engines 0 Gikou 2",
        at1="*解析 0 ○ 候補1 時間 00:01.0 深さ 9 ノード数 5,000 評価値 50 読み筋 △８四歩(83) ▲２六歩(27)\n"
        "*解析 0  候補2 時間 00:01.0 深さ 9 ノード数 4,000 評価値 70 読み筋 △３四歩(33)",
        at2="#評価値=400\n#読み筋=▲２六歩(27)△８四歩(83)▲変な手",
        at3="*対局 時間 00:01.0 深さ 9 ノード数 10 評価値 -300 読み筋 ▲２二角成(88) △同　銀(31) ▲４五角打",
        at5="#詰み=後手勝ち:3手",
    )  # fmt: skip
    analysed = from_comments(game)
    assert analysed is not None
    assert analysed.engine == "Gikou 2"
    first, second = analysed.found[1].lines  # type: ignore[union-attr]
    assert (first.score_cp, second.score_cp) == (-50, -70)  # White's view
    assert first.pv == ("8c8d", "2g2f")
    assert analysed.found[1].visits == 5000  # type: ignore[union-attr]
    assert analysed.found[2].best.pv == ("2g2f", "8c8d")  # type: ignore[union-attr]
    assert analysed.found[3].best.pv == ("3a2b", "B*4e")  # type: ignore[union-attr]
    assert analysed.found[0] is analysed.found[4] is None
    assert analysed.black_win_rate(2) == pytest.approx(win_rate_from_score(400.0, 600.0))
    assert analysed.black_win_rate(5) == 0.0
    rate = win_rate_from_score
    assert [m.ply for m in analysed.mistakes()] == [2, 3]
    assert analysed.mistakes()[1].loss == pytest.approx(rate(400.0, 600.0) - rate(-300.0, 600.0))


def test_scores_of_the_players_count_where_nothing_else_is() -> None:
    game = Game.from_usi(MOVES, scores_cp=[60, -200, None, None, None])
    game.pvs[1] = "3c3d 2g2f"
    game.comments[2] = "#評価値=0"
    analysed = from_comments(game)
    assert analysed is not None
    assert analysed.found[1].best.score_cp == -60  # type: ignore[union-attr]
    assert analysed.found[1].best.pv == ("3c3d", "2g2f")  # type: ignore[union-attr]
    assert analysed.found[2].best.score_cp == 0  # type: ignore[union-attr]
    assert from_comments(Game.from_usi(MOVES)) is None


def test_a_mate_without_a_length_is_no_mate_in_1(tmp_path: Path) -> None:
    game = Game.from_usi(MOVES, scores_cp=[60, None, -30000, None, None])
    game.comments[4] = "*解析 深さ 9 評価値 30000 読み筋 ▲４五角打"  # as ShogiHome writes it
    path = tmp_path / "game.csa"
    with GameWriter(path) as writer:
        writer.write(game)
    analysed = from_comments(read_games(path)[0])
    assert analysed is not None
    mates = [found and found.best and found.best.mate_plies for found in analysed.found]
    assert mates == [None, None, None, UNKNOWN_LENGTH, UNKNOWN_LENGTH, None]


@pytest.mark.parametrize("style", ["shogihome", "shogigui"])
def test_what_is_written_is_read_again(tmp_path: Path, style: str) -> None:
    game = game_with(
        at1="#評価値=50\n#読み筋=△８四歩(83)",
        at3="#評価値=-300",
        at4="#詰み=先手勝ち\n#読み筋=▲４五角打",
        at5="#詰み=後手勝ち:3手",
    )
    analysed = from_comments(game)
    assert analysed is not None
    plain = AnalysedGame(Game.from_usi(MOVES), analysed.found)
    path = tmp_path / "game.kif"
    with GameWriter(path) as writer:
        writer.write(annotated(plain, style=style, language="ja"))  # type: ignore[arg-type]
    again = from_comments(read_games(path)[0])
    assert again is not None
    for ply in range(len(MOVES) + 1):
        assert (before := analysed.found[ply]) is None or (
            again.found[ply].win_rate == pytest.approx(before.win_rate)  # type: ignore[union-attr]
            and again.found[ply].best.pv == before.best.pv  # type: ignore[union-attr]
            and again.found[ply].best.mate_plies == before.best.mate_plies  # type: ignore[union-attr]
        )
    if style == "shogigui":
        assert again.engine == "komadori"


@pytest.mark.parametrize("style", ["shogihome", "shogigui"])
def test_an_earlier_analysis_is_replaced(style: str) -> None:
    record = game_with(
        at0="*Engines 0 Gikou 2",
        at1="良い手\n#詰み=先手勝ち:3手\n#エンジン=Gikou 2",
        at2="*解析 0 候補1 評価値 900 読み筋 ▲２六歩(27)",
        at3="*評価値=80",
    )
    found = from_comments(game_with(at1="#評価値=50", at2="#評価値=60", at3="#評価値=70"))
    assert found is not None
    game = annotated(AnalysedGame(record, found.found), style=style)  # type: ignore[arg-type]
    again = from_comments(game)
    assert again is not None
    assert [a and a.win_rate for a in again.found] == [f and f.win_rate for f in found.found]
    assert again.engine in ("", "komadori")
    assert game.comments[1].startswith("良い手\n")
    assert game.comments[3].startswith("*評価値=80\n")


def test_no_score_of_an_earlier_analysis_becomes_a_players(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    record = game_with(at1="#評価値=700", at2="#評価値=600")
    record.scores_cp = Game.from_usi(MOVES, scores_cp=[None, 30, None, None, None]).scores_cp
    with GameWriter(path) as writer:
        writer.write(record)
    record = read_games(path)[0]
    assert record.scores_cp[0] == 700
    found = from_comments(game_with(at1="#評価値=50", at2="#評価値=60"))
    assert found is not None
    with GameWriter(path) as writer:
        writer.write(annotated(AnalysedGame(record, found.found)))
    text = path.read_text("utf-8")
    assert [line for line in text.splitlines() if "評価値" in line] == [
        "*#評価値=+50", "**評価値=-30", "*#評価値=+60",
    ]  # fmt: skip


def test_the_analysis_of_a_record_is_not_written_twice() -> None:
    record = game_with(at1="#評価値=50", at2="*解析 0 候補1 深さ 9 評価値 60 読み筋 ▲２六歩(27)")
    analysed = from_comments(record)
    assert analysed is not None
    assert annotated(analysed).comments == record.comments


@pytest.mark.parametrize(
    ("comment", "rate"),
    [
        ("#評価値=99999999999999999999", 1.0),
        ("#詰み=先手勝ち:99999手", 1.0),
        ("#評価値=-詰" + "9" * 6000, 0.0),
        ("#読み筋=" + "▲７六歩" * 9, None),
        ("*解析 0 評価値 詰 読み筋 ▲", 1.0),
        ("*解析 " + "評価値 " * 50, None),
        ("#評価値=0\n#読み筋=▲", 0.5),
    ],
)
def test_comments_are_never_trusted(comment: str, rate: float | None) -> None:
    analysed = from_comments(game_with(at1=comment))
    assert (None if analysed is None else analysed.black_win_rate(1)) == (
        None if rate is None else pytest.approx(rate)
    )


def best_after_the_first_move(game: Game) -> Line:
    analysed = from_comments(game)
    assert analysed is not None
    found = analysed.found[1]
    assert found is not None
    assert found.best is not None
    return found.best


@pytest.mark.parametrize(("score", "mate"), [(31_111, None), (-32_000, None), (30_000, True)])
def test_scores_beyond_a_mate_are_kept(tmp_path: Path, score: int, mate: bool | None) -> None:
    path = tmp_path / "a.csa"
    path.write_text(f"PI\n+\n+7776FU\n'** {score} -3334FU\n")
    (game,) = read_games(path)
    best = best_after_the_first_move(game)
    expected = (None, -UNKNOWN_LENGTH) if mate else (-score, None)
    assert (best.score_cp, best.mate_plies) == expected
    analysed = from_comments(game)
    assert analysed is not None
    assert annotated(analysed, is_csa=True).scores_cp.tolist() == [score]


@pytest.mark.parametrize("row", ["*評価値=-70", "*対局 時間 00:05.2 評価値 -70 読み筋 ▲７六歩(77)"])
def test_floodgates_line_of_csa_goes_before_other_rows(tmp_path: Path, row: str) -> None:
    """As analyses are saved in CSA beside what a player said."""
    path = tmp_path / "a.csa"
    path.write_text(f"PI\n+\n+7776FU\n'*{row}\n'** 101 -3334FU\n", encoding="utf-8")
    (game,) = read_games(path)
    assert game.comments == {1: row}
    best = best_after_the_first_move(game)
    assert (best.score_cp, best.pv) == (-101, ("3c3d",))


def test_a_players_mate_keeps_its_length(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_text("手合割：平手\n   1 ７六歩(77)\n**評価値=+詰3\n", encoding="utf-8")
    (game,) = read_games(path)
    best = best_after_the_first_move(game)
    assert best.mate_plies == -3


def test_a_record_of_thousands_of_moves_takes_little_memory() -> None:
    """Boards keep their history: those of all positions take the square of a game's length."""
    opening, cycle = ["7g7f", "3c3d", "7f7e", "3d3e"], ["2h3h", "8b7b", "3h2h", "7b8b"]
    game = Game.from_usi(opening + cycle * 2500)
    game.comments[10_000] = "#評価値=58\n#読み筋=▲３八飛(28)"
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    analysed = from_comments(game)
    used_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert analysed is not None
    assert used_kb < 200_000
    best = analysed.found[10_000].best  # type: ignore[union-attr]
    assert best is not None
    assert best.pv == ("2h3h",)


def test_a_line_may_begin_with_the_move_played() -> None:
    game = game_with(at2="*対局 評価値 -70 読み筋 △３四歩(33) ▲６六歩(67)")
    analysed = from_comments(game)
    assert analysed is not None
    assert analysed.found[2].best.pv == ("6g6f",)  # type: ignore[union-attr]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_mistakes_that_the_browser_interface_writes_are_of_an_analysis(language: str) -> None:
    """Else each save there after an analysis would add them again."""
    words = Path(__file__).parents[2] / "web" / "src" / "i18n" / f"{language}.ts"
    grades = re.findall(r"'grade\.\w+': '(.+)'", words.read_text("utf-8"))
    assert len(grades) == 4
    for grade in grades:
        row = f"komadori: {grade} −12; Better: P-7f"
        assert without_analysis(f"mine\n{row}") == "mine", row
