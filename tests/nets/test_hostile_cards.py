"""Hostile cards and tensor files: every fault is a one-line ModelFileError."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from komadori import nets
from komadori.nets import ModelCard, ModelFileError

CARD: dict[str, Any] = {
    "format": "komadori-model",
    "format_version": 1,
    "net": {"family": "resnet", "blocks": 1, "channels": 8},
    "features": "dlshogi",
    "labels": "2187",
    "inputs": [[62, 9, 9], [57, 9, 9]],
    "label_count": 2187,
    "eval_coef": 600.0,
}
CHANGES: list[dict[str, Any]] = [
    {"net": {**CARD["net"], "activation": "gelu"}},
    {"net": {**CARD["net"], "blocks": "many"}},
    {"net": {**CARD["net"], "blocks": -1}},
    {"net": {**CARD["net"], "unknown": 1}},
    {"net": "resnet1x8"},
    {"net": None},
    {"inputs": "text"},
    {"inputs": [["a", "b"]]},
    {"inputs": 7},
    {"label_count": "x"},
    {"eval_coef": float("nan")},
    {"eval_coef": float("inf")},
    {"eval_coef": -1},
    {"eval_coef": "x"},
    {"eval_coef": None},
    {"eval_coef": True},
    {"format_version": "x"},
    {"training": 3},
    {"name": 3},
    {"features": "nope"},
    {"features": ["dlshogi"]},
    {"labels": "dlshogi"},
    {"labels": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: json.dumps(change)[:40])
def test_an_invalid_card_is_reported_in_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(CARD | change))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelFileError) as caught:
        nets.load_model(tmp_path)
    assert "\n" not in str(caught.value)
    assert "dictionary" not in str(caught.value)  # Python's own words for what isn't a table
    assert str(tmp_path) in str(caught.value)
    assert "model.safetensors" not in str(caught.value)  # of the card, not of the empty weights


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "format_version is None, a number from 1 to 1 is needed"),
        (0, "format_version is 0, a number from 1 to 1 is needed"),
        (True, "format_version is True, a number from 1 to 1 is needed"),
        (2, "format version 2; this komadori reads up to 1, a newer one is needed"),
    ],
)
def test_the_version_of_a_card_is_checked(version: Any, expected: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        ModelCard.from_json(CARD | {"format_version": version}, "card")
    assert str(caught.value) == f"card: {expected}"


@pytest.mark.parametrize("eval_coef", [float("nan"), float("inf"), 0.0, -1.0])
def test_no_card_is_made_with_a_coefficient_that_could_not_be_read(eval_coef: float) -> None:
    with pytest.raises(ModelFileError, match="a positive number is needed"):
        ModelCard(nets.ResNetConfig(1, 8), "dlshogi", "2187", nets.DLSHOGI, eval_coef)


def test_the_card_before_the_changes_is_sound() -> None:
    assert ModelCard.from_json(CARD, "card").eval_coef == 600.0
