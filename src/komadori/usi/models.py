"""Model lookup by name, never in the working directory, which depends on the GUI."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from komadori import __version__

#: Names of fake networks (`komadori.inference`), which aren't files.
FAKES = ("uniform", "random", "fixed")

#: Environment variable with the default model's path.
ENVIRONMENT = "KOMADORI_MODEL"

#: The default player, also for analysis: the strongest one (docs/results/strength.md).
DEFAULT_PLAYER: Literal["alphabeta"] = "alphabeta"

#: Environment variable that a launcher sets to its own folder.
LAUNCHER_FOLDER = "KOMADORI_LAUNCHER_FOLDER"


def names_network(model: str) -> bool:
    """Return whether the user names a network, by option or by the environment."""
    return bool(model or os.environ.get(ENVIRONMENT))


def engine_name(kind: str, values: Mapping[str, str]) -> str:
    """Return the engine name shown by a GUI, for a kind of searcher with these options.

    A network's name is that of its card (`komadori export --name`), else its file name.
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
    """Return a model's name; "" for the bundled one."""
    if not model:
        model = os.environ.get(ENVIRONMENT, "")
    if model in ("", "default"):
        return ""
    from komadori.json_file import read_table  # not needed by most handshakes

    try:
        path = Path(find_model(model))
        name = read_table(path.with_suffix(".json")).get("name")
    except (OSError, ValueError):
        name = None
    return " ".join(str(name or Path(model).stem).split())


class ModelDefaultsError(ValueError):
    """A line of a model's .ini is invalid. The message names the file and the line."""


def is_fake(name: str) -> bool:
    """Return whether a name is that of a fake network."""
    return name.partition(":")[0] in FAKES


class ModelNotFoundError(FileNotFoundError):
    """No model has this name. The message lists the places searched."""


class NoHomeError(OSError):
    """The user's home folder isn't known, as for user numbers without an account."""


def model_folders() -> list[Path]:
    """Return the folders searched for models: the launcher's, the user's, the package's."""
    folders = []
    if launcher_folder := os.environ.get(LAUNCHER_FOLDER):
        folders.append(Path(launcher_folder))
    launcher = Path(sys.argv[0] if sys.argv else "")
    if launcher.is_absolute() and launcher.stem != "__main__":
        folders.append(launcher.resolve().parent)
    with contextlib.suppress(NoHomeError):
        folders.append(user_folder() / "models")
    folders.append(Path(__file__).resolve().parent.parent / "data" / "models")
    return folders


def user_folder() -> Path:
    """Return the user's data folder of this package, by the platform's convention.

    Raises NoHomeError.
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = _home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or _home() / ".local" / "share")
    return base / "komadori"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise NoHomeError("this user has no home folder; set HOME or XDG_DATA_HOME") from None


def places(name: str) -> list[Path]:
    """Return the paths at which a file of this name is looked up."""
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - the name of an unknown user stays
    return [path] if path.is_absolute() else [folder / path for folder in model_folders()]


def find_model(name: str, *, is_typed: bool = False) -> str:
    """Return the full path of a model (or a fake's name). Raises ModelNotFoundError.

    A name typed in a shell (`is_typed`) is first looked up in the working directory. An empty name
    means the default: $KOMADORI_MODEL, else `default.onnx` in one of the folders, the last of which
    is the package's. "default" always means the bundled model.
    """
    named = name or os.environ.get(ENVIRONMENT, "")
    if is_fake(named):
        return named
    if named == "default":
        return str(model_folders()[-1] / "default.onnx")
    candidates = places(named or "default.onnx")
    if is_typed and name and not Path(name).is_absolute():
        candidates.insert(0, Path(os.path.realpath(name)))  # resolve() fails in a loop of links
    for candidate in candidates:
        if os.path.exists(candidate):  # noqa: PTH110 - of a folder that can't be read, False
            return str(candidate)
    where = ", ".join(str(candidate) for candidate in candidates)
    if not named:
        raise ModelNotFoundError(
            f"no model: set the option DNN_Model, give --model, or put one at {where}"
        )
    source = "" if name else f"{ENVIRONMENT}: "
    raise ModelNotFoundError(f"{source}no model {named}: looked for {where}")


def find_file(name: str, kind: str, is_there: Callable[[Path], bool] = os.path.exists) -> Path:
    """Return the full path of a file of some kind, such as weights, looked up as models are.

    Raises ModelNotFoundError.
    """
    candidates = places(name)
    for candidate in candidates:
        if is_there(candidate):  # os.path's functions are False in a folder that can't be read
            return candidate
    where = ", ".join(str(candidate) for candidate in candidates)
    raise ModelNotFoundError(f"no {kind} {name}: looked for {where}")


def defaults_file(model: Path) -> Path | None:
    """Return the .ini beside a model: NAME.onnx.ini, as for dlshogi, or NAME.ini."""
    for path in (model.with_name(f"{model.name}.ini"), model.with_suffix(".ini")):
        if path.is_file():
            return path
    return None


def read_defaults(path: Path) -> dict[str, str]:
    """Read option values from a model's .ini: lines `Name=Value`; `#` and `;` start comments,
    section titles are ignored. Raises ModelDefaultsError or OSError.
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
