"""A value of a wrong type is a TypeError (or ValueError) that names the argument, not what follows
from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from komadori import analysis, arena, inference, players, records, search
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaSearcher

WRONG = (None, 0, 0.5, "x", b"x", [], {}, ["x"], object())

ANY: Any = None
"""Stands for an argument that isn't reached."""


def searchers() -> list[Any]:
    return [
        AlphaBetaSearcher("material"),
        search.PuctSearcher(inference.load("uniform")),
        search.PolicySearcher(inference.load("uniform")),
        search.OnePlySearcher(inference.load("uniform")),
    ]


CALLS: dict[str, Callable[[Any], object]] = {
    "Board.from_usi position": Board.from_usi,
    "Board.western move": lambda x: Board().western(x),
    "search position": lambda x: search.search(x, "uniform"),
    "search model": lambda x: search.search(Board(), x),
    "PuctSearcher evaluator": search.PuctSearcher,
    "policy position": lambda x: inference.policy(x, "uniform"),
    "policy model": lambda x: inference.policy(Board(), x),
    "evaluate evaluator": lambda x: inference.evaluate(x, ANY),
    "EvaluatorGroup evaluators": lambda x: inference.EvaluatorGroup([x]),
    "make spec": players.make,
    "fingerprint spec": players.fingerprint,
    "play_match conditions": lambda x: arena.play_match(
        "random", "random", games=2, conditions=x if x is not None else "none"
    ),
    "play_match openings": lambda x: arena.play_match("random", "random", games=2, openings=[x]),
    "play_match sprt": lambda x: arena.play_match(
        "random", "random", games=2, sprt=x if x is not None else "none"
    ),
    "samples_of games": lambda x: records.samples_of([x]),
    "html_report games": lambda x: analysis.html_report([x], "title"),
    "result_text game": lambda x: analysis.result_text(x, "en"),
    "result_text language": lambda x: analysis.result_text(records.Game(), x),
    "from_comments game": analysis.from_comments,
    "annotated analysed": analysis.annotated,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_type_names_the_argument(call: str) -> None:
    name = call.rsplit(maxsplit=1)[-1]
    for value in WRONG:
        with pytest.raises((TypeError, ValueError, OSError, records.RecordError)) as caught:
            CALLS[call](value)
        if type(caught.value) is TypeError:
            assert name in str(caught.value), value


@pytest.mark.parametrize("method", ["set_position", "search"])
def test_searchers_name_the_argument(method: str) -> None:
    for searcher in searchers():
        searcher.set_position(Board())
        for value in WRONG:
            with pytest.raises(TypeError, match=r"board: expected Board|limits: expected Limits"):
                getattr(searcher, method)(value)
        searcher.close()


def test_nothing_is_concatenated_to_nothing() -> None:
    with pytest.raises(ValueError, match="parts: at least one"):
        records.Samples.concatenate([])
