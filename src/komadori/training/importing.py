"""Read exported models back as networks that can be trained: ONNX files of `komadori export`, and
their int8 forms (OpenVINO IR), whose weights are dequantized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from komadori import encoding, nets
from komadori.nets import ModelCard, ModelFileError, Network
from komadori.nets.unfolding import unfold
from komadori.records import Samples
from komadori.training.export import TOLERANCE, ForPlay

#: Positions that batch norms are measured on, and on which the outputs are compared.
POSITIONS = 1024
#: Fraction of positions in which an int8 model must prefer the same label as the imported network.
INT8_AGREEMENT = 0.75
_ROWS = 256
#: Module of the exporter around the network.
_SCOPE = "network"
_LAYERS = ("Convolution", "MatMul")


@dataclass(frozen=True)
class Imported:
    """An imported network in evaluation mode, its card, and how it compares with the file.

    policy_difference, value_difference: largest absolute differences of the outputs. agreement:
    fraction of positions in which both prefer the same label.
    """

    network: Network
    card: ModelCard
    is_int8: bool
    policy_difference: float
    value_difference: float
    agreement: float


def import_exported(path: Path | str, samples: Samples) -> Imported:
    """The network of an exported model, .onnx or .xml.

    samples: positions to measure batch norms on, which the file has folded into its weights.
    Raises ModelFileError for a file without a card of ours or of another structure, and if the
    outputs differ by more than rounding, or for int8 by more than quantization explains.
    """
    from komadori.inference.model_file import card_of
    from komadori.inference.protocol import ModelError

    path = Path(path)
    try:
        about = card_of(path)
    except ModelError as error:
        raise ModelFileError(str(error)) from None
    if not about:
        raise ModelFileError(f"{path}: has no model card: `komadori export` didn't write it")
    card = ModelCard.from_json(about, path)
    try:
        network = nets.build(card.net, card.interface).eval()
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        text = " ".join(str(error).split())
        raise ModelFileError(f"{path}: no such network can be built: {text}") from error
    model = _read(path)
    is_int8 = "quantization" in about
    planes = _planes(card, samples)
    weights = _weights(model, network.folded())
    unfold(network, weights, _batches(planes), path)
    policy, value, agreement = _compare(model, network, planes)
    imported = Imported(network, card, is_int8, policy, value, agreement)
    is_close = agreement >= INT8_AGREEMENT if is_int8 else max(policy, value) <= TOLERANCE
    if not (is_close and np.isfinite([policy, value]).all()):
        raise ModelFileError(
            f"{path}: the imported network differs by {policy:.2g} in the policy and {value:.2g} "
            f"in the value, and prefers the same move in {agreement:.1%} of the positions"
        )
    return imported


def _read(path: Path) -> Any:
    from komadori.inference.openvino_backend import check_work, read_model
    from komadori.inference.protocol import ModelError
    from komadori.inference.without_telemetry import import_openvino

    try:
        model = read_model(import_openvino().Core(), path)
        check_work(path, model)
        return model
    except ModelError as error:
        raise ModelFileError(str(error)) from None


def _planes(card: ModelCard, samples: Samples) -> tuple[NDArray[Any], ...]:
    if len(samples) > POSITIONS:
        rows = np.random.default_rng(0).permutation(len(samples))[:POSITIONS]
        samples = samples.take(np.sort(rows))
    plies = (
        samples.ply.astype(np.int32) - 1 if encoding.FEATURES[card.features].needs_plies else None
    )
    if plies is not None and plies.min(initial=0) < 0:
        raise ModelFileError(f"{card.features} needs move numbers, which these positions lack")
    return tuple(encoding.encode_planes(samples.hcp, card.features, plies=plies))


def _batches(planes: Sequence[NDArray[Any]]) -> Iterator[tuple[Tensor, ...]]:
    for begin in range(0, len(planes[0]), _ROWS):
        yield tuple(torch.from_numpy(part[begin : begin + _ROWS]).float() for part in planes)


# ---- weights by name


def _weights(model: Any, folded: Network) -> dict[str, Tensor]:
    """The float weights of a graph, by the names of the folded network."""
    nodes = {node.get_friendly_name(): node for node in model.get_ordered_ops()}
    constants: set[str] = set()  # nodes computed from constants alone, found in topological order
    for name, node in nodes.items():
        if node.get_type_name() != "Parameter" and all(map(_source(constants), node.inputs())):
            constants.add(name)
    is_constant = _source(constants)
    layers = {
        _module(name): node for name, node in nodes.items() if node.get_type_name() in _LAYERS
    }
    found: dict[str, tuple[Any, bool]] = {}  # output, whether it is transposed
    for name, module in folded.named_modules():
        if not isinstance(module, nn.Conv2d | nn.Linear) or name not in layers:
            continue
        node = layers[name]
        is_linear = node.get_type_name() == "MatMul"
        is_transposed = is_linear and not node.get_attributes()["transpose_b"]
        if is_constant(node.input(1)):
            found[f"{name}.weight"] = (node.input_value(1), is_transposed)
        add = nodes.get(node.get_friendly_name().removesuffix("/WithoutBiases"))
        if add is not None and add.get_type_name() == "Add":
            for port in add.inputs():
                source = port.get_source_output().get_node()
                if source.get_type_name() == "Reshape":  # to a shape that may not be constant
                    port = source.input(0)
                if is_constant(port):
                    found[f"{name}.bias"] = (port.get_source_output(), False)
    for name in folded.state_dict():
        node = nodes.get(f"{_SCOPE}.{name}")
        if node is not None and node.get_type_name() == "Constant":
            found[name] = (node.output(0), False)
    shapes = {name: tensor.shape for name, tensor in folded.state_dict().items()}
    weights = {}
    for (name, (_, is_transposed)), array in zip(
        found.items(), _computed([output for output, _ in found.values()]), strict=True
    ):
        tensor = torch.from_numpy(np.array(array, np.float32))
        tensor = tensor.T.contiguous() if is_transposed else tensor
        fits = tensor.numel() == shapes[name].numel()
        weights[name] = tensor.reshape(shapes[name]) if fits else tensor
    return weights


def _source(constants: set[str]) -> Callable[[Any], bool]:
    return lambda port: port.get_source_output().get_node().get_friendly_name() in constants


def _module(node: str) -> str:
    """The name of the module that a node of the graph was traced in: "blocks.0.conv1" of
    "/network/blocks/blocks.0/conv1/Conv"."""
    parts = node.removesuffix("/WithoutBiases").removeprefix(f"/{_SCOPE}/").split("/")[:-1]
    afters = [*parts, ""][1:]
    return ".".join(
        part for part, after in zip(parts, afters, strict=True) if not after.startswith(f"{part}.")
    )


def _computed(outputs: Sequence[Any]) -> list[NDArray[Any]]:
    """The values of outputs that are computed from constants."""
    from komadori.inference.signal_stack import kept_signal_stack
    from komadori.inference.without_telemetry import import_openvino

    ov = import_openvino()
    graph = ov.Model([ov.opset13.result(one) for one in outputs], [])
    with kept_signal_stack():
        compiled = ov.compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    values = compiled([])
    return [values[number] for number in range(len(outputs))]


# ---- the comparison


@torch.inference_mode()
def _compare(
    model: Any, network: Network, planes: Sequence[NDArray[Any]]
) -> tuple[float, float, float]:
    """Largest differences of policy and value, and the fraction of equally preferred labels."""
    from komadori.inference.signal_stack import kept_signal_stack
    from komadori.inference.without_telemetry import import_openvino

    ov = import_openvino()
    with kept_signal_stack():
        compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for_play = ForPlay(network)
    policy_difference = value_difference = np.float32(0)
    agreed = 0
    for batch in _batches(planes):
        found = compiled([part.numpy() for part in batch])
        policy, value = for_play(*batch)
        own, theirs = policy.numpy(), found["output_policy"]
        values = value.numpy() - found["output_value"].reshape(-1, 1)
        # np.maximum keeps a NaN, max() may drop it.
        policy_difference = np.maximum(policy_difference, np.abs(own - theirs).max())
        value_difference = np.maximum(value_difference, np.abs(values).max())
        agreed += int((own.argmax(1) == theirs.argmax(1)).sum())
    return float(policy_difference), float(value_difference), agreed / max(1, len(planes[0]))
