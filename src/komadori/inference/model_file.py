"""What a model file holds, read from its shapes and from the card beside it.

A model is an ONNX file (or an OpenVINO IR) with dlshogi's names: `input1` [N, 62, 9, 9],
`input2` [N, 57 or 119, 9, 9], `output_policy` [N, labels] logits, `output_value` [N, 1] after
the sigmoid. A card is a JSON file of the same name (`model.onnx`, `model.json`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komadori.inference.protocol import ModelError

INPUTS = ("input1", "input2")
OUTPUTS = ("output_policy", "output_value")
CHANNELS1 = 62
LABELS_2187 = 2187

#: Channels of the second input -> key of `encoding.FEATURES`.
FEATURES_BY_CHANNELS2 = {57: "dlshogi", 119: "dlshogi-119"}
#: Outputs of the policy -> key of `encoding.LABELS`, where no card names the scheme.
LABELS_BY_COUNT = {LABELS_2187: "2187"}


@dataclass(frozen=True)
class ModelShape:
    """The shapes of a network's inputs and outputs and what they stand for."""

    features: str
    labels: str
    channels2: int
    label_count: int


def label_count(labels: str) -> int:
    """How many outputs the policy has under a label scheme (a key of `encoding.LABELS`)."""
    for count, name in LABELS_BY_COUNT.items():
        if name == labels:
            return count
    from komadori.encoding import LABELS

    if labels not in LABELS:
        raise ModelError(f"no label scheme {labels!r} (known: {', '.join(LABELS)})")
    return LABELS[labels].size


def channels2(features: str) -> int:
    """How many channels the second input has under a feature table."""
    for channels, name in FEATURES_BY_CHANNELS2.items():
        if name == features:
            return channels
    raise ModelError(f"the search writes no {features!r} features")


def read_card(path: Path) -> dict[str, Any]:
    """The card beside a model file, or {} where there is none. Raises ModelError if damaged."""
    card_path = path.with_suffix(".json")
    if card_path == path or not card_path.is_file():
        return {}
    try:
        card = json.loads(card_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{card_path}: not a model card: {error}") from None
    if not isinstance(card, dict):
        raise ModelError(f"{card_path}: not a model card: a JSON object is expected")
    return card


def model_folder(path: Path) -> Path | None:
    """The model in a folder: itself, or of a training run the newest checkpoint; else None."""
    if (path / "model.json").is_file():
        return path
    checkpoints = sorted(path.glob("checkpoints/step-*/model.json"))
    return checkpoints[-1].parent if checkpoints else None


def card_of(model: Path | str) -> dict[str, Any]:
    """The card of a model by a name that `inference.load` knows, a file or a folder; {} where
    there is none. Raises ModelError if it is damaged.
    """
    path = default_model() if model == "default" else Path(model)
    if path.is_dir():
        folder = model_folder(path)
        return {} if folder is None else read_card(folder / "model")
    return read_card(path)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def default_model() -> Path:
    """The network that the package brings; a card beside it says how it was trained."""
    return Path(__file__).resolve().parent.parent / "data" / "models" / "default.onnx"


def int8_form(path: Path) -> Path | None:
    """The int8 form that `komadori export --int8` made of this model file and that lies beside it
    (NAME-int8.xml); None where there is none, or where it was made of another file.
    """
    form = path.with_name(f"{path.stem}-int8.xml")
    if not (form.is_file() and form.with_suffix(".bin").is_file() and path.is_file()):
        return None
    about = read_card(form).get("quantization")
    made_of = about.get("source_sha256") if isinstance(about, dict) else None
    return form if made_of == digest(path) else None


def check_shape(
    path: Path,
    inputs: Mapping[str, tuple[int | None, ...]],
    outputs: Mapping[str, tuple[int | None, ...]],
    card: Mapping[str, Any],
) -> ModelShape:
    """What a network's inputs and outputs (name -> shape, None where dynamic) stand for.

    Raises ModelError that names the input or output that isn't as expected.
    """
    for kind, names, found in (("input", INPUTS, inputs), ("output", OUTPUTS, outputs)):
        for name in names:
            if name not in found:
                present = ", ".join(sorted(found)) or "none"
                raise ModelError(f"{path}: no {kind} named {name!r} (it has {present})")
    shape1, shape2 = inputs[INPUTS[0]], inputs[INPUTS[1]]
    if shape1[1:] != (CHANNELS1, 9, 9):
        raise ModelError(f"{path}: {INPUTS[0]} is {_show(shape1)}, not [N, {CHANNELS1}, 9, 9]")
    channels = shape2[1] if len(shape2) == 4 else None
    if shape2[2:] != (9, 9) or channels not in FEATURES_BY_CHANNELS2:
        expected = " or ".join(str(c) for c in FEATURES_BY_CHANNELS2)
        raise ModelError(f"{path}: {INPUTS[1]} is {_show(shape2)}, not [N, {expected}, 9, 9]")
    value = outputs[OUTPUTS[1]]
    if len(value) != 2 or value[1] not in (1, None):
        raise ModelError(f"{path}: {OUTPUTS[1]} is {_show(value)}, not [N, 1]")
    policy = outputs[OUTPUTS[0]]
    count = policy[1] if len(policy) == 2 else None
    labels = str(card.get("labels") or LABELS_BY_COUNT.get(count or 0, ""))
    try:
        fits = count is not None and labels != "" and label_count(labels) == count
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if count is None or not fits:
        raise ModelError(
            f"{path}: {OUTPUTS[0]} is {_show(policy)}, "
            + (f"but its labels are {labels!r}" if labels else "not [N, 2187]")
        )
    features = str(card.get("features") or FEATURES_BY_CHANNELS2[channels])
    if features != FEATURES_BY_CHANNELS2[channels]:
        raise ModelError(
            f"{path}: {INPUTS[1]} has {channels} channels, but its features are {features!r}"
        )
    return ModelShape(features, labels, channels, count)


def _show(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("N" if size is None else str(size) for size in shape) + "]"
