"""One evaluator in several threads: no call gets another's outputs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from komadori import inference
from komadori.inference import InferenceError
from komadori.inference.fakes import UniformEvaluator
from komadori.inference.protocol import used_alone
from komadori.rules import Board
from komadori.search import Limits, PuctSearcher

onnx = pytest.importorskip("onnx")

from komadori.inference.synthetic import write_random_resnet  # noqa: E402

LINES = ["startpos", "startpos moves 7g7f", "startpos moves 7g7f 3c3d", "startpos moves 2g2f"]


@pytest.mark.parametrize("backend", ["openvino", "onnxruntime"])
def test_calls_of_several_threads_get_their_own_outputs(backend, tmp_path):
    path = write_random_resnet(tmp_path / "m.onnx", 1, 8)
    evaluator = inference.load(path, backend=backend)
    expected = [inference.policy(Board(line), evaluator) for line in LINES]

    def ask(number):
        return [inference.policy(Board(LINES[number]), evaluator) for _ in range(30)]

    with ThreadPoolExecutor(len(LINES)) as threads:
        found = list(threads.map(ask, range(len(LINES))))
    assert found == [[policy] * 30 for policy in expected]
    evaluator.close()


def test_a_search_of_another_thread_is_named():
    evaluator = UniformEvaluator()
    searcher, other = PuctSearcher(evaluator), PuctSearcher(evaluator)
    begun, stop = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=lambda: searcher.search(
            Limits(infinite=True), on_info=lambda _: begun.set(), stop=stop
        )
    )
    thread.start()
    assert begun.wait(30)
    try:
        with pytest.raises(InferenceError, match="a search uses this evaluator"):
            other.search(Limits(nodes=1))
        with pytest.raises(InferenceError, match="load one for each thread"):
            inference.policy(Board(), evaluator)
    finally:
        stop.set()
        thread.join()
    assert len(inference.policy(Board(), evaluator)) == 30
    assert other.search(Limits(nodes=1)).best_move


def test_an_evaluator_without_a_hash_is_used_as_before():
    class Unhashable(UniformEvaluator):
        __hash__ = None

    with used_alone(Unhashable()):
        pass


def test_calls_of_the_search_itself_are_named():
    evaluator = UniformEvaluator()
    with pytest.raises(InferenceError, match="and for calls during a search"):
        PuctSearcher(evaluator).search(
            Limits(infinite=True), on_info=lambda _: inference.policy(Board(), evaluator)
        )
    assert len(inference.policy(Board(), evaluator)) == 30


def test_a_call_does_not_wait_for_itself():
    """A proxy that equals what it stands for would: its call of that is a part of its own."""

    class Proxy(UniformEvaluator):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, Proxy)

    with used_alone(Proxy()), pytest.raises(InferenceError, match="load one"), used_alone(Proxy()):
        pass


def test_an_error_is_not_one_of_missing_hashes():
    class Unhashable(UniformEvaluator):
        __hash__ = None

    with pytest.raises(ValueError, match="own") as failed, used_alone(Unhashable()):
        raise ValueError("own")
    assert failed.value.__context__ is None
