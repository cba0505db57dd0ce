"""Option defaults from a model: its card's coefficient and its .ini."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from usi_fakes import Gui

from komadori.inference import card_of
from komadori.inference.synthetic import write_random_resnet
from komadori.players import make
from komadori.players.searchers import SearcherBuilder
from komadori.players.searching import SearchPlayer
from komadori.search import search
from komadori.search.lines import score_cp
from komadori.usi.models import ModelDefaultsError, defaults_file, read_defaults
from komadori.usi.options import OptionTable, option_table

INI = """\
; dlshogi's own form
C_init=150
Eval_Coef=285
[search]
 Softmax_Temperature = 140
DNN_Batch_Size=4
UCT_Threads2=3
MultiPV=none
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = write_random_resnet(tmp_path / "m.onnx", 1, 8)
    path.with_suffix(".json").write_text(json.dumps({"eval_coef": 612.4}))
    return path


def built(model: Path, **changes: str) -> tuple[OptionTable, SearcherBuilder]:
    options, builder = option_table("model"), SearcherBuilder("model")
    for name, value in {"DNN_Model": str(model), "UCT_Threads": "1", **changes}.items():
        assert options.set(name, value) == ""
    options.take_changes()
    builder.build(options)
    return options, builder


def test_an_ini_beside_the_model_overrides_defaults(model: Path) -> None:
    model.with_name("m.onnx.ini").write_text(INI)
    options, _ = built(model, C_init="200")
    assert options.values()["C_init"] == "200"  # set explicitly
    assert options.values()["Eval_Coef"] == "285"  # before the card
    assert options.settings()["temperature"] == 1.4
    assert options.values()["DNN_Batch_Size"] == "4"
    assert options.take_changes() == frozenset()  # or the engine would be rebuilt every time
    notes = options.take_notes()
    assert "m.onnx.ini: Softmax_Temperature=140" in notes
    assert any("'UCT_Threads2' is no option" in note for note in notes)
    assert any("MultiPV: 'none' isn't an integer" in note for note in notes)


def test_a_gui_that_sends_every_default_leaves_the_models(model: Path) -> None:
    model.with_suffix(".ini").write_text("C_init=150\n")
    options, _ = built(model)
    for line in option_table("model").declared():
        assert options.set(line.name, line.default) == "" or line.name == "DNN_Model"
    assert options.values()["C_init"] == "150"
    options.set("C_init", "144")
    assert options.values()["C_init"] == "150"
    options.set("C_init", "145")
    options.set("C_init", "144")
    assert options.values()["C_init"] == "144"


def test_another_model_takes_them_back(model: Path, tmp_path: Path) -> None:
    model.with_suffix(".ini").write_text("C_init=150\nC_base=30000\n")
    options, builder = built(model)
    other = write_random_resnet(tmp_path / "n.onnx", 1, 8)
    other.with_suffix(".ini").write_text("C_base=31000\n")
    options.set("DNN_Model", str(other))
    builder.build(options)
    assert [options.values()[name] for name in ("C_init", "C_base", "Eval_Coef")] == [
        "144",
        "31000",
        "756",
    ]


def test_a_model_that_cannot_be_loaded_leaves_no_defaults(model: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no network")
    bad.with_suffix(".json").write_text(json.dumps({"eval_coef": 300}))
    options = option_table("model")
    options.preset({"DNN_Model": str(model), "UCT_Threads": "1"})
    with Gui(SearcherBuilder("model"), options).ready() as gui:
        gui.send(f"setoption name DNN_Model value {bad}", "setoption name MultiPV value 3")
        gui.send("position startpos", "go nodes 50")
        assert gui.expect("bestmove", within_s=30.0) == "bestmove resign"
        assert any("nothing is played without it" in line for line in gui.log)
    assert options.values()["Eval_Coef"] == "612"


def test_explicit_player_options_override_the_model(model: Path) -> None:
    for text, coef, draw_ply in (("?Eval_Coef=756&Draw_Ply=0", 756, 0), ("?C_init=144", 612, 9)):
        player = make(f"{model}{text}")
        assert isinstance(player, SearchPlayer)
        player.new_game(1, draw_ply=9)
        options = player._searcher.options  # type: ignore[attr-defined]
        assert (round(options.eval_coef), options.draw_ply) == (coef, draw_ply)
        player.close()


def test_a_folder_has_a_card_too(model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    folder = run / "checkpoints" / "step-00000001"
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(json.dumps({"eval_coef": 300}))
    (folder / "model.safetensors").write_bytes(b"")
    assert card_of(run) == card_of(folder) == {"eval_coef": 300}
    assert card_of(tmp_path) == {}
    assert card_of(str(model))["eval_coef"] == 612.4
    assert card_of("default")["eval_coef"] > 0


def test_the_cards_coefficient_makes_the_scores(model: Path) -> None:
    player = make(str(model))
    assert isinstance(player, SearchPlayer)
    assert player._searcher.options.eval_coef == 612  # type: ignore[attr-defined]
    player.close()


def test_a_search_in_one_call_takes_it_too(model: Path) -> None:
    own, other = (
        search("startpos", model, nodes=10, **more).infos[0] for more in ({}, {"eval_coef": 306.2})
    )
    assert own.win_rate == other.win_rate
    assert own.score_cp == score_cp(own.win_rate, 612.4)
    assert other.score_cp == score_cp(own.win_rate, 306.2)


def test_the_engine_prints_the_models_defaults(model: Path) -> None:
    model.with_suffix(".ini").write_text("Resign_Threshold=0\n")
    options = option_table("model")
    options.preset({"DNN_Model": str(model), "UCT_Threads": "1"})
    with Gui(SearcherBuilder("model"), options) as gui:
        gui.send("isready")
        gui.expect("readyok", within_s=30.0)
        assert "info string m.ini: Resign_Threshold=0" in gui.log
        assert "info string m.ini: Eval_Coef=612" in gui.log


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    assert defaults_file(tmp_path / "m.onnx") is None
    path = tmp_path / "m.ini"
    path.write_text("C_init=1\n\nnonsense\n")
    assert defaults_file(tmp_path / "m.onnx") == path
    with pytest.raises(ModelDefaultsError, match=r"m\.ini: line 3: .*'nonsense'"):
        read_defaults(path)


def test_an_option_of_another_player_is_no_complaint(model: Path) -> None:
    model.with_suffix(".ini").write_text("Leaf_Weight=70\nC_init=150\n")
    options, builder = option_table("policy"), SearcherBuilder("policy")
    options.set("DNN_Model", str(model))
    builder.build(options)
    notes = options.take_notes()
    assert not any("Leaf_Weight" in note or "C_init" in note for note in notes)


def leaf_weight(**changes: str) -> object:
    options, builder = option_table("model"), SearcherBuilder("model")
    for name, value in {"UCT_Threads": "1", **changes}.items():
        assert options.set(name, value) == ""
    builder.build(options)
    return options.settings().get("leaf_weight")


def test_the_bundled_network_searches_its_leaves_unless_told_not_to(model: Path) -> None:
    assert leaf_weight() == 0.58
    assert leaf_weight(Leaf_Weight="0") == 0
    assert leaf_weight(DNN_Model=str(model)) is None
    assert leaf_weight(DNN_Model=str(model), Leaf_Weight="40") == 0.4
