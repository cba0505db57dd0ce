"""A missing input is a usage error in every command, whoever opens it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori.cli._group import group

COMMANDS = [
    "analyse none.csa",
    "bench inference --model none.onnx",
    "bench alphabeta --weights none.bin",
    "book make none.csa -o b.db",
    "book show none.db",
    "export none -o x.onnx",
    "generate nearby none.hcpe -o t",
    "generate relabel none.hcpe --by none.onnx -o t",
    "generate relabel a.txt --by none.onnx -o t",
    "generate selfplay -o t --model none.onnx --games 1",
    "generate stats none",
    "generate teacher -o t --openings none.txt --games 1",
    "import none.pth -o x",
    "install-engine none.onnx",
    "ladder show none.db",
    "lab list --experiments none",
    "lab report --results none",
    "lab run none.toml",
    "lab run label/none",
    "linear distill none.bin --data none.hcpe",
    "linear train kpp --data none.hcpe",
    "linear train kpp --data a.hcpe --resume -o none",
    "linear train nnue --data none.hcpe",
    "linear train two-piece --data none.hcpe",
    "loop run none.toml",
    "match material none.onnx",
    "match material model:none.onnx",
    "match -j 2 material model:none.onnx",
    "match material usi:none",
    "match material random --openings none.csa",
    "match material random --openings none.txt",
    "match material alphabeta?EvalFile=none.bin",
    "mate -f none.txt",
    "records stats none.csa",
    "report none",
    "train none.toml",
    "train resnet5x64 --data none.hcpe",
    "train resnet5x64 --data a.hcpe --resume -o none",
    "tune material none.toml -o t",
    "web none",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_input_is_a_usage_error(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("startpos moves 7g7f\n")
    done = CliRunner().invoke(group, command.split())
    assert done.exit_code == 2, done.output
    errors = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert "none" in errors[0]


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"train resnet5x64 --data a.hcpe --set {override}"
            for override in (
                "loop.batch_size", "=3", "loop.batch=3", "loop.seed.x=3", "loop.batch_size=x",
                "loop.batch_size=-1", "loss.eval_coef=high", "model.net=none",
            )
        ),
        *(
            f"linear train {kind} --data a.hcpe --set {override}"
            for kind in ("kpp", "nnue", "two-piece")
            for override in ("=3", "none=3", "epochs=-1" if kind == "nnue" else "threads=x")
        ),
        "train resnet5x64",
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_a_usage_error(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.hcpe").touch()
    done = CliRunner().invoke(group, command.split())
    assert done.exit_code == 2, done.output


@pytest.mark.parametrize(
    "command",
    [
        "analyse {}",
        "evaluate x.onnx --data {}",
        "generate teacher -o t --engine {}",
        "loop run {}",
        "generate teacher -o t --opponent-engine {}",
        "records convert a.csa -o {}",
        "records stats {}",
        "train resnet5x64 --data a.hcpe -o {}",
        "web {}",
    ],
)
def test_an_empty_argument_is_a_usage_error(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither the working directory nor a default: a shell's variable may not be set."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csa", "a.hcpe", "x.onnx"):
        Path(name).touch()
    words = ["" if word == "{}" else word for word in command.split()]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 2, done.output
    assert done.output.endswith(": it is empty\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csa", "a.hcpe", "x.onnx"]


def test_other_errors_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("no opening")
    done = CliRunner().invoke(group, ["match", "material", "random", "--openings", "a.txt"])
    assert done.exit_code == 1, done.output
