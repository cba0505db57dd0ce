"""The loop: its stages, resuming each after any interruption, promotion, its page."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori import nets, records, training
from komadori.cli import linear
from komadori.cli.loop import command
from komadori.generate import segment_files
from komadori.generate.loop import (
    STAGES,
    Event,
    GamesConfig,
    GateConfig,
    Loop,
    LoopConfig,
    LoopConfigError,
    LoopError,
    Verdict,
    config_from_dict,
    load_config,
    open_loop,
    run,
    run_stage,
)
from komadori.generate.loop.page import page
from komadori.generate.sources import Evaluation
from komadori.linear import KppWeights, NnueWeights, TwoPieceWeights
from komadori.training.checkpoint import read_progress

TEACHER = {"searches": ["nodes=60"], "hash_mb": 1, "max_plies": 80, "resign_cp": 300}
TRAIN = {"iterations": 2, "positions": 40, "updates": 2}


def config(**changes) -> LoopConfig:
    values = {
        "learner": "two-piece",
        "generations": 2,
        "test_fraction": 0.2,
        "games": GamesConfig(games=30, settings=TEACHER),
        "train": TRAIN,
        "gate": GateConfig(games=4, nodes=30),
    }
    return LoopConfig(**{**values, **changes})


def contents(folder: Path) -> dict[str, bytes]:
    """The result, which must not depend on interruptions."""
    names = ["*/games/*.xz", "*/player.*", "*/verdict.json"]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for name in names
        for path in sorted(folder.glob(name))
    }


class StopAt:
    """Requests a stop once a stage of a generation has progressed so far."""

    def __init__(self, generation: int, stage: str, done: int) -> None:
        self.at = (generation, stage, done)
        self.reached = threading.Event()

    def __call__(self, event: Event) -> None:
        generation, stage, done = self.at
        if (event.generation, event.stage) == (generation, stage) and event.done >= done:
            self.reached.set()


def test_every_stage_resumes(tmp_path) -> None:
    whole = Loop(config(), tmp_path / "whole")
    assert run(whole)
    expected = contents(whole.folder)
    assert len(expected) == 2 * 3
    assert TwoPieceWeights.load(whole.player(2)).pairs.any()

    for at in [(1, "games", 2), (1, "train", 1), (1, "gate", 1), (2, "games", 4), (2, "gate", 2)]:
        watch = StopAt(*at)
        loop = Loop(config(), tmp_path / "parts")
        assert not run(loop, observer=watch, stop=watch.reached.is_set)
        assert watch.reached.is_set()
        assert STAGES[at[1]].is_done(loop, at[0]) is False
    events: list[Event] = []
    assert run(Loop(config(), tmp_path / "parts"), observer=events.append)
    assert (events[0].generation, events[0].stage) == (2, "gate")
    assert contents(tmp_path / "parts") == expected


@pytest.mark.slow
def test_a_loop_killed_at_any_time_has_the_same_result(tmp_path) -> None:
    path = tmp_path / "loop.toml"
    path.write_text(
        'learner = "two-piece"\ngenerations = 1\ntest_fraction = 0.2\n'
        "[train]\niterations = 2\npositions = 40\nupdates = 2\n[gate]\ngames = 4\nnodes = 30\n"
        "[games]\ngames = 30\n[games.settings]\n"
        'searches = ["nodes=60"]\nhash_mb = 1\nmax_plies = 80\nresign_cp = 300\n'
    )
    arguments = [sys.executable, "-m", "komadori", "loop", "run", str(path), "--threads", "1"]
    killed = 0
    for timeout_s in (1.5, 2.0, 2.6, 3.2, 60, 60, 60):
        process = subprocess.Popen(
            [*arguments, "-o", str(tmp_path / "killed")], stdout=subprocess.DEVNULL
        )
        try:
            assert process.wait(timeout_s) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    assert killed >= 1
    assert process.returncode == 0
    loop = Loop(load_config(path), tmp_path / "whole")
    assert run(loop)
    assert contents(loop.folder) == contents(tmp_path / "killed")


def test_stages_run_by_themselves_and_wait_for_each_other(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("komadori.generate.loop.stages.WAIT_S", 0.05)
    with pytest.raises(LoopError, match="train of generation 1: earlier stages are incomplete"):
        run_stage(Loop(config(), tmp_path), "train")
    ends = time.monotonic() + 100

    def work(name: str) -> bool:
        loop = Loop(config(), tmp_path)
        return run_stage(loop, name, wait=True, stop=lambda: time.monotonic() > ends)

    names = [*reversed(STAGES), "games"]  # one of the two finds the other at work
    with ThreadPoolExecutor(len(names)) as pool:
        assert list(pool.map(work, names)) == [True] * len(names)
    assert run(Loop(config(), tmp_path), observer=lambda event: pytest.fail(str(event)))


def test_without_relabelling_no_process_is_needed_for_it(tmp_path) -> None:
    loop = Loop(config(), tmp_path)
    with pytest.raises(LoopError, match="games of generation 2: earlier stages are incomplete"):
        run_stage(loop, "games")
    with pytest.raises(LoopError, match="train of generation 2: earlier stages are incomplete"):
        run_stage(loop, "train")
    assert loop.facts(1, "train") is not None


def test_waiting_is_reported_once_and_ends_on_a_stop(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("komadori.generate.loop.stages.WAIT_S", 0.05)
    started = time.monotonic()
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    events: list[Event] = []
    loop = Loop(config(), tmp_path)
    assert not run_stage(loop, "gate", wait=True, observer=events.append, stop=stop.is_set)
    assert 0.3 <= time.monotonic() - started < 1
    assert events == [Event(1, "gate", text="waiting: earlier stages are incomplete")]


def test_games_are_played_by_whoever_took_over(tmp_path) -> None:
    loop = Loop(config(generations=5, lag=1), tmp_path)
    for number, promoted in enumerate([True, False, True, False], 1):
        assert loop.best(number) is None
        loop.note_verdict(number, Verdict(promoted, 0))
    assert [loop.best(number) for number in range(5)] == [0, 1, 1, 3, 3]
    from komadori.generate.loop.stages import _player_of_games

    assert [_player_of_games(loop, number) for number in range(1, 6)] == [0, 0, 1, 1, 3]


def test_damaged_openings_are_reported_in_each_stage_that_reads_them(tmp_path):
    openings = tmp_path / "games.csa"
    game = "PI\n+\n+7776FU\n-3334FU\n%TORYO\n/\n"
    openings.write_text(game + "PI\n+\n+7776FU\n-3333FU\n/\n" + game)
    games = GamesConfig(games=30, settings=TEACHER | {"openings": [str(openings)]})
    gate = GateConfig(games=2, nodes=30, openings=str(openings), opening_plies=2)
    loop = Loop(config(generations=1, games=games, gate=gate), tmp_path / "loop")
    events: list[Event] = []
    assert run(loop, observer=events.append)
    said = [event.stage for event in events if event.text.startswith(f"skipped: {openings}: byte")]
    assert said == ["games", "gate"]


def test_a_folder_may_have_any_name(tmp_path) -> None:
    gate = GateConfig(games=2, nodes=30, references=("random",), reference_games=2)
    loop = Loop(config(generations=1, gate=gate), tmp_path / "a&b?c=d %41#")
    assert run(loop)
    assert loop.verdict(1).games == 2


def test_a_bad_candidate_is_rejected(tmp_path, monkeypatch) -> None:
    from komadori.generate.loop import stages

    loop = Loop(config(generations=1, gate=GateConfig(games=20, elo0=-5, elo1=5)), tmp_path)
    played: list[tuple] = []

    class Lost:
        decision, score, elo, elo_error = "H0", 0.1, -200.0, 80.0
        played, wins, draws, losses = 20, 2, 0, 18

    monkeypatch.setattr(
        "komadori.arena.play_match", lambda *a, **k: played.append((a, k)) or Lost()
    )
    context = stages._Context(loop, 1, "gate", 1, lambda _: None, bool)
    assert stages._gate(context)
    assert loop.verdict(1) == Verdict(False, 0, 20, 2, 0, 18, -200.0, 80.0, "H0")
    assert loop.best(1) == 0
    assert played[0][1]["sprt"].elo1 == 5
    text = page(loop)
    assert "rejected" in text
    assert "-200 ± 80" in text
    assert "+2 =0 -18" in text  # which of the three are the draws


def test_ratings_add_up_along_the_chain(tmp_path) -> None:
    loop = Loop(config(generations=3), tmp_path)
    loop.note_verdict(1, Verdict(True, 0, 100, 60, 0, 40, 70.0, 30.0, "H1"))
    loop.note_verdict(2, Verdict(False, 1, 100, 40, 0, 60, -70.0, 40.0, "H0"))
    loop.note_verdict(3, Verdict(True, 1, 100, 60, 0, 40, 50.0, 40.0, "H1"))
    assert [(r.generation, r.elo, r.error, r.promoted) for r in loop.ratings()] == [
        (0, 0, 0, True),
        (1, 70, 30, True),
        (2, 0, 50, False),
        (3, 120, 50, True),
    ]
    text = page(loop)
    assert text.count("<circle") == 4
    assert "generation 3: +120 ± 50" in text


@pytest.mark.parametrize(
    ("games", "verdict", "reason", "cells"),
    [
        (4, None, "No gating match has been decided yet.", None),
        (4, Verdict(False, 0, 4, 0, 1, 3, -338.0), "no finite error", ["+0 =1 -3", "-338"]),
        (4, Verdict(True, 0, 4, 4, 0, 0), "no finite error", ["+4 =0 -0", "all won or all lost"]),
        (0, Verdict(True, 0), "This loop plays no gating matches.", ["", ""]),
    ],
)
def test_a_page_without_a_rating_says_why(tmp_path, games, verdict, reason, cells) -> None:
    loop = Loop(config(generations=1, gate=GateConfig(games=games)), tmp_path)
    if verdict is not None:
        loop.note_verdict(1, verdict)
    text = page(loop)
    assert "<circle" not in text
    assert reason in text
    assert ("decided yet" in text) == (verdict is None)
    if cells is not None:
        assert "".join(f"<td>{cell}</td>" for cell in cells) in text


@pytest.mark.parametrize(
    ("learner", "train", "load", "generations"),
    [
        ("kpp", {"epochs": 1, "batch": 200, "draws": "half"}, KppWeights.load, 1),
        ("nnue", {"epochs": 1, "batch": 100, "warm_start": True}, NnueWeights.load, 2),
    ],
)
def test_other_evaluations_go_through_the_same_loop(
    tmp_path, learner, train, load, generations
) -> None:
    loop = Loop(
        config(
            learner=learner,
            train=train,
            games=GamesConfig(games=8, settings=TEACHER),
            gate=GateConfig(games=0),
            generations=generations,
        ),
        tmp_path,
    )
    assert run(loop)
    load(loop.player(generations))
    assert loop.best(generations) == generations
    assert loop.facts(generations, "games")["by"] == generations - 1


def test_a_network_goes_through_the_same_loop(tmp_path) -> None:
    train = {
        "model": {"net": {"family": "resnet", "blocks": 1, "channels": 8}},
        "loop": {
            "max_steps": 4,
            "epochs": 0,
            "batch_size": 16,
            "evaluate_every": 0,
            "checkpoint_every": 2,
        },
    }
    teacher = GamesConfig(games=12, settings={**TEACHER, "evaluation": "two-piece"})
    gate = GateConfig(games=2, nodes=4, references=("random", "generation 0"), reference_games=2)
    loop = Loop(
        config(learner="network", train=train, games=teacher, gate=gate, generations=1), tmp_path
    )
    texts: list[str] = []
    assert run(loop, observer=lambda event: texts.append(event.text))
    assert loop.player(0).suffix == ".onnx"
    assert loop.player(1).exists()
    verdict = loop.verdict(1)
    assert verdict.games == 2
    if verdict.promoted:
        assert set(loop.facts(1, "references")) == {"random", "generation 0"}
    assert any("against random" in text for text in texts) == verdict.promoted


def small_network_table(**changes) -> dict:
    train = {
        "model": {"net": {"family": "resnet", "blocks": 1, "channels": 8}},
        "loop": {"max_steps": 2, "epochs": 0, "batch_size": 16, "checkpoint_every": 2},
        "loss": {"policy_target": "visits"},
    }
    games = {"playouts": 4, "fast_playouts": 2, "full_fraction": 1.0, "max_plies": 24}
    games |= {"games_at_once": 8, "batch": 4, "mate_nodes": 0, "gumbel_moves": 2}
    return {
        "learner": "network",
        "generations": 1,
        "test_fraction": 0.2,
        "games": {"kind": "selfplay", "games": 10, "settings": games},
        "train": train,
        "gate": {"games": 0},
        **changes,
    }


def test_training_starts_from_the_model_that_the_loop_was_given(tmp_path) -> None:
    table = small_network_table()
    table["train"] |= {"warm_start": True}
    model = {name: v for name, v in table["train"].items() if name != "warm_start"}
    given = training.save_untrained(training.config_from_dict(model), tmp_path / "given")
    loop = Loop(config_from_dict({**table, "init_from": str(given)}), tmp_path / "loop")
    assert run(loop)
    _, progress = read_progress(training.newest_checkpoint(loop.generation(1) / "run"))
    assert progress.model.init_from == str(given)


def test_settings_of_older_loops_have_their_present_names() -> None:
    table = small_network_table()
    old = {**table, "train": {**table["train"], "go_on": True}, "begin_with": "runs/a"}
    new = {**table, "train": {**table["train"], "warm_start": True}, "init_from": "runs/a"}
    assert config_from_dict(old) == config_from_dict(new)


def test_training_starts_from_an_exported_model(tmp_path) -> None:
    table = small_network_table()
    table["train"] |= {"warm_start": True}
    model = {name: v for name, v in table["train"].items() if name != "warm_start"}
    given = training.save_untrained(training.config_from_dict(model), tmp_path / "given")
    training.export(given, tmp_path / "given.onnx")
    loop = Loop(
        config_from_dict({**table, "init_from": str(tmp_path / "given.onnx")}), tmp_path / "loop"
    )
    assert run(loop)
    _, progress = read_progress(training.newest_checkpoint(loop.generation(1) / "run"))
    assert progress.model.init_from == str(loop.generation(0) / "player")
    before, _ = nets.load_model(given)
    after, _ = nets.load_model(loop.generation(0) / "player")
    weights, imported = before.folded().state_dict(), after.folded().state_dict()
    assert all((imported[name] - weights[name]).abs().max() < 1e-4 for name in weights)


def ends_before_the_first_player_is_noted(loop: Loop, monkeypatch) -> None:
    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "note", end)
        with pytest.raises(KeyboardInterrupt):
            run(loop)


def test_a_corrected_config_leaves_nothing_of_the_first_player_before(
    tmp_path, monkeypatch
) -> None:
    given = tmp_path / "given.bin"
    given.write_bytes(Evaluation("nnue").content() or b"")
    loop = Loop(config(learner="nnue", init_from=str(given), train={}), tmp_path / "loop")
    ends_before_the_first_player_is_noted(loop, monkeypatch)
    assert loop.player_path(0).exists()
    loop = Loop(config(learner="nnue", train={}), loop.folder)
    ends_before_the_first_player_is_noted(loop, monkeypatch)
    assert loop.player(0) is None

    table = small_network_table()
    folder = training.save_untrained(training.config_from_dict(table["train"]), tmp_path / "folder")
    training.export(folder, tmp_path / "file.onnx")
    loop = Loop(
        config_from_dict({**table, "init_from": str(tmp_path / "file.onnx")}), tmp_path / "network"
    )
    ends_before_the_first_player_is_noted(loop, monkeypatch)
    assert loop.beginning == loop.generation(0) / "player"
    loop = Loop(config_from_dict({**table, "init_from": str(folder)}), loop.folder)
    ends_before_the_first_player_is_noted(loop, monkeypatch)
    assert loop.beginning == folder


def test_a_first_player_that_is_given_in_its_own_place_is_kept(tmp_path, monkeypatch) -> None:
    given = tmp_path / "loop" / "000" / "player.bin"
    given.parent.mkdir(parents=True)
    given.write_bytes(Evaluation("nnue").content() or b"")
    loop = Loop(config(learner="nnue", init_from=str(given), train={}), tmp_path / "loop")
    ends_before_the_first_player_is_noted(loop, monkeypatch)
    assert loop.player(0) == given


def test_a_model_of_another_network_is_refused_before_any_game(tmp_path) -> None:
    table = small_network_table()
    net = {"family": "resnet", "blocks": 2, "channels": 8}
    wrong = training.config_from_dict(
        {"model": {"net": net, "features": "diary", "labels": "1134"}}
    )
    given = training.save_untrained(wrong, tmp_path / "given")
    loop = Loop(config_from_dict({**table, "init_from": str(given)}), tmp_path / "loop")
    with pytest.raises(ValueError, match=r"init_from.*its net is resnet2x8, not resnet1x8"):
        run(loop)
    Loop(config_from_dict(table), loop.folder)  # nothing was made: takes a corrected config
    assert open_loop(loop.folder).config.init_from == ""
    table["train"]["model"] = {"net": net, "features": "diary"}
    loop = Loop(config_from_dict({**table, "init_from": str(given)}), tmp_path / "tables")
    with pytest.raises(ValueError, match=r"init_from.*its labels: 1134, not"):
        run(loop)
    assert not (tmp_path / "loop" / "001" / "games").exists()


def test_weights_of_something_else_are_refused_by_their_own_name(tmp_path) -> None:
    given = tmp_path / "given.bin"
    given.write_bytes(b"no network")
    loop = Loop(config(learner="nnue", init_from=str(given), train={}), tmp_path / "loop")
    with pytest.raises(ValueError, match=r"given\.bin: .*NNUE"):
        run(loop)
    given.write_bytes(Evaluation("nnue").content() or b"")
    assert not loop.player_path(0).exists()
    train = {"warm_start": True, "architecture": "halfkp"}
    warm = Loop(config(learner="nnue", init_from=str(given), train=train), tmp_path / "warm")
    with pytest.raises(ValueError, match=r"given\.bin: .*k-p, halfkp is needed"):
        run(warm)
    assert not list(tmp_path.glob("*/001/games"))


def test_self_play_and_new_labels_go_through_the_same_loop(tmp_path) -> None:
    loop = Loop(config_from_dict(small_network_table(relabel={"kind": "network"})), tmp_path)
    assert run(loop)
    assert loop.player(1).exists()
    old, new = (
        records.load_samples(segment_files(tmp_path / "001" / name))
        for name in ("games", "relabelled")
    )
    assert (old.hcp == new.hcp).all()
    assert (old.score_cp != new.score_cp).any()


def test_a_page_of_something_else_is_kept(tmp_path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(LoopError, match=r"holds index\.html, which the loop would replace"):
        Loop(config(), tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_other_settings_are_refused_by_name(tmp_path) -> None:
    Loop(config(), tmp_path)
    (tmp_path / "001" / "games").mkdir(parents=True)
    Loop(config(generations=9), tmp_path)
    with pytest.raises(LoopError, match=r"gate\.games was 4, is 6; train\.positions was 40, is 41"):
        Loop(config(train={**TRAIN, "positions": 41}, gate=GateConfig(games=6, nodes=30)), tmp_path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"learner": "elmo"}, "learner is 'elmo': one of nnue"),
        ({"generation": 3}, "unknown key 'generation'"),
        ({"gate": {"games": 10**7}}, "gate.games is 10000000, at most 1000000 is possible"),
        ({"gate": {"games": 3}}, "gate.games must be even"),
        ({"gate": {"elo0": 5, "elo1": 5}}, "gate: elo0 must be below elo1"),
        ({"games": {"settings": {"nodes": 5}}}, "games.settings: unknown key 'nodes'"),
        ({"games": {"kind": "chess"}}, "games.kind is 'chess'"),
        ({"train": {"epoch": 5}}, "train: unknown key 'epoch'"),
        ({"train": {"epochs": 0}}, "train: epochs is 0"),
        ({"window": "3"}, "window must be int, not '3'"),
        ({"learner": "network", "train": {"config": "none.toml"}}, "none.toml"),
        ({"learner": "network", "train": {"config": 5}}, "train: config must be str, not 5"),
        ({"learner": "network", "train": {"loop": {"step": 5}}}, "^train: unknown key 'loop.step'"),
        ({"train": {"warm_start": "no"}}, "train: warm_start must be bool, not 'no'"),
        ({"gate": {"min_score": 50}}, "gate.min_score is 50.0, 0 to 1 is needed"),
        ({"games": {"settings": {"evaluation": [1]}}}, "evaluation must be str, not"),
        ({"games": {"settings": {"evaluation": "nnue2"}}}, "evaluation is 'nnue2', one of"),
        ({"games": {"settings": {"weights": "a.bin"}}}, "weights: evaluation is needed too"),
        ({"games": {"settings": {"openings": 5}}}, "openings must be array of str, not 5"),
        ({"games": {"settings": {"segment_games": 0}}}, "segment_games is 0, at least 1"),
        (
            {"games": {"kind": "selfplay", "settings": {"batch": "x"}}},
            "games.settings: batch must be int, not 'x'",
        ),
        (
            {"relabel": {"kind": "network", "settings": {"model": 5}}},
            "relabel.settings: model must be str, not 5",
        ),
    ],
)
def test_configs_are_checked(table, message) -> None:
    with pytest.raises(LoopConfigError, match=message):
        config_from_dict(table)


@pytest.mark.parametrize(
    ("stage", "table", "message"),
    [
        ("relabel", {"relabel": {"kind": "network"}}, "two-piece has no network: set relabel"),
        (
            "relabel",
            {"relabel": {"kind": "network", "settings": {"model": "nosuch"}}},
            "nosuch: no such model",
        ),
        ("train", {"data": ["nosuch.csa"]}, "nosuch.csa"),
        ("train", {"data": ["{here}/text.txt"]}, "text.txt: no game with samples"),
        ("train", {"data": ["{here}/empty"]}, "empty: no record format"),
        ("gate", {"gate": {"openings": "nosuch.sfen"}}, "nosuch.sfen: No such file"),
        ("references", {"gate": {"references": ["materal"]}}, "'materal' is no player"),
        ("references", {"gate": {"references": ["nosuch.onnx"]}}, "nosuch.onnx: no such model"),
    ],
)
def test_what_a_later_stage_needs_is_checked_before_the_first_game(
    tmp_path, stage, table, message
) -> None:
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "empty").touch()
    if "data" in table:
        table = {"data": [name.format(here=tmp_path) for name in table["data"]]}
    folder = tmp_path / "loop"
    small = {"games": {"games": 2, "settings": TEACHER}, "train": TRAIN, "generations": 1}
    loop = Loop(config_from_dict({"learner": "two-piece", **small, **table}), folder)
    with pytest.raises((ValueError, OSError), match=message):
        run(loop)
    with pytest.raises((ValueError, OSError), match=message):
        run_stage(loop, stage)
    assert [path.name for path in folder.iterdir()] == ["loop.json"]
    Loop(config(), folder)  # nothing was made: takes a corrected config


def test_an_opening_file_is_named_as_text_or_in_a_list(tmp_path) -> None:
    path = tmp_path / "openings.sfen"
    path.write_text("startpos moves 7g7f\n")
    for named, name in ((str(path), "text"), ([str(path)], "list")):
        games = GamesConfig(games=2, settings={**TEACHER, "openings": named})
        loop = Loop(config(games=games, generations=1), tmp_path / name)
        assert run_stage(loop, "games")
        assert loop.facts(1, "games")["games"] == 2


def test_the_commands(tmp_path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(
        'learner = "two-piece"\ngenerations = 1\ntest_fraction = 0.2\n'
        "[train]\niterations = 1\npositions = 40\nupdates = 1\n[gate]\ngames = 2\nnodes = 30\n"
        '[games]\ngames = 6\n[games.settings]\nsearches = ["nodes=60"]\nhash_mb = 1\n'
    )
    folder = str(tmp_path / "loop")
    refused = CliRunner().invoke(command, ["stage", "gate", str(path), "-o", folder])
    assert refused.exit_code == 1
    assert "gate of generation 1: earlier stages are incomplete" in refused.output
    result = CliRunner().invoke(command, ["run", str(path), "-o", folder, "--threads", "1"])
    assert result.exit_code == 0, result.output
    assert "generation 1, games: 6 games" in result.output
    status = CliRunner().invoke(command, ["status", folder])
    assert status.exit_code == 0
    assert status.output in result.output
    assert "Elo over generations" in (tmp_path / "loop/index.html").read_text()
    path.write_text("generations = 0")
    bad = CliRunner().invoke(command, ["run", str(path)])
    assert bad.exit_code == 1
    assert "small.toml: generations is 0" in bad.output
    assert CliRunner().invoke(command, ["status", str(tmp_path)]).exit_code == 1


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A loop of one generation."""
    folder = tmp_path_factory.mktemp("finished") / "loop"
    assert run(Loop(config(generations=1, gate=GateConfig(games=2, nodes=10)), folder))
    return folder


