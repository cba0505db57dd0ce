"""Games made by hand: a field that no format can hold is an error of every writer that names it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from komadori.records import (
    FORMATS,
    End,
    Game,
    RecordError,
    Winner,
    read_games,
    samples_of,
    write_games,
)

WRITERS = [name for name, known in FORMATS.items() if known.holds_games and known.write is not None]

WRONG: list[tuple[str, Any]] = [
    ("initial_sfen", None),
    ("moves", ["7g7f", "3c3d"]),
    ("moves", [-1, 3]),
    ("moves", None),
    ("moves", np.array(3)),
    ("scores_cp", []),
    ("scores_cp", None),
    ("scores_cp", [1]),
    ("scores_cp", [[1], [2, 3]]),
    ("scores_cp", [np.nan, 2]),
    ("scores_cp", [2**31, 2]),
    ("times_ms", np.zeros(3, np.int32)),
    ("times_ms", [10**400, 1]),
    ("winner", "black"),
    ("winner", None),
    ("winner", 9),
    ("end", "resign"),
    ("end", 99),
    ("headers", None),
    ("headers", {"black": 1}),
    ("headers", {1: "black"}),
    ("comments", ["a"]),
    ("comments", {"1": "a"}),
    ("bookmarks", {1: None}),
    ("pvs", {1: ["7g7f"]}),
    ("end_time_ms", "x"),
    ("variations", [1]),
    ("variations", {1: [None]}),
]


def game(**fields: Any) -> Game:
    made = Game.from_usi(["7g7f", "3c3d"], winner=Winner.BLACK, end=End.RESIGN)
    return dataclasses.replace(made, **fields)


@pytest.mark.parametrize(("field", "value"), WRONG, ids=[f"{n} {v!r:.12}" for n, v in WRONG])
def test_a_wrong_field_is_an_error_that_names_it(field: str, value: Any, tmp_path: Path) -> None:
    wrong = game(**{field: value})
    for name in WRITERS:
        path = tmp_path / f"x.{name}"
        with pytest.raises(RecordError, match=field) as caught:
            write_games(path, [wrong], name)
        assert "\n" not in str(caught.value)
        assert not path.exists()
    with pytest.raises(RecordError, match=field):
        samples_of([wrong])


def test_a_wrong_field_of_a_variation_is_found(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="scores_cp"):
        write_games(tmp_path / "x.kif", [game(variations={0: [game(scores_cp=None)]})])


@pytest.mark.parametrize("name", WRITERS)
def test_plain_numbers_and_lists_are_fields_as_well(name: str, tmp_path: Path) -> None:
    plain = game(
        moves=game().moves.tolist(),
        scores_cp=[10.0, -20.0],
        times_ms=[1000, 2000],
        winner=1,
        end=np.int64(1),
        comments={np.int64(1): "a"},
    )
    assert repr(plain) == "<Game: ? - ?, 2 plies, Black won (resign)>"
    write_games(tmp_path / "x", [plain], name)
    read = read_games(tmp_path / "x", name)[0]
    assert read.usi_moves() == ["7g7f", "3c3d"]
    assert len(samples_of([plain])) == 2


@pytest.mark.parametrize("name", WRITERS)
def test_lone_surrogates_become_question_marks(name: str, tmp_path: Path) -> None:
    odd = game(headers={"black": "a\ud800", "x\udcff": "y"}, comments={1: "b\udcff"})
    write_games(tmp_path / "x", [odd], name)
    read = read_games(tmp_path / "x", name)[0]
    assert read.black in ("a?", "")
    assert read.comments.get(1, "b?") == "b?"
    assert len(samples_of([odd])) == 2
