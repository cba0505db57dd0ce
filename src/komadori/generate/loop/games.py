"""Fill the folder of a generation's games from any source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from komadori.generate.folder import GameFolder
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.sources import GameSource
from komadori.generate.teacher import generate_games
from komadori.typed_settings import at_least

#: Opens a source of games, with a number of threads that scales how many games are queued.
OpenSource = Callable[[], AbstractContextManager[tuple[GameSource, int]]]


@dataclass(frozen=True)
class FolderSettings:
    """Settings of every kind of games: opening files; games per segment."""

    openings: tuple[str, ...] = ()
    segment_games: int = 1000

    def __post_init__(self) -> None:
        at_least(self, segment_games=1)


def fill(
    task: GamesTask, segment_games: int, card: Mapping[str, Any], open_source: OpenSource
) -> bool:
    """Play the games that are missing in the task's folder; False if stopped.

    card: everything that determines the games. Raises FolderError, InUseError, OSError.
    """
    with GameFolder(task.folder, card, segment_games) as folder:
        if folder.games >= task.games:
            folder.write_partial()
            return True
        task.progress(folder.games)
        with open_source() as (source, threads):
            return generate_games(
                folder,
                source,
                task.games,
                threads=threads,
                on_progress=lambda at: task.progress(at.games),
                stop=task.stop,
            )
