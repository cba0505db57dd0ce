"""From a name or a file to an evaluator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from komadori.inference.fakes import FixedEvaluator, RandomEvaluator, UniformEvaluator
from komadori.inference.protocol import Evaluator, ModelError


def _openvino(path: Path, options: dict[str, Any]) -> Evaluator:
    from komadori.inference.openvino_backend import OpenVinoEvaluator

    return OpenVinoEvaluator(path, **options)


def _onnxruntime(path: Path, options: dict[str, Any]) -> Evaluator:
    from komadori.inference.onnxruntime_backend import OnnxRuntimeEvaluator

    return OnnxRuntimeEvaluator(path, **options)


#: Backends that load a model file.
BACKENDS: dict[str, Callable[[Path, dict[str, Any]], Evaluator]] = {
    "openvino": _openvino,
    "onnxruntime": _onnxruntime,
}


def load(model: Path | str, backend: str = "auto", **options: Any) -> Evaluator:
    """The evaluator of a model file, or of a fake: "uniform", "fixed" or "random:SEED".

    `backend` is a key of BACKENDS; "auto" takes OpenVINO. `options` go to the backend:
    `max_batch`, `slots`, and what its class names (`precision`, `streams`, `threads`, ...).
    Raises ModelError that names the file and what is wrong with it.
    """
    name, _, argument = str(model).partition(":")
    if name == "uniform":
        return UniformEvaluator(**options)
    if name == "fixed":
        return FixedEvaluator(**options)
    if name == "random":
        try:
            seed = int(argument or 0)
        except ValueError:
            raise ModelError(f"{model}: the seed of a random evaluator is a whole number") from None
        return RandomEvaluator(seed, **options)
    path = Path(model)
    if not path.exists():
        raise ModelError(f"{path}: no such model file")
    if backend == "auto":
        backend = "openvino"
    if backend not in BACKENDS:
        raise ModelError(f"backend {backend!r}: one of auto, {', '.join(BACKENDS)}")
    return BACKENDS[backend](path, options)
