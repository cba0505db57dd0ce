"""Checkpoints: model folders from which training resumes.

    RUN/checkpoints/step-00001000/
        model.json  model.safetensors         the model (nets.model_file)
        training.safetensors                  optimizer, random state, raw weights under EMA
        training.json                         step, cursor, seconds, config, file sizes

A checkpoint is written under a temporary name, fsynced and renamed, so it is complete if it has
its name; older ones are removed afterwards. `training.json` records the size of each file, to
detect truncated ones.
"""

from __future__ import annotations

import contextlib
import math
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from komadori.atomic import sync_folder, write_text
from komadori.json_file import check_version, dump_json, parse_json, read_table
from komadori.model_folder import (
    CHECKPOINTS,
    WEIGHTS_FILE,
    checkpoint_path,
    checkpoints,
    find_model,
    newest_checkpoint,
)
from komadori.nets import ModelCard, Network, TensorFileError, read_tensors, write_tensors
from komadori.nets.model_file import load_card, load_weights, save_model
from komadori.training.config import Config, ConfigError, config_from_dict, config_to_dict
from komadori.training.errors import CheckpointError
from komadori.training.loader import Cursor
from komadori.wording import names_arguments

#: Version of training.json and training.safetensors; see `read_progress`.
FORMAT_VERSION = 2
_STATE, _TENSORS = "training.json", "training.safetensors"
_OPTIMIZER_TENSOR = re.compile(r"optimizer\.([0-9]{1,9})\.(\w+)", re.ASCII)


@dataclass(frozen=True)
class Progress:
    """Where a run stands: optimizer steps, samples, seconds, the next sample, and the training
    data's fingerprint (empty in older checkpoints).
    """

    step: int = 0
    samples: int = 0
    seconds: float = 0.0
    cursor: Cursor = field(default_factory=Cursor)
    data: str = ""


