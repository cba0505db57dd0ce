"""Generate games: a source plays numbered games, a folder stores them."""

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
from komadori.wording import names_arguments

#: Interval of progress reports and checks of `stop`.
_POLL_MS = 100


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    games: int
    """Finished games, including those of earlier runs."""
    requested: int
    """Games requested; 0: unlimited."""
    plies: int
    """Plies that give a sample, in this run."""
    nodes: int
    """Nodes searched in this run."""
    seconds: float
    """Duration of this run."""

    @property
    def plies_per_s(self) -> float:
        return self.plies / max(self.seconds, 1e-9)

    @property
    def nodes_per_s(self) -> float:
        return self.nodes / max(self.seconds, 1e-9)


@names_arguments
def teacher_card(
    settings: TeacherSettings, lines: Lines, players: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything that determines a folder of teacher games. players: the players' cards."""
    return {
        "kind": "teacher",
        **asdict(settings),
        "openings": lines.fingerprint,
        "players": dict(players),
    }


@names_arguments
def generate_games(
    folder: GameFolder,
    source: GameSource,
    games: int,
    *,
    threads: int = 1,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = bool,
) -> bool:
    """Play the games with numbers below `games` (0: unlimited) that are missing in the folder.

    Returns True when all are finished, False if stopped. In both cases the source is stopped and
    all finished games are written to segment files.
    """
    missing = iter(folder.missing(games))
    ahead = 64 * threads
    start = time.monotonic()
    plies = nodes = 0
    is_done = False
    try:
        while not stop():
            _refill(source, missing, ahead)
            if not source.waiting:
                is_done = True
            finished = source.take(_POLL_MS)
            folder.add(finished)
            plies += sum(game.facts.scored for game in finished)
            nodes += sum(game.facts.nodes for game in finished)
            on_progress(Progress(folder.games, games, plies, nodes, time.monotonic() - start))
            if is_done and not finished:  # the last call raises what ended the source early
                break
        else:
            source.stop()
            folder.add(source.take(0))
    finally:
        source.stop()
        folder.write_partial()
    return is_done


def _refill(source: GameSource, missing: Iterator[int], ahead: int) -> None:
    room = ahead - source.waiting
    if room > ahead // 2:
        source.add(list(itertools.islice(missing, room)))
