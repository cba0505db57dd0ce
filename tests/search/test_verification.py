"""Moves of the PUCT tree that an alpha-beta search verifies."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from komadori.inference.fakes import UniformEvaluator
from komadori.inference.protocol import Floats
from komadori.players import make
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher, StopEvent
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.search.verification import Verdicts

#: Black can take a rook, or lose one: an even network sees no difference.
HANGING = "4k4/9/4r4/9/4R4/9/9/9/4K4 b P 1"


class SlowEvaluator(UniformEvaluator):
    """Takes a millisecond per position, so the tree can't exhaust the position first.

    Within 30,000 visits the tree finds the capture itself, and no other move is left to verify.
    """

    def _evaluate(self, inputs: Sequence[Floats], policy: Floats, value: Floats) -> None:
        time.sleep(0.001 * len(value))


def searcher(**options: Any) -> PuctSearcher:
    made = PuctSearcher(SlowEvaluator(1), PuctOptions(root_mate_plies=0, **options))
    made.set_position(Board(HANGING))
    return made


def stop_when_refuted(verified: PuctSearcher, stop: StopEvent) -> None:
    """Stop the search once it has refuted a move, or after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        verdicts = verified.verdicts
        if verdicts is not None and any(map(verdicts.is_refuted, list(verdicts.scores))):
            break
        time.sleep(0.05)
    stop.set()


def test_a_refuted_move_is_not_played_and_leaves_the_tree() -> None:
    blind = searcher().search(Limits(nodes=60)).best_move
    verified = searcher(verify_margin=100)
    stop = StopEvent()
    threading.Thread(target=stop_when_refuted, args=(verified, stop)).start()
    result = verified.search(Limits(infinite=True), stop=stop)
    assert blind is not None
    assert blind.usi() != "5e5c+"
    assert result.best_move is not None
    assert result.best_move.usi() == "5e5c+"
    verdicts = verified.verdicts
    assert verdicts is not None
    refuted = [move16 for move16 in verdicts.scores if verdicts.is_refuted(move16)]
    assert refuted
    visits = {move.move16: move.visits for move in verified.tree.root_moves(0)}
    assert not any(visits.get(move16) for move16 in refuted)
    # The next search of the position has all moves again.
    again = verified.search(Limits(nodes=1, searchmoves=[blind]))
    assert again.best_move == blind
    verified.set_option(verify_margin=None)
    verified.set_position(Board(HANGING))
    assert verified.search(Limits(nodes=1)).best_move is not None
    assert verified.verdicts is None


def test_a_wide_margin_leaves_the_move_to_the_tree() -> None:
    wide = searcher(verify_margin=100_000)
    result = wide.search(Limits(movetime_ms=400))
    verdicts = wide.verdicts
    assert verdicts is not None
    assert not any(verdicts.is_refuted(move16) for move16 in verdicts.scores)
    assert result.best_move is not None
    visits = {move.move16: move.visits for move in wide.tree.root_moves(0)}
    verified = [visits[move16] for move16 in verdicts.scores if move16 in visits]
    assert visits[result.best_move.move16] == max(verified)


def test_only_search_moves_are_verified() -> None:
    board = Board(HANGING)
    allowed = [board.parse_usi("5e5f"), board.parse_usi("P*5d")]
    verified = searcher(verify_margin=0)
    result = verified.search(Limits(movetime_ms=300, searchmoves=allowed))
    assert result.best_move in allowed
    verdicts = verified.verdicts
    assert verdicts is not None
    assert verdicts.scores.keys() <= {move.move16 for move in allowed}


def test_the_verification_ends_with_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    for limits in (Limits(nodes=5), Limits(movetime_ms=50), Limits(byoyomi_ms=200)):
        searcher(verify_margin=50).search(limits)
        assert threading.active_count() == before
    stop = StopEvent()
    stop.set()
    assert searcher(verify_margin=50).search(Limits(infinite=True), stop=stop).best_move

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(AlphaBetaSearcher, "search", fail)
    with pytest.raises(RuntimeError, match="broken"):
        searcher(verify_margin=50).search(Limits(movetime_ms=100))


def test_verdicts_change_with_the_best_score() -> None:
    verdicts = Verdicts(margin=50)
    assert verdicts.choose([1, 2]) is None
    verdicts.add(1, 100)
    verdicts.add(2, 60)
    assert not verdicts.is_refuted(2)
    assert verdicts.choose([3, 2, 1]) == 2  # 3 wasn't verified
    verdicts.add(1, 120)
    assert verdicts.is_refuted(2)
    assert verdicts.choose([3, 2, 1]) == 1
    verdicts.add(1, -500)
    assert verdicts.best == 2
    assert verdicts.choose([1]) == 2


def test_an_option_of_the_engine_turns_it_on() -> None:
    player = make("model:uniform?Verify_Margin=100&Mate_Root_Search=0")
    player.new_game(seed=1)
    inner = player._searcher  # type: ignore[attr-defined]
    assert inner.options.verify_margin == 100
    with pytest.raises(ValueError, match="verify_margin is -2, at least 0 is needed"):
        PuctOptions(verify_margin=-2)
    player.close()
