"""A loop's teacher games: the built-in search with the loop's own evaluation, or a fixed one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from komadori.generate.folder import GameFolder
from komadori.generate.loop.learners import LEARNERS
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation
from komadori.generate.teacher import Progress, generate_games, teacher_card

#: Settings besides those of `TeacherSettings`: files of openings; an evaluation and its weights
#: that play all games (a teacher), in place of the loop's own.
_OWN = ("openings", "evaluation", "weights", "segment_games")


def check(settings: Mapping[str, Any]) -> None:
    _teacher(settings)
    if "weights" in settings and "evaluation" not in settings:
        raise ValueError("weights: name their evaluation")


def run(task: GamesTask) -> bool:
    # Generations play different games even where the weights are the same.
    settings = replace(
        _teacher(task.settings), seed=_teacher(task.settings).seed * 1_000_003 + task.seed
    )
    if "evaluation" in task.settings:
        weights = task.settings.get("weights")
        evaluation = Evaluation(task.settings["evaluation"], Path(weights) if weights else None)
    else:
        evaluation = LEARNERS[task.learner].evaluation(task.player)
    lines = Lines(task.settings.get("openings", ()))
    card = teacher_card(settings, lines, {"player": evaluation.card()})

    def report(at: Progress) -> None:
        task.progress(at.games)

    with GameFolder(task.folder, card, int(task.settings.get("segment_games", 1000))) as folder:
        if folder.games >= task.games:
            folder.write_partial()
            return True
        task.progress(folder.games)
        source = BuiltinGames(settings, lines, evaluation, threads=task.threads)
        return generate_games(
            folder,
            source,
            task.games,
            threads=task.threads,
            on_progress=report,
            stop=task.stop,
        )


def _teacher(settings: Mapping[str, Any]) -> TeacherSettings:
    return TeacherSettings.from_mapping(
        {name: value for name, value in settings.items() if name not in _OWN}
    )
