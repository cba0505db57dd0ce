"""The OpenVINO backend, for CPUs."""

from __future__ import annotations

import bisect
import contextlib
import ctypes
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from komadori.cpus import available_threads
from komadori.inference.batch_size import batch_sizes, multiply_adds, suited_batch
from komadori.inference.leaving import ended_before_exit
from komadori.inference.model_file import OUTPUTS, Signature, check_signature, read_card
from komadori.inference.onnx_metadata import opset_versions
from komadori.inference.protocol import (
    Described,
    Floats,
    InferenceError,
    ModelError,
    Planes,
    check_counts,
    not_started,
)
from komadori.inference.signal_stack import kept_signal_stack
from komadori.inference.without_telemetry import import_openvino
from komadori.wording import names_arguments

#: Precisions of a network; for an int8 model, of the layers left in float.
PRECISIONS = ("float32", "bfloat16")
_HINTS = {"float32": "f32", "bfloat16": "bf16"}


def best_precision() -> str:
    """bfloat16 if the CPU has instructions for it, else float32."""
    ov = import_openvino()

    with kept_signal_stack():
        able = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return "bfloat16" if "BF16" in able else "float32"


#: The evaluators of this process.
_loaded: WeakSet[OpenVinoEvaluator] = WeakSet()


def _keep_those_of_the_parent() -> None:
    """Never destroy the evaluators in a forked process, also at its exit: their destructors would
    wait for threads that it lacks."""
    for evaluator in list(_loaded):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(evaluator))
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_those_of_the_parent)


