"""A loop's self-play games: the network that plays now against itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from komadori.generate.folder import GameFolder
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.generate.teacher import Progress, generate_games

#: Settings besides those of `SelfPlaySettings`: files of openings; games at once; rows of a batch
#: and precision of the network.
_OWN = ("openings", "games_at_once", "batch", "precision", "segment_games")


def check(settings: Mapping[str, Any]) -> None:
    _selfplay(settings)


def run(task: GamesTask) -> bool:
    from komadori import inference
    from komadori.generate.selfplay import SelfPlayGames, selfplay_card

    if task.player is None:
        raise ValueError(f"games.kind: {task.learner} has no network that plays itself")
    settings = _selfplay(task.settings)
    # Generations play different games even where the network is the same.
    settings = replace(settings, seed=settings.seed * 1_000_003 + task.seed)
    lines = Lines(task.settings.get("openings", ()))

    def report(at: Progress) -> None:
        task.progress(at.games)

    card = selfplay_card(settings, lines, str(inference.digest(task.player)))
    with GameFolder(task.folder, card, int(task.settings.get("segment_games", 1000))) as folder:
        if folder.games >= task.games:
            folder.write_partial()
            return True
        task.progress(folder.games)
        options: dict[str, Any] = {"threads": task.threads}
        if "batch" in task.settings:
            options["max_batch"] = int(task.settings["batch"])
        if "precision" in task.settings:
            options["precision"] = str(task.settings["precision"])
        evaluator = inference.load(str(task.player), **options)
        try:
            at_once = task.settings.get("games_at_once")
            source = SelfPlayGames(evaluator, settings, lines.openings, at_once)
            return generate_games(
                folder,
                source,
                task.games,
                threads=source.games_at_once // 32 + 1,
                on_progress=report,
                stop=task.stop,
            )
        finally:
            evaluator.close()


def _selfplay(settings: Mapping[str, Any]) -> SelfPlaySettings:
    return SelfPlaySettings.from_mapping(
        {name: value for name, value in settings.items() if name not in _OWN}
    )
