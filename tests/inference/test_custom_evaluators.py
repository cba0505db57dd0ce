"""Evaluators of the user's own: what `wait` returns is checked wherever a batch is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from komadori.encoding import encode_boards
from komadori.inference import Evaluator, EvaluatorGroup, InferenceError, evaluate
from komadori.inference.fakes import UniformEvaluator
from komadori.inference.shared import SharedEvaluator
from komadori.rules import Board
from komadori.search import Limits, PuctSearcher

Change = Callable[[Any, Any], Any]


class Custom(UniformEvaluator):
    """Returns something else than the outputs."""

    def __init__(self, change: Change) -> None:
        super().__init__(max_batch=4, slots=2)
        self.change = change

    def wait(self, slot: int) -> Any:
        return self.change(*super().wait(slot))


def by_evaluate(evaluator: Evaluator) -> None:
    evaluate(evaluator, *encode_boards([Board()] * 3, evaluator.features))


def by_search(evaluator: Evaluator) -> None:
    searcher = PuctSearcher(evaluator)
    searcher.set_position(Board())
    try:
        searcher.search(Limits(nodes=30))
    finally:
        assert searcher.tree.check() == ""


def in_a_lane(evaluator: Evaluator) -> None:
    shared = SharedEvaluator(evaluator)
    lane = shared.lane()
    try:
        by_evaluate(lane)
    finally:
        lane.close()
        shared.close()


def in_a_group(evaluator: Evaluator) -> None:
    group = EvaluatorGroup([evaluator, UniformEvaluator(max_batch=4)])
    try:
        by_evaluate(group)
    finally:
        group.close()


USES = [by_evaluate, by_search, in_a_lane, in_a_group]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda policy, value: None, "None,"),
        (lambda policy, value: (policy, None), "and None,"),
        (lambda policy, value: (policy.tolist(), value.tolist()), "a list and a list,"),
        (lambda policy, value: (policy, value, value), "a tuple of length 3,"),
        (lambda policy, value: policy, r"an array of float32 of shape \(\d, 2187\),"),
        (lambda policy, value: (policy[:, 1:], value), r"of shape \(\d, 2186\)"),
        (lambda policy, value: (policy, value[:, None]), r"of shape \(\d, 1\)"),
        (lambda policy, value: (value, policy), r"of shape \(\d,\) and"),
        (lambda policy, value: (policy.repeat(2, 0), value), r"of shape \(\d, 2187\) and"),
        (lambda policy, value: (policy.astype(str), value), "an array of <U"),
    ],
)
def test_wrong_outputs_name_the_evaluator(
    use: Callable[[Evaluator], None], change: Change, words: str
) -> None:
    end = r"not a policy of shape \(\d, 2187\) and values of shape \(\d,\)$"
    with pytest.raises(InferenceError, match=rf"^uniform: Custom\.wait returned .*{words}.*{end}"):
        use(Custom(change))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_outputs_may_be_numbers_of_other_types(
    use: Callable[[Evaluator], None], dtype: type
) -> None:
    use(Custom(lambda policy, value: (policy.astype(dtype), value.astype(dtype))))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("count", ["slots", "max_batch"])
def test_an_evaluator_without_slots_or_rows_is_refused(
    use: Callable[[Evaluator], None], count: str
) -> None:
    evaluator = UniformEvaluator(max_batch=4, slots=2)
    setattr(evaluator, count, 0)
    with pytest.raises(ValueError, match=f"{count} is 0, at least 1 is needed"):
        use(evaluator)
