"""A model on disk: a folder with `model.json` (the card) and `model.safetensors`.

The card describes the weights: network, feature table, label scheme and evaluation coefficient. A
training checkpoint is such a folder plus the trainer's files; an exported ONNX file carries the
same card.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from komadori.atomic import atomic_writer
from komadori.encoding import FEATURES, LABELS
from komadori.json_file import check_version, dump_json, parse_json
from komadori.model_folder import CARD_FILE, WEIGHTS_FILE
from komadori.nets.network import Interface, Network
from komadori.nets.registry import FAMILIES, NetConfig, build, family_of, short_name
from komadori.nets.tensor_file import TensorFileError, read_tensors, write_tensors
from komadori.wording import names_arguments

#: Incremented when an older reader would misread the newer format.
FORMAT_VERSION = 1


class ModelFileError(ValueError):
    """The model can't be read; the message names the file and the reason."""


@names_arguments
@dataclass(frozen=True)
class ModelCard:
    """What is needed to use the weights.

    features, labels: keys of `encoding.FEATURES` and `encoding.LABELS`.
    interface: the shapes behind these names.
    eval_coef: a score of `s` centipawns is a win rate of `1 / (1 + exp(-s / eval_coef))`.
    training: facts of the run (steps, samples, seconds, test metrics, config); free-form.

    Raises ModelFileError for an `eval_coef` that isn't positive and finite.
    """

    net: NetConfig
    features: str
    labels: str
    interface: Interface
    eval_coef: float
    name: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.eval_coef < math.inf:
            raise ModelFileError(f"eval_coef is {self.eval_coef}, a positive number is needed")

    def facts(self, *keys: str) -> Mapping[str, Any]:
        """A table of `training` by its keys, such as "config", "data"; empty if there is none."""
        found: Any = self.training
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def to_json(self) -> dict[str, Any]:
        """The card as plain JSON values."""
        return {
            "format": "komadori-model",
            "format_version": FORMAT_VERSION,
            "name": self.name or short_name(self.net),
            "net": {"family": family_of(self.net).name, **dataclasses.asdict(self.net)},
            "features": self.features,
            "labels": self.labels,
            "inputs": [list(shape) for shape in self.interface.inputs],
            "label_count": self.interface.labels,
            **({"label_heads": list(self.interface.heads)} if self.interface.heads else {}),
            "eval_coef": self.eval_coef,
            "value": "win probability of the side to move, 0 to 1",
            "training": dict(self.training),
        }

    @classmethod
    def from_json(cls, card: Any, where: Path | str) -> ModelCard:
        """The inverse of `to_json`; errors name the file `where`. Raises ModelFileError."""
        if not isinstance(card, dict) or card.get("format") != "komadori-model":
            raise ModelFileError(f"{where}: not a komadori model card")
        try:
            check_version(card.get("format_version"), FORMAT_VERSION)
        except ValueError as error:
            raise ModelFileError(f"{where}: {error}") from error
        try:
            net = dict(_of_type(card["net"], "net", dict))
            family = FAMILIES.get(net.pop("family"))
            if family is None:
                raise ValueError(
                    f"unknown network family {card['net']['family']!r}; a custom family must "
                    "be registered in every program that uses it (komadori.nets.register)"
                )
            for key, what, known in (
                ("features", "feature table", FEATURES),
                ("labels", "label scheme", LABELS),
            ):
                if card[key] not in known:
                    names = ", ".join(known)
                    raise ValueError(f"unknown {what} {card[key]!r} (known: {names})")
            return cls(
                net=family.config(**net),
                features=card["features"],
                labels=card["labels"],
                interface=Interface(
                    tuple(tuple(shape) for shape in card["inputs"]),
                    card["label_count"],
                    tuple(card.get("label_heads", ())),
                ),
                eval_coef=float(_of_type(card["eval_coef"], "eval_coef", int, float)),
                name=_of_type(card.get("name", ""), "name", str),
                training=_of_type(card.get("training", {}), "training", dict),
            )
        except KeyError as error:
            raise ModelFileError(f"{where}: incomplete model card: no {error}") from error
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            text = " ".join(str(error).split())
            raise ModelFileError(f"{where}: invalid model card: {text}") from error


def _of_type(value: Any, key: str, *types: type) -> Any:
    if type(value) not in types:
        raise TypeError(f"{key} can't be {value!r}")
    return value


@names_arguments
def save_model(folder: Path | str, network: Network, card: ModelCard) -> None:
    """Write the two files into the folder, each atomically. An error leaves the old ones.

    Raises ModelFileError for what `load_model` wouldn't read: a card with unknown names, weights of
    another network than the card's, and such that `load_weights` refuses.
    """
    folder = Path(folder)
    tensors = network.state_dict()
    fields = card.to_json()
    ModelCard.from_json(fields, folder / CARD_FILE)
    with torch.device("meta"):  # allocates nothing
        wanted = build(card.net, card.interface).state_dict()
    if _shapes(tensors) != _shapes(wanted):
        name = card.name or short_name(card.net)
        raise ModelFileError(f"{folder / WEIGHTS_FILE}: weights don't fit the card's {name}")
    _check_numbers(tensors, folder / WEIGHTS_FILE)
    with atomic_writer(folder / CARD_FILE) as file:
        file.write((dump_json(fields, indent=2) + "\n").encode())
        file.flush()
        write_tensors(folder / WEIGHTS_FILE, tensors, {"format": "pt"})


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


@names_arguments
def load_card(folder: Path | str) -> ModelCard:
    """The card of a model folder."""
    path = Path(folder) / CARD_FILE
    try:
        card = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ModelFileError(f"{path}: not JSON: {error}") from error
    return ModelCard.from_json(card, path)


def load_weights(network: Network, tensors: Mapping[str, Tensor], where: Path | str) -> None:
    """Copy the tensors into the network. Raises ModelFileError unless names and shapes match, all
    numbers are finite, also as the network's type, and no variance is negative."""
    _check_numbers(tensors, where)
    try:
        network.load_state_dict(dict(tensors))
    except RuntimeError as error:
        text = " ".join(str(error).split())
        raise ModelFileError(f"{where}: weights don't fit the network: {text}") from error
    _check_numbers(network.state_dict(), where)


def _check_numbers(tensors: Mapping[str, Tensor], where: Path | str) -> None:
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ModelFileError(f"{where}: {name} has numbers that aren't finite")
        if name.endswith("running_var") and (tensor < 0).any():  # its square root isn't a number
            raise ModelFileError(f"{where}: {name} has a negative variance")


@names_arguments
def load_model(folder: Path | str) -> tuple[Network, ModelCard]:
    """The network (CPU, evaluation mode) and its card from a model or checkpoint folder."""
    folder = Path(folder)
    card = load_card(folder)
    try:
        network = build(card.net, card.interface)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        text = " ".join(str(error).split())
        raise ModelFileError(
            f"{folder / CARD_FILE}: no such network can be built: {text}"
        ) from error
    path = folder / WEIGHTS_FILE
    try:
        load_weights(network, read_tensors(path), path)
    except TensorFileError as error:
        raise ModelFileError(str(error)) from error
    return network.eval(), card