@pytest.mark.parametrize("content", ["", "[]", "null", "5", "{", '{"a": 1}', "[" * 100_000])
@pytest.mark.parametrize(
    "name", ["loop.json", "001/games.json", "001/verdict.json", "001/references.json"]
)
def test_a_damaged_file_is_one_error_that_names_it(finished, tmp_path, name, content) -> None:
    folder = tmp_path / "loop"
    shutil.copytree(finished, folder)
    (folder / name).write_text(content)
    result = CliRunner().invoke(command, ["status", str(folder)])
    assert result.exit_code == 1, result.output
    assert result.output.startswith(f"Error: {folder / name}: damaged: ")
    if name == "loop.json":
        with pytest.raises(LoopError, match=re.escape(f"{folder / name}: damaged")):
            open_loop(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("verdict", {"promoted": "yes"}),
        ("verdict", {"against": None}),
        ("verdict", {"unknown": 1}),
        ("verdict", {"elo": "much"}),
        ("verdict", {"elo": float("inf")}),
        ("verdict", {"error": 1e308}),
        ("verdict", {"wins": -1}),
        ("verdict", {"games": 10**400}),
        ("games", {"games": -1}),
        ("games", {"positions": 1e9}),
        ("references", {"generation 0": [1, 2]}),
        ("references", {"generation 0": {"wins": 1, "draws": 0}}),
    ],
)
def test_damaged_facts_are_named(finished, tmp_path, name, change) -> None:
    folder = tmp_path / "loop"
    shutil.copytree(finished, folder)
    path = folder / f"001/{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    result = CliRunner().invoke(command, ["status", str(folder)])
    assert result.exit_code == 1, result.output
    assert result.output.startswith(f"Error: {path}: damaged: ")
    assert next(iter(change)) in result.output or name == "references"
    assert "__init__" not in result.output


