"""Errors in environment variables name the variable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from komadori.usi import models

TRAIN = ("train", "resnet5x64", "--data", "sample", "--set", "loop.max_steps=1")

VARIABLES = [
    ({"KOMADORI_THREADS": "abc"}, ("usi",), 2, "KOMADORI_THREADS is 'abc', 0 to 512 is needed"),
    ({"KOMADORI_THREADS": "513"}, ("usi", "--player", "model"), 1, "KOMADORI_THREADS is '513'"),
    (
        {"KOMADORI_THREADS": "-1"},
        ("match", "model:default", "random", "--games", "2"),
        1,
        "KOMADORI_THREADS is '-1'",
    ),
    ({"KOMADORI_MODEL": "none.onnx"}, ("usi",), 1, "KOMADORI_MODEL: no model none.onnx: looked f"),
    ({"KOMADORI_CORE": "z80"}, ("doctor",), 1, "KOMADORI_CORE=z80: no such build"),
    ({"WORLD_SIZE": "x"}, TRAIN, 1, "WORLD_SIZE is 'x' in the environment, torchrun sets a number"),
    ({"WORLD_SIZE": "0"}, TRAIN, 1, "WORLD_SIZE is 0 in the environment, at least 1 is needed"),
    ({"WORLD_SIZE": "2"}, TRAIN, 1, "RANK is missing in the environment"),
    (
        {"WORLD_SIZE": "2", "RANK": "2"},
        TRAIN,
        1,
        "RANK is 2 in the environment, below WORLD_SIZE=2",
    ),
]


@pytest.mark.parametrize(("variables", "arguments", "status", "message"), VARIABLES)
def test_a_bad_value_is_one_line_with_the_variable(
    variables: dict[str, str],
    arguments: tuple[str, ...],
    status: int,
    message: str,
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "komadori", *arguments],
        input="usi\nisready\nquit\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **variables},
        timeout=120,
    )
    assert message in done.stderr + done.stdout
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_no_threads_named_are_all_cpus() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "komadori", "usi"],
        input="usi\nquit\n",
        capture_output=True,
        text=True,
        env={**os.environ, "KOMADORI_THREADS": "0"},
        timeout=60,
    )
    assert "option name Threads type spin default" in done.stdout


@pytest.mark.parametrize("name", ["uniform", "random:4", "default"])
def test_the_model_of_the_environment_has_the_names_of_the_option(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(models.ENVIRONMENT, name)
    assert models.find_model("") == models.find_model(name)


def test_one_process_is_the_first_whatever_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    from komadori.training.torchrun import rank_and_size

    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "3")
    assert rank_and_size() == (0, 1)
