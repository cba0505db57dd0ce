"""When a searcher resigns."""

from __future__ import annotations

import pytest

from komadori.inference.fakes import UniformEvaluator
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.search.memory import check_memory
from komadori.search.resigning import Resigning, ResignRule, piece_count
from komadori.search.root_mate import RootMate

EVEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - {}"
EIGHT_PIECES = "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - {}"


def resigns(rule: ResignRule, sfen: str, plies: list[int], *, is_mated: bool = False) -> list[bool]:
    game = Resigning()
    return [
        game.resigns(Board(sfen.format(ply)), rule, is_low=True, is_mated=is_mated) for ply in plies
    ]


def test_several_moves_in_a_row_and_never_early() -> None:
    rule = ResignRule(moves=3, ply=20)
    assert resigns(rule, EVEN, [11, 13, 15, 17, 19, 21]) == [False] * 5 + [True]
    assert resigns(rule, EVEN, [31, 33, 35]) == [False, False, True]
    assert resigns(rule, EVEN, [31, 33, 33, 37, 39, 41]) == [False] * 5 + [True]
    game = Resigning()
    found = [
        game.resigns(Board(EVEN.format(ply)), rule, is_low=is_low, is_mated=False)
        for ply, is_low in ((31, True), (33, True), (35, False), (37, True), (39, True), (41, True))
    ]
    assert found == [False] * 5 + [True]


def test_a_proven_mate_needs_one_move() -> None:
    assert resigns(ResignRule(), EVEN, [18, 20], is_mated=True) == [False, True]


def test_who_gave_a_handicap_resigns_when_mated_alone() -> None:
    plies = list(range(1, 100, 2))
    assert not any(resigns(ResignRule(), EIGHT_PIECES, plies))
    assert resigns(ResignRule(), EIGHT_PIECES, [41], is_mated=True) == [True]
    assert (piece_count(Board()), piece_count(Board(EIGHT_PIECES.format(1)))) == (40, 32)


def test_a_searcher_resigns_by_the_rule() -> None:
    options = PuctOptions(root_mate_plies=0, resign_threshold=0.9)  # an even position is below it
    s = PuctSearcher(UniformEvaluator(max_batch=4), options)
    for sfen, plies, expected in (
        (EVEN, (1, 3, 5, 7), [False] * 4),
        (EVEN, (31, 33, 35), [False, False, True]),
        (EIGHT_PIECES, (32, 34, 36), [False] * 3),
    ):
        s.new_game()
        found = []
        for ply in plies:
            s.set_position(Board(sfen.format(ply)))
            found.append(s.search(Limits(nodes=20)).resign)
        assert found == expected


def test_memory_beyond_the_machine_is_refused() -> None:
    check_memory("the tree", 1)
    with pytest.raises(MemoryError, match="the tree: 1073741824 MiB are more than"):
        check_memory("the tree", 1 << 30)
    with pytest.raises(MemoryError, match="the mate search"):
        RootMate(1 << 30)
    s = PuctSearcher(UniformEvaluator())
    for options in ({"memory_mb": 1 << 30}, {"mate_memory_mb": 1 << 30}):
        with pytest.raises(MemoryError):
            s.set_option(**options)
    assert s.search(Limits(nodes=10)).best_move is not None


def test_a_side_without_a_king_is_no_error_for_the_mate_search() -> None:
    mate = RootMate(1)
    mate.start(Board("9/9/9/9/9/9/9/9/4K4 b 2G2R2B 1"), 1000, 1.0)
    mate.wait()
    assert mate.moves == ()
