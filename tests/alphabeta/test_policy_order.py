"""Alpha-beta with moves ordered by a policy network, driven through `step` and `supply`."""

from __future__ import annotations

import functools
import threading
import time

import pytest

from komadori import inference, players
from komadori._core import alphabeta as core
from komadori.rules import HANDICAPS, Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.usi.protocol import GoCommand

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
MIDDLE = "ln1g1gsnl/4r1kb1/pps2p1p1/2ppp1p1p/9/2PP2P1P/PPBSPP1P1/5K3/LN1GRGSNL b - 21"


def searcher(**options: int) -> AlphaBetaSearcher:
    settings = AlphaBetaOptions(hash_mb=8, **options)
    return AlphaBetaSearcher(options=settings, policy=inference.load("random:5"))


def test_with_a_policy_a_search_is_repeated_exactly() -> None:
    found = []
    for _ in range(2):
        one = searcher(policy_depth=3, policy_nodes=200)
        one.set_position(Board(MIDDLE))
        result = one.search(Limits(nodes=20_000))
        found.append((result.best_move, result.infos[0].score_cp, one.nodes, one.engine.answered))
    assert found[0] == found[1]
    answered = found[0][3]
    assert 10 < answered <= 20_000 / 200 + 2


def test_requests_are_bounded_by_depth_and_nodes() -> None:
    counts = {}
    for depth, nodes in ((2, 100), (6, 100), (2, 2000), (200, 0)):
        one = searcher(policy_depth=depth, policy_nodes=nodes)
        one.set_position(Board(MIDDLE))
        one.search(Limits(nodes=20_000))
        counts[depth, nodes] = one.engine.answered
    assert counts[200, 0] == 1  # the root
    assert 1 < counts[6, 100] < counts[2, 100]
    assert counts[2, 2000] < counts[2, 100]
    without = AlphaBetaSearcher()
    without.set_position(Board(MIDDLE))
    without.search(Limits(nodes=20_000))
    assert without.engine.answered == 0


def options(**changes: int) -> core.Options:
    made = core.Options()
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_a_policy_that_knows_better_cuts_off_earlier() -> None:
    """A policy that ranks a short search's best move first, against one that ranks it last.

    Without the table, whose move would come before either.
    """
    fractions = []
    for value in (0.0, -60.0):
        settings = options(policy_depth=3, policy_nodes=20)
        settings.parts.table = False
        engine = core.Engine("material", settings)
        every, by_first = 0, 0
        for sfen in (MIDDLE, MATSURI):
            limits = core.Limits()
            limits.nodes = 10_000
            engine.new_game()
            engine.start(Board(sfen), limits)
            while engine.is_searching:
                for key, sfen in engine.step():
                    board = Board(sfen)
                    moves = [m.move16 for m in board.legal_moves]
                    best = best_move(board)
                    engine.supply(key, moves, [value if m == best else -30.0 for m in moves])
                engine.wait(1)
            of_depth, of_first = engine.cutoffs()
            every += sum(of_depth[3:])
            by_first += sum(of_first[3:])
        assert every > 100
        fractions.append(by_first / every)
    assert fractions[0] > fractions[1] + 0.03


@functools.cache
def knowing() -> AlphaBetaSearcher:
    return AlphaBetaSearcher(options=AlphaBetaOptions(hash_mb=1))


def best_move(board: Board) -> int:
    knowing().set_position(board)
    move = knowing().search(Limits(depth=4)).best_move
    return 0 if move is None else move.move16


def test_a_position_in_check_is_ordered_too() -> None:
    one = searcher(policy_depth=1, policy_nodes=0)
    board = Board("4k4/9/9/9/9/9/4r4/9/4K4 b RG2b3g4s4n4l18p 1")
    assert board.is_check()
    one.set_position(board)
    result = one.search(Limits(depth=4))
    assert result.best_move in board.legal_moves


@pytest.mark.parametrize(
    "sfen",
    [
        HANDICAPS["two-piece"].sfen,
        "4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1",
        "9/9/9/9/4K4/9/9/9/9 b RB2GSNL9P 1",
    ],
)
def test_positions_that_hcp_cannot_hold_are_ordered_too(sfen: str) -> None:
    """Handicap games and mate problems; an exception in a search thread ends the process."""
    one = searcher(policy_depth=1, policy_nodes=0)
    board = Board(sfen)
    one.set_position(board)
    assert one.search(Limits(depth=3)).best_move in board.legal_moves
    assert one.engine.answered > 0


def test_stop_does_not_wait_for_an_answer() -> None:
    engine = core.Engine("material", options(policy_depth=1))
    limits = core.Limits()
    limits.infinite = True
    engine.start(Board(), limits)
    deadline = time.monotonic() + 10
    while not engine.step():
        assert time.monotonic() < deadline
        engine.wait(1)
    engine.stop()
    assert engine.result().best is not None


def test_stop_while_the_policy_answers() -> None:
    one = searcher(policy_depth=1, policy_nodes=0)
    one.set_position(Board())
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    result = one.search(Limits(infinite=True), stop=stop)
    assert result.best_move in Board().legal_moves


def test_answers_that_do_not_fit_are_refused() -> None:
    engine = core.Engine("material", options(policy_depth=1))
    with pytest.raises(ValueError, match="differ in length"):
        engine.supply(1, [2, 3], [0.5])
    for wrong in ({"policy_depth": 0}, {"policy_nodes": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            AlphaBetaOptions(**wrong)


def test_as_a_player() -> None:
    player = players.make("alphabeta?policy=random:3&Policy_Depth=3&Policy_Nodes=500&nodes=3000")
    try:
        board = Board()
        player.new_game(1)
        assert player.play(board, GoCommand()).move in board.legal_moves
    finally:
        player.close()
