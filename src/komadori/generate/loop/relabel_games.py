"""Relabels a loop's games with the best network of the loop, or with another one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from komadori import inference
from komadori.generate.labellers import Labeller, NetworkLabeller, PolicySettings
from komadori.generate.loop.plugins import RelabelTask
from komadori.generate.relabel import LabelFolder, relabel
from komadori.generate.search_labellers import SearchLabeller
from komadori.generate.segments import Progress
from komadori.records.files import identify
from komadori.typed_settings import at_least, build, build_part


@dataclass(frozen=True)
class _OwnSettings:
    """Settings besides those of `PolicySettings`: the model ("": the loop's best), and playouts of
    its search (0: raw policy and value)."""

    model: str = ""
    playouts: int = 0

    def __post_init__(self) -> None:
        at_least(self, playouts=0)


def check(settings: Mapping[str, Any]) -> None:
    _settings(settings)


def check_inputs(settings: Mapping[str, Any], learner: str) -> None:
    own, _ = _settings(settings)
    if not own.model:
        if learner != "network":
            raise ValueError(f"relabel: {learner} has no network: set relabel.settings.model")
        return
    with contextlib.closing(inference.load(own.model)):
        pass


def run(task: RelabelTask) -> bool:
    own, policy = _settings(task.settings)
    model = own.model or str(task.player)
    labeller: Labeller
    if own.playouts:
        labeller = SearchLabeller(model, own.playouts, policy)
    else:
        labeller = NetworkLabeller(model, policy)

    def report(at: Progress) -> None:
        task.progress(round(at.read * len(task.files)))

    try:
        card = {
            "kind": "relabel",
            "sources": identify(task.files),
            "labeller": labeller.card(),
            "segment_positions": labeller.segment_positions,
        }
        with LabelFolder(task.folder, card) as folder:
            counts = relabel(task.files, folder, labeller, on_progress=report, stop=task.stop)
            return counts is not None
    finally:
        labeller.close()


def _settings(table: Mapping[str, Any]) -> tuple[_OwnSettings, PolicySettings]:
    own, rest = build_part(_OwnSettings, table)
    return own, build(PolicySettings, rest)
