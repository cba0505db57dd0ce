"""Paths of models and checkpoints, without importing torch.

MODEL/model.json  MODEL/model.safetensors          a model folder
RUN/checkpoints/step-00001000/                     model folders of a training run
RUN/state.npz                                      the state of a learner of `komadori linear`
"""

from __future__ import annotations

import re
from pathlib import Path

from komadori.wording import names_arguments

CARD_FILE = "model.json"
WEIGHTS_FILE = "model.safetensors"
CHECKPOINTS = "checkpoints"
LEARNER_STATE = "state.npz"

_STEP = re.compile(r"step-([0-9]+)")


def checkpoint_path(run: Path, step: int) -> Path:
    """The folder of the run's checkpoint after `step` optimiser steps."""
    return run / CHECKPOINTS / f"step-{step:08d}"


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a training run, oldest first."""
    folders = (run / CHECKPOINTS).glob("step-*")
    named = [(int(m[1]), f) for f in folders if (m := _STEP.fullmatch(f.name))]
    return [folder for _, folder in sorted(named)]


@names_arguments
def newest_checkpoint(run: Path | str) -> Path | None:
    """The checkpoint with the most steps, None without one."""
    return next(reversed(checkpoints(Path(run))), None)


def has_learner_state(run: Path) -> bool:
    """Whether a run of `komadori linear` can be resumed."""
    return (run / LEARNER_STATE).exists()


def find_model(path: Path) -> Path | None:
    """The model folder at `path`: itself, or the newest checkpoint of a run; None without one."""
    # By the weights, not the card: the card of a model.onnx has the same name.
    return path if (path / WEIGHTS_FILE).is_file() else newest_checkpoint(path)