@names_arguments
class OpenVinoEvaluator(Described):
    """Runs a network on the CPU, one thread per stream, reading the slots' arrays in place.

    slots: default two per stream, a batch being computed and one queued, so that a briefly delayed
    searcher doesn't stall the network, and one being collected. Batches are rounded up to the next
    of `batch_sizes(max_batch)`, for which kernels are compiled in advance. max_batch: None for the
    default of the network's size (`inference.batch_size`).
    """

    name = "openvino"

    def __init__(
        self,
        path: Path | str,
        *,
        max_batch: int | None = None,
        precision: str = "float32",
        streams: int | None = None,
        threads: int | None = None,
        slots: int | None = None,
        cache_dir: Path | str | None = None,
    ) -> None:
        ov = import_openvino()

        path = Path(path)
        if precision not in _HINTS:
            names = ", ".join(_HINTS)
            raise ValueError(f"openvino has no precision {precision!r}: one of {names}")
        check_counts(max_batch=max_batch, threads=threads, streams=streams, slots=slots)
        threads = threads or available_threads()
        streams = streams or threads
        core = ov.Core()
        if cache_dir is not None:
            core.set_property({"CACHE_DIR": str(cache_dir)})
        model = read_model(core, path)
        try:
            inputs, outputs = _shapes(model.inputs), _shapes(model.outputs)
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        signature = check_signature(path, inputs, outputs, read_card(path))
        if _has_nan(model):  # OpenVINO's activations may hide it in the outputs
            raise ModelError(f"{path}: weights that aren't numbers (NaN)")
        ran_at = "int8" if _is_int8(model) else precision
        try:
            _set_batch(model, 1, signature)
            check_work(path, model)
            max_batch = max_batch or suited_batch(multiply_adds(model), ran_at)
            _set_batch(model, max_batch, signature)
            _loaded.add(self)
            settings = {
                "PERFORMANCE_HINT": "THROUGHPUT",
                "NUM_STREAMS": str(streams),
                "INFERENCE_NUM_THREADS": str(threads),
                "INFERENCE_PRECISION_HINT": _HINTS[precision],
                # Without it the first thread is pinned to the first core in every process.
                "ENABLE_CPU_PINNING": "NO",
            }
            with kept_signal_stack():
                self._compiled = core.compile_model(_with_types(model, signature), "CPU", settings)
        except RuntimeError as error:
            raise ModelError(f"{path}: OpenVINO can't compile it: {_brief(error)}") from None
        self.features = signature.features
        self.labels = signature.labels
        self.model = path.name
        self.precision = ran_at
        self.max_batch = max_batch
        self.streams = streams
        self.threads = threads
        self.slots = slots or 2 * streams + 1
        self._requests = [self._compiled.create_infer_request() for _ in range(self.slots)]
        self._ports = (*signature.inputs, *OUTPUTS)
        dtype: type[np.generic] = np.uint8 if signature.is_binary else np.float32
        self._inputs: list[tuple[Planes, ...]] = [
            tuple(np.zeros((max_batch, *shape), dtype) for shape in signature.input_shapes)
            for _ in range(self.slots)
        ]
        self._outputs = [
            (
                np.zeros((max_batch, signature.label_count), np.float32),
                np.zeros((max_batch, 1), np.float32),
            )
            for _ in range(self.slots)
        ]
        # Tensors of each slot's request by batch size, so that start() allocates none.
        self._sizes = batch_sizes(max_batch)
        self._tensors: list[dict[int, list[Any]]] = [{} for _ in range(self.slots)]
        self._size = [-1] * self.slots
        self._rows = [-1] * self.slots
        self._dropped = [False] * self.slots
        try:
            self._warm_up()
        except (RuntimeError, InferenceError) as error:
            raise ModelError(f"{path}: OpenVINO can't run it: {_brief(error)}") from None
        self._rows = [-1] * self.slots

    def inputs(self, slot: int) -> tuple[Planes, ...]:
        self._check_open()
        return self._inputs[slot]

    def start(self, slot: int, n: int) -> None:
        self._check_open()
        request = self._requests[slot]
        if self._dropped[slot]:
            with contextlib.suppress(RuntimeError):
                request.wait()
            self._dropped[slot] = False
        if n != self._rows[slot]:
            if not 0 < n <= self.max_batch:
                raise ValueError(f"{n} rows in a batch of at most {self.max_batch}")
            self._rows[slot] = n
            size = self._sizes[bisect.bisect_left(self._sizes, n)]
            if size != self._size[slot]:
                self._set_size(slot, size)
        try:
            request.start_async()
        except RuntimeError as error:
            raise InferenceError(f"OpenVINO: {_brief(error)}") from None

    def _set_size(self, slot: int, size: int) -> None:
        ov = import_openvino()

        tensors = self._tensors[slot].get(size)
        if tensors is None:
            arrays = (*self._inputs[slot], *self._outputs[slot])
            tensors = [ov.Tensor(array[:size], shared_memory=True) for array in arrays]
            self._tensors[slot][size] = tensors
        for name, tensor in zip(self._ports, tensors, strict=True):
            self._requests[slot].set_tensor(name, tensor)
        self._size[slot] = size

    def _warm_up(self) -> None:
        """Let each stream compile its kernels for each batch size."""
        for size in self._sizes:
            slots = range(min(self.streams, self.slots))
            for slot in slots:
                self.start(slot, size)
            for slot in slots:
                self.wait(slot)

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        self._check_open()
        n = self._rows[slot]
        if n < 0:
            raise not_started(slot)
        try:
            self._requests[slot].wait()
        except RuntimeError as error:
            raise InferenceError(f"OpenVINO: {_brief(error)}") from None
        policy, value = self._outputs[slot]
        return policy[:n], value[:n, 0]

    def first_done(self, slots: Sequence[int], timeout_s: float | None = None) -> int | None:
        self._check_open()
        if timeout_s is None:
            return slots[0]
        try:
            return slots[0] if self._requests[slots[0]].wait_for(int(timeout_s * 1000)) else None
        except RuntimeError:
            return slots[0]  # wait() says what is wrong

    def drop(self, slot: int) -> None:
        # Not cancelled: after that OpenVINO 2026.4 fails in other requests of changing batch size.
        self._dropped[slot] = True

    def close(self) -> None:
        self._is_closed = True
        if self._is_forked():  # what the parent's threads do here never ends
            return
        with ended_before_exit():  # the destructors, too
            for request in self._requests:
                with contextlib.suppress(RuntimeError):
                    request.wait()
            self._requests.clear()
            self._tensors.clear()
            self._compiled = None


def _set_batch(model: Any, rows: int, signature: Signature) -> None:
    """Make the model accept 1 to `rows` rows."""
    ov = import_openvino()

    batch = ov.Dimension(1, rows)
    model.reshape(
        {
            name: ov.PartialShape([batch, *shape])
            for name, shape in zip(signature.inputs, signature.input_shapes, strict=True)
        }
    )


def _with_types(model: Any, signature: Signature) -> Any:
    """Convert the outputs to float32, and the inputs to uint8 (a quarter of the memory traffic) if
    the feature table is binary."""
    ov = import_openvino()

    changed = ov.preprocess.PrePostProcessor(model)
    for name in signature.inputs:
        changed.input(name).tensor().set_element_type(
            ov.Type.u8 if signature.is_binary else ov.Type.f32
        )
    for name in OUTPUTS:
        changed.output(name).tensor().set_element_type(ov.Type.f32)
    return changed.build()


