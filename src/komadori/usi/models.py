"""Model lookup by name: never in the working directory, which a GUI chooses."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from komadori import __version__

#: Names that aren't files: fakes of `komadori.inference`.
FAKES = ("uniform", "random", "fixed")

#: The environment variable that names the default model's path.
ENVIRONMENT = "KOMADORI_MODEL"

#: What plays and analyses where nothing is said: the strongest (docs/results/strength.md).
DEFAULT_PLAYER: Literal["alphabeta"] = "alphabeta"

#: Environment variable: threads of an engine where the options leave them open. A match sets
#: it for its processes, so that they share the CPUs.
THREADS_VARIABLE = "KOMADORI_THREADS"

#: The environment variable that a launcher sets to its own folder.
LAUNCHER_FOLDER = "KOMADORI_LAUNCHER_FOLDER"


def names_network(model: str) -> bool:
    """Whether the user names a network, by option or by the environment."""
    return bool(model or os.environ.get(ENVIRONMENT))


def engine_name(kind: str, values: Mapping[str, str]) -> str:
    """The name that a GUI shows for a kind of searcher with these options.

    A network's is the one in its card, as `komadori export --name` wrote it, or its file's.
    """
    own = f"komadori {__version__}"
    if kind in ("material", "random"):
        return f"{own} {kind}"
    file = values.get("EvalFile" if kind == "alphabeta" else "DNN_Model", "")
    name = file if is_fake(file) else _model_name(file)
    if kind != "model":
        own = f"{own} {kind}"
    return f"{name} ({own})" if name else own


def _model_name(model: str) -> str:
    """What a model is called; "" for the package's own."""
    if not model:
        model = os.environ.get(ENVIRONMENT, "")
    if model in ("", "default"):
        return ""
    import json  # most handshakes need none

    try:
        path = Path(find_model(model))
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        name = card.get("name") if isinstance(card, dict) else None
    except (OSError, ValueError):
        name = None
    return " ".join(str(name or Path(model).stem).split())


class ModelDefaultsError(ValueError):
    """A line of a model's .ini that can't be read. The message names the file and the line."""


def is_fake(name: str) -> bool:
    """Whether a model's name is a fake's, not a file's."""
    return name.partition(":")[0] in FAKES


class ModelNotFoundError(FileNotFoundError):
    """No model by that name. The message lists where it was looked for."""


def model_folders() -> list[Path]:
    """Where relative names are looked up: beside the launcher, the user's folder, the package."""
    folders = []
    if launcher_folder := os.environ.get(LAUNCHER_FOLDER):
        folders.append(Path(launcher_folder))
    launcher = Path(sys.argv[0] if sys.argv else "")
    if launcher.is_absolute() and launcher.stem != "__main__":
        folders.append(launcher.resolve().parent)
    folders.append(user_folder() / "models")
    folders.append(Path(__file__).resolve().parent.parent / "data" / "models")
    return folders


def user_folder() -> Path:
    """The user's own folder for this package's data, by the convention of the platform."""
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


def defaults_file(model: Path) -> Path | None:
    """The .ini beside a model: NAME.onnx.ini as dlshogi has it, or NAME.ini."""
    for path in (model.with_name(f"{model.name}.ini"), model.with_suffix(".ini")):
        if path.is_file():
            return path
    return None


def read_defaults(path: Path) -> dict[str, str]:
    """Option -> value of a model's .ini: lines `Name=Value`; `#` and `;` begin comments, and
    section titles are passed over. Raises ModelDefaultsError, or OSError.
    """
    found = {}
    text = path.read_bytes().decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;[":
            continue
        name, sign, value = line.partition("=")
        if not (sign and name.strip()):
            raise ModelDefaultsError(f"{path}: line {number}: expected NAME=VALUE, found {line!r}")
        found[name.strip()] = value.strip()
    return found
