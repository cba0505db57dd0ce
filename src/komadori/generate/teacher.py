"""Teacher games: a source plays numbered games, a folder stores them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from komadori.generate.folder import GameFolder
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import GameSource

#: How long the loop waits for a finished game before it looks around.
_POLL_MS = 100


@dataclass(frozen=True)
class Progress:
    """Progress of a run. games: of all requested. The other counts are of this run alone."""

    games: int
    asked: int
    """0: unlimited."""
    plies: int
    nodes: int
    seconds: float

    @property
    def plies_per_s(self) -> float:
        return self.plies / max(self.seconds, 1e-9)

    @property
    def nodes_per_s(self) -> float:
        return self.nodes / max(self.seconds, 1e-9)


def teacher_card(
    settings: TeacherSettings, lines: Lines, players: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that determines a folder of teacher games. players: the players' cards."""
    return {
        "kind": "teacher",
        **asdict(settings),
        "openings": lines.fingerprint,
        "players": dict(players),
    }


def generate_games(
    folder: GameFolder,
    source: GameSource,
    games: int,
    *,
    threads: int = 1,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = bool,
) -> bool:
    """Play the games below that number (0: unlimited) that the folder lacks.

    Returns whether all are there; False where `stop` said so. The source is stopped in any case,
    and what is finished lies in segment files.
    """
    missing = iter(folder.missing(games))
    ahead = 64 * threads
    began = time.monotonic()
    plies = nodes = 0
    is_done = False
    try:
        while not stop():
            _feed(source, missing, ahead)
            if not source.waiting:
                is_done = True
            finished = source.take(_POLL_MS)
            folder.add(finished)
            plies += sum(game.facts.scored for game in finished)
            nodes += sum(game.facts.nodes for game in finished)
            on_progress(Progress(folder.games, games, plies, nodes, time.monotonic() - began))
            if is_done:
                break
        else:
            source.stop()
            folder.add(source.take(0))
    finally:
        source.stop()
        folder.write_partial()
    return is_done


def _feed(source: GameSource, missing: Iterator[int], ahead: int) -> None:
    wanted = ahead - source.waiting
    if wanted > ahead // 2:
        source.add(list(itertools.islice(missing, wanted)))
