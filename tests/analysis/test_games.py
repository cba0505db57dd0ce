"""Mistakes from made-up evaluations; exported records; pages; journals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from komadori.analysis import GRADES, AnalysedGame, Found, Journal, Line, Phase, annotated
from komadori.analysis.games import (
    grade_of,
    in_ki2,
    in_western,
    move_accuracy,
    points_lost,
)
from komadori.analysis.journal import read_journal
from komadori.records import Game, GameWriter, Winner, read_games
from komadori.rules import Board

MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
#: Positions of a journal, in all of which 7g7f and 2g2f are legal.
KEYS = ONE, TWO, THREE = [
    Board(f"startpos moves {played} 5a5b").sfen().rpartition(" ")[0]
    for played in ("1g1f", "9g9f", "3g3f")
]
FOUR = Board().sfen().rpartition(" ")[0]


def line(rate: float, *pv: str, mate: int | None = None) -> Line:
    return Line(rate, mate, None if mate else round(1000 * (rate - 0.5)), 10, pv)


@pytest.fixture
def analysed() -> AnalysedGame:
    game = Game.from_usi(
        MOVES,
        winner=Winner.BLACK,
        scores_cp=[60, None, None, None, None],
        headers={"black": "先手 <b>", "white": "後手"},
    )
    game.comments[2] = "a comment of the record"
    found = [  # from the side to move's viewpoint
        Found(0.55, 10, (line(0.55, "7g7f", "3c3d"),)),
        Found(0.45, 10, (line(0.45, "8c8d", "2g2f"),)),
        Found(0.75, 10, (line(0.75, "2g2f", "8c8d"),)),  # White's 3c3d lost 20 points
        Found(0.60, 10, (line(0.60, "3a2b"),)),  # Black's exchange lost 35
        Found(0.40, 10, (line(0.40, "2g2f"),)),
        Found(0.67, 10, (line(1.0, "2b3c", "4e3d", "3c4d", mate=3),)),
    ]
    return AnalysedGame(game, found)


def test_mistakes_are_what_a_move_gave_away(analysed: AnalysedGame) -> None:
    made = [(m.ply, m.turn, round(m.loss, 2), m.grade) for m in analysed.mistakes()]
    assert made == [(2, 1, 0.20, "blunder"), (3, 0, 0.35, "blunder"), (5, 0, 0.07, "inaccuracy")]
    assert [m.ply for m in analysed.mistakes(0.25)] == [3]
    first = analysed.mistakes()[0]
    assert (first.before, first.after) == (0.45, 0.25)
    assert first.best.pv == ("8c8d", "2g2f")
    assert first.reply is not None
    assert first.reply.pv[0] == "2g2f"


def test_phases_begin_with_exchanges() -> None:
    def phases(usi: str) -> list[Phase]:
        return AnalysedGame(Game.from_usi(usi.split()), [None] * (len(usi.split()) + 1)).phases

    exchanged = "7g7f 3c3d 8h2b+ 3a2b"
    assert set(phases(f"{exchanged} B*4e B*5e 4e3d 5e4d 2h3h")) == {Phase.OPENING}
    # A rook promotes and is captured.
    middle = phases("2g2f 4a3b 2f2e 1c1d 2e2d 2c2d 2h2d 9c9d 2d3d 9d9e 3d3c+ 3b3c 9g9f")
    assert middle == [Phase.OPENING] * 11 + [Phase.MIDDLEGAME] * 2


def test_the_rules_judge_an_end_by_repetition() -> None:
    shuffle = ["2h3h", "8b7b", "3h2h", "7b8b"] * 3
    lost = Found(0.8, 10, (line(0.8),))
    found = [*[Found(0.5, 10, (line(0.5),))] * 11, Found(0.34, 10, (line(0.34),))]
    drawn = AnalysedGame(Game.from_usi(shuffle), [*found, lost])
    assert drawn.found[-1].win_rate == 0.5
    assert drawn.mistakes() == []  # a search without the path would have called the draw one
    assert drawn.black_win_rate(12) == 0.5
    assert "評価値=+0" in annotated(drawn).comments[12]
    assert annotated(drawn, is_csa=True).scores_cp[-1] == 0
    short = AnalysedGame(Game.from_usi(shuffle[:4]), [*found[:4], lost])
    assert short.found[-1] is lost


def test_results_belong_to_their_side(analysed: AnalysedGame) -> None:
    assert analysed.agreement(0) == (1, 3)
    assert analysed.agreement(1) == (1, 2)
    assert analysed.mean_loss(0) == pytest.approx((0 + 0.35 + 0.07) / 3)
    assert [round(analysed.black_win_rate(ply), 2) for ply in range(6)] == [
        0.55, 0.55, 0.75, 0.40, 0.40, 0.33,
    ]  # fmt: skip


def test_a_count_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="5 moves"):
        AnalysedGame(Game.from_usi(MOVES), [Found(0.5, 1, ())])


def test_kif_carries_the_research_and_what_was_there(
    analysed: AnalysedGame, tmp_path: Path
) -> None:
    path = tmp_path / "game.kif"
    with GameWriter(path) as writer:
        writer.write(annotated(analysed))
    text = path.read_text("utf-8")
    lines = text.splitlines()
    first = next(i for i, row in enumerate(lines) if "７六歩(77)" in row and row[:4].strip() == "1")
    # Black's view throughout: White, to move, stands at 45%.
    assert "**評価値=60" in lines[first : first + 4]  # the player's own
    assert "*#評価値=+50" in lines[first : first + 4]
    assert "*#読み筋=△８四歩(83)▲２六歩(27)" in lines[first : first + 4]
    assert "*a comment of the record" in lines
    assert "*#詰み=後手勝ち:3手" in lines
    assert any(
        "komadori: blunder, 20.0 points lost, 45% -> 25%; better: △８四歩(83)" in row
        for row in lines
    )
    again = read_games(path)[0]
    assert again.usi_moves() == MOVES
    assert again.scores_cp[0] == 60
    assert again.scores_cp[1] == -250  # White made it: Black's +250


def test_csa_carries_scores_and_lines(analysed: AnalysedGame, tmp_path: Path) -> None:
    path = tmp_path / "game.csa"
    with GameWriter(path) as writer:
        writer.write(annotated(analysed, is_csa=True))
    rows = path.read_text("utf-8").splitlines()
    at = rows.index("+7776FU")
    assert "'** 50 -8384FU +2726FU" in rows[at : at + 3]
    at = rows.index("-3334FU")
    assert "'** 250 +2726FU -8384FU" in rows[at : at + 3]
    at = rows.index("+0045KA")
    assert any(row.startswith("'** -30000 ") for row in rows[at : at + 3])
    again = read_games(path)[0]
    assert again.scores_cp[1] == -250
    assert again.pvs[2] == "2g2f 8c8d"


def test_classes_of_mistakes_begin_where_they_should() -> None:
    assert [(grade.japanese, grade.loss) for grade in GRADES] == [
        ("大悪手", 0.5), ("悪手", 0.2), ("疑問手", 0.1), ("緩手", 0.05),
    ]  # fmt: skip


def test_a_side_in_figures(analysed: AnalysedGame) -> None:
    side = analysed.side(0)
    assert (side.moves, side.same) == (3, 1)
    assert side.mistakes == (0, 1, 0, 1)
    assert side.histogram == (1, 0, 0, 1, 0, 1, 0)  # 0, 7 and 35 points
    expected = sum(move_accuracy(loss) for loss in (0.0, 0.35, 0.07)) / 3
    assert side.accuracy == pytest.approx(expected)
    assert move_accuracy(0.0) == pytest.approx(100, abs=0.01)
    assert 0 <= move_accuracy(1.0) < 1
    # A bishop each in hand is still the opening.
    assert analysed.phases == [Phase.OPENING] * 5
    assert [phase.moves for phase in side.phases] == [3, 0, 0]


def test_unknown_positions_cost_nothing(analysed: AnalysedGame) -> None:
    found = list(analysed.found)
    found[2] = None
    partly = AnalysedGame(analysed.game, found)
    assert [m.ply for m in partly.mistakes()] == [5]
    assert partly.black_win_rate(2) is None
    assert partly.loss(1) is partly.loss(2) is None
    assert partly.side(0).moves == 2
    # The best move of a position is no agreement if the position after it is unknown.
    partly = AnalysedGame(analysed.game, [*found[:3], found[3], None, None])
    assert partly.agreement(1) == (0, 0)
    assert (partly.side(1).moves, partly.side(1).same) == (0, 0)


def test_lines_as_people_write_them(analysed: AnalysedGame) -> None:
    board = analysed.boards[0]
    assert in_ki2(board, MOVES) == ["▲７六歩", "△３四歩", "▲２二角成", "△同銀", "▲４五角"]
    assert in_western(board, MOVES) == ["P-7f", "P-3d", "Bx2b+", "Sx2b", "B*4e"]


@pytest.mark.parametrize("damage", [b"\x00\xff", b"[" * 100_000, b"{}", b""])
def test_a_damaged_line_of_a_journal_costs_no_other_result(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "a.analysis.jsonl"
    found = Found(0.5, 3, (Line(0.5, None, 40, 3, ("7g7f",)),), declares=False)
    with Journal(path, {"nodes": 5}) as journal:
        for key in KEYS:
            journal.add(key, found)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], damage, *lines[3:]]) + b'{"position": "fo')
    assert list(read_journal(path)) == [ONE, THREE]
    with Journal(path, {"nodes": 5}) as journal:
        assert list(journal.known) == [ONE, THREE]
        journal.add(FOUR, found)
    assert path.read_bytes().split(b"\n")[:3] == [*lines[:2], lines[3]]
    with Journal(path, {"nodes": 5}) as journal:
        assert list(journal.known) == [ONE, THREE, FOUR]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("position", 5, "position is 5"),
        ("win_rate", "0.5", 'win_rate is "0.5"'),
        ("win_rate", True, "win_rate is true"),
        ("win_rate", 1.5, "win_rate is 1.5, not between 0 and 1"),
        ("win_rate", float("nan"), "win_rate is nan, not between 0 and 1"),
        ("visits", 2.5, "visits is 2.5"),
        ("visits", None, "visits is null"),
        ("lines", {}, "lines is {}"),
        ("lines", ["7g7f"], 'a line is "7g7f"'),
        ("declares", 0, "declares is 0"),
        ("other", 0, "other is unknown"),
        ("lines.win_rate", "x", 'win_rate is "x"'),
        ("lines.mate_plies", "3", 'mate_plies is "3"'),
        ("lines.score_cp", 1.5, "score_cp is 1.5"),
        ("lines.visits", [], "visits is []"),
        ("lines.depth", "9", 'depth is "9"'),
        ("lines.pv", "7g7f", 'pv is "7g7f"'),
        ("lines.pv", [7], "pv holds something other than moves"),
        ("lines.pv", ["7g7f", "7g7f"], "7g7f is not legal in "),
        ("lines.pv", ["x"], "USI move 'x', character 1"),
        ("position", "9/9 b -", "SFEN, character 4"),
    ],
)
def test_a_value_of_another_type_in_a_journal_costs_its_line_alone(
    tmp_path: Path, name: str, value: object, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    found = Found(0.25, 7, (line(0.25, "7g7f"),))
    with Journal(path, {"nodes": 5}) as journal:
        for key in KEYS:
            journal.add(key, found)
        assert journal.damage == ""
    rows = path.read_text().splitlines()
    row = json.loads(rows[2])
    table = row["lines"][0] if name.startswith("lines.") else row
    table[name.rpartition(".")[2]] = value
    rows[2] = json.dumps(row)
    path.write_text("\n".join(rows) + "\n")
    assert list(read_journal(path)) == [ONE, THREE]
    with Journal(path, {"nodes": 5}) as journal:
        assert journal.damage.startswith(f"{path}, line 3: {message}")
        assert list(journal.known) == [ONE, THREE]


def test_a_journal_replaces_no_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(ValueError, match="holds something other than an analysis"):
        Journal(path, {"nodes": 5})
    assert path.read_text() == "my notes\n"
    with Journal(path, {"nodes": 5}, fresh=True) as journal:
        journal.add(ONE, Found(0.25, 7, ()))
    assert list(read_journal(path)) == [ONE]
    path.write_bytes(b"")
    Journal(path, {"nodes": 5}).close()


def test_a_truncated_journal_resumes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    found = Found(0.25, 7, (line(0.25, "7g7f"), line(0.0, "2g2f", mate=-4)))
    with Journal(path, {"nodes": 5}) as journal:
        assert not journal.is_resumed
        journal.add(ONE, found)
        journal.add(TWO, Found(1.0, 0, (), declares=True))
    with path.open("a") as file:
        file.write('{"position": "three", "win_ra')  # cut off by a crash
    with Journal(path, {"nodes": 5}) as journal:
        assert journal.is_resumed
        assert journal.known == {ONE: found, TWO: Found(1.0, 0, (), declares=True)}
        journal.add(THREE, found)
    with Journal(path, {"nodes": 5}) as journal:
        assert list(journal.known) == [ONE, TWO, THREE]
    with Journal(path, {"nodes": 6}) as journal:  # other settings: from the beginning
        assert not journal.is_resumed
        assert journal.known == {}


def test_a_game_without_an_end_is_written_without_one(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    with GameWriter(path) as writer:
        writer.write(Game.from_usi(MOVES))
    assert "不詰" not in path.read_text("utf-8")
    assert read_games(path)[0].usi_moves() == MOVES


@pytest.mark.parametrize(
    ("loss", "shown", "grade"),
    [
        (0.1999, "19.9", "mistake"),
        (0.2, "20.0", "blunder"),
        (0.0499999, "4.9", None),
        (0.05, "5.0", "inaccuracy"),
        (0.1, "10.0", "mistake"),
        (0.5, "50.0", "major blunder"),
        (0.4999999, "49.9", "blunder"),
    ],
)
def test_points_lost_agree_with_the_grade(loss: float, shown: str, grade: str | None) -> None:
    assert points_lost(loss) == shown
    found = grade_of(loss)
    assert (found and found.name) == grade


def test_a_journal_without_depths_is_read(tmp_path: Path) -> None:
    """Journals of earlier versions have no depths; those of searches without one neither."""
    path = tmp_path / "journal"
    found = Found(0.5, 1, (Line(0.5, None, 0, 1, ("7g7f",), 9), Line(0.4, None, -9, 1, ("2g2f",))))
    with Journal(path, {"nodes": 1}) as journal:
        journal.add(ONE, found)
    assert read_journal(path) == {ONE: found}
    assert path.read_text().count("depth") == 1
    path.write_text(path.read_text().replace(', "depth": 9', ""))
    with Journal(path, {"nodes": 1}) as journal:
        assert journal.is_resumed
        assert journal.known[ONE].lines[0] == replace(found.lines[0], depth=None)
