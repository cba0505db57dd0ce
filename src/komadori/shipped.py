"""Experiments shipped with the package, in a checkout or in an installed wheel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

EXPERIMENTS = Path("experiments")


@cache
def _package_experiments() -> Path:
    inside = Path(__file__).parent / "experiments"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "experiments"


def experiment_names(folder: str) -> list[str]:
    """The short names of the shipped experiments in a folder."""
    return sorted(path.stem for path in (_package_experiments() / folder).glob("*.toml"))


def experiment_path(path: Path, folders: Sequence[str] = ("", "lab")) -> Path:
    """`path` if it exists, else the shipped file or folder of that name.

    Names are paths in a checkout, `experiments/resnet5x64.toml`, or short: `resnet5x64`, which is
    looked for in the `folders` of the experiments. Any other path is returned unchanged.
    """
    if os.path.exists(path):  # noqa: PTH110 (False for a name that no file can have)
        return path
    if path.parts[:1] == EXPERIMENTS.parts:
        candidates = [_package_experiments() / Path(*path.parts[1:])]
    elif len(path.parts) == 1:
        candidates = [_package_experiments() / folder / f"{path.name}.toml" for folder in folders]
    else:
        candidates = []
    return next((found for found in candidates if os.path.exists(found)), path)  # noqa: PTH110