#: Maximum version of an operator set; ONNX had 26 by 2026. OpenVINO tries each one from that of the
#: file down, for every operation it lacks.
_MAX_OPSET = 1000


def read_model(core: Any, path: Path) -> Any:
    """The graph of a file, read by an OpenVINO core. Raises ModelError."""
    if not path.is_file():
        raise ModelError(f"{path}: no such model file")
    frontends = import_openvino().frontend.FrontEndManager()
    kinds = [frontends.load_by_framework(name) for name in ("ir", "onnx")]
    try:
        # Checked first, because the other readers log files that they can't parse.
        if not any(kind.supported(str(path)) for kind in kinds):
            raise ModelError(f"{path}: neither an ONNX model nor one of OpenVINO's")
        try:
            newest = max(opset_versions(path), default=0)
        except ValueError as error:
            raise ModelError(f"{path}: its operator sets can't be read: {error}") from None
        if newest > _MAX_OPSET:
            raise ModelError(f"{path}: operator set {newest:,}; at most {_MAX_OPSET:,} is read")
        # A mapped file that is overwritten would change the network, or end the process.
        core.set_property({"ENABLE_MMAP": False})
        return core.read_model(path)
    except UnicodeDecodeError:  # of the error's message
        raise _not_utf8(path) from None
    except RuntimeError as error:
        raise ModelError(f"{path}: not a model that OpenVINO reads: {_brief(error)}") from None


#: Maximum number of iterations of a graph's loops, and of elements of a tensor per position: far
#: more than networks for play need.
_MAX_ITERATIONS = 10_000
_MAX_ELEMENTS = 1 << 28


def check_work(path: Path, model: Any, iterations: int = 1) -> None:
    """Raise ModelError for a graph that would run forever or fill the memory, as far as its loop
    counts and static shapes tell. iterations: of the loops around it."""
    for node in model.get_ops():
        kind = node.get_type_name()
        if kind == "If":
            check_work(path, node.get_then_body(), iterations)
            check_work(path, node.get_else_body(), iterations)
        for output in node.outputs():
            shape = output.get_partial_shape()
            if shape.rank.is_dynamic:
                continue
            elements = math.prod(size.get_min_length() for size in shape)
            if elements > _MAX_ELEMENTS:
                raise ModelError(
                    f"{path}: a tensor of {elements:,} elements per position ({kind}); at most "
                    f"{_MAX_ELEMENTS:,} are computed"
                )
        if kind in ("Loop", "TensorIterator"):
            own = node.get_num_iterations()
            if own < 0:
                raise ModelError(f"{path}: a loop whose number of iterations isn't fixed")
            if own * iterations > _MAX_ITERATIONS:
                raise ModelError(
                    f"{path}: a loop of {own * iterations:,} iterations; at most "
                    f"{_MAX_ITERATIONS:,} are run"
                )
            check_work(path, node.get_function(), max(own, 1) * iterations)


def check_graph(path: Path) -> None:
    """Raise ModelError if `check_work` refuses the graph of a file. A graph that OpenVINO can't
    read isn't checked."""
    try:
        model = read_model(import_openvino().Core(), path)
        inputs, outputs = _shapes(model.inputs), _shapes(model.outputs)
        _set_batch(model, 1, check_signature(path, inputs, outputs, read_card(path)))
    except (ModelError, RuntimeError, UnicodeDecodeError):
        return
    check_work(path, model)


def _not_utf8(path: Path) -> ModelError:
    return ModelError(f"{path}: a damaged model: it has names that aren't UTF-8")


def _has_nan(model: Any) -> bool:
    kinds = ("f16", "f32", "f64")
    return any(
        node.get_type_name() == "Constant"
        and node.get_element_type().get_type_name() in kinds
        and np.isnan(node.data).any()
        for node in model.get_ops()
    )


def _is_int8(model: Any) -> bool:
    return any(node.get_type_name() == "FakeQuantize" for node in model.get_ops())


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
    """The last informative line: OpenVINO's messages begin with source locations, and may end with
    a summary that names operations without the reason."""
    details, _, summary = str(error).partition("\nSummary:\n")
    unknown = [line for line in summary.splitlines() if "No conversion rule" in line]
    lines = [line.strip("- ") for line in unknown or details.splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
