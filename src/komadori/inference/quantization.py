"""Post-training quantization to int8, and its loss of accuracy.

nncf runs positions through the network to find the range of every activation, and quantizes weights
and activations to 8 bits where OpenVINO has an int8 kernel. The loss is measured on positions of
other games than those used for calibration.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import encoding
from komadori.atomic import atomic_writer
from komadori.extras import missing
from komadori.inference.loading import load
from komadori.inference.model_file import OUTPUTS, digest, input_names, read_card
from komadori.inference.openvino_backend import read_model
from komadori.inference.protocol import Evaluator, evaluate
from komadori.inference.signal_stack import kept_signal_stack
from komadori.inference.without_telemetry import import_nncf, import_openvino
from komadori.records import Samples
from komadori.rules import Board
from komadori.wording import counted

#: Points of top-1 that int8 may lose before layers are left in float.
TOP1_TOLERANCE = 0.5

#: Fraction of float32's top-1 accuracy that int8 must keep; less is an error if it is less by DOUBT
#: standard errors (5 % level, one-sided).
GATE, DOUBT = 0.99, 1.645

#: Parts left in float, by attempt.
_ATTEMPTS = ((), ("stem",), ("stem", "heads"))

#: Batch size for measuring.
_ROWS = 512


class QuantizationError(RuntimeError):
    """The network can't be quantized, or there are too few positions."""


@dataclass(frozen=True)
class Accuracy:
    """The agreement of two networks on the same positions, over legal moves."""

    positions: int
    agreement: float
    """Fraction of positions in which both networks prefer the same move."""
    top1_before: float
    """Fraction of positions in which the first network prefers the record's move."""
    top1_after: float
    """The same of the second network."""
    top1_lost_error: float
    """Standard error of the points of top-1 lost."""
    value_error: float
    """Mean absolute difference of the win probabilities."""
    value_error_max: float

    @property
    def top1_lost(self) -> float:
        """Percentage points of top-1 accuracy lost by the second network; negative for a gain."""
        return 100 * (self.top1_before - self.top1_after)

    def __str__(self) -> str:
        return (
            f"top-1 {self.top1_before:.2%} in float32, {self.top1_after:.2%} in int8: "
            f"{self.top1_lost:+.2f} points lost (standard error {self.top1_lost_error:.2f}); "
            f"same move in {self.agreement:.2%}; value differs by {self.value_error:.4f} on "
            f"average, {self.value_error_max:.3f} at most; {self.positions:,} positions"
        )


@dataclass(frozen=True)
class Quantized:
    """The result of a quantization. kept: the parts left in float."""

    path: Path
    accuracy: Accuracy
    kept: tuple[str, ...]
    calibrated_with: int


