"""Self-play games of a loop, played with its best network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from komadori.generate.loop.games import FolderSettings, fill
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.generate.sources import GameSource
from komadori.search.defaults import MAX_AT_ONCE
from komadori.typed_settings import at_least, at_most, build_part


@dataclass(frozen=True)
class _OwnSettings(FolderSettings):
    """Settings besides those of `SelfPlaySettings`: concurrent games, the network's batch size and
    precision; 0 and "" leave them to the defaults of `SelfPlayGames` and `inference.load`."""

    games_at_once: int = 0
    batch: int = 0
    precision: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, games_at_once=0, batch=0)
        at_most(self, games_at_once=MAX_AT_ONCE)


def check(settings: Mapping[str, Any]) -> None:
    _settings(settings)


def run(task: GamesTask) -> bool:
    from komadori import inference
    from komadori.generate.selfplay import SelfPlayGames, selfplay_card

    if task.player is None:
        raise ValueError(f"games.kind: selfplay needs a network, the learner is {task.learner}")
    own, settings = _settings(task.settings)
    # Generations play different games even if the network is the same.
    settings = replace(settings, seed=settings.seed * 1_000_003 + task.seed)
    lines = Lines(own.openings, task.on_skipped)

    options: dict[str, Any] = {"threads": task.threads}
    if own.batch:
        options["max_batch"] = own.batch
    if own.precision:
        options["precision"] = own.precision

    @contextlib.contextmanager
    def source() -> Iterator[tuple[GameSource, int]]:
        with contextlib.closing(inference.load(str(task.player), **options)) as evaluator:
            at_once = own.games_at_once or None
            games = SelfPlayGames(evaluator, settings, lines.openings, at_once)
            with contextlib.closing(games):
                yield games, games.games_at_once // 32 + 1

    card = selfplay_card(settings, lines, str(inference.digest(task.player)))
    return fill(task, own.segment_games, card, source)


def _settings(table: Mapping[str, Any]) -> tuple[_OwnSettings, SelfPlaySettings]:
    own, rest = build_part(_OwnSettings, table)
    return own, SelfPlaySettings.from_mapping(rest)