def unfinished_copy(finished: Path, folder: Path, *stages: str) -> Loop:
    """A copy of the loop without the outcomes of some stages."""
    shutil.copytree(finished, folder)
    for stage in stages:
        (folder / f"001/{stage}.json").unlink()
        shutil.rmtree(folder / {"verdict": "001/match", "train": "001/run"}[stage])
    return Loop(open_loop(folder).config, folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "000000.hcpe3.xz: is missing or empty"),
        (lambda path: os.truncate(path, 50), "000000.hcpe3.xz: was cut or replaced"),
        (lambda path: shutil.rmtree(path.parent), "001/games: holds no games"),
    ],
)
def test_games_lost_before_the_training_are_an_error(finished, tmp_path, damage, message) -> None:
    loop = unfinished_copy(finished, tmp_path / "loop", "train", "verdict")
    damage(loop.folder / "001/games/000000.hcpe3.xz")
    with pytest.raises(LoopError, match=re.escape(message)):
        run(loop)
    assert not (loop.folder / "001/train.json").exists()


def test_a_lost_player_is_an_error_and_can_be_made_again(finished, tmp_path) -> None:
    loop = unfinished_copy(finished, tmp_path / "loop", "verdict")
    path = loop.player_path(1)
    before = path.read_bytes()
    path.unlink()
    with pytest.raises(LoopError, match=r"001/player\.npz: missing; .*delete train\.json"):
        run(loop)
    (path.parent / "train.json").unlink()
    assert run(loop)
    assert path.read_bytes() == before