def quantize(
    model: Path | str,
    output: Path | str,
    samples: Samples,
    *,
    calibration: int = 512,
    held_out: int = 16384,
    tolerance: float = TOP1_TOLERANCE,
    gate: float = GATE,
    seed: int = 0,
    threads: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> Quantized:
    """Write the int8 form of a model file to `output` (an OpenVINO IR: .xml and .bin, and the card
    as .json), and measure it on held-out positions of `samples`.

    If more than `tolerance` points of top-1 are lost, first the stem and then also the heads are
    left in float; the best attempt is written. `on_step` is called with a line of text per step.
    Raises QuantizationError if the best attempt keeps less than `gate` of float32's top-1 accuracy
    (naming the layer with the largest error; nothing is written), without nncf, and for too few
    games; ModelError for an invalid model.
    """
    model, output = Path(model), Path(output)
    if output.suffix != ".xml":
        raise QuantizationError(f"{output}: an int8 model is an OpenVINO IR, named NAME.xml")
    if output.resolve() == model.resolve():
        raise QuantizationError(f"{output}: this would overwrite the model it is made from")
    nncf = _nncf()
    say = on_step or (lambda _: None)
    tuning, measuring = split(samples, calibration, held_out, seed)
    reference = load(model, backend="openvino", max_batch=64)
    try:
        features, labels = reference.features, reference.labels
        say(f"float32 on {counted(len(measuring), 'position')}")
        before = _answers(reference, measuring, threads)
    finally:
        reference.close()
    planes = _encode(tuning, features, threads)
    best: tuple[Accuracy, tuple[str, ...], Path] | None = None
    with temporary_folder(output) as folder:
        for number, kept in enumerate(_ATTEMPTS):
            how = f", {' and '.join(kept)} in float" if kept else ""
            say(f"calibrating on {counted(len(tuning), 'position')}{how}")
            path = folder / f"{number}.xml"
            _write_int8(nncf, model, path, input_names(features), planes, kept)
            path.with_suffix(".json").write_text(json.dumps(read_card(model)), encoding="utf-8")
            say(f"int8 on {counted(len(measuring), 'position')}")
            candidate = load(path, backend="openvino", max_batch=64)
            try:
                after = _answers(candidate, measuring, threads)
            finally:
                candidate.close()
            accuracy = compare(before, after, measuring, labels, threads)
            if best is None or accuracy.top1_lost < best[0].top1_lost:
                best = (accuracy, kept, path)
            if accuracy.top1_lost <= tolerance:
                break
        assert best is not None
        accuracy, kept, path = best
        allowed = 100 * (1 - gate) * accuracy.top1_before
        if accuracy.top1_lost - DOUBT * accuracy.top1_lost_error > allowed:
            say("comparing layers")
            errors = layer_errors(model, path, tuple(part[:LAYER_ROWS] for part in planes))
            raise QuantizationError(f"{output}: {_refusal(accuracy, gate, errors)}")
        card = _card(model, accuracy, kept, len(tuning))
        _publish(path, output, card)
    return Quantized(output, accuracy, kept, len(tuning))


@contextlib.contextmanager
def temporary_folder(output: Path) -> Iterator[Path]:
    """A folder for files that are written before `output`. Raises QuantizationError, which names
    the output and the folder's place, if they can't be."""
    folder = ""
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    except OSError as error:
        if folder and not str(error.filename or "").startswith(folder):
            raise
        place = Path(folder).parent if folder else "TMPDIR, /tmp"
        raise QuantizationError(
            f"{output}: temporary files in {place}: {error.strerror or error}"
        ) from error


#: Positions on which layers are compared.
LAYER_ROWS = 64


def layer_errors(model: Path, other: Path, planes: Sequence[NDArray[Any]]) -> dict[str, float]:
    """The relative error of each layer with weights between two forms of a network, in order of the
    layers: the norm of the difference of outputs over the norm of the first's output."""
    ov = import_openvino()
    outputs = []
    for path in (model, other):
        network = ov.Core().read_model(path)
        layers = [n for n in network.get_ordered_ops() if n.get_type_name() in _HEAVY]
        names = [node.get_friendly_name() for node in layers]
        added = network.add_outputs([node.output(0) for node in layers])
        with kept_signal_stack():
            compiled = ov.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        found = compiled(list(planes))
        first = len(network.outputs) - len(added)
        arrays = [found[first + i] for i in range(len(added))]
        outputs.append(dict(zip(names, arrays, strict=True)))
    before, after = outputs
    return {
        name: float(np.linalg.norm(after[name] - array)) / max(float(np.linalg.norm(array)), 1e-12)
        for name, array in before.items()
        if name in after and after[name].shape == array.shape
    }


def _refusal(accuracy: Accuracy, gate: float, errors: dict[str, float]) -> str:
    kept = accuracy.top1_after / max(accuracy.top1_before, 1e-12)
    text = (
        f"int8 keeps {kept:.1%} of float32's top-1 accuracy ({accuracy.top1_after:.2%} of "
        f"{accuracy.top1_before:.2%} on {accuracy.positions:,} positions), {gate:.0%} is needed"
    )
    if errors:
        worst = max(errors, key=errors.__getitem__)
        text += f"; the layer {worst} suffers most: its output differs by {errors[worst]:.0%}"
    return text + "; nothing was written"


def split(samples: Samples, first: int, second: int, seed: int) -> tuple[Samples, Samples]:
    """Draw up to `first` positions from one half of the games and up to `second` from the other;
    positions without a move are left out.

    Raises QuantizationError if a half has none.
    """
    random = np.random.default_rng(seed)
    games = random.permutation(np.unique(samples.game))
    is_first = np.isin(samples.game, games[: len(games) // 2])
    parts = []
    for mask, count in ((is_first, first), (~is_first, second)):
        rows = np.flatnonzero(mask & (samples.move16 != 0))
        if not len(rows):
            raise QuantizationError(
                f"{len(games)} games with {len(samples):,} positions don't suffice: "
                "one half calibrates, the other measures"
            )
        parts.append(samples.take(np.sort(random.permutation(rows)[:count])))
    return parts[0], parts[1]


@dataclass(frozen=True)
class Answers:
    """A network's outputs: policy [N, labels] logits, value [N]."""

    policy: NDArray[np.float32]
    value: NDArray[np.float32]


def compare(
    before: Answers, after: Answers, samples: Samples, labels: str = "2187", threads: int = 1
) -> Accuracy:
    """Compare the second network with the first on positions evaluated by both."""
    preferred = [_preferred(answers, samples, labels, threads) for answers in (before, after)]
    played = encoding.encode_labels(samples.hcp, samples.move16, labels).reshape(len(samples), -1)
    hits = [(moves == played).all(1).astype(np.float64) for moves in preferred]
    error = 100 * float(np.std(hits[0] - hits[1])) / len(samples) ** 0.5
    difference = np.abs(before.value - after.value)
    return Accuracy(
        positions=len(samples),
        agreement=float((preferred[0] == preferred[1]).all(1).mean()),
        top1_before=float(hits[0].mean()),
        top1_after=float(hits[1].mean()),
        top1_lost_error=error,
        value_error=float(difference.mean()),
        value_error_max=float(difference.max()),
    )


def _preferred(answers: Answers, samples: Samples, labels: str, threads: int) -> NDArray[np.int64]:
    """The labels [N, heads] of the legal move that the policy prefers."""
    if len(encoding.LABELS[labels].heads) > 1:
        # Labels that are legal one by one may belong to different moves: find a move that has all.
        found = [
            _preferred_move(Board.from_hcp(hcp.tobytes()), row, labels)
            for hcp, row in zip(samples.hcp, answers.policy, strict=True)
        ]
        return np.array(found, np.int64)
    best = [
        np.where(
            encoding.legal_mask(samples.hcp[rows], labels, threads=threads),
            answers.policy[rows],
            -np.inf,
        ).argmax(axis=1)
        for rows in _chunks(len(samples))
    ]
    return np.concatenate(best)[:, None]


def _preferred_move(board: Board, row: NDArray[np.float32], labels: str) -> NDArray[np.int64]:
    moves: NDArray[np.int64] = encoding.legal_labels(board, labels)
    best: NDArray[np.int64] = moves[encoding.move_probabilities(board, row, labels).argmax()]
    return best


def _encode(samples: Samples, features: str, threads: int) -> tuple[NDArray[Any], ...]:
    """Encode the samples. Raises QuantizationError if the network needs unknown plies."""
    plies = None
    if encoding.FEATURES[features].needs_plies:
        if samples.ply.min(initial=1) < 1:
            raise QuantizationError(
                f"the network reads {features}, which needs plies, and some of the positions "
                "have none (hcpe and hcpe2 don't store them)"
            )
        plies = samples.ply.astype(np.int32) - 1
    return encoding.encode_planes(samples.hcp, features, plies=plies, threads=threads)


def _answers(evaluator: Evaluator, samples: Samples, threads: int) -> Answers:
    policies, values = [], []
    for rows in _chunks(len(samples)):
        policy, value = evaluate(
            evaluator, *_encode(samples.take(rows), evaluator.features, threads)
        )
        policies.append(policy)
        values.append(value)
    return Answers(np.concatenate(policies), np.concatenate(values))


def _chunks(total: int) -> Iterator[slice]:
    for begin in range(0, total, _ROWS):
        yield slice(begin, min(begin + _ROWS, total))


def _nncf() -> Any:
    try:
        nncf = import_nncf()
    except ModuleNotFoundError as error:
        raise QuantizationError(f"int8 needs {missing(error)}") from None
    nncf.set_log_level(logging.ERROR)
    return nncf


def _write_int8(
    nncf: Any,
    model: Path,
    path: Path,
    inputs: Sequence[str],
    planes: Sequence[NDArray[Any]],
    kept: Sequence[str],
) -> None:
    ov = import_openvino()

    network = read_model(ov.Core(), model)
    rows = [
        {name: part[row : row + 1] for name, part in zip(inputs, planes, strict=True)}
        for row in range(len(planes[0]))
    ]
    parts = {"stem": _stem_layers, "heads": _head_layers}
    names = sorted({name for part in kept for name in parts[part](network)} | _products(network))
    # The extreme activations, not their mean over positions: pieces in hand cause rare, large
    # activations, and clipping them costs points of top-1.
    ranges = nncf.quantization.range_estimator.RangeEstimatorParametersSet.MINMAX
    # nncf draws its progress on standard output, also where that isn't a terminal.
    bar = sys.stderr if sys.stderr.isatty() else io.StringIO()
    with contextlib.redirect_stdout(bar), kept_signal_stack():
        quantized = nncf.quantize(
            network,
            nncf.Dataset(rows),
            subset_size=len(rows),
            preset=nncf.QuantizationPreset.MIXED,
            ignored_scope=nncf.IgnoredScope(names=names) if names else None,
            advanced_parameters=nncf.AdvancedQuantizationParameters(
                activations_range_estimator_params=ranges
            ),
        )
    try:
        ov.save_model(quantized, path, compress_to_fp16=False)
    except RuntimeError:  # which doesn't say why
        raise OSError(errno.EIO, "can't be written", str(path)) from None


#: Layers that have weights.
_HEAVY = ("Convolution", "MatMul")


def _products(network: Any) -> set[str]:
    """The layers that multiply activations with each other, as attention does. OpenVINO 2026.4
    multiplies them in float anyway, so quantizing them would only cost time."""
    return {
        node.get_friendly_name()
        for node in network.get_ops()
        if node.get_type_name() == "MatMul" and not any(map(_is_constant, node.inputs()))
    }


def _is_constant(port: Any) -> bool:
    """Whether all inputs are constants, including compressed ones."""
    node = port.get_source_output().get_node()
    if node.get_type_name() == "Convert":
        return _is_constant(node.input(0))
    return bool(node.get_type_name() == "Constant")


def _stem_layers(network: Any) -> set[str]:
    """The layers that read the inputs."""
    names: set[str] = set()
    for port in network.inputs:
        waiting = [port.get_node()]
        while waiting:
            for port in waiting.pop().outputs():
                for target in port.get_target_inputs():
                    node = target.get_node()
                    if node.get_type_name() in _HEAVY:
                        names.add(node.get_friendly_name())
                    else:
                        waiting.append(node)
    return names


def _head_layers(network: Any) -> set[str]:
    """The layers of the policy and value heads: those on which only one output depends."""
    policy, value = (_ancestors(network.output(name).get_node()) for name in OUTPUTS)
    return policy ^ value


def _ancestors(node: Any) -> set[str]:
    """The ancestors of a node."""
    names: set[str] = set()
    waiting = [node]
    seen = {node.get_friendly_name()}
    while waiting:
        node = waiting.pop()
        if node.get_type_name() in _HEAVY:
            names.add(node.get_friendly_name())
        for port in node.inputs():
            source = port.get_source_output().get_node()
            if source.get_friendly_name() not in seen:
                seen.add(source.get_friendly_name())
                waiting.append(source)
    return names


def _card(
    model: Path, accuracy: Accuracy, kept: Sequence[str], calibrated_with: int
) -> dict[str, Any]:
    card = read_card(model)
    card["quantization"] = {
        "precision": "int8",
        "source_sha256": digest(model),
        "kept_in_float": list(kept),
        "calibration_positions": calibrated_with,
        "measured_positions": accuracy.positions,
        "agreement": round(accuracy.agreement, 5),
        "top1_float32": round(accuracy.top1_before, 5),
        "top1_int8": round(accuracy.top1_after, 5),
        "value_error": round(accuracy.value_error, 6),
        "value_error_max": round(accuracy.value_error_max, 6),
    }
    return card


def _publish(source: Path, output: Path, card: dict[str, Any]) -> None:
    """Write .bin, .json and .xml. An error leaves the old files; a killed process leaves the files
    of one model, or no .xml, so a graph never gets another model's weights."""
    text = json.dumps(card, indent=2) + "\n"
    with contextlib.ExitStack() as files:  # closed in reverse: the .xml is last
        for suffix in (".xml", ".json", ".bin"):
            file = files.enter_context(atomic_writer(output.with_suffix(suffix)))
            if suffix == ".json":
                file.write(text.encode())
            else:
                with source.with_suffix(suffix).open("rb") as part:
                    shutil.copyfileobj(part, file)
            file.flush()
        output.unlink(missing_ok=True)
