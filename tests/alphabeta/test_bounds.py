"""Scores of searches that are interrupted in the middle of an iteration."""

from __future__ import annotations

from itertools import islice

import pytest

from komadori.records import read_games, sample_path
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.search.protocol import Info, Limits
from komadori.usi.answers import info_line

NODES = 40_000


@pytest.fixture(scope="module")
def results() -> list[tuple[Board, Info]]:
    """Positions of bundled games, and what interrupted searches say of them."""
    searcher = AlphaBetaSearcher("nnue")
    found = []
    for game in islice(read_games(sample_path()), 8):
        for ply in range(24, 60, 4):
            board = Board(game.initial_sfen)
            board.push_all(game.usi_moves()[:ply])
            searcher.new_game()
            searcher.set_position(board)
            found.append((board, searcher.search(Limits(nodes=NODES)).infos[0]))
    return found


def test_a_failed_window_gives_a_bound(results: list[tuple[Board, Info]]) -> None:
    assert {info.bound for _, info in results} == {"", "lowerbound", "upperbound"}
    for _, info in results:
        score = f"cp {info.score_cp}" if info.mate_plies is None else f"mate {info.mate_plies}"
        assert f"score {' '.join(filter(None, (score, info.bound)))} pv" in str(info_line(info))


def test_the_line_of_a_bound_is_more_than_a_move(results: list[tuple[Board, Info]]) -> None:
    """A refutation at the least; the table may know no more."""
    lines = [(board, info.pv) for board, info in results if info.bound]
    for board, line in lines:
        assert len(line) > 1
        board.copy().push_all(line)  # raises unless the table's moves are legal
    assert sum(len(line) > 3 for _, line in lines) > 0.9 * len(lines)


def test_a_completed_iteration_gives_no_bound() -> None:
    searcher = AlphaBetaSearcher("nnue")
    for depth in range(1, 10):
        searcher.set_position(Board())
        assert searcher.search(Limits(depth=depth)).infos[0].bound == ""
