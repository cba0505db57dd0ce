"""The argument CONFIG of commands: a file, or the name of one shipped with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from komadori.shipped import experiment_path


class ConfigPath(click.Path):
    """An existing file, or the short name of a shipped experiment in one of the `folders`."""

    def __init__(self, *folders: str) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)
        self._folders = folders

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(experiment_path(Path(value), self._folders), param, ctx)
