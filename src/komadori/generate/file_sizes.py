"""Sizes of finished files, kept with their counts: they show a file that was cut or replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def sizes_of(paths: Iterable[Path]) -> dict[str, int]:
    """Return the size of each file in bytes by name; 0 for a file that isn't there."""
    return {path.name: _size(path) for path in paths}


def parse_sizes(data: Any) -> dict[str, int]:
    """Return sizes read from JSON. Raises ValueError for anything else."""
    if not isinstance(data, dict) or any(type(size) is not int for size in data.values()):
        raise ValueError("files: expected the size of each file")
    return {str(name): size for name, size in data.items()}


def changed_file(folder: Path, sizes: Mapping[str, int]) -> str:
    """Return which file of the folder no longer has its size; "" if all do."""
    for name, size in sizes.items():
        path = folder / name
        if (now := _size(path)) == size:
            continue
        if not size:
            return (
                f"{path}: isn't of this folder: its segment had no such file when it was finished"
            )
        found = f"was cut or replaced: it has {now:,} bytes" if now else "is missing or empty"
        return f"{path}: {found}, its segment was finished with {size:,}"
    return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
