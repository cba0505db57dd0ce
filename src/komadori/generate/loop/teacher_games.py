"""Teacher games of a loop: alpha-beta search with the loop's best evaluation, or a fixed one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from komadori.generate.loop.games import fill
from komadori.generate.loop.learners import LEARNERS
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
from komadori.generate.teacher import teacher_card

#: Settings besides those of `TeacherSettings`: opening files; a fixed evaluation and its weights
#: instead of the loop's; games per segment.
_OWN = ("openings", "evaluation", "weights", "segment_games")


def check(settings: Mapping[str, Any]) -> None:
    _teacher(settings)
    if "weights" in settings and "evaluation" not in settings:
        raise ValueError("weights: evaluation is needed too")


def run(task: GamesTask) -> bool:
    # Generations play different games even if the weights are the same.
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

    @contextlib.contextmanager
    def source() -> Iterator[tuple[GameSource, int]]:
        yield BuiltinGames(settings, lines, evaluation, threads=task.threads), task.threads

    return fill(task, card, source)


def _teacher(settings: Mapping[str, Any]) -> TeacherSettings:
    return TeacherSettings.from_mapping(
        {name: value for name, value in settings.items() if name not in _OWN}
    )
