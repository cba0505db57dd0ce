"""Export a checkpoint as ONNX, with dlshogi's names.

Inputs `input1`, `input2` (one per tensor of the feature table); outputs `output_policy`
[N, labels], logits, and `output_value` [N, 1], the side to move's win probability. The batch axis
is dynamic. The model card is in the metadata under `komadori` and in `NAME.json` beside the file.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from komadori.atomic import atomic_writer, is_stream
from komadori.inference.without_telemetry import import_onnxruntime
from komadori.json_file import as_json, dump_json
from komadori.nets import ModelCard, Network, load_model
from komadori.training.checkpoint import resolve
from komadori.wording import names_arguments

#: Supported by OpenVINO, ONNX Runtime 1.12, TensorRT 8.5 and later.
OPSET = 17
OUTPUTS = ("output_policy", "output_value")
#: Largest difference from torch, in float32, that is accepted as rounding.
TOLERANCE = 1e-3


class ExportError(RuntimeError):
    """The model can't be exported, or the exported one computes different outputs."""


@dataclass(frozen=True)
class ExportResult:
    """Largest absolute differences from torch, and the runtime that was compared."""

    path: Path
    card_path: Path | None
    """None if the model was written to a stream."""
    policy_difference: float
    value_difference: float
    checked_with: str


class ForPlay(nn.Module):
    """A network with the outputs of an exported model: policy logits, win probability [N, 1]."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        policy, value = self.network(*inputs)
        return policy, torch.sigmoid(value).unsqueeze(1)


@names_arguments
def export(source: Path | str, path: Path | str, *, name: str = "") -> ExportResult:
    """Write the network of a run, checkpoint or model folder as ONNX and compare it with torch.

    Batch norms are folded into the convolutions. A pipe or device gets no card beside it. Raises
    ExportError, and writes nothing, if the outputs differ by more than `TOLERANCE`
    or aren't finite.
    """
    path = Path(path)
    network, card = load_model(resolve(Path(source)))
    if name:
        card = ModelCard(**{**vars(card), "name": name})
    card = _without_folders(card)
    inputs = _probe(card)
    with torch.inference_mode():
        expected = [t.numpy() for t in ForPlay(network)(*inputs)]
    data = _to_onnx(ForPlay(network.folded()), inputs, card)
    outputs, checked_with = _run(data, inputs)
    if not all(np.isfinite(array).all() for array in (*expected, *outputs)):
        raise ExportError(f"{path}: the network's outputs are NaN or infinite for some positions")
    policy, value = (float(np.abs(a - b).max()) for a, b in zip(expected, outputs, strict=True))
    if not max(policy, value) <= TOLERANCE:
        raise ExportError(
            f"{path}: {checked_with} differs from torch by {policy:.2g} in the policy, "
            f"{value:.2g} in the value"
        )
    card_path = None if is_stream(path) else path.with_suffix(".json")
    with contextlib.ExitStack() as stack:
        if card_path is not None:
            card_file = stack.enter_context(atomic_writer(card_path))
            card_file.write((dump_json(card.to_json(), indent=2) + "\n").encode())
            card_file.flush()  # a full disk leaves an old model and its card
        with atomic_writer(path) as file:
            file.write(data)
    return ExportResult(path, card_path, policy, value, checked_with)


def _without_folders(card: ModelCard) -> ModelCard:
    """The card with file names only, without this machine's folders."""
    shortened = ModelCard(**{**vars(card), "training": as_json(card.training)})
    # begin_with: the name of init_from in older runs.
    for name, *keys in (
        ("data", "train", "test", "cache"),
        ("model", "init_from", "begin_with"),
        ("loss", "distill_from"),
    ):
        table = shortened.facts("config", name)
        if isinstance(table, dict):
            table.update({key: _name(table[key]) for key in keys if key in table})
    return shortened


def _name(path: Any) -> Any:
    """The path without its folders; each of a list. Other values, as damaged cards hold, as is."""
    if isinstance(path, list):
        return [_name(one) for one in path]
    return Path(path).name if isinstance(path, str) else path


def _probe(card: ModelCard) -> tuple[Tensor, ...]:
    """Three random 0/1 inputs, so that no dimension is 1 by accident."""
    generator = torch.Generator().manual_seed(0)
    return tuple(
        (torch.rand(3, *shape, generator=generator) < 0.15).float()
        for shape in card.interface.inputs
    )


def _to_onnx(module: nn.Module, inputs: tuple[Tensor, ...], card: ModelCard) -> bytes:
    try:
        import onnx
    except ImportError as error:
        raise ExportError("export needs the onnx package: pip install onnx") from error
    names = [f"input{i + 1}" for i in range(len(inputs))]
    file: Any = io.BytesIO()
    with warnings.catch_warnings():
        # The tracing exporter is deprecated; the newer one needs onnxscript.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            module.eval(),
            inputs,
            file,
            input_names=names,
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "batch"} for name in (*names, *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(file.getvalue())
    entry = model.metadata_props.add()
    entry.key, entry.value = "komadori", dump_json(card.to_json())
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString()
    return data


def _run(data: bytes, inputs: tuple[Tensor, ...]) -> tuple[list[NDArray[np.float32]], str]:
    """Outputs by ONNX Runtime, or by onnx's reference evaluator if it isn't installed."""
    feed = {f"input{i + 1}": tensor.numpy() for i, tensor in enumerate(inputs)}
    try:
        onnxruntime = import_onnxruntime()
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(data).run(list(OUTPUTS), feed), "onnx.reference"
    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(list(OUTPUTS), feed), "onnxruntime"
