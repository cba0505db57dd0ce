"""How items are dealt to machines."""

from __future__ import annotations

import pytest

from komadori.cluster.fleet import deal, queue_length


@pytest.mark.parametrize(
    ("waiting", "queued", "threads", "most", "counts"),
    [
        (18, [0, 0], [1, 1], [32, 32], [9, 9]),
        (9, [0, 0], [2, 1], [99, 99], [6, 3]),
        (4, [5, 0], [1, 1], [32, 32], [0, 4]),
        (50, [3, 2], [1, 1], [4, 4], [1, 2]),
        (3, [4, 4], [1, 1], [4, 4], [0, 0]),
        (0, [0], [1], [4], [0]),
        (3, [], [], [], []),
    ],
)
def test_every_machine_gets_its_share(waiting, queued, threads, most, counts) -> None:
    assert deal(waiting, queued, threads, most) == counts


def test_queues_become_shorter_towards_the_end() -> None:
    assert [queue_length(left, 8, 32) for left in (10_000, 512, 200, 30, 1)] == [32, 32, 13, 2, 2]
    assert queue_length(1000, 8, 1) == 1
    assert queue_length(5, 0, 4) == 4
