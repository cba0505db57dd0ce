"""The ONNX Runtime backend, for devices supported by its providers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from komadori.cpus import available_threads
from komadori.inference.batch_size import ON_CPU, ON_GPU
from komadori.inference.future_slots import FutureSlots
from komadori.inference.model_file import OUTPUTS, check_signature, read_card
from komadori.inference.protocol import Floats, InferenceError, ModelError, check_counts
from komadori.inference.without_telemetry import import_onnxruntime
from komadori.wording import names_arguments, on_one_line

#: Names for `providers=` -> ONNX Runtime's. Run here: cpu. The others are untested.
PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}


@names_arguments
class OnnxRuntimeEvaluator(FutureSlots):
    """Runs a network with ONNX Runtime; batches run one at a time in a thread."""

    name = "onnxruntime"

    def __init__(
        self,
        path: Path | str,
        *,
        max_batch: int | None = None,
        threads: int | None = None,
        slots: int = 2,
        providers: Sequence[str] = ("cpu",),
    ) -> None:
        try:
            ort = import_onnxruntime()
        except ModuleNotFoundError:
            raise ModelError(
                "the onnxruntime backend needs the package onnxruntime: pip install onnxruntime"
            ) from None
        path = Path(path)
        if not path.is_file():
            raise ModelError(f"{path}: no such model file")
        if max_batch is None:
            max_batch = ON_CPU if tuple(providers) == ("cpu",) else ON_GPU
        check_counts(max_batch=max_batch, threads=threads, slots=slots)
        wanted = [_provider(name) for name in providers]
        missing = [name for name, _ in wanted if name not in ort.get_available_providers()]
        if missing:
            present = ", ".join(ort.get_available_providers())
            raise ModelError(f"this onnxruntime has no {', '.join(missing)} (it has {present})")
        with contextlib.suppress(ModuleNotFoundError):  # openvino isn't on every machine
            from komadori.inference.openvino_backend import check_graph

            check_graph(path)
        options = ort.SessionOptions()
        self.threads = options.intra_op_num_threads = threads or available_threads()
        options.log_severity_level = 4  # its errors are raised
        try:
            # The fallback would print lines of its own and run on other devices than asked for.
            self._session = ort.InferenceSession(
                str(path), options, providers=wanted, enable_fallback=0
            )
        except Exception as error:  # onnxruntime's own classes, not exported by name
            reason = _brief(error)
            raise ModelError(f"{path}: not a model that ONNX Runtime reads: {reason}") from None
        signature = check_signature(
            path,
            _shapes(self._session.get_inputs()),
            _shapes(self._session.get_outputs()),
            read_card(path),
        )
        _check_inputs(path, self._session.get_inputs())
        self.features = signature.features
        self.labels = signature.labels
        self.model = path.name
        self.precision = "float32"
        super().__init__(self.name, max_batch, slots, workers=1)
        self._names = signature.inputs
        self._inputs = [
            tuple(np.zeros((max_batch, *shape), np.float32) for shape in signature.input_shapes)
            for _ in range(slots)
        ]

    def inputs(self, slot: int) -> tuple[Floats, ...]:
        self._check_open()
        return self._inputs[slot]

    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        arrays = self._inputs[slot]
        feed = {name: array[:n] for name, array in zip(self._names, arrays, strict=True)}
        try:
            policy, value = self._session.run(list(OUTPUTS), feed)
        except Exception as error:
            raise InferenceError(f"ONNX Runtime: {_brief(error)}") from None
        return np.asarray(policy, np.float32), np.asarray(value, np.float32).reshape(-1)


def _brief(error: Exception) -> str:
    """The message on one line: ONNX Runtime's end with a line break."""
    return on_one_line(" ".join(str(error).split()))


def _check_inputs(path: Path, ports: list[Any]) -> None:
    """Raises ModelError unless the inputs are float32 with a dynamic batch axis."""
    for port in ports:
        if port.type != "tensor(float)":
            raise ModelError(f"{path}: {port.name} is a {port.type}, not tensor(float)")
        if isinstance(port.shape[0], int):
            raise ModelError(
                f"{path}: {port.name} takes {port.shape[0]} rows at a time; export it with a "
                "dynamic batch axis"
            )


def _provider(name: str) -> tuple[str, dict[str, str]]:
    """ONNX Runtime's name and options of a provider; "cuda:1" is the second GPU."""
    name, _, number = name.partition(":")
    return PROVIDERS.get(name, name), {"device_id": number} if number else {}


def _shapes(ports: list[Any]) -> dict[str, tuple[int | None, ...]]:
    return {
        port.name: tuple(size if isinstance(size, int) else None for size in port.shape)
        for port in ports
    }
