"""Where a loop's games and new labels come from, by name; loaded when a loop needs them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class GamesTask:
    """A generation's games to be played.

    folder: theirs, a `GameFolder`'s. player: the file that the learner made, None for the
    learner's own beginning. learner: which one, by name. progress: told how many games there are.
    """

    folder: Path
    games: int
    settings: Mapping[str, Any]
    player: Path | None
    learner: str
    seed: int
    threads: int
    progress: Callable[[int], None]
    stop: Callable[[], bool]


@dataclass(frozen=True)
class RelabelTask:
    """Files of games that get new labels in `folder`, in files of the same names."""

    files: list[Path]
    folder: Path
    settings: Mapping[str, Any]
    player: Path | None
    learner: str
    threads: int
    progress: Callable[[int], None]
    stop: Callable[[], bool]


@dataclass(frozen=True)
class Plugin:
    """A module with `check(settings)`, which raises ValueError for settings that it can't read,
    and `run(task) -> bool`: whether everything is there, False where `task.stop` said so. A run
    goes on where the one before was ended."""

    module: str

    def _load(self) -> Any:
        try:
            return importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            raise ValueError(f"{self.module} isn't installed: {error}") from error

    def check(self, settings: Mapping[str, Any]) -> None:
        self._load().check(settings)

    def run(self, task: GamesTask | RelabelTask) -> bool:
        return bool(self._load().run(task))


#: A module of another package can be added here before a loop is made.
GAMES: dict[str, Plugin] = {
    "teacher": Plugin("komadori.generate.loop.teacher_games"),
    "selfplay": Plugin("komadori.generate.loop.selfplay_games"),
}
RELABELLERS: dict[str, Plugin] = {
    "network": Plugin("komadori.generate.loop.relabel_games"),
}
