"""Experiments shipped with the package, in a checkout or in an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

EXPERIMENTS = Path("experiments")


@cache
def _package_experiments() -> Path:
    inside = Path(__file__).parent / "experiments"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "experiments"


def experiment_path(path: Path) -> Path:
    """`path` if it exists, else the shipped file or folder of that name.

    Names are paths in a checkout, `experiments/resnet5x64.toml`, or short: `resnet5x64`. Any other
    path is returned unchanged.
    """
    if path.exists():
        return path
    if path.parts[:1] == EXPERIMENTS.parts:
        candidates = [_package_experiments() / Path(*path.parts[1:])]
    elif len(path.parts) == 1:
        candidates = [
            _package_experiments() / folder / f"{path.name}.toml" for folder in ("", "lab")
        ]
    else:
        candidates = []
    return next((candidate for candidate in candidates if candidate.exists()), path)
