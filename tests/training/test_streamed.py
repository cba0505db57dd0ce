"""Training from windows of files: every position once, the same after a resume."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from training_toys import make_config

from komadori import records, training
from komadori.records.keys import position_keys
from komadori.training import Cursor, Files, Loader
from komadori.training.encoder import CoreEncoder
from komadori.training.world import World

ENCODER = CoreEncoder("dlshogi", "2187")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Six files of three of the bundled games each."""
    folder = tmp_path_factory.mktemp("games")
    games = records.read_games(records.sample_path())[:18]
    paths = [folder / f"{i}.hcpe3.xz" for i in range(6)]
    for i, path in enumerate(paths):
        records.write_games(path, games[3 * i : 3 * i + 3])
    return paths


def config(**sections):
    sections["data"] = {"window": 200, "test_fraction": 0.2} | sections.get("data", {})
    return make_config(**sections)


def split(files, **sections):
    return training.split_of(config(**sections), Files.of(files), None, ENCODER)


def shown(loader, start=None):
    """The samples of each batch of an epoch."""
    with contextlib.closing(loader.batches(start, epochs=1)) as batches:
        return [
            (b.samples.hcp[b.rows].tobytes(), b.targets.label.tobytes(), b.inputs[0].tobytes())
            for b in batches
        ]


def test_an_epoch_shows_each_training_position_once_and_none_of_the_test(files) -> None:
    found = split(files)
    part, test = found.train, found.test
    loader = Loader(part, ENCODER, 32, seed=5)
    rows = []
    with contextlib.closing(loader.batches(epochs=1)) as batches:
        for batch in batches:
            rows += position_keys(batch.samples.hcp[batch.rows]).tolist()
    held_out = set(position_keys(test.samples.hcp[test.rows]).tolist())
    assert held_out
    assert not held_out & set(rows)
    everything = records.load_samples([p for p in files if p in part.stream.paths])
    keys = position_keys(everything.hcp)
    assert sorted(rows) == sorted(key for key in keys.tolist() if key not in held_out)
    assert len(rows) == len(part) == found.facts()["train_positions"]
    assert found.facts()["positions_in_both"] == 0
    assert part.stream.window == 192  # whole batches


def test_the_rest_of_an_epoch_is_the_same_from_any_batch_on(files) -> None:
    part = split(files, data={"mirror": True}).train
    loader = Loader(part, ENCODER, 32, seed=5, mirror=True)
    whole = shown(loader)
    assert len(whole) == len(loader)
    for done in (1, 5, 6, 7, len(whole) - 1):
        assert shown(loader, Cursor(0, 32 * done)) == whole[done:]
    with contextlib.closing(loader.batches()) as batches:
        after = [next(batches).after for _ in whole]
    assert after[-1] == Cursor(1, 0)
    assert after[6] == Cursor(0, 7 * 32)
    assert shown(Loader(part, ENCODER, 32, seed=6)) != whole


def test_processes_share_each_batch(files) -> None:
    part = split(files).train
    whole, *halves = (
        [b.samples.hcp[b.rows] for b in loader.batches(epochs=1)]
        for loader in (
            Loader(part, ENCODER, 32, seed=5),
            *(Loader(part, ENCODER, 32, seed=5, shard=World(r, 2).shard) for r in (0, 1)),
        )
    )
    for both, *parts in zip(whole, *halves, strict=True):
        assert (both == np.concatenate(parts)).all()


@pytest.mark.parametrize("target", ["move", "visits"])
def test_a_resumed_run_has_the_same_losses(files, tmp_path, target) -> None:
    loss = {"policy_target": target}
    if target == "visits":
        loss |= {"hard_fraction": 0.5, "policy_temperature": 2.0}

    def run(folder, resume=False, stop=None):
        result = training.train(
            config(loss=loss, loop={"max_steps": 40, "evaluate_every": 0}),  # more than an epoch
            Files.of(files),
            None,
            tmp_path / folder,
            resume=resume,
            stop=stop,
        )
        return [e["loss"] for e in result.history if e["kind"] == "train"]

    whole = run("whole")
    stops = iter([False] * 9 + [True])
    assert len(run("parts", stop=lambda: next(stops))) == 9
    assert run("parts", resume=True) == whole
    with pytest.raises(training.TrainingError, match="not those of the run"):
        training.train(
            config(loss=loss), Files.of(files[1:]), None, tmp_path / "parts", resume=True
        )


def test_soft_targets_are_those_of_loaded_files(files) -> None:
    sections = {
        "loss": {"policy_target": "visits", "policy_temperature": 1.5, "hard_fraction": 0.25}
    }
    part = split(files, **sections, data={"drop_seen": False}).train
    loaded = training.split_of(
        make_config(**sections, data={"drop_seen": False, "test_fraction": 0.0}),
        training.load_visits(part.stream.paths),
        None,
        ENCODER,
    ).train
    assert part.is_soft
    assert loaded.is_soft

    def targets(source):
        found = {}
        with contextlib.closing(Loader(source, ENCODER, 32).batches(epochs=1)) as batches:
            for batch in batches:
                labels, probs = batch.targets.soft_label, batch.targets.target_probs
                for row, label, prob in zip(batch.rows, labels, probs, strict=True):
                    key = batch.samples.hcp[row].tobytes(), int(batch.samples.ply[row])
                    kept = {int(x): float(y) for x, y in zip(label, prob, strict=True) if y}
                    found.setdefault(key, []).append(sorted(kept.items()))
        return {key: sorted(value) for key, value in found.items()}

    assert targets(part) == targets(loaded)


def test_what_a_window_cannot_do_is_reported(files, tmp_path) -> None:
    for data, words in (
        ({"cache": "x"}, "no cache"),
        ({"train_limit": 5}, "train_limit"),
        ({"duplicates": "average"}, "duplicates"),
        ({"window": -1}, "not negative"),
    ):
        with pytest.raises(training.ConfigError, match=words):
            config(data=data)
    with pytest.raises(training.ConfigError, match="whole files are held out"):
        split(files[:1])
    assert len(split(files[:1], data={"test_fraction": 0.0}).test) == 0
    test = records.load_samples(files[:1])
    with pytest.raises(training.ConfigError, match="no positions besides those of the test"):
        training.split_of(config(), Files.of(files[:1]), test, ENCODER)
    part = split(files).train
    games = records.read_games(files[0])
    moved = [tmp_path / path.name for path in part.stream.paths]
    for path, copy in zip(part.stream.paths, moved, strict=True):
        copy.write_bytes(path.read_bytes())
    part.stream.paths = moved
    records.write_games(moved[0], games[:1])
    with (
        pytest.raises(training.TrainingError, match="files have changed"),
        contextlib.closing(Loader(part, ENCODER, 32).batches(epochs=1)) as batches,
    ):
        for _ in batches:
            pass


def test_the_command_reads_a_pattern_in_windows(files, tmp_path) -> None:
    from click.testing import CliRunner

    from komadori.cli.train import command

    toml = tmp_path / "run.toml"
    toml.write_text(
        '[model]\nnet = "resnet1x8"\n'
        f'[data]\ntrain = ["{files[0].parent}/*.hcpe3.xz"]\nwindow = 256\ntest_fraction = 0.2\n'
        "[loop]\nbatch_size = 64\nmax_steps = 3\nepochs = 0\ntensorboard = false\n"
        '[loss]\neval_coef = "fit"\n[device]\ndevice = "cpu"\nprecision = "float32"\n'
    )
    result = CliRunner().invoke(command, [str(toml), "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "3 steps" in result.output
    assert "tested on" in result.output