def test_a_lost_first_player_is_an_error_unless_it_is_the_default(finished, tmp_path) -> None:
    loop = unfinished_copy(finished, tmp_path / "default")
    assert loop.player(0) is None
    given = config(generations=1, init_from=str(finished / "001/player.npz"))
    loop = Loop(given, tmp_path / "given")
    assert run(loop)
    loop.player_path(0).unlink()
    with pytest.raises(LoopError, match=r"000/player\.npz: missing; .*delete begun\.json"):
        loop.player(0)


def test_the_status_of_a_folder_that_cannot_be_written(finished, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "loop"
    shutil.copytree(finished, folder)

    def refuse(path: Path, text: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("komadori.cli.loop.write_text", refuse)
    result = CliRunner().invoke(command, ["status", str(folder)])
    assert result.exit_code == 1
    assert "generation  games" in result.stdout
    assert "index.html" in result.stderr


def test_a_match_without_an_error_has_none_in_the_table(tmp_path) -> None:
    loop = Loop(config(generations=1), tmp_path)
    loop.note(1, "games", {"games": 4, "positions": 9, "by": 0})
    loop.note_verdict(1, Verdict(False, 0, 4, 0, 1, 3, -338.0, None))
    result = CliRunner().invoke(command, ["status", str(tmp_path)])
    assert "-338" in result.output
    assert "±" not in result.output


def test_linear_loop_is_one_of_its_configurations(tmp_path) -> None:
    folder = tmp_path / "loop"
    arguments = ["loop", "--rounds", "1", "--games", "3", "--nodes", "60", "-o", str(folder)]
    arguments += ["--threads", "1", "--set", "iterations=1", "--set", "updates=1"]
    result = CliRunner().invoke(linear.command, arguments)
    assert result.exit_code == 0, result.output
    assert TwoPieceWeights.load(folder / "001/player.npz").pairs.any()
    assert json.loads((folder / "loop.json").read_text())["gate"]["games"] == 0
    assert segment_files(folder / "001/games")
    again = CliRunner().invoke(linear.command, [*arguments, "--nodes", "70"])
    assert again.exit_code == 1
    assert "games.settings.searches was" in again.output


def test_experiments_that_are_loops_can_be_read() -> None:
    found = sorted(Path(__file__).parents[2].glob("experiments/loop/*.toml"))
    assert found
    for path in found:
        load_config(path)
