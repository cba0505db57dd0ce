"""Where a model's name leads: never to the working directory, which a GUI chooses."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Names that aren't files: fakes of `komadori.inference`.
FAKES = ("uniform", "random", "fixed")

#: The environment variable that names the default model's path.
ENVIRONMENT = "KOMADORI_MODEL"


def is_fake(name: str) -> bool:
    """Whether a model's name is a fake's, not a file's."""
    return name.partition(":")[0] in FAKES


class ModelNotFoundError(FileNotFoundError):
    """No model by that name. The message lists where it was looked for."""


def model_folders() -> list[Path]:
    """Where relative names are looked up: beside the launcher, the user's folder, the package."""
    folders = []
    launcher = Path(sys.argv[0] if sys.argv else "")
    if launcher.is_absolute():
        folders.append(launcher.resolve().parent)
    folders.append(user_folder() / "models")
    folders.append(Path(__file__).resolve().parent.parent / "data" / "models")
    return folders


def user_folder() -> Path:
    """The user's own folder for this package's data, by the manner of the platform."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "komadori"


def places(name: str) -> list[Path]:
    """Where a file of this name is looked for."""
    path = Path(name).expanduser()
    return [path] if path.is_absolute() else [folder / path for folder in model_folders()]


def find_model(name: str) -> str:
    """The full path of a model (a fake's name stays). Raises ModelNotFoundError.

    An empty name is the default: $KOMADORI_MODEL, or `default.onnx` in one of the folders, the
    last of which is the package's own; "default" is the package's whatever else there is.
    """
    if is_fake(name):
        return name
    if name == "default":
        return str(model_folders()[-1] / "default.onnx")
    wanted = name or os.environ.get(ENVIRONMENT, "") or "default.onnx"
    candidates = places(wanted)
    for candidate in candidates:
        if candidate.exists():
            return str(candidate)
    where = ", ".join(str(candidate) for candidate in candidates)
    if not name:
        raise ModelNotFoundError(
            f"no model: set the option DNN_Model, give --model, or put one at {where}"
        )
    raise ModelNotFoundError(f"no model {name}: looked for {where}")
