"""Lanes of one network: the same answers, larger batches."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from komadori import inference
from komadori.encoding import encode_boards
from komadori.inference.shared import SharedEvaluator
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher


class _Counting:
    """Records the rows of each batch; `gate` delays the batches."""

    def __init__(self, slots: int = 2) -> None:
        self.inner = inference.load("random:5", max_batch=16, slots=slots)
        self.rows: list[int] = []
        self.gate = threading.Event()
        self.gate.set()

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def start(self, slot: int, n: int) -> None:
        self.gate.wait(10)
        self.rows.append(n)
        self.inner.start(slot, n)


def planes(count: int) -> tuple[np.ndarray, np.ndarray]:
    boards = []
    board = Board()
    for _ in range(count):
        boards.append(board.copy())
        moves = list(board.legal_moves)
        board.push(moves[len(board.moves) % len(moves)])
    features1, features2 = encode_boards(boards, "dlshogi")
    return features1, features2


def test_a_lane_answers_as_its_network() -> None:
    shared = SharedEvaluator(inference.load("random:5", max_batch=16))
    features = planes(40)
    direct = inference.evaluate(inference.load("random:5", max_batch=16), *features)
    through = inference.evaluate(shared.lane(), *features)
    shared.close()
    assert np.array_equal(direct[0], through[0])
    assert np.array_equal(direct[1], through[1])


def test_what_waits_becomes_one_batch() -> None:
    counting = _Counting(slots=1)
    shared = SharedEvaluator(counting)  # type: ignore[arg-type]
    lanes = [shared.lane() for _ in range(5)]
    counting.gate.clear()
    for number, lane in enumerate(lanes):
        lane.inputs(0)[0][:3] = planes(15)[0][3 * number : 3 * number + 3]
        lane.inputs(0)[1][:3] = planes(15)[1][3 * number : 3 * number + 3]
        lane.start(0, 3)
    counting.gate.set()
    found = [lane.wait(0)[1].copy() for lane in lanes]
    shared.close()
    assert sum(counting.rows) == 15
    assert len(counting.rows) <= 2  # the first may have gone alone
    expected = inference.evaluate(inference.load("random:5"), *planes(15))[1]
    assert np.array_equal(np.concatenate(found), expected)


def test_searches_side_by_side_find_what_they_find_alone() -> None:
    def search(evaluator: inference.Evaluator) -> list[str]:
        searcher = PuctSearcher(evaluator, PuctOptions(root_mate_plies=0))
        searcher.set_position(Board())
        pv = searcher.search(Limits(nodes=400)).infos[0].pv
        searcher.close()
        return [move.usi() for move in pv]

    alone = search(inference.load("random:5", max_batch=16))
    shared = SharedEvaluator(inference.load("random:5", max_batch=16))
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(search(shared.lane()))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    assert found == [alone] * 6


def test_a_failure_reaches_those_it_concerns() -> None:
    counting = _Counting()
    shared = SharedEvaluator(counting)  # type: ignore[arg-type]
    lane = shared.lane()

    def broken(slot: int) -> None:
        raise inference.InferenceError("the device is gone")

    counting.wait = broken  # type: ignore[method-assign, assignment]
    lane.start(0, 1)
    with pytest.raises(inference.InferenceError, match="device is gone"):
        lane.wait(0)
    del counting.wait
    lane.start(0, 1)
    lane.wait(0)
    shared.close()
    with pytest.raises(inference.InferenceError, match="closed"):
        lane.start(0, 1)


def test_a_dropped_batch_is_not_evaluated() -> None:
    counting = _Counting(slots=1)
    shared = SharedEvaluator(counting)  # type: ignore[arg-type]
    first, second = shared.lane(), shared.lane()
    counting.gate.clear()
    first.start(0, 2)
    while shared._others:  # the worker has taken it, and waits at the gate
        pass
    second.start(0, 5)
    second.drop(0)
    counting.gate.set()
    first.wait(0)
    second.start(0, 1)
    second.wait(0)
    shared.close()
    assert counting.rows == [2, 1]


def test_urgent_requests_go_first() -> None:
    counting = _Counting(slots=1)
    shared = SharedEvaluator(counting)  # type: ignore[arg-type]
    long = [shared.lane() for _ in range(4)]
    short = shared.lane(slots=1, max_batch=1, urgent=True)
    counting.gate.clear()
    for lane in long:
        lane.start(0, 16)
    short.start(0, 1)
    counting.gate.set()
    short.wait(0)
    for lane in long:
        lane.wait(0)
    shared.close()
    assert counting.rows.index(1) <= 1  # behind the one that had begun
    assert sorted(counting.rows) == [1, 16, 16, 16, 16]


def test_urgent_requests_without_end_hold_up_the_others_for_a_while_only() -> None:
    shared = SharedEvaluator(inference.load("random:5", max_batch=4))
    short, long = shared.lane(urgent=True), shared.lane()
    long.start(0, 4)
    is_done = threading.Event()
    threading.Thread(target=lambda: (long.wait(0), is_done.set())).start()
    for _ in range(5000):
        short.start(0, 1)
        short.wait(0)
        if is_done.is_set():
            break
    assert is_done.wait(5)
    shared.close()


class _Polled(_Counting):
    """Can be asked; what was dropped is noted."""

    def __init__(self, slots: int = 2) -> None:
        super().__init__(slots)
        self.dropped: list[int] = []
        self.callers: set[int] = set()

    def start(self, slot: int, n: int) -> None:
        self.callers.add(threading.get_ident())
        super().start(slot, n)

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        return slots[0] if self.gate.wait(timeout_s) else None

    def drop(self, slot: int) -> None:
        self.dropped.append(slot)


def test_a_lone_lane_runs_in_its_own_thread() -> None:
    polled = _Polled()
    shared = SharedEvaluator(polled)  # type: ignore[arg-type]
    features = planes(40)
    direct = inference.evaluate(inference.load("random:5", max_batch=16), *features)
    through = inference.evaluate(shared.lane(), *features)
    assert np.array_equal(direct[0], through[0])
    assert np.array_equal(direct[1], through[1])
    assert polled.callers == {threading.get_ident()}
    shared.close()


def test_what_began_at_once_is_dropped_and_its_slot_used_again() -> None:
    polled = _Polled(slots=1)
    shared = SharedEvaluator(polled)  # type: ignore[arg-type]
    lane = shared.lane(slots=2)
    lane.start(0, 3)
    lane.drop(0)
    assert polled.dropped == [0]
    with pytest.raises(inference.InferenceError, match="dropped"):
        lane.wait(0)
    lane.start(0, 2)
    lane.wait(0)
    assert polled.rows == [3, 2]
    lane.start(1, 1)
    lane.close()  # gives back what still runs
    assert polled.dropped == [0, 0]
    shared.close()


def test_a_second_lane_waits_its_turn_and_a_failure_ends_one_batch() -> None:
    polled = _Polled(slots=1)
    shared = SharedEvaluator(polled)  # type: ignore[arg-type]
    first, second = shared.lane(slots=1), shared.lane(slots=1)

    def broken(slot: int) -> None:
        raise inference.InferenceError("the device is gone")

    polled.wait = broken  # type: ignore[method-assign, assignment]
    first.start(0, 1)
    second.start(0, 2)  # behind the first: the network has one slot
    for _ in range(2):  # a search that failed waits again for what it began
        with pytest.raises(inference.InferenceError, match="device is gone"):
            first.wait(0)
    with pytest.raises(inference.InferenceError, match="device is gone"):
        second.wait(0)
    del polled.wait
    second.start(0, 2)
    second.wait(0)
    shared.close()


def test_many_lanes_of_both_kinds_get_their_own_answers() -> None:
    shared = SharedEvaluator(_Polled(slots=3))  # type: ignore[arg-type]
    features = planes(60)
    expected = inference.evaluate(inference.load("random:5"), *features)[1]
    wrong: list[int] = []

    def work(number: int) -> None:
        lane = shared.lane(slots=2, max_batch=4, urgent=number % 3 == 0)
        for _ in range(20):
            found = inference.evaluate(lane, *(array[number:] for array in features))[1]
            if not np.array_equal(found, expected[number:]):
                wrong.append(number)
        lane.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    shared.close()
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)
