"""Model files: their card, feature table and label scheme.

A model is an ONNX file (or an OpenVINO IR) with dlshogi's names: `input1`, `input2`, ..., one per
input of its feature table; `output_policy` [N, labels], logits; `output_value` [N, 1], after the
sigmoid. The card names the feature table and the label scheme. It is stored in the ONNX file's
metadata under `komadori`, or in a JSON file of the same name (`model.onnx`, `model.json`). Without
a card the shapes must be dlshogi's: `input1` [N, 62, 9, 9], `input2` [N, 57 or 119, 9, 9], 2187
labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komadori.encoding import FEATURES, LABELS
from komadori.inference.onnx_metadata import read_metadata
from komadori.inference.protocol import Evaluator, ModelError
from komadori.json_file import parse_table
from komadori.model_folder import find_model
from komadori.whole_file import refuse_device
from komadori.wording import names_arguments

OUTPUTS = ("output_policy", "output_value")
#: The key of the card in the metadata of an ONNX file.
METADATA_KEY = "komadori"

#: Feature tables of models without a card, by the shapes of their inputs.
_FEATURES_BY_SHAPES = {
    tuple(one.shape for one in FEATURES[name].inputs): name for name in ("dlshogi", "dlshogi-119")
}
#: The label scheme of a model whose card names none.
_DEFAULT_LABELS = "2187"


@dataclass(frozen=True)
class Signature:
    """The feature table and label scheme of a model: keys of `encoding.FEATURES` and `LABELS`."""

    features: str
    labels: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the model's inputs."""
        return input_names(self.features)

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of one position in each input."""
        return tuple(one.shape for one in FEATURES[self.features].inputs)

    @property
    def label_count(self) -> int:
        """Policy outputs of all heads together."""
        return LABELS[self.labels].size

    @property
    def is_binary(self) -> bool:
        """Whether every input value is 0 or 1, so that inputs can be uint8."""
        return FEATURES[self.features].is_binary


def input_names(features: str) -> tuple[str, ...]:
    """The names of a model's inputs under a feature table."""
    return tuple(f"input{number}" for number in range(1, len(FEATURES[features].inputs) + 1))


def check_tables(features: str, labels: str) -> Signature:
    """Check the two names. Raises ModelError for an unknown table or scheme."""
    if features not in FEATURES:
        raise ModelError(f"no feature table {features!r} (known: {', '.join(FEATURES)})")
    if labels not in LABELS:
        raise ModelError(f"no label scheme {labels!r} (known: {', '.join(LABELS)})")
    return Signature(features, labels)


def read_card(path: Path) -> dict[str, Any]:
    """Read the card of a model file: from an ONNX file's metadata, else from the JSON file beside
    it, else {}. Raises ModelError if it is damaged."""
    return find_card(path)[0]


def find_card(path: Path) -> tuple[dict[str, Any], Path]:
    """As `read_card`, with the file that holds the card: the model or the JSON file beside it."""
    if path.suffix == ".onnx" and (text := read_metadata(path).get(METADATA_KEY)):
        return _parse_card(text, f"{path}: metadata {METADATA_KEY!r}"), path
    card_path = path.with_suffix(".json")
    if card_path == path or not card_path.is_file():
        return {}, path
    try:
        text = card_path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{card_path}: not a model card: {error}") from None
    return _parse_card(text, str(card_path)), card_path


def _parse_card(text: str, where: str) -> dict[str, Any]:
    try:
        return parse_table(text)
    except ValueError as error:
        raise ModelError(f"{where}: not a model card: {error}") from None


@names_arguments
def card_of(model: Path | str) -> dict[str, Any]:
    """Read the card of a model, by any name that `inference.load` accepts; {} if it has none.
    Raises ModelError if it is damaged."""
    path = default_model() if model == "default" else Path(model)
    if path.is_dir():
        folder = find_model(path)
        return {} if folder is None else read_card(folder / "model")
    return read_card(path)


