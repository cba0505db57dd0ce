"""Positions of games searched by the alpha-beta search."""

from __future__ import annotations

import pytest

from komadori.analysis import Effort
from komadori.analysis.alphabeta import AlphaBetaAnalyser
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
GAME_OVER = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
DECLARABLE = "1K7/+R+B+P+P+P+P+P+P1/1+P+P+P5/9/9/9/9/9/8k b RB4G4S4N4L6P 1"


def analyser(threads: int, effort: Effort, lines: int = 2) -> AlphaBetaAnalyser:
    options = AlphaBetaOptions(hash_mb=1)
    searchers = [AlphaBetaSearcher("nnue", None, options) for _ in range(threads)]
    return AlphaBetaAnalyser(searchers, effort, lines=lines)


def boards(count: int) -> list[tuple[int, Board]]:
    board, found = Board(), []
    for ply in range(count):
        found.append((ply, board.copy()))
        board.push(list(board.legal_moves)[ply % 5])
    return found


@pytest.mark.parametrize("effort", [Effort(1), Effort(500), Effort(None, 0.5), Effort(None, 12.0)])
def test_efforts_are_parsed_as_written(effort: Effort) -> None:
    assert Effort.parse(str(effort)) == effort


def test_a_position_gets_the_same_whatever_was_searched_beside_it() -> None:
    effort = Effort(500)
    one = dict(analyser(1, effort).analyse(boards(6)))
    three = dict(analyser(3, effort).analyse(reversed(boards(6))))
    assert one == three
    assert all(1 <= len(found.lines) <= 2 for found in one.values())
    for key, board in boards(6):
        first = one[key].lines[0]
        assert board.parse_usi(first.pv[0])
        assert one[key].win_rate == first.win_rate
        assert 0 < one[key].visits <= 1000


def test_the_rules_and_mates_give_certain_answers() -> None:
    found = dict(
        analyser(1, Effort(2000)).analyse(
            [
                ("mate", Board(MATE_IN_ONE)),
                ("over", Board(GAME_OVER)),
                ("declares", Board(DECLARABLE)),
            ]
        )
    )
    assert found["mate"].win_rate == 1.0
    assert found["mate"].lines[0].mate_plies == 1
    assert found["mate"].lines[0].score_cp is None
    assert found["mate"].lines[0].pv == ("G*5b",)
    assert found["over"].win_rate == 0.0
    assert found["over"].lines == ()
    assert found["declares"].declares
    assert found["declares"].win_rate == 1.0


def test_time_is_shared_by_the_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    search = AlphaBetaSearcher.search

    def noting(self, limits, **others):  # type: ignore[no-untyped-def]
        asked.append(limits.movetime_ms)
        return search(self, limits, **others)

    monkeypatch.setattr(AlphaBetaSearcher, "search", noting)
    assert len(list(analyser(2, Effort(None, 0.005)).analyse(boards(3)))) == 3
    assert asked == [10, 10, 10]  # two searches at a time


def test_a_search_can_be_stopped_in_the_middle() -> None:
    work = analyser(2, Effort(None, 3600.0))
    quick = analyser(2, Effort(100))
    found = quick.analyse(boards(50))
    next(found)
    found.close()
    long = work.analyse(boards(2))
    long.close()  # before it began
    assert len(list(quick.analyse(boards(3)))) == 3
