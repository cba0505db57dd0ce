"""dlshogi's own weights (TadaoYamaoka/DeepLearningShogi, dlshogi/network) as networks of ours.

Three formats, distinguished by tensor names:

    resnetBxC[_swish]   blocks.0.conv1.weight ...   activation isn't in the file
    resnet10_swish      l2.weight .. l22.weight     swish
    wideresnet10        the same with l22_v.bias    pre-activated, ReLU

Files are torch checkpoints (`.pth`), of which only tensors and plain values are read, or the
published `.npz`.
"""

from __future__ import annotations

import errno
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from komadori.encoding.value import DLSHOGI_COEF
from komadori.nets.heads import SQUARES
from komadori.nets.model_file import ModelCard, ModelFileError, load_weights
from komadori.nets.network import Interface, Network
from komadori.nets.registry import NetConfig, build
from komadori.nets.resnet import ResNetConfig
from komadori.nets.wide_resnet import WideResNetConfig
from komadori.npz_file import read_array
from komadori.wording import names_arguments

#: Planes of the second input to our feature tables.
_FEATURES = {57: "dlshogi", 119: "dlshogi-119"}
#: Batch norm's epsilon in wideresnet10, and torch's default.
_WIDE_EPS, _EPS = 2e-5, 1e-5
_NORM, _COUNTER = ("weight", "bias", "running_mean", "running_var"), "num_batches_tracked"
#: Chainer's parameter names, as in dlshogi's npz files.
_CHAINER = {
    "W": "weight",
    "b": "bias",
    "gamma": "weight",
    "beta": "bias",
    "avg_mean": "running_mean",
    "avg_var": "running_var",
    "N": "num_batches_tracked",
}
#: Types of weights, and of counters.
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)
#: Most bytes per byte of an npz file; weights hardly compress.
_UNPACKED_BYTES = 64

Weights = Mapping[str, Tensor]


@names_arguments
def import_dlshogi(
    path: Path | str, *, part: str = "", activation: str = "", eval_coef: float = DLSHOGI_COEF
) -> tuple[Network, ModelCard]:
    """The network of the file, in evaluation mode, and its card.

    part: "model" or "swa_model" of a checkpoint; by default the average, if any.
    activation: of a resnetBxC, "relu" (the default) or "swish"; a wrong one can't be detected.
    Raises ModelFileError for a file that can't be read or has another format.
    """
    path = Path(path)
    weights = _Read(_read(path, part))
    try:
        config, interface, found = _convert(weights, activation)
        weights.check_rest()
        network = build(config, interface)
    except KeyError as error:
        raise ModelFileError(f"{path}: no network of dlshogi's: {error} is missing") from error
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (RuntimeError, IndexError, TypeError) as error:
        raise ModelFileError(f"{path}: no network of dlshogi's: its shapes don't fit") from error
    load_weights(network, found, path)
    features = _FEATURES[interface.inputs[1][0]]
    origin = {"imported_from": path.name}
    card = ModelCard(config, features, "2187", interface, eval_coef, path.stem, origin)
    return network.eval(), card