def save(
    run_dir: Path,
    progress: Progress,
    config: Config,
    card: ModelCard,
    model: Network,
    trained: Network,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    keep: int,
) -> Path:
    """Write the checkpoint of this step, remove all but the newest `keep`, return its folder.

    model: what is exported (the average, if any). trained: what the optimizer steps.
    Raises CheckpointError, without changing other checkpoints.
    """
    folder = checkpoint_path(run_dir, progress.step)
    parent = folder.parent
    if folder.exists():
        return folder
    temporary = parent / f".writing-{folder.name}"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_model(temporary, model, card)
        tensors = _optimizer_tensors(optimizer) | {"rng.torch": torch.get_rng_state()}
        if torch.cuda.is_available():
            tensors["rng.cuda"] = torch.cuda.get_rng_state()
        if trained is not model:
            tensors |= {f"trained.{name}": t for name, t in trained.state_dict().items()}
        write_tensors(temporary / _TENSORS, tensors)
        state = {
            "format": "komadori-checkpoint",
            "format_version": FORMAT_VERSION,
            "step": progress.step,
            "samples": progress.samples,
            "seconds": progress.seconds,
            "cursor": {"epoch": progress.cursor.epoch, "sample": progress.cursor.sample},
            "data": progress.data,
            "gradient_scale": scaler.state_dict(),
            "config": config_to_dict(config),
            "files": {f.name: f.stat().st_size for f in sorted(temporary.iterdir())},
        }
        write_text(temporary / _STATE, dump_json(state, indent=2) + "\n")
        sync_folder(temporary)
        temporary.rename(folder)
        sync_folder(parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        last = newest_checkpoint(run_dir)
        left = f"; the last one, {last}, is whole" if last else ""
        raise CheckpointError(
            f"{folder}: can't write the checkpoint: {error.strerror or error}{left}"
        ) from error
    for old in checkpoints(run_dir)[:-keep]:
        # Rename first: a partly removed checkpoint must not have a checkpoint's name.
        gone = old.with_name(f".removing-{old.name}")
        with contextlib.suppress(OSError):
            old.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    return folder


@names_arguments
def resolve(path: Path | str) -> Path:
    """The model folder of a run (its newest checkpoint), of a checkpoint or of itself."""
    path = Path(path)
    found = find_model(path)
    if found is None:
        if not path.exists():
            raise CheckpointError(f"{path}: no such model folder or run")
        raise CheckpointError(
            f"{path}: neither a model folder nor a run with checkpoints{_runs_inside(path)}"
        )
    return found


def _runs_inside(folder: Path) -> str:
    """The end of the message for a folder of runs, such as a quickstart's."""
    with contextlib.suppress(OSError):
        runs = sorted(path for path in folder.iterdir() if newest_checkpoint(path) is not None)
        if runs:
            return f", but it contains {', '.join(map(str, runs))}"
    return ""


def clear_unfinished(run_dir: Path) -> None:
    """Remove temporary folders of killed processes."""
    for pattern in (".writing-*", ".removing-*"):
        for folder in (run_dir / CHECKPOINTS).glob(pattern):
            shutil.rmtree(folder, ignore_errors=True)


def read_progress(folder: Path) -> tuple[Progress, Config]:
    """The checkpoint's progress and config.

    Raises CheckpointError for missing or truncated files and for newer versions.
    """
    path = folder / _STATE
    try:
        state = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from error
    if not isinstance(state, dict) or state.get("format") != "komadori-checkpoint":
        raise CheckpointError(f"{path}: not a komadori checkpoint")
    try:
        version = check_version(state.get("format_version"), FORMAT_VERSION)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    try:
        for name, size in state["files"].items():
            file = folder / name
            found = file.stat().st_size if file.exists() else None
            if found is None:
                raise CheckpointError(f"{file}: missing")
            if found != size:
                what = "truncated" if found < size else "changed"
                raise CheckpointError(f"{file}: {what}: {found} of {size} bytes")
        config = config_from_dict(state["config"], str(path))
        place = state["cursor"]
        # Version 1 counted batches.
        shown = place["sample"] if version > 1 else place["batch"] * config.loop.batch_size
        seconds = state["seconds"]
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise TypeError(f"seconds is {seconds!r}, not a time")
        progress = Progress(
            _count(state["step"], "step"),
            _count(state["samples"], "samples"),
            seconds,
            Cursor(_count(place["epoch"], "epoch"), _count(shown, "sample")),
            state.get("data", ""),
        )
        return progress, config
    except ConfigError as error:  # names the file
        raise CheckpointError(str(error)) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: incomplete: {error}") from error


def _count(value: Any, name: str) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{name} is {value!r}, not a whole number from 0")
    return value


def restore(
    folder: Path,
    model: Network,
    trained: Network,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
) -> None:
    """Load weights, optimizer state, gradient scale and random state. Raises CheckpointError."""
    load_card(folder)
    try:
        tensors = read_tensors(folder / _TENSORS)
        load_weights(model, read_tensors(folder / WEIGHTS_FILE), folder / WEIGHTS_FILE)
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error
    if trained is not model:
        prefix = "trained."
        raw = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        load_weights(trained, raw, folder / _TENSORS)
    _load_optimizer(optimizer, tensors, folder / _TENSORS)
    scale = read_table(folder / _STATE).get("gradient_scale")
    if scale and scaler.is_enabled():
        scaler.load_state_dict(scale)
    try:
        torch.set_rng_state(tensors["rng.torch"])
        if "rng.cuda" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["rng.cuda"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{folder / _TENSORS}: no random state: {error}") from error


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state: dict[int, dict[str, Any]] = optimizer.state_dict()["state"]
    return {
        f"optimizer.{index}.{key}": value
        for index, entries in state.items()
        for key, value in entries.items()
        if isinstance(value, Tensor)
    }


def _load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], where: Path
) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if not name.startswith("optimizer."):
            continue
        match = _OPTIMIZER_TENSOR.fullmatch(name)
        index = int(match[1]) if match else len(parameters)
        parameter = parameters[index] if index < len(parameters) else None
        if match is None or parameter is None or (value.ndim and value.shape != parameter.shape):
            raise CheckpointError(f"{where}: {name} fits no parameter of this optimizer")
        if value.ndim:  # in the parameter's memory format
            value = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
        state.setdefault(index, {})[match[2]] = value
    expected = _state_keys(optimizer)
    for index, entries in state.items():
        if entries.keys() != expected[index]:
            key = min(entries.keys() ^ expected[index])
            problem = "fits no parameter of this optimizer" if key in entries else "is missing"
            raise CheckpointError(f"{where}: optimizer.{index}.{key} {problem}")
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _state_keys(optimizer: torch.optim.Optimizer) -> list[set[str]]:
    """The names of the tensors that a step leaves in the state of each parameter, found by a step
    of the same optimizer on a parameter of one element."""
    keys = []
    for group in optimizer.param_groups:
        options = {key: value for key, value in group.items() if key != "params"}
        of_shape: dict[int, set[str]] = {}
        for parameter in group["params"]:
            if parameter.ndim not in of_shape:
                probe = parameter.new_zeros([1] * parameter.ndim).requires_grad_()
                probe.grad = torch.zeros_like(probe)
                made: Any = type(optimizer)
                of_one = made([{**options, "params": [probe]}])
                of_one.step()
                tensors = of_one.state[probe].items()
                of_shape[parameter.ndim] = {k for k, v in tensors if isinstance(v, Tensor)}
            keys.append(of_shape[parameter.ndim])
    return keys


__all__ = [
    "CheckpointError",
    "Progress",
    "clear_unfinished",
    "newest_checkpoint",
    "read_progress",
    "resolve",
    "restore",
    "save",
]
