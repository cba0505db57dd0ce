"""The scan of the folders on the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from web_pages import make_server

from komadori.arena import play_match
from komadori.cli.web import command
from komadori.web.folders import Folders
from komadori.web.lab_pages import LabPages
from komadori.web.trainings import Trainings


def test_links_are_followed_only_to_models(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / "pages" / "data").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "net.onnx").write_bytes(b"")
    (elsewhere / "secret").write_text("secret")
    (root / "net.onnx").symlink_to(elsewhere / "net.onnx")
    (root / "outside").symlink_to(elsewhere)
    (root / "up").symlink_to(root)
    for name in ("circle", "circle.onnx", "circle.db", "circle.md"):
        (root / name).symlink_to(name)
    (root / "gone.onnx").symlink_to("nowhere")
    (root / "pages" / "index.md").write_text("# Pages")
    (root / "pages" / "stolen.md").symlink_to(elsewhere / "secret")
    found = Folders([root]).scan()
    assert set(found.model_files) == {"net.onnx"}
    assert set(found.pages) == {"pages/index"}
    assert not found.ladders


def test_names_that_no_message_can_hold_are_shown_with_symbols(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    for folder in (b"a\xfe", b"b\nc"):
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + folder))
        path.mkdir(parents=True)
        (path / "log.jsonl").write_text('{"kind": "run", "step": 0}\n')
        (path / os.fsdecode(b"n\xfe.onnx")).write_bytes(b"")
    (root / "games.jsonl").write_text("")
    scan = Folders([root]).scan()
    assert list(scan.runs) == ["b␊c", r"a\xfe"]
    assert set(scan.model_files) == {r"a\xfe/n\xfe.onnx", r"b␊c/n\xfe.onnx"}
    assert list(scan.matches) == [r"r\xff"]
    with make_server(root) as client:
        runs = client.get("/api/runs").json()
        assert {run["name"] for run in runs} == set(scan.runs)
        for name in scan.runs:
            log = client.get(f"/api/runs/{name}/log")
            assert log.json()["total"] == 1, log.text
        names = {model["id"] for model in client.get("/api/models").json()}
        assert names >= set(scan.model_files)


@pytest.mark.parametrize(
    "card", ["[1]", "null", '"x"', "[" * 100_000, "{", '{"net": {"family": 5}}', '{"net": []}']
)
def test_an_odd_card_hides_no_other_model(card: str, tmp_path: Path) -> None:
    (tmp_path / "sound.onnx").write_bytes(b"")
    (tmp_path / "odd.onnx").write_bytes(b"")
    (tmp_path / "odd.json").write_text(card)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "model.json").write_text(card)
    (tmp_path / "folder" / "model.safetensors").write_bytes(b"")
    with make_server(tmp_path) as client:
        answer = client.get("/api/models")
    assert answer.status_code == 200
    assert "sound.onnx" in {model["id"] for model in answer.json()}


@pytest.mark.parametrize("card", ["[1]", "null", "[" * 100_000, "{", b"\xff"])
def test_the_damaged_card_of_the_given_model_is_named(card: str | bytes, tmp_path: Path) -> None:
    model = tmp_path / "odd.onnx"
    model.write_bytes(b"")
    model.with_suffix(".json").write_bytes(card if isinstance(card, bytes) else card.encode())
    options = ["--model", str(model), "--library", str(tmp_path / "library"), "--no-browser"]
    found = CliRunner().invoke(command, [str(tmp_path), *options])
    assert found.exit_code == 1
    assert f"{model.with_suffix('.json')}: no model's card: " in found.output


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--model", "{}"),
        ("--player", "{}"),
        ("--player", "alphabeta?EvalFile={}"),
        ("--player", "no_such_engine_anywhere"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_before_pages_are_served(
    option: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.web.serve.serve", lambda *_: pytest.fail("it serves"))
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"junk")
    options = [option, text.format(junk), "--library", str(tmp_path / "library"), "--no-browser"]
    found = CliRunner().invoke(command, [str(tmp_path), *options])
    assert found.exit_code in (1, 2)
    assert ("junk.onnx" if "{}" in text else text) in found.output.splitlines()[-1]


def test_runs_of_linear_evaluations_have_steps(tmp_path: Path) -> None:
    for name in ("step", "iteration", "epoch", "chunk"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_text(f'{{"{name}": 2}}\n{{"{name}": 3}}\n')
    with make_server(tmp_path) as client:
        assert {run["step"] for run in client.get("/api/runs").json()} == {3}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_step_that_is_no_number_hides_no_other_run(tmp_path: Path, value: str) -> None:
    for name, step in (("good", "3"), ("bad", value)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_text(f'{{"iteration": {step}}}\n')
    with make_server(tmp_path) as client:
        runs = {run["name"]: run["step"] for run in client.get("/api/runs").json()}
    assert runs == {"good": 3, "bad": 0}


def test_a_run_resumed_with_a_lower_limit_has_ended_at_its_last_step(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        '{"kind": "run", "step": 0}\n{"kind": "end", "step": 200}\n'
    )
    for limit, shown in ((120, 200), (300, 300)):
        (tmp_path / "config.json").write_text(f'{{"loop": {{"max_steps": {limit}}}}}')
        with make_server(tmp_path) as client:
            (run,) = client.get("/api/runs").json()
        assert (run["step"], run["steps"]) == (200, shown)


@pytest.mark.parametrize("value", [r'"\ud800"', "[" * 100_000])
def test_json_that_no_message_can_hold_affects_no_other_file(tmp_path: Path, value: str) -> None:
    for name in ("good", "bad"):
        for kind in ("run", "model", "match", "loop"):
            (tmp_path / f"{kind}-{name}").mkdir()
        text = "1" if name == "good" else value
        (tmp_path / f"run-{name}/log.jsonl").write_text(
            f'{{"kind": "run", "step": 0, "net": {text}}}\n{{"kind": "end", "step": 1}}\n'
        )
        (tmp_path / f"loop-{name}/loop.json").write_text(f'{{"learner": {text}}}')
        (tmp_path / f"match-{name}/games.jsonl").write_text(f'{{"players": ["a", {text}]}}\n')
        (tmp_path / f"model-{name}/model.json").write_text(f'{{"name": {text}}}')
        (tmp_path / f"model-{name}/model.safetensors").write_bytes(b"")
    with make_server(tmp_path) as client:
        for what in ("runs", "models", "players", "matches", "loops", "runs/run-bad/log"):
            found = client.get(f"/api/{what}")
            assert found.status_code == 200, found.text
            assert "good" in found.text or what == "runs/run-bad/log"


def test_a_lab_page_that_is_not_utf8_is_shown(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "index.md").write_bytes(b"# P\xffges\n\ntext \xfe end\n")
    pages = LabPages(Folders([tmp_path]))
    assert [page.title for page in pages.list()] == ["P\N{REPLACEMENT CHARACTER}ges"]
    assert "end" in pages.page(pages.list()[0].name)


def test_a_match_that_is_resumed_is_running(tmp_path: Path) -> None:
    seen = []

    def look(*_: object) -> None:
        (match,) = Trainings(Folders([tmp_path])).matches()
        seen.append((match.games, match.is_running))

    for games in (2, 4):
        play_match("random", "random", games=games, out=tmp_path / "m", on_game=look)
        look()
    assert seen == [(1, True), (2, True), (2, False), (3, True), (4, True), (4, False)]