class _Read(dict[str, Tensor]):
    """Weights by name that remember which of them were read."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self._names: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        tensor = super().__getitem__(name)
        self._names.add(name)
        return tensor

    def check_rest(self) -> None:
        """Raise ValueError for a weight of a block or of a layer that was read, which the network
        would lack. Other layers may be further heads.
        """
        layers = {name.rpartition(".")[0] for name in self._names}
        for name in self:
            layer = name.rpartition(".")[0]
            if name not in self._names and (name.startswith("blocks.") or layer in layers):
                raise ValueError(f"no network of dlshogi's: {name[:60]!r} is unknown")


def _read(path: Path, part: str) -> dict[str, Tensor]:
    try:
        if path.suffix == ".npz":
            return _read_npz(path)
        content = _load(path)
    except OSError as error:
        # A damaged archive places a part of itself before its begin.
        reason = "broken" if error.errno == errno.EINVAL else error.strerror or error
        raise ModelFileError(f"{path}: {reason}") from error
    except pickle.UnpicklingError as error:
        raise ModelFileError(
            f"{path}: holds more than tensors and plain values, or is no torch file; not read"
        ) from error
    except (MemoryError, ModelFileError):
        raise
    except Exception as error:  # a damaged pickle can raise anything
        text = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(f"{path}: broken: {text}") from error
    if not isinstance(content, Mapping):
        raise ModelFileError(f"{path}: no checkpoint: {type(content).__name__}")
    known = [name for name in ("swa_model", "model") if name in content]
    if part and part not in known:
        raise ModelFileError(f"{path}: has no {part}; it has {', '.join(known) or 'neither'}")
    chosen: Any = content[part or known[0]] if known else content
    if not isinstance(chosen, Mapping):
        raise ModelFileError(f"{path}: no weights by name")
    weights: dict[str, Tensor] = {}
    left = path.stat().st_size  # a view may repeat a few numbers without end
    for key, tensor in chosen.items():
        if not isinstance(tensor, Tensor) or key == "n_averaged":
            continue
        # torch's AveragedModel holds the network as `module` and a counter.
        name = str(key).removeprefix("module.")
        if name in weights:
            raise ModelFileError(f"{path}: holds {name} twice")
        weights[name] = tensor
        is_dense = tensor.layout == torch.strided and not tensor.is_nested
        if not is_dense or tensor.device.type != "cpu" or tensor.dtype not in _DTYPES:
            raise _not_plain(path, name)
        left -= tensor.nbytes
        if left < 0:
            raise ModelFileError(f"{path}: its tensors claim more bytes than the file has")
    return weights


def _not_plain(path: Path, name: str) -> ModelFileError:
    return ModelFileError(f"{path}: {name} isn't a plain tensor of real numbers")


def _load(path: Path) -> Any:
    """The content of a torch file. Raises whatever torch and zipfile raise for a damaged one."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as records:
            entries = records.infolist()
        if any(entry.filename.endswith("/constants.pkl") for entry in entries):
            raise ValueError("a TorchScript program, not weights")
        # torch doesn't compress tensors, but would unpack them to any size.
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its tensors are compressed")
    with warnings.catch_warnings(action="ignore"):
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except RuntimeError as error:  # its text is several sentences about torch itself
            raise ValueError("torch can't read it") from error


def _read_npz(path: Path) -> dict[str, Tensor]:
    weights = {}
    left = _UNPACKED_BYTES * path.stat().st_size
    with np.load(path, allow_pickle=False) as arrays:
        for key in arrays:
            *names, last = key.split("/")
            array = read_array(arrays, key, left)
            left -= array.nbytes
            name = ".".join((*names, _CHAINER.get(last, last)))
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            if native.dtype.kind not in "fi":
                raise _not_plain(path, name)
            if name in weights:
                raise ModelFileError(f"{path}: holds {name} twice")
            weights[name] = torch.from_numpy(np.asarray(native))
    return weights


