"""Several devices as one evaluator, for one search tree."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from komadori.inference.future_slots import FutureSlots
from komadori.inference.protocol import (
    Evaluator,
    Floats,
    ModelError,
    Planes,
    Polled,
    check_evaluator,
    wait_for,
)
from komadori.wording import names_arguments


@names_arguments
class EvaluatorGroup(FutureSlots):
    """Evaluators of one network on several devices; closing the group closes them.

    Its slots are those of the evaluators, interleaved. `first_done` returns batches in the order in
    which the devices finish them. Raises ModelError if the evaluators differ in feature tables or
    label schemes.
    """

    name = "group"

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        if not evaluators:
            raise ModelError("a group needs at least one evaluator")
        for evaluator in evaluators:
            check_evaluator("evaluators", evaluator)
        first = evaluators[0]
        for other in evaluators:
            if (other.features, other.labels) != (first.features, first.labels):
                raise ModelError(
                    f"{other.name} reads {other.features} and answers {other.labels}, "
                    f"{first.name} {first.features} and {first.labels}"
                )
        self.features, self.labels = first.features, first.labels
        self.precision = "+".join(
            dict.fromkeys(str(getattr(e, "precision", e.name)) for e in evaluators)
        )
        self.threads = sum(int(getattr(e, "threads", 0)) for e in evaluators)
        self.evaluators = tuple(evaluators)
        most = max(e.slots for e in evaluators)
        self._places = [
            (device, slot)
            for slot in range(most)
            for device, evaluator in enumerate(evaluators)
            if slot < evaluator.slots
        ]
        slots = len(self._places)
        super().__init__("devices", min(e.max_batch for e in evaluators), slots, workers=slots)

    def inputs(self, slot: int) -> tuple[Planes, ...]:
        self._check_open()
        device, own = self._places[slot]
        return tuple(array[: self.max_batch] for array in self.evaluators[device].inputs(own))

    def _submit(self, slot: int, n: int) -> Future[tuple[Floats, Floats]]:
        device, own = self._places[slot]
        self.evaluators[device].start(own, n)
        return super()._submit(slot, n)

    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        device, own = self._places[slot]
        return wait_for(self.evaluators[device], own, n)

    def drop(self, slot: int) -> None:
        if self._is_closed:
            return
        device, own = self._places[slot]
        evaluator = self.evaluators[device]
        if isinstance(evaluator, Polled):
            evaluator.drop(own)

    def close(self) -> None:
        super().close()
        for evaluator in self.evaluators:
            evaluator.close()
