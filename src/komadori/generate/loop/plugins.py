"""Registries of a loop's sources of games and of its relabellers, imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped


@dataclass(frozen=True)
class GamesTask:
    """The games of one generation.

    folder: a `GameFolder`. games: their number. player: file of the player, None for the learner's
    default. learner: a key of `learners.LEARNERS`. progress: called with the number of
    finished games. on_skipped: called for each damaged part of a
    file of openings.
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
    on_skipped: OnSkipped | None = None


@dataclass(frozen=True)
class RelabelTask:
    """The relabelling of one generation's games.

    files: the games. folder: for the relabelled games. player, learner: as in `GamesTask`.
    progress: called with the number of files done.
    """

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
    """A module with two functions: `check(settings)`, which raises ValueError for invalid
    settings, and `run(task) -> bool`, which resumes earlier work and returns True when complete,
    False if `task.stop` stopped it.

    A third one, `check_inputs(settings, learner)`, is optional: it is called before a loop's first
    game, and raises ValueError or OSError if something that `run` needs is missing."""

    module: str

    def _load(self) -> Any:
        try:
            return importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            raise ValueError(f"{self.module} isn't installed: {error}") from error

    def check(self, settings: Mapping[str, Any]) -> None:
        self._load().check(settings)

    def check_inputs(self, settings: Mapping[str, Any], learner: str) -> None:
        check = getattr(self._load(), "check_inputs", None)
        if check is not None:
            check(settings, learner)

    def run(self, task: GamesTask | RelabelTask) -> bool:
        return bool(self._load().run(task))


#: Other packages can add modules here before a loop is created.
GAMES: dict[str, Plugin] = {
    "teacher": Plugin("komadori.generate.loop.teacher_games"),
    "selfplay": Plugin("komadori.generate.loop.selfplay_games"),
}
RELABELLERS: dict[str, Plugin] = {
    "network": Plugin("komadori.generate.loop.relabel_games"),
}
