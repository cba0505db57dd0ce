"""Files and folders whose names aren't UTF-8 can be used like any others, or an error says so."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from komadori.cli._group import group
from komadori.cli.linear_data import next_match
from komadori.inference.synthetic import write_random_resnet
from komadori.players import PlayerSpec
from komadori.records import Game, sample_path, write_games
from komadori.wording import on_one_line

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are bytes only there")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / os.fsdecode(b"a\xff")
    path.mkdir()
    write_random_resnet(path / "model.onnx", 1, 8)
    return path


def test_a_match_keeps_its_journal_and_page(folder: Path) -> None:
    words = ("match", folder / "model.onnx", "random", "--games", "2", "--nodes", "1")
    for games in ("2", "4"):  # the second run resumes
        out = folder / "match"
        result = run(*words, "--max-plies", "2", "--games", games, "--out", out)
        assert result.exit_code == 0, result.output
        lines = (out / "games.jsonl").read_bytes().splitlines()
        assert len(lines) == 1 + int(games)
        assert str(folder / "model.onnx") in json.dumps(json.loads(lines[0]), ensure_ascii=False)
        assert (out / "index.html").exists()


def test_a_launcher_starts_the_engine(folder: Path) -> None:
    launcher = folder / "engine.sh"
    result = run("install-engine", folder / "model.onnx", "--out", launcher)
    assert result.exit_code == 0, result.output
    with subprocess.Popen(
        [launcher], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        engine.stdin.write("usi\nisready\n")
        engine.stdin.flush()
        assert "readyok\n" in engine.stdout  # reads until then
        engine.stdin.write("quit\n")
        engine.stdin.close()
    assert engine.returncode == 0


def test_a_run_trains(folder: Path) -> None:
    config = folder / "run.toml"
    config.write_text(
        '[model]\nnet = "resnet1x8"\n[loop]\nmax_steps = 2\nbatch_size = 16\n'
        "[data]\ntrain_limit = 100\ntest_limit = 16\n"
    )
    result = run("train", config, "--data", sample_path(), "--out", folder / "run")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["a b'c", "a&b=1?c%20", os.fsdecode(b"a\xff&b")])
def test_the_next_command_works_with_any_folder(name: str, tmp_path: Path) -> None:
    games = tmp_path / "games.hcpe3"
    assert run("records", "sample", games, "--games", "4").exit_code == 0
    out = tmp_path / name / "run"
    result = run("linear", "train", "nnue", "--data", games, "--epochs", "1", "-o", out)
    assert result.exit_code == 0, result.output
    program, command, player, _ = shlex.split(next_match("nnue", out / "nn.bin", "random")[6:])
    assert (program, command) == ("komadori", "match")
    assert PlayerSpec.parse(player).options["EvalFile"] == str(out / "nn.bin")
    printed = next_match("nnue", out / "nn.bin", "alphabeta?Eval=two-piece")
    assert result.output.splitlines()[-1] == on_one_line(printed)
    assert run("match", player, "random", "--nodes", "1", "--games", "2").exit_code == 0


def test_ladders_and_books_that_need_utf8_say_so(folder: Path) -> None:
    ladder = folder / "ladder.db"
    assert run("ladder", "new", ladder, "--nodes", "1").exit_code == 0
    result = run("ladder", "add", ladder, "a", folder / "model.onnx")
    assert result.exit_code == 1
    assert "can't store" in result.output
    assert "not UTF-8" in result.output
    games = folder / "a.csa"
    write_games(games, [Game.from_usi(["7g7f", "3c3d"])])
    book = folder / "book.db"
    result = run("book", "make", games, "--min-count", "1", "--out", book)
    assert result.exit_code == 2
    assert "a book's path must be UTF-8" in result.output
    made = folder.parent / "book.db"
    assert run("book", "make", games, "--min-count", "1", "--out", made).exit_code == 0
    made.rename(book)
    result = run("book", "show", book)
    assert result.exit_code == 1
    assert "a book's path must be UTF-8" in result.output


@pytest.mark.parametrize("words", [("perft", "1", "--sfen"), ("mate",)])
def test_a_position_that_is_no_text_is_refused(words: tuple[str, ...]) -> None:
    result = run(*words, os.fsdecode(b"\xff/9 b - 1"))
    assert result.exit_code == (1 if words == ("mate",) else 2)
    assert "SFEN, character 1: expected a piece" in result.output
