"""Relabels a loop's games with the best network of the loop, or with another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from komadori.generate.labellers import Labeller, NetworkLabeller, PolicySettings
from komadori.generate.loop.plugins import RelabelTask
from komadori.generate.relabel import LabelFolder, relabel
from komadori.generate.search_labellers import SearchLabeller
from komadori.generate.segments import Progress, sources_card
from komadori.typed_settings import build

#: Settings besides those of `PolicySettings`: the model (default: the loop's best), and playouts of
#: its search (default: none, raw policy and value).
_OWN = ("model", "playouts")


def check(settings: Mapping[str, Any]) -> None:
    _policy(settings)


def run(task: RelabelTask) -> bool:
    model = task.settings.get("model") or (None if task.player is None else str(task.player))
    if model is None:
        raise ValueError(f"relabel: {task.learner} has no network yet: set model")
    playouts = int(task.settings.get("playouts", 0))
    labeller: Labeller
    if playouts:
        labeller = SearchLabeller(model, playouts, _policy(task.settings))
    else:
        labeller = NetworkLabeller(model, _policy(task.settings))

    def report(at: Progress) -> None:
        task.progress(round(at.read * len(task.files)))

    try:
        card = {
            "kind": "relabel",
            "sources": sources_card(task.files),
            "labeller": labeller.card(),
            "segment_positions": labeller.segment_positions,
        }
        with LabelFolder(task.folder, card) as folder:
            counts = relabel(task.files, folder, labeller, on_progress=report, stop=task.stop)
            return counts is not None
    finally:
        labeller.close()


def _policy(settings: Mapping[str, Any]) -> PolicySettings:
    return build(PolicySettings, {name: v for name, v in settings.items() if name not in _OWN})
