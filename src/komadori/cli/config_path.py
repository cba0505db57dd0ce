"""The argument CONFIG of commands: a file, or the name of one shipped with the package."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import click

from komadori.shipped import experiment_names, experiment_path


class ConfigPath(click.Path):
    """An existing file, or the short name of a shipped experiment in one of the `folders`."""

    def __init__(self, *folders: str) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)
        self._folders = folders

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = experiment_path(Path(value), self._folders)
        if path == Path(value) and len(path.parts) == 1 and not path.suffix:
            names = dict.fromkeys(n for folder in self._folders for n in experiment_names(folder))
            if not os.path.exists(path):  # noqa: PTH110 (False for a name that no file can have)
                near = difflib.get_close_matches(path.name, names, n=3) or names
                self.fail(
                    f"no file {value}, nor a bundled configuration of that name, such as "
                    f"{', '.join(near)}",
                    param,
                    ctx,
                )
        return super().convert(path, param, ctx)
