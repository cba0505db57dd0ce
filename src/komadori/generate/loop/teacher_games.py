"""Teacher games of a loop: alpha-beta search with the loop's best evaluation, or a fixed one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from komadori.generate.loop.games import FolderSettings, fill
from komadori.generate.loop.learners import LEARNERS
from komadori.generate.loop.plugins import GamesTask
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
from komadori.generate.teacher import teacher_card
from komadori.search.alphabeta import EVALUATIONS
from komadori.typed_settings import build_part, one_of


@dataclass(frozen=True)
class _OwnSettings(FolderSettings):
    """Settings besides those of `TeacherSettings`; a fixed evaluation and its weights instead of
    the loop's."""

    evaluation: str = ""
    weights: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evaluation:
            one_of(self, "evaluation", EVALUATIONS)
        elif self.weights:
            raise ValueError("weights: evaluation is needed too")


def check(settings: Mapping[str, Any]) -> None:
    _settings(settings)


def run(task: GamesTask) -> bool:
    own, settings = _settings(task.settings)
    # Generations play different games even if the weights are the same.
    settings = replace(settings, seed=settings.seed * 1_000_003 + task.seed)
    if own.evaluation:
        evaluation = Evaluation(own.evaluation, Path(own.weights) if own.weights else None)
    else:
        evaluation = LEARNERS[task.learner].evaluation(task.player)
    lines = Lines(own.openings, task.on_skipped)
    card = teacher_card(settings, lines, {"player": evaluation.card()})

    @contextlib.contextmanager
    def source() -> Iterator[tuple[GameSource, int]]:
        yield BuiltinGames(settings, lines, evaluation, threads=task.threads), task.threads

    return fill(task, own.segment_games, card, source)


def _settings(table: Mapping[str, Any]) -> tuple[_OwnSettings, TeacherSettings]:
    own, rest = build_part(_OwnSettings, table)
    return own, TeacherSettings.from_mapping(rest)
