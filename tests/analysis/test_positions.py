"""Positions searched together: each gets its own nodes or time, and its result is right."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import Any

import pytest

from komadori.analysis import Effort, Found, PositionAnalyser
from komadori.inference import load
from komadori.inference.fakes import UniformEvaluator
from komadori.rules import Board
from komadori.search import PuctOptions

MATE_IN_7 = "7k1/5g2g/4G2G1/8L/9/9/9/9/9 b 2r2b4s4n3l18p 1"
MATED = "4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1"
DECLARABLE = "4K4/+P+P+P+P+P+P+P+P+P/+P8/9/9/9/9/9/4k4 b 2R2B 1"


def some_boards(count: int) -> list[Board]:
    boards, board = [], Board()
    for i in range(count):
        boards.append(board.copy())
        moves = sorted(board.legal_moves, key=lambda move: move.usi())
        board.push(moves[(7 * i) % len(moves)])
    return boards


def analyse(
    boards: list[Board], effort: Effort, model: str = "random:1", batch: int = 8, roots: int = 16
) -> dict[int, Found]:
    evaluator = load(model, max_batch=batch, slots=3)
    analyser = PositionAnalyser(evaluator, effort, PuctOptions(multipv=3), roots)
    return dict(analyser.analyse(enumerate(boards)))


@pytest.mark.parametrize("roots", [1, 5, 64])
def test_every_position_gets_its_nodes(roots: int) -> None:
    boards = some_boards(30)
    found = analyse(boards, Effort(nodes=150), roots=roots)
    assert sorted(found) == list(range(30))
    for number, board in enumerate(boards):
        result = found[number]
        assert result.visits >= 150 or (result.best and result.best.mate_plies)
        assert 1 <= len(result.lines) <= 3
        assert result.win_rate == result.lines[0].win_rate
        for line in result.lines:
            replayed = board.copy()
            for move in line.pv:
                replayed.push_usi(move)  # raises where it isn't legal


def test_batches_are_shared() -> None:
    class Counting(UniformEvaluator):
        starts: list[int] = []  # noqa: RUF012

        def start(self, slot: int, n: int) -> None:
            self.starts.append(n)
            super().start(slot, n)

    evaluator = Counting(max_batch=16, slots=3)
    together = PositionAnalyser(evaluator, Effort(nodes=64))
    assert len(list(together.analyse(enumerate(some_boards(20))))) == 20
    # A single position of so few nodes would fill at most two rows per batch.
    assert sum(evaluator.starts) / len(evaluator.starts) > 5


def test_time_is_divided() -> None:
    found = analyse(some_boards(6), Effort(seconds=0.05), "uniform")
    assert len(found) == 6
    assert all(result.visits >= 1 for result in found.values())


def test_mates_and_ends_are_known() -> None:
    boards = [Board(sfen) for sfen in (MATE_IN_7, MATED, DECLARABLE)]
    found = analyse(boards, Effort(nodes=50), "uniform")
    best = found[0].best
    assert best is not None
    assert best.mate_plies == 7
    assert best.score_cp is None
    for move in best.pv:
        boards[0].push_usi(move)
    assert boards[0].is_checkmate()
    assert found[1] == Found(0.0, 0, ())
    assert found[2].declares
    assert found[2].win_rate == 1.0


def test_the_same_position_twice_at_once() -> None:
    found = analyse([Board(), Board(), Board()], Effort(nodes=100))
    assert len(found) == 3
    assert all(result.visits >= 100 for result in found.values())


def test_unfinished_positions_can_be_resumed() -> None:
    evaluator = load("random:1", max_batch=8, slots=3)
    analyser = PositionAnalyser(evaluator, Effort(nodes=100))
    boards = some_boards(20)
    iteration = analyser.analyse(enumerate(boards))
    assert len(list(islice(iteration, 3))) == 3
    iteration.close()  # type: ignore[attr-defined]
    assert len(list(analyser.analyse(enumerate(boards)))) == 20


def test_efforts_are_one_or_the_other() -> None:
    for wrong in ({}, {"nodes": 1, "seconds": 1.0}, {"nodes": 0}, {"seconds": 0.0}):
        with pytest.raises(ValueError, match="effort"):
            Effort(**wrong)  # type: ignore[arg-type]


def test_a_network_of_other_tables() -> None:
    evaluator = load("random:1", features="attention", labels="1134")
    (found,) = dict(PositionAnalyser(evaluator, Effort(nodes=50)).analyse([(0, Board())])).values()
    assert found.visits >= 50


@pytest.mark.parametrize(
    "sfen", ["4k4/9/9/9/9/9/9/9/9 b 2G2R2B 1", "9/9/9/9/9/9/9/9/4K4 b 2G2R2B 1"]
)
def test_a_side_may_be_without_a_king(sfen: str) -> None:
    (found,) = analyse([Board(sfen)], Effort(nodes=20)).values()
    assert found.best is not None
    assert Board(sfen).parse_usi(found.best.pv[0]) in Board(sfen).legal_moves


def test_an_iteration_that_another_has_replaced_says_so() -> None:
    analyser = PositionAnalyser(UniformEvaluator(), Effort(5))
    first = analyser.analyse((str(number), Board()) for number in range(90))
    second = analyser.analyse([("a", Board()), ("b", Board())])
    next(first)
    assert next(second)[0] == "a"
    with pytest.raises(RuntimeError, match="a later iteration has begun"):
        next(first)
    assert [key for key, _ in second] == ["b"]
    assert len(list(analyser.analyse((str(number), Board()) for number in range(90)))) == 90


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"nodes": 0}, "an effort's nodes must be at least 1, not 0"),
        ({"nodes": -5}, "an effort's nodes must be at least 1, not -5"),
        ({"seconds": 0.0}, "an effort's seconds must be above 0 and finite, not 0.0"),
        ({"seconds": math.nan}, "an effort's seconds must be above 0 and finite, not nan"),
    ],
)
def test_an_effort_names_its_wrong_limit(limit: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Effort(**limit)


@pytest.mark.parametrize("roots", [0, -1, 2**31])
def test_the_number_of_roots_is_bounded(roots: int) -> None:
    with pytest.raises(ValueError, match=f"roots is {roots}, 1 to 65,536"):
        PositionAnalyser(UniformEvaluator(), Effort(5), roots=roots)
