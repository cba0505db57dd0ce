"""Several devices as one evaluator, and the batch that suits a network."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from komadori.inference import EvaluatorGroup, ModelError, evaluate, load
from komadori.inference.batch_size import batch_sizes, multiply_adds, suited_batch
from komadori.inference.fakes import RandomEvaluator
from komadori.inference.protocol import Floats
from komadori.inference.synthetic import write_random_resnet
from komadori.inference.without_telemetry import import_openvino
from komadori.players.evaluators import load_evaluator
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.usi.options import option_table


class Slow(RandomEvaluator):
    """Answers only once released."""

    def __init__(self) -> None:
        import threading

        super().__init__(1, max_batch=4, slots=1)
        self.may_answer = threading.Event()

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        assert self.may_answer.wait(20)
        return super().wait(slot)


def test_a_group_answers_as_its_members_do() -> None:
    random = np.random.default_rng(0)
    features1 = (random.random((37, 62, 9, 9)) < 0.1).astype(np.float32)
    features2 = (random.random((37, 57, 9, 9)) < 0.1).astype(np.float32)
    group = EvaluatorGroup([load("random:5", max_batch=4), load("random:5", max_batch=8, slots=3)])
    assert (group.slots, group.max_batch) == (5, 4)
    policy, value = evaluate(group, features1, features2)
    alone_policy, alone_value = evaluate(load("random:5"), features1, features2)
    np.testing.assert_array_equal(policy, alone_policy)
    np.testing.assert_array_equal(value, alone_value)
    with pytest.raises(ValueError, match="5 rows"):
        group.start(0, 5)
    group.close()


def test_a_slow_device_does_not_hold_up_the_others() -> None:
    slow, fast = Slow(), load("random:2", max_batch=4, slots=2)
    group = EvaluatorGroup([slow, fast])
    for slot in range(group.slots):
        group.start(slot, 1)
    slow_slot = 0
    others = {group.first_done([0, 1, 2]), group.first_done([1, 2])}
    assert slow_slot not in others
    slow.may_answer.set()
    assert group.first_done([slow_slot]) == slow_slot
    group.close()


def test_both_devices_work_on_one_tree() -> None:
    counts = [0, 0]

    class Counting(RandomEvaluator):
        def __init__(self, number: int) -> None:
            super().__init__(3, max_batch=4, slots=2)
            self._number = number

        def start(self, slot: int, n: int) -> None:
            counts[self._number] += n
            super().start(slot, n)

    searcher = PuctSearcher(EvaluatorGroup([Counting(0), Counting(1)]), PuctOptions())
    searcher.set_position(Board())
    result = searcher.search(Limits(nodes=600))
    assert result.best_move is not None
    assert searcher.tree.check() == ""
    assert sum(counts) == searcher.tree.stats.evaluated
    assert min(counts) > 100
    searcher.close()


def test_members_must_fit() -> None:
    with pytest.raises(ModelError, match="at least one"):
        EvaluatorGroup([])
    with pytest.raises(ModelError, match="dlshogi-119"):
        EvaluatorGroup([load("random:1"), load("random:1", features="dlshogi-119")])


def test_the_cpu_may_be_split(tmp_path: Path) -> None:
    options = option_table("model")
    options.set("DNN_Model", str(write_random_resnet(tmp_path / "m.onnx", 1, 8)))
    options.set("UCT_Threads", "2")
    options.set("DNN_Device", "cpu, cpu")
    group = load_evaluator(options)
    assert isinstance(group, EvaluatorGroup)
    assert [getattr(e, "threads", 0) for e in group.evaluators] == [1, 1]
    searcher = PuctSearcher(group, PuctOptions())
    searcher.set_position(Board())
    searcher.search(Limits(nodes=300))
    assert searcher.tree.check() == ""
    group.close()
    options.set("DNN_Device", "npu")
    with pytest.raises(ModelError, match="'npu'"):
        load_evaluator(options)


def test_the_batch_suits_the_network(tmp_path: Path) -> None:
    ov = import_openvino()
    path = write_random_resnet(tmp_path / "m.onnx", 2, 32)
    found = multiply_adds(ov.Core().read_model(path))
    trunk = 2 * 2 * 81 * 9 * 32 * 32
    first = 81 * (9 * 62 * 32 + 57 * 32)
    assert found >= trunk + first
    assert found < 2 * (trunk + first)  # and the heads
    evaluator = load(path)
    assert evaluator.max_batch == suited_batch(found, "float32")
    evaluator.close()


@pytest.mark.parametrize(
    ("millions", "precision", "rows"),
    [
        (250, "float32", 16),
        (250, "int8", 64),
        (1000, "int8", 16),
        (36, "float32", 64),
        (1e-3, "int8", 64),
        (1e5, "int8", 8),
        (1000, "float32", 8),
    ],
)
def test_batches_by_size(millions: float, precision: str, rows: int) -> None:
    assert suited_batch(millions * 1e6, precision) == rows


@pytest.mark.parametrize("largest", [1, 2, 5, 8, 30, 64, 1000])
def test_sizes_of_batches_grow_to_the_largest(largest: int) -> None:
    sizes = batch_sizes(largest)
    assert sizes[0] == 1
    assert sizes[-1] == largest
    assert all(a < b <= 2 * a for a, b in pairwise(sizes))