@names_arguments
def digest(path: Path | str) -> str:
    """SHA-256 of a model, in hexadecimal: of a file, or of the files of a model folder.

    Raises OSError, also for a device: /dev/zero has no end.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.glob("*") if file.is_file())
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    refuse_device(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_identified(
    path: Path | str,
    load: Callable[[], Evaluator],
    digest_of: Callable[[Any], str] = digest,
) -> tuple[Evaluator, str]:
    """Load a model; also return its digest. Raises ModelError if the model changes meanwhile, since
    the digest could be of another one than was loaded, and the errors of `load`."""
    try:
        before = digest_of(path)
    except OSError:
        before = ""  # `load` says what is wrong
    evaluator = load()
    if digest_of(path) != before:
        evaluator.close()
        raise ModelError(f"{path}: changed while it was in use")
    return evaluator, before


def default_model() -> Path:
    """The path of the shipped network; the card beside it describes its training."""
    return Path(__file__).resolve().parent.parent / "data" / "models" / "default.onnx"


def int8_form(path: Path) -> Path | None:
    """The path of the model's int8 form, NAME-int8.xml beside it as written by `komadori export
    --int8`; None if there is none or if it was made from another file."""
    form = path.with_name(f"{path.stem}-int8.xml")
    if not (form.is_file() and form.with_suffix(".bin").is_file() and path.is_file()):
        return None
    about = read_card(form).get("quantization")
    made_of = about.get("source_sha256") if isinstance(about, dict) else None
    return form if made_of == digest(path) else None


def check_signature(
    path: Path,
    inputs: Mapping[str, tuple[int | None, ...]],
    outputs: Mapping[str, tuple[int | None, ...]],
    card: Mapping[str, Any],
) -> Signature:
    """The signature of a model with these inputs and outputs (name to shape, None for dynamic
    sizes).

    Raises ModelError that names the input or output with an unexpected shape.
    """
    features = card.get("features") or _features_by_shapes(path, inputs)
    try:
        signature = check_tables(str(features), str(card.get("labels") or _DEFAULT_LABELS))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    _require(path, "input", signature.inputs, inputs)
    _require(path, "output", OUTPUTS, outputs)
    for name, shape in zip(signature.inputs, signature.input_shapes, strict=True):
        if inputs[name][1:] != shape:
            raise ModelError(
                f"{path}: {name} is {_show(inputs[name])}, but its features are "
                f"{signature.features!r}: {_show((None, *shape))}"
            )
    value = outputs[OUTPUTS[1]]
    if len(value) != 2 or value[1] not in (1, None):
        raise ModelError(f"{path}: {OUTPUTS[1]} is {_show(value)}, not [N, 1]")
    policy = outputs[OUTPUTS[0]]
    if len(policy) != 2 or policy[1] != signature.label_count:
        raise ModelError(
            f"{path}: {OUTPUTS[0]} is {_show(policy)}, but its labels are "
            f"{signature.labels!r}: [N, {signature.label_count}]"
        )
    return signature


def _features_by_shapes(path: Path, inputs: Mapping[str, tuple[int | None, ...]]) -> str:
    """The feature table of a model without a card."""
    names = input_names("dlshogi")
    _require(path, "input", names, inputs)
    shapes = tuple(inputs[name][1:] for name in names)
    for known, features in _FEATURES_BY_SHAPES.items():
        if known == shapes:
            return features
    columns = zip(*_FEATURES_BY_SHAPES, strict=True)
    for name, found, possible in zip(names, shapes, columns, strict=True):
        if found not in possible:
            wanted = " or ".join(_show((None, *shape)) for shape in dict.fromkeys(possible))
            raise ModelError(
                f"{path}: {name} is {_show(inputs[name])}, not {wanted}; models of other feature "
                "tables need a card that names them"
            )
    raise AssertionError("every combination of known shapes is a known table")


def _require(path: Path, kind: str, names: tuple[str, ...], found: Mapping[str, Any]) -> None:
    for name in names:
        if name not in found:
            present = ", ".join(sorted(found)) or "none"
            raise ModelError(f"{path}: no {kind} named {name!r} (it has {present})")


def _show(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("N" if size is None else str(size) for size in shape) + "]"
