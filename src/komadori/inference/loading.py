"""Loads evaluators by name or file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from komadori.inference.fakes import FixedEvaluator, RandomEvaluator, UniformEvaluator
from komadori.inference.leaving import ended_before_exit
from komadori.inference.model_file import default_model, int8_form
from komadori.inference.protocol import Evaluator, ModelError
from komadori.wording import names_arguments

#: Evaluators without a network.
FAKES = ("uniform", "fixed", "random")

#: The name of the bundled network.
DEFAULT = "default"

#: Selects the fastest precision on this machine without a noticeable loss of strength.
AUTO = "auto"


def _openvino(path: Path, options: dict[str, Any]) -> Evaluator:
    from komadori.inference.openvino_backend import PRECISIONS, OpenVinoEvaluator, best_precision

    device = options.pop("device", "cpu")
    if device not in ("auto", "cpu"):
        raise ModelError(f"openvino runs networks on cpu here, not on {device!r}")
    precision = options.get("precision")
    wants_int8 = precision == "int8"
    if precision in (AUTO, "int8"):
        form = int8_form(path)
        if precision == "int8" and form is None and path.suffix != ".xml":
            raise ModelError(f"{path}: no int8 form beside it: komadori export {path} --int8")
        path = form or path
        options["precision"] = best_precision()
    elif precision not in (None, *PRECISIONS):
        names = ", ".join((AUTO, "int8", *PRECISIONS))
        raise ModelError(f"openvino has no precision {precision!r}: one of {names}")
    evaluator = OpenVinoEvaluator(path, **options)
    if wants_int8 and evaluator.precision != "int8":
        evaluator.close()
        raise ModelError(f"{path}: not an int8 network")
    return evaluator


def _onnxruntime(path: Path, options: dict[str, Any]) -> Evaluator:
    from komadori.inference.onnxruntime_backend import OnnxRuntimeEvaluator

    if (device := options.pop("device", "auto")) != "auto":
        options["providers"] = (device,)
    precision = options.pop("precision", AUTO)
    if precision not in (AUTO, "float32"):
        raise ModelError(f"onnxruntime runs a model as it is, not in {precision}")
    return OnnxRuntimeEvaluator(path, **options)


def _torch(path: Path, options: dict[str, Any]) -> Evaluator:
    from komadori.inference.torch_backend import best_device, load_folder

    if options.get("device", "auto") == "auto":
        options["device"] = best_device()
    if options.get("precision") == AUTO:
        options["precision"] = "float16" if options["device"].startswith("cuda") else "float32"
    return load_folder(path, **options)


#: Backends that load a model: a file, or (torch) a model folder.
BACKENDS: dict[str, Callable[[Path, dict[str, Any]], Evaluator]] = {
    "openvino": _openvino,
    "onnxruntime": _onnxruntime,
    "torch": _torch,
}


@names_arguments
def load(model: Path | str, backend: str = "auto", **options: Any) -> Evaluator:
    """Load a model file, a model folder (a checkpoint, a training run), or a fake: "uniform",
    "fixed" or "random:SEED". "default" is the network shipped with the package.

    backend: a key of BACKENDS; "auto" takes torch for folders, else OpenVINO. Fakes need none.
    options: for the backend: `max_batch`, `slots`, `device` (auto, cpu, cuda:1, or a provider of
    ONNX Runtime), and those of its class (`precision`, `streams`, `threads`, ...). The default
    precision is float32; "auto" takes the int8 form beside an ONNX file (NAME-int8.xml, if made
    from this file), else bfloat16 on CPUs with bfloat16 instructions and float16 on a GPU.

    Raises ModelError that names the file and what is wrong with it.
    """
    if backend not in ("auto", *BACKENDS):
        raise ModelError(f"backend {backend!r}: one of auto, {', '.join(BACKENDS)}")
    name, _, argument = str(model).partition(":")
    if name in FAKES:
        options.pop("precision", None)
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
    if model == "":  # a Path of it would be the working directory
        raise ModelError('the name of the model is empty; "default" is the bundled network')
    path = default_model() if model == DEFAULT else Path(model)
    if not path.exists():
        raise ModelError(f"{path}: no such model file")
    if not os.access(path, os.R_OK):
        raise ModelError(f"{path}: {os.strerror(errno.EACCES)}")
    if backend == "auto":
        backend = "torch" if path.is_dir() else "openvino"
    if path.is_dir() != (backend == "torch"):
        what = "a folder" if path.is_dir() else "a file"
        raise ModelError(f"{path}: {what}; torch loads model folders, the others model files")
    with ended_before_exit():
        return BACKENDS[backend](path, options)
