"""Self-play games of a loop, played with its best network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from komadori.generate.loop.games import fill
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.generate.sources import GameSource

#: Settings besides those of `SelfPlaySettings`: opening files, concurrent games, the network's
#: batch size and precision, games per segment.
_OWN = ("openings", "games_at_once", "batch", "precision", "segment_games")


def check(settings: Mapping[str, Any]) -> None:
    _selfplay(settings)


def run(task: GamesTask) -> bool:
    from komadori import inference
    from komadori.generate.selfplay import SelfPlayGames, selfplay_card

    if task.player is None:
        raise ValueError(f"games.kind: selfplay needs a network, the learner is {task.learner}")
    settings = _selfplay(task.settings)
    # Generations play different games even if the network is the same.
    settings = replace(settings, seed=settings.seed * 1_000_003 + task.seed)
    lines = Lines(task.settings.get("openings", ()))

    options: dict[str, Any] = {"threads": task.threads}
    if "batch" in task.settings:
        options["max_batch"] = int(task.settings["batch"])
    if "precision" in task.settings:
        options["precision"] = str(task.settings["precision"])

    @contextlib.contextmanager
    def source() -> Iterator[tuple[GameSource, int]]:
        with contextlib.closing(inference.load(str(task.player), **options)) as evaluator:
            at_once = task.settings.get("games_at_once")
            games = SelfPlayGames(evaluator, settings, lines.openings, at_once)
            with contextlib.closing(games):
                yield games, games.games_at_once // 32 + 1

    return fill(task, selfplay_card(settings, lines, str(inference.digest(task.player))), source)


def _selfplay(settings: Mapping[str, Any]) -> SelfPlaySettings:
    return SelfPlaySettings.from_mapping(
        {name: value for name, value in settings.items() if name not in _OWN}
    )
