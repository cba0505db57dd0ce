"""One writer per folder, held by the operating system, for every command that has a run folder."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from komadori.cli._group import group
from komadori.cli.linear_data import check_folder
from komadori.linear.run_folder import LEARNER_STATE, check_run_folder
from komadori.records import Game, Winner, write_games
from komadori.run_lock import InUseError, RunLock

FIRST_MOVES = ("7g7f", "2g2f", "5g5f", "6i7h")
_HOLD = """
import sys
from komadori.run_lock import RunLock
lock = RunLock.of_file(sys.argv[2]) if sys.argv[1] == "file" else RunLock(sys.argv[2])
with lock:
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(kind: str, path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, kind, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_second_process_learns_who_holds_it_and_a_killed_holder_frees_it(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    process = hold(kind, path)
    lock = RunLock.of_file(path) if kind == "file" else RunLock(path)
    with pytest.raises(InUseError, match=rf"run: in use by process {process.pid} since \d{{4}}-"):
        lock.acquire()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with lock:
        assert lock.is_held
    assert not lock.is_held
    left = {entry.name for entry in tmp_path.rglob("*") if entry.is_file()}
    assert left == (set() if kind == "file" else {".lock"})


def test_it_holds_within_one_process_too_and_may_be_entered_while_held(tmp_path: Path) -> None:
    lock = RunLock(tmp_path).acquire()
    with lock, pytest.raises(InUseError, match=f"process {os.getpid()} "):
        RunLock(tmp_path).acquire()
    with RunLock(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        RunLock(tmp_path / "file" / "run").acquire()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_an_error_names_the_place_and_not_the_lock(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    lock = RunLock.of_file(path) if kind == "file" else RunLock(path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", lock._lock.lock_file)

    monkeypatch.setattr(lock._lock, "acquire", full)
    with pytest.raises(OSError, match="No space left") as raised:
        lock.acquire()
    assert raised.value.filename == str(path)


@pytest.mark.parametrize(
    "line",
    [
        "train resnet5x64",
        "linear train two-piece",
        "linear train kpp",
        "linear train nnue",
    ],
)
def test_the_folder_is_checked_before_the_games_are_read(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "run"
    arguments = [*line.split(), "--data", str(tmp_path / "unread.hcpe3"), "-o", str(where)]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 2, result.output
    assert "file is a file, not a folder" in result.output
    assert "unread" not in result.output


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.hcpe3"
    write_games(
        path, [Game.from_usi([first, "3c3d", "1g1f"], winner=Winner.BLACK) for first in FIRST_MOVES]
    )
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text('[model]\nnet = "resnet1x8"\n[loop]\nepochs = 1\n')
    return path


@pytest.mark.parametrize(
    "line",
    [
        "train {config} --data {games} --test {games} -o {run}",
        "linear train two-piece --data {games} --test-fraction 0.5 -o {run}",
        "linear train kpp --data {games} --test-fraction 0.5 -o {run}",
        "linear train nnue --data {games} --test-fraction 0.5 -o {run}",
        "match material random --games 2 --out {run}",
        "quickstart --out {run}",
    ],
)
def test_no_command_writes_into_a_folder_in_use(
    line: str, tmp_path: Path, games: Path, config: Path
) -> None:
    run = tmp_path / "run"
    with RunLock(run):
        result = CliRunner().invoke(group, line.format(run=run, games=games, config=config).split())
    assert result.exit_code == 1, result.output
    assert f"Error: {run}: in use by process {os.getpid()} since" in result.output
    assert {entry.name for entry in run.iterdir()} == {".lock"}


def test_no_analysis_writes_into_a_journal_in_use(tmp_path: Path) -> None:
    record = tmp_path / "game.usi"
    record.write_text("startpos moves 7g7f 3c3d\n")
    journal = tmp_path / "game.analysis.jsonl"
    with RunLock.of_file(journal):
        result = CliRunner().invoke(group, ["analyse", str(record), "--nodes", "2"])
    assert result.exit_code == 1, result.output
    assert f"Error: {journal}: in use by process {os.getpid()} since" in result.output
    assert not journal.exists()


@pytest.mark.parametrize("name", ["n" * 250, "棋" * 85])
def test_a_file_with_a_long_name_can_be_locked(name: str, tmp_path: Path) -> None:
    with RunLock.of_file(tmp_path / name):
        assert len(list(tmp_path.iterdir())) == 2
        with pytest.raises(InUseError, match="in use by process"):
            RunLock.of_file(tmp_path / name).acquire()
    assert not list(tmp_path.iterdir())


def test_a_new_run_in_the_folder_of_a_running_one_names_it(tmp_path: Path) -> None:
    (tmp_path / LEARNER_STATE).write_bytes(b"x")
    with pytest.raises(ValueError, match="holds a run already"):
        check_run_folder(tmp_path, resume=False)
    with RunLock(tmp_path), pytest.raises(InUseError, match="in use by process"):
        check_run_folder(tmp_path, resume=False)
    with pytest.raises(ValueError, match="holds a run already"):
        check_run_folder(tmp_path, resume=False)


@pytest.mark.parametrize("has_state", [True, False])
def test_the_folder_of_a_running_run_is_refused_before_data_are_read(
    has_state: bool, tmp_path: Path
) -> None:
    if has_state:  # it has none until its first epoch ends
        (tmp_path / LEARNER_STATE).write_bytes(b"x")
    with RunLock(tmp_path), pytest.raises(ClickException, match="in use by process"):
        check_folder(tmp_path, resume=has_state)
    check_folder(tmp_path, resume=has_state)


def test_no_model_is_written_by_two_commands(tmp_path: Path) -> None:
    model, exported = tmp_path / "new" / "model", tmp_path / "x.onnx"
    for written, line in (
        (model, f"import default -o {model}"),
        (exported, f"export {model} -o {exported}"),
    ):
        with RunLock.of_file(written):
            result = CliRunner().invoke(group, line.split())
        assert result.exit_code == 1, result.output
        assert f"Error: {written}: in use by process {os.getpid()} since" in result.output
        assert not written.exists()
        result = CliRunner().invoke(group, line.split())
        assert result.exit_code == 0, result.output
    assert {entry.name for entry in tmp_path.iterdir()} == {"new", "x.onnx", "x.json"}
    assert {entry.name for entry in model.parent.iterdir()} == {"model"}


def test_a_model_that_cannot_be_imported_leaves_no_folder(tmp_path: Path) -> None:
    junk = tmp_path / "junk.pth"
    junk.write_bytes(b"junk")
    result = CliRunner().invoke(group, ["import", str(junk), "-o", str(tmp_path / "a" / "b")])
    assert result.exit_code == 1, result.output
    assert not (tmp_path / "a").exists()


def test_a_loop_leaves_the_stage_of_another_process_alone(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "001").mkdir(parents=True)
    arguments = ["linear", "loop", "--rounds", "1", "--games", "2", "--nodes", "60", "-o", str(run)]
    with RunLock.of_file(run / "001" / "games"):
        result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 1, result.output
    assert f"in use by process {os.getpid()} since" in result.output
    assert not (run / "001" / "games").exists()


def test_a_folder_in_the_place_of_the_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(OSError, match="lock'"):
        RunLock(tmp_path).acquire()


def test_a_lock_that_may_not_be_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".lock").touch()
    lock = RunLock(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", lock._lock.lock_file)

    monkeypatch.setattr(lock._lock, "acquire", refuse)
    with pytest.raises(PermissionError) as raised:
        lock.acquire()
    assert raised.value.filename == str(tmp_path / ".lock")
