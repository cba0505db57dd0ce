"""No command overwrites its input or a file of another kind; an empty selection writes nothing; a
full output is named."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from komadori.cli._group import group
from komadori.records import Game, Winner, read_games, write_games
from komadori.records.parts import untrain

MOVES = (["7g7f", "3c3d", "2g2f"], ["2g2f", "8c8d", "2f2e"], ["7g7f", "8c8d", "6g6f"])


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words])


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "a.csa"
    write_games(path, [Game.from_usi(moves, winner=Winner.BLACK) for moves in MOVES])
    return path


WRITERS = (
    "records convert {games} -o {out}",
    "records convert --min-plies 2 {games} -o {out}",
    "records dedupe {games} -o {out}",
    "records split {games} --train {out} --test {other} --ratio 0.5",
    "records split {games} --train {other} --test {out} --ratio 0.5",
    "book make {games} --min-count 1 -o {out}",
)


@pytest.mark.parametrize("line", WRITERS)
@pytest.mark.parametrize("name", ["itself", "link", "hard link", "another way", "no such way"])
def test_an_output_is_no_input(line: str, name: str, games: Path, tmp_path: Path) -> None:
    before = games.read_bytes()
    out = tmp_path / "b.csa"
    if name == "link":
        out.symlink_to(games)
    elif name == "hard link":
        out.hardlink_to(games)
    else:
        out = games if name == "itself" else tmp_path / "x" / ".." / games.name
        if name != "no such way":
            (tmp_path / "x").mkdir(exist_ok=True)
    result = run(*line.format(games=games, out=out, other=tmp_path / "other.csa").split())
    assert result.exit_code == 2
    assert f"{out} is an input; writing there would destroy it" in result.output
    assert games.read_bytes() == before
    assert not (tmp_path / "other.csa").exists()


@pytest.mark.parametrize("line", WRITERS)
def test_a_file_of_another_kind_is_kept_without_force(
    line: str, games: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "notes.csa", tmp_path / "other.csa"
    out.write_text("a diary\n")
    words = line.format(games=games, out=out, other=other).split()
    result = run(*words)
    assert result.exit_code == 2
    assert f"{out} exists and holds no " in result.output
    assert "--force replaces it" in result.output
    assert out.read_text() == "a diary\n"
    for words_ in ([*words, "--force"], words):  # the second time it is of its kind
        result = run(*words_)
        assert result.exit_code == 0, result.output
        assert out.read_text() != "a diary\n"


@pytest.mark.parametrize(
    ("line", "forces"),
    [
        ("records sample {out} --games 3", True),
        ("ladder games {ladder} -o {out}", True),
        ("install-engine --player random --out {out}", True),
        ("ladder new {out}", False),
    ],
)
def test_what_takes_no_records_keeps_what_is_there_too(
    line: str, forces: bool, tmp_path: Path
) -> None:
    ladder, out = tmp_path / "ladder.db", tmp_path / "notes.csa"
    for words in (
        ("new", ladder, "--nodes", "1", "--max-plies", "4", "--opening-plies", "2"),
        ("add", ladder, "a", "random"),
        ("add", ladder, "b", "random"),
        ("play", ladder, "-g", "2"),
    ):
        assert run("ladder", *words).exit_code == 0
    out.write_text("a diary\n")
    words = line.format(out=out, ladder=ladder).split()
    result = run(*words)
    assert result.exit_code in (1, 2)
    assert f"{out} exists" in result.output
    assert out.read_text() == "a diary\n"
    if forces:
        assert run(*words, "--force").exit_code == 0
        assert out.read_text() != "a diary\n"


def test_an_empty_ladder_leaves_the_old_file(tmp_path: Path) -> None:
    ladder, out = tmp_path / "ladder.db", tmp_path / "a.csa"
    assert run("ladder", "new", ladder, "--nodes", "1").exit_code == 0
    write_games(out, [Game.from_usi(MOVES[0])])
    before = out.read_bytes()
    result = run("ladder", "games", ladder, "-o", out)
    assert result.exit_code == 2
    assert "has no games yet" in result.output
    assert out.read_bytes() == before


@pytest.mark.parametrize("line", ["records convert --to csa {games}", "export {folder}"])
def test_an_empty_name_of_an_output_is_refused(line: str, games: Path, tmp_path: Path) -> None:
    result = run(*line.format(games=games, folder=tmp_path).split(), "--out", "")
    assert result.exit_code == 2
    assert "'--out'" in result.output
    assert result.output.endswith(": it is empty\n")


def test_two_outputs_are_two_files(games: Path, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for other in (tmp_path / "b.csa", tmp_path / "x" / ".." / "b.csa"):
        result = run("records", "split", games, "--train", tmp_path / "b.csa", "--test", other)
        assert result.exit_code == 2
        assert f"{other} is named for two outputs" in result.output
        assert not (tmp_path / "b.csa").exists()


@pytest.mark.parametrize(
    "line",
    [
        "records convert {games} --min-plies 99 -o {out}",
        "records dedupe {games} --player nobody -o {out}",
        "records split {games} --min-plies 99 --train {out} --test {other}",
        "records split {games} --ratio 0 --train {out} --test {other}",
        "records split {games} --ratio 1 --train {other} --test {out}",
        "book make {games} --min-count 50 -o {out}",
        "book make {games} --min-plies 99 -o {out}",
    ],
)
def test_nothing_selected_leaves_the_old_file(line: str, games: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.csa"
    old = Game.from_usi(["7g7f"], winner=Winner.WHITE)
    if line.startswith("book"):
        assert run("book", "make", games, "--min-count", "1", "-o", out).exit_code == 0
    else:
        write_games(out, [old])
    before = out.read_bytes()
    result = run(*line.format(games=games, out=out, other=tmp_path / "other.csa").split())
    assert result.exit_code == 2, result.output
    assert out.read_bytes() == before
    assert not (tmp_path / "other.csa").exists()


@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_standard_output_gets_the_records_alone(
    name: str, games: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run("records", "convert", games, "--to", "usi", "-o", name)
    assert result.exit_code == 0
    out = capfd.readouterr().out
    lines = [f"position startpos moves {' '.join(moves)} resign" for moves in MOVES]
    assert out.splitlines() == lines
    assert "3 games, 9 plies" in result.stderr
    assert len(read_games(games)) == 3


def test_a_folder_is_not_written_to_standard_output(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("analyse", games, "-o", "-")
    assert result.exit_code == 2
    assert "standard output" in " ".join(result.stderr.split())
    assert not (tmp_path / "-").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("records dedupe {games} -o {out}", b"V2.2"),
        ("records split {games} --ratio 0.5 --train {out} --test {other}", b"V2.2"),
        ("records sample {out} --games 1", b"V2.2"),
        ("book make {games} --min-count 1 -o {out}", b"#YANEURAOU-DB2016"),
    ],
)
def test_messages_stay_out_of_the_output_stream(
    line: str, head: bytes, games: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pipe.csa"
    os.mkfifo(out)
    reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)  # the pipe's buffer is larger than the data
    try:
        result = run(*line.format(games=games, out=out, other=tmp_path / "other.csa").split())
        assert result.exit_code == 0, result.output
        assert os.read(reader, 1 << 16).startswith(head)
    finally:
        os.close(reader)
    assert not result.stdout
    assert result.stderr


def test_a_report_replaces_no_page_of_others(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("<!doctype html><p>my page</p>")
    result = run("report", tmp_path, "--out", tmp_path)
    assert result.exit_code == 2
    assert f"{page} exists and holds no komadori page; --force replaces it" in result.output
    page.write_text('<!doctype html><meta name="generator" content="komadori">')
    assert run("report", tmp_path, "--out", tmp_path).exit_code == 1  # no run in it


@pytest.mark.parametrize("name", ["index.html", "result.json"])
def test_a_match_replaces_no_file_of_others(name: str, tmp_path: Path) -> None:
    out = tmp_path / "match"
    out.mkdir()
    (out / name).write_text("mine")
    words = ("match", "random", "random", "--games", 2, "--max-plies", 10, "--out", out)
    refused = run(*words)
    assert refused.exit_code == 1
    assert f"{out} holds {name}, which the match would replace" in refused.output
    assert [path.read_text() for path in out.iterdir() if path.name != ".lock"] == ["mine"]
    (out / name).unlink()
    for _ in range(2):  # its own are replaced
        assert run(*words).exit_code == 0


def test_a_tuning_replaces_no_page_of_others(tmp_path: Path) -> None:
    parameters, out = tmp_path / "p.toml", tmp_path / "tune"
    limits = "[conditions]\nnodes = 1\nmax_plies = 10\n"
    option = "[parameters.SlowMover]\nstart = 100\nmin = 50\nmax = 200\n"
    parameters.write_text(f"pairs = 1\n{limits}{option}")
    out.mkdir()
    (out / "index.html").write_text("mine")
    words = ("tune", "alphabeta?hash=1", parameters, "--out", out)
    refused = run(*words)
    assert refused.exit_code == 1
    assert f"{out} holds index.html, which the tuning would replace" in refused.output
    assert (out / "index.html").read_text() == "mine"
    (out / "index.html").unlink()
    for _ in range(2):
        assert run(*words).exit_code == 0


def test_a_report_of_the_laboratory_replaces_and_removes_no_page_of_others(tmp_path: Path) -> None:
    repository = Path(__file__).parents[2]
    words = (
        *("lab", "report", "--experiments", repository / "experiments/lab", "-o", tmp_path),
        *("--results", repository / "docs/results/lab/data"),
    )
    for name in ("index.md", "label.md"):
        (tmp_path / name).write_text("mine")
        refused = run(*words)
        assert refused.exit_code == 2
        assert f"{tmp_path / name} exists and holds no page of the laboratory" in refused.output
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
        (tmp_path / name).unlink()
    (tmp_path / "label.md").write_text("mine")
    for options in (["--force"], []):
        assert run(*words, *options).exit_code == 0


def test_records_of_a_server_have_a_folder_before_a_game_begins(games: Path) -> None:
    account = ("--host", "127.0.0.1", "--port", "9", "--name", "a", "--password", "b")
    for out in (games / "x", games):
        result = run("csa", "random", *account, "--out", out)
        assert result.exit_code == 2
        assert f"{games} is a file, not a folder" in result.output


@pytest.mark.parametrize(
    "line",
    [
        *WRITERS,
        "records sample {out}",
        "export run -o {out}",
        "install-engine --out {out}",
        "ladder games {games} -o {out}",
    ],
)
def test_a_file_is_not_named_like_a_folder(line: str, games: Path, tmp_path: Path) -> None:
    """Nor is it a folder; a path would lose the slash, and a file of that name be written."""
    (tmp_path / "run").mkdir()
    (tmp_path / "folder").mkdir()
    for out in (f"{tmp_path}/new/", f"{tmp_path}/folder"):
        words = line.replace("export run", f"export {tmp_path}/run")
        result = run(*words.format(games=games, out=out, other=tmp_path / "other.csa").split())
        assert result.exit_code == 2
        assert f"{out} is a folder; name a file for the " in result.output
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("suffix", ["hcpe", "hcpe3"])
def test_a_test_part_without_positions_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    games, train = tmp_path / "same.csa", tmp_path / f"train.{suffix}"
    test, old = tmp_path / f"test.{suffix}", Game.from_usi(MOVES[1], winner=Winner.WHITE)
    write_games(games, [Game.from_usi(MOVES[0], winner=Winner.BLACK)] * 8)
    write_games(tmp_path / "old.csa", [old])
    assert run("records", "convert", tmp_path / "old.csa", "-o", test).exit_code == 0
    before = test.read_bytes()
    parts = ("--train", train, "--test", test, "--ratio", "0.5")
    result = run("records", "split", games, *parts, "--disjoint")
    assert result.exit_code == 2
    assert "all its positions are in the training part; nothing was written" in result.output
    assert test.read_bytes() == before
    assert not train.exists()


def test_games_of_which_nothing_is_trained_on_leave_the_old_file(tmp_path: Path) -> None:
    game, out = Game.from_usi(MOVES[0], winner=Winner.BLACK), tmp_path / "out.hcpe"
    write_games(tmp_path / "a.csa", [game])
    assert run("records", "convert", tmp_path / "a.csa", "-o", out).exit_code == 0
    before = out.read_bytes()
    write_games(tmp_path / "a.hcpe3", [untrain(game, np.ones(len(game), np.bool_))])
    result = run("records", "convert", tmp_path / "a.hcpe3", "-o", out)
    assert result.exit_code == 2
    assert "no position of the games is trained on; nothing was written" in result.output
    assert out.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "line",
    [
        "perft 1",
        "doctor",
        "match random random --games 2",
        "--help",
        "records split -h",
        "usi --help",
        "--version",
    ],
)
def test_a_full_standard_output_is_named(line: str) -> None:
    """Lines of text, a rich table, a live display and help texts."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "komadori", *line.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    assert done.returncode == 1
    assert done.stderr == "Error: standard output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("line", ["records stats {}", "records convert {} -o {}.kif"])
def test_a_full_folder_for_temporary_files_is_no_fault_of_the_input(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csa.xz"
    path.write_bytes(lzma.compress(b"V2.2\nPI\n+\n+7776FU\n%TORYO\n"))
    with Path("/dev/full").open("r+b", 0) as full:
        monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda _: full)
        result = run(*line.format(path, path).split())
    assert result.exit_code == 2
    assert result.output == f"Error: {tempfile.gettempdir()}: No space left on device\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csa.xz"]
