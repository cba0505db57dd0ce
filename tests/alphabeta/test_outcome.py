"""Which of several search threads' results is played."""

from __future__ import annotations

import pytest

from komadori._core.alphabeta import Outcome, is_preferred

MATE_IN_5, MATE_IN_9 = 31995, 31991
UPPER, LOWER = 1, 2


@pytest.mark.parametrize(
    ("helper", "best", "expected"),
    [
        (Outcome(12, 12, 100), Outcome(11, 12, 100), True),
        (Outcome(12, 12, 99), Outcome(11, 12, 100), False),
        (Outcome(11, 13, 500), Outcome(11, 12, 100), False),
        (Outcome(10, 11, MATE_IN_9), Outcome(11, 12, 100), True),
        (Outcome(10, 11, MATE_IN_9, LOWER), Outcome(11, 12, 100), True),
        (Outcome(10, 11, MATE_IN_9, UPPER), Outcome(11, 12, 100), False),
        (Outcome(12, 13, MATE_IN_9, UPPER), Outcome(11, 12, 100), True),  # deeper
        (Outcome(10, 11, MATE_IN_5), Outcome(11, 12, MATE_IN_9), True),
        (Outcome(12, 12, MATE_IN_9), Outcome(11, 12, MATE_IN_5), False),
        (Outcome(12, 12, 3000), Outcome(11, 12, MATE_IN_9), False),
        (Outcome(12, 12, 3000), Outcome(0, 1, MATE_IN_9), False),
        (Outcome(0, 2, -100), Outcome(0, 1, 100), True),
        (Outcome(3, 4, -100), Outcome(0, 5, 100), True),
        (Outcome(0, 1, 500), Outcome(0, 1, 100), False),
    ],
)
def test_a_helpers_result_is_played_if_it_is_better(helper, best, expected) -> None:
    assert is_preferred(helper, best, True) == expected


def test_of_several_lines_a_helpers_are_taken_only_without_an_iteration() -> None:
    assert not is_preferred(Outcome(12, 12, MATE_IN_9), Outcome(11, 12, 100), False)
    assert is_preferred(Outcome(3, 4, -100), Outcome(0, 5, 100), False)
    assert is_preferred(Outcome(3, 4, -100), Outcome(0, 5, MATE_IN_9), False)
