"""The searcher on fake networks: limits, results, repeatability."""

import pytest

from komadori import search
from komadori.inference import load


@pytest.mark.parametrize("model", ["uniform", "random:3"])
def test_a_search_gives_a_legal_move_and_as_many_nodes_as_asked(model: str) -> None:
    result = search.search("startpos", model, nodes=500)
    assert result.best_move is not None
    assert 500 <= result.infos[0].nodes < 520


def test_a_search_repeats_itself() -> None:
    evaluator = load("random:7")
    first = search.search("startpos", evaluator, nodes=1000, multipv=5)
    second = search.search("startpos", evaluator, nodes=1000, multipv=5)
    assert [(i.pv, i.visits) for i in first.infos] == [(i.pv, i.visits) for i in second.infos]
