"""Speed of an experiment's networks in int8, measured in turns."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from komadori import records, training
from komadori.inference import Evaluator
from komadori.inference.measure import Setting, fill_inputs
from komadori.inference.quantization import quantize
from komadori.lab.runner import Laboratory, Task
from komadori.lab.size import LabError

#: The engine's setting for an int8 network on two cores.
SETTING = Setting("openvino", "int8", batch=16, streams=2)

#: Positions for the calibration of the activations.
CALIBRATION = 256


def int8_forms(
    checkpoints: Mapping[str, Path], folder: Path, samples: records.Samples, held_out: int
) -> dict[str, tuple[Path, float]]:
    """Quantise each checkpoint into `folder`; its file and the points of top-1 accuracy it lost."""
    forms = {}
    for name, checkpoint in checkpoints.items():
        model = folder / f"{name}.onnx"
        training.export(checkpoint, model)
        made = quantize(
            model, folder / f"{name}-int8.xml", samples, calibration=CALIBRATION, held_out=held_out
        )
        forms[name] = made.path, made.accuracy.top1_lost
    return forms


def int8_us(models: Mapping[str, Path], batches: int = 24, rounds: int = 12) -> dict[str, float]:
    """CPU time of each model in microseconds per position: the least of `rounds` turns in one
    run. Wall time depends on what else the machine does."""
    evaluators = {name: SETTING.load(path) for name, path in models.items()}
    least = dict.fromkeys(models, math.inf)
    try:
        for evaluator in evaluators.values():
            fill_inputs(evaluator)
        for _ in range(rounds):
            for name, evaluator in evaluators.items():
                least[name] = min(least[name], _turn(evaluator, batches))
    finally:
        for evaluator in evaluators.values():
            evaluator.close()
    return least


def _turn(evaluator: Evaluator, batches: int) -> float:
    started = time.process_time()
    for batch in range(batches + evaluator.slots):
        slot = batch % evaluator.slots
        if batch >= evaluator.slots:
            evaluator.wait(slot)
        if batch < batches:
            evaluator.start(slot, evaluator.max_batch)
    return 1e6 * (time.process_time() - started) / (batches * evaluator.max_batch)


def measure_int8(
    laboratory: Laboratory,
    name: str,
    tasks: list[Task],
    held_out: int = 4096,
    on_step: Callable[[str], None] = lambda text: None,
) -> dict[str, float]:
    """Quantise the networks of finished runs and add int8 measures to their records.

    int8_us: CPU time per position in microseconds. int8_per_s: positions per second on two cores.
    int8_time: CPU time relative to the first variant. int8_top1_lost: points of top-1 accuracy.
    Returns int8_us by variant. Raises LabError for a run that isn't finished here.
    """
    if not isinstance(laboratory.samples, records.Samples):
        raise LabError("int8 needs samples of records")
    checkpoints, records_before = {}, {}
    for task in tasks:
        task.experiment.training_config(task.variant, laboratory.size)  # only networks have int8
        last = training.newest_checkpoint(laboratory.folder(task))
        if last is None:
            raise LabError(f"{laboratory.folder(task)}: {task.name} has not run here")
        before = laboratory.store.find(task.experiment, task.variant, laboratory.size, task.seed)
        if before is None:
            raise LabError(f"{task.name}: no record")
        checkpoints[task.variant.name], records_before[task.variant.name] = last, before
    folder = laboratory.runs / name / "int8"
    folder.mkdir(parents=True, exist_ok=True)
    on_step("quantising")
    forms = int8_forms(checkpoints, folder, laboratory.samples, held_out)
    on_step("measuring")
    found = int8_us({one: path for one, (path, _) in forms.items()})
    first = next(iter(found.values()))
    for task in tasks:
        one = task.variant.name
        old = records_before[one]
        measures = dict(old.measures) | {
            "int8_us": round(found[one], 2),
            "int8_per_s": round(2e6 / found[one], 1),
            "int8_time": round(found[one] / first, 4),
            "int8_top1_lost": round(forms[one][1], 3),
            "parameters": old.facts["parameters"],
        }
        laboratory.store.add(name, dataclasses.replace(old, measures=measures))
    return found