def _convert(weights: Weights, activation: str) -> tuple[NetConfig, Interface, dict[str, Tensor]]:
    if any(name.startswith("blocks.0.se.") for name in weights):
        raise ValueError("squeeze-excitation after the activation (senet) isn't supported")
    around, centre = weights["l1_1_1.weight"], weights["l1_1_2.weight"]
    if around.shape[2:] != (3, 3) or centre.shape != (*around.shape[:2], 1, 1):
        raise ValueError("no network of dlshogi's: its shapes don't fit")  # the sum would broadcast
    stem = around + F.pad(centre, (1, 1, 1, 1))
    constant = weights["l1_2.weight"]
    found = {"stem_board.weight": stem, "stem_constant.weight": constant}
    channels = stem.shape[0]
    if constant.shape[1] not in _FEATURES:
        known = " or ".join(map(str, _FEATURES))
        raise ValueError(f"{constant.shape[1]} planes in the second input, not {known}")
    is_numbered = "l2.weight" in weights
    policy, bias = ("l22", "l22_2") if is_numbered else ("policy", "policy_bias")
    value = (
        ("l22_v", "norm22_v", "l23_v", "l24_v")
        if is_numbered
        else ("value_conv1", "value_norm1", "value_fc1", "value_fc2")
    )
    found["policy.conv.weight"] = weights[f"{policy}.weight"]
    found["policy.bias"] = weights[f"{bias}.bias"]
    found["value.conv.weight"] = weights[f"{value[0]}.weight"]
    found |= _layer(weights, value[2], "value.hidden", ("weight", "bias"))
    found |= _layer(weights, value[3], "value.out", ("weight", "bias"))
    labels = len(found["policy.bias"])
    interface = Interface(((stem.shape[1], 9, 9), (constant.shape[1], 9, 9)), labels)
    heads: dict[str, Any] = {
        "value_planes": found["value.conv.weight"].shape[0],
        "value_hidden": found["value.hidden.weight"].shape[0],
    }
    if labels != 27 * SQUARES:
        raise ValueError(f"{labels} labels, not {27 * SQUARES}")

    config: NetConfig
    if "l22_v.bias" in weights:
        config = WideResNetConfig(10, channels, 0.0, **heads)
        for block in range(10):
            first, second = 2 * block + 1, 2 * block + 2
            place = f"blocks.{block}"
            found |= _norm(weights, f"norm{first}", f"{place}.norm1", eps=_WIDE_EPS)
            found |= _norm(weights, f"norm{second}", f"{place}.norm2", eps=_WIDE_EPS)
            found[f"{place}.conv1.weight"] = weights[f"l{second}.weight"]
            found[f"{place}.conv2.weight"] = weights[f"l{second + 1}.weight"]
        found |= _norm(weights, "norm21", "end_norm", eps=_WIDE_EPS)
        found |= _norm(weights, value[1], "value.norm", eps=_WIDE_EPS)
        found[
            "value.norm.running_mean"
        ] = (  # minus the convolution's bias, which ours doesn't have
            found["value.norm.running_mean"] - weights["l22_v.bias"]
        )
        return config, interface, found

    found |= _norm(weights, "norm1", "stem_norm")
    found |= _norm(weights, value[1], "value.norm")
    if is_numbered:
        blocks, activation = 10, "swish"
        names = [(f"l{2 * b + 2}", f"norm{2 * b + 2}") for b in range(blocks)]
        seconds = [(f"l{2 * b + 3}", f"norm{2 * b + 3}") for b in range(blocks)]
    else:
        blocks = len({m[1] for name in weights if (m := re.match(r"blocks\.(\d+)\.", name))})
        names = [(f"blocks.{b}.conv1", f"blocks.{b}.bn1") for b in range(blocks)]
        seconds = [(f"blocks.{b}.conv2", f"blocks.{b}.bn2") for b in range(blocks)]
    for block, pair in enumerate(zip(names, seconds, strict=True)):
        for which, (conv, norm) in enumerate(pair, 1):
            found[f"blocks.{block}.conv{which}.weight"] = weights[f"{conv}.weight"]
            found |= _norm(weights, norm, f"blocks.{block}.norm{which}")
    activation = activation or "relu"
    config = ResNetConfig(blocks, channels, activation, value_activation=activation, **heads)
    return config, interface, found


def _layer(weights: Weights, old: str, new: str, parts: tuple[str, ...]) -> dict[str, Tensor]:
    return {f"{new}.{part}": weights[f"{old}.{part}"] for part in parts}


def _norm(weights: Weights, old: str, new: str, eps: float = _EPS) -> dict[str, Tensor]:
    """A batch norm; an epsilon other than torch's is added to the variance."""
    norm = _layer(weights, old, new, _NORM)
    counter = f"{old}.{_COUNTER}"  # older files have none
    norm[f"{new}.{_COUNTER}"] = weights[counter] if counter in weights else torch.tensor(0)
    norm[f"{new}.running_var"] = norm[f"{new}.running_var"] + (eps - _EPS)
    return norm
