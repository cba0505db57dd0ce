"""Experiments are found in a checkout, by name, and where there is no checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori.cli.lab import command as lab
from komadori.cli.loop import command as loop
from komadori.cli.train import command as train
from komadori.shipped import experiment_path


def test_a_file_here_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = Path("experiments/resnet5x64.toml")
    own.parent.mkdir()
    own.write_text("")
    assert experiment_path(own) == own


def test_names_lead_to_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("experiments/resnet5x64.toml", "resnet5x64", "experiments/lab", "hand-input"):
        found = experiment_path(Path(name))
        assert found.exists()
        assert found.is_absolute()
    for name in ("nowhere", "experiments/nowhere.toml", "a/resnet5x64", "../resnet5x64"):
        assert experiment_path(Path(name)) == Path(name)


def test_commands_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = CliRunner().invoke(lab, ["list"])
    assert listed.exit_code == 0, listed.output
    assert "hand-input" in listed.output
    wrong = CliRunner().invoke(train, ["nosuch"])
    assert wrong.exit_code == 2
    no_data = CliRunner().invoke(train, ["resnet5x64"])
    assert "data" in no_data.output  # the configuration was found


def test_a_config_from_python_outside_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = pytest.importorskip("komadori.training")
    monkeypatch.chdir(tmp_path)
    for name in ("experiments/resnet5x64.toml", "resnet5x64"):
        assert training.load_config(name, ["loop.batch_size=16"]).loop.batch_size == 16
    with pytest.raises(training.ConfigError, match=r"nowhere\.toml: No such file"):
        training.load_config("experiments/nowhere.toml")


def test_a_shipped_loop_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The stage waits for games; before that it has read the loop's and the network's configuration.
    found = CliRunner().invoke(loop, ["stage", "train", "from-package"])
    assert "earlier stages are incomplete" in found.output
    assert (tmp_path / "runs/from-package/loop.json").is_file()
    assert CliRunner().invoke(loop, ["stage", "train", "resnet5x64"]).exit_code == 2
