"""OpenVINO: the backend for processors without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from komadori.inference.model_file import CHANNELS1, INPUTS, OUTPUTS, check_shape, read_card
from komadori.inference.processors import available_threads
from komadori.inference.protocol import Floats, InferenceError, ModelError

#: The precisions a network can be run at; an int8 model is float32 here (its file says int8).
PRECISIONS = ("float32", "bfloat16")
_HINTS = {"float32": "f32", "bfloat16": "bf16"}


class OpenVinoEvaluator:
    """A network on the CPU, one stream a thread, reading the slots' arrays in place.

    `slots` is one more than `streams`, so that a batch can be collected while every stream
    works. The batch is dynamic: n rows cost what n rows cost.
    """

    name = "openvino"

    def __init__(
        self,
        path: Path | str,
        *,
        max_batch: int = 16,
        precision: str = "float32",
        streams: int | None = None,
        threads: int | None = None,
        slots: int | None = None,
        cache_dir: Path | str | None = None,
    ) -> None:
        import openvino as ov

        path = Path(path)
        if precision not in _HINTS:
            raise ValueError(f"precision {precision!r}: one of {', '.join(_HINTS)}")
        if max_batch < 1:
            raise ValueError(f"max_batch is {max_batch}, at least 1 is needed")
        threads = threads or available_threads()
        streams = streams or threads
        core = ov.Core()
        if cache_dir is not None:
            core.set_property({"CACHE_DIR": str(cache_dir)})
        model = _read_model(core, path)
        shape = check_shape(path, _shapes(model.inputs), _shapes(model.outputs), read_card(path))
        batch = ov.Dimension(1, max_batch)
        try:
            model.reshape(
                {
                    INPUTS[0]: ov.PartialShape([batch, CHANNELS1, 9, 9]),
                    INPUTS[1]: ov.PartialShape([batch, shape.channels2, 9, 9]),
                }
            )
            self._compiled = core.compile_model(
                model,
                "CPU",
                {
                    "PERFORMANCE_HINT": "THROUGHPUT",
                    "NUM_STREAMS": str(streams),
                    "INFERENCE_NUM_THREADS": str(threads),
                    "INFERENCE_PRECISION_HINT": _HINTS[precision],
                },
            )
        except RuntimeError as error:
            raise ModelError(f"{path}: OpenVINO can't compile it: {_brief(error)}") from None
        self.features = shape.features
        self.labels = shape.labels
        self.precision = precision
        self.max_batch = max_batch
        self.streams = streams
        self.slots = slots or streams + 1
        self._requests = [self._compiled.create_infer_request() for _ in range(self.slots)]
        self._inputs = [
            (
                np.zeros((max_batch, CHANNELS1, 9, 9), np.float32),
                np.zeros((max_batch, shape.channels2, 9, 9), np.float32),
            )
            for _ in range(self.slots)
        ]
        # One tensor for each number of rows, so that no start() makes one.
        self._tensors: list[dict[int, tuple[Any, Any]]] = [{} for _ in range(self.slots)]
        self._rows = [-1] * self.slots

    def inputs(self, slot: int) -> tuple[Floats, Floats]:
        return self._inputs[slot]

    def start(self, slot: int, n: int) -> None:
        request = self._requests[slot]
        if n != self._rows[slot]:
            tensors = self._tensors[slot].get(n)
            if tensors is None:
                import openvino as ov

                if not 0 < n <= self.max_batch:
                    raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
                features1, features2 = self._inputs[slot]
                tensors = (
                    ov.Tensor(features1[:n], shared_memory=True),
                    ov.Tensor(features2[:n], shared_memory=True),
                )
                self._tensors[slot][n] = tensors
            request.set_tensor(INPUTS[0], tensors[0])
            request.set_tensor(INPUTS[1], tensors[1])
            self._rows[slot] = n
        request.start_async()

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        request = self._requests[slot]
        try:
            request.wait()
        except RuntimeError as error:
            raise InferenceError(f"OpenVINO: {_brief(error)}") from None
        policy: Floats = request.get_tensor(OUTPUTS[0]).data
        value: Floats = request.get_tensor(OUTPUTS[1]).data
        return policy, value.reshape(-1)

    def close(self) -> None:
        for request in self._requests:
            request.wait()
        self._requests.clear()
        self._tensors.clear()
        self._compiled = None


def _read_model(core: Any, path: Path) -> Any:
    if not path.is_file():
        raise ModelError(f"{path}: no such model file")
    try:
        return core.read_model(path)
    except RuntimeError as error:
        raise ModelError(f"{path}: not a model that OpenVINO reads: {_brief(error)}") from None


def _shapes(ports: list[Any]) -> dict[str, tuple[int | None, ...]]:
    shapes = {}
    for port in ports:
        sizes = tuple(
            None if size.is_dynamic else size.get_length() for size in port.get_partial_shape()
        )
        for name in port.get_names():
            shapes[name] = sizes
    return shapes


def _brief(error: Exception) -> str:
    """The last line that says something: OpenVINO's messages begin with source locations."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
