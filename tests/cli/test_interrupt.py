"""Signals end every command with their exit status and a message on what was kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import types
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori.cli import interrupt
from komadori.cli._group import group
from komadori.records import GameReader, sample_path, write_games

KOMADORI = [sys.executable, "-m", "komadori"]
NUMBERS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


def stop(
    process: subprocess.Popen[str], number: signal.Signals, after: float
) -> tuple[int, str, float]:
    """Exit status and messages of a signalled command, and the seconds it took to end."""
    while not handles_signals(process):
        time.sleep(0.02)
    time.sleep(after)
    assert process.poll() is None, process.communicate()
    started = time.monotonic()
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    return process.returncode, messages, time.monotonic() - started


def handles_signals(process: subprocess.Popen[str]) -> bool:
    """Return True once the command has installed its signal handlers: SIGTERM is caught."""
    try:
        text = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = next((line for line in text.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
    return (
        bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1) or process.poll() is not None
    )


def start(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*KOMADORI, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_compiled_code_does_not_keep_a_command(number: signal.Signals) -> None:
    status, messages, seconds = stop(start("perft", "7"), number, after=1.0)
    expected, word = NUMBERS[number]
    assert (status, messages.lstrip("\n")) == (expected, f"{word}\n")
    assert seconds < 5  # on a loaded machine; far below a second on an idle one


_STUCK = """
import sys, time, threading
from pathlib import Path
from komadori.atomic import atomic_writer
from komadori.cli import _group, interrupt
import click

@click.command()
def stuck():
    interrupt.hint("nothing is lost")
    with atomic_writer(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.flush()
        print("ready", flush=True)
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                pass  # as a library might

_group._LazyGroup.get_command = lambda *_: stuck
_group.run(["stuck"])
"""


def test_a_command_that_swallows_the_interrupt_is_ended_and_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _STUCK, str(tmp_path / "a")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    status, messages, seconds = stop(process, signal.SIGINT, after=0.5)  # it sleeps by then
    assert (status, messages) == (130, "interrupted; nothing is lost\n")
    assert seconds < 6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", NUMBERS)
def test_a_conversion_leaves_the_old_file_and_no_temporary_one(
    number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "out.csa"
    out.write_text("PI\n+\n%CHUDAN\n")
    process = start("records", "convert", *[sample_path()] * 40, "-o", out)
    while not (tmp_path / ".out.csa.tmp").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    status, messages, _ = stop(process, number, after=0)
    assert status == NUMBERS[number][0]
    assert messages.endswith(f"{NUMBERS[number][1]}; nothing was written\n")
    assert out.read_text() == "PI\n+\n%CHUDAN\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csa"]


@pytest.mark.parametrize("number", NUMBERS)
def test_training_ends_with_a_checkpoint_and_the_command_that_resumes(
    number: signal.Signals, tmp_path: Path
) -> None:
    config = tmp_path / "run.toml"
    config.write_text('[model]\nnet = "resnet1x8"\n[loop]\nepochs = 100\nbatch_size = 16\n')
    run = tmp_path / "run"
    process = start("train", config, "--data", sample_path(), "-o", run)
    while not (run / "log.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    status, messages, _ = stop(process, number, after=0.2)
    expected, word = NUMBERS[number]
    assert status == expected, messages
    assert f"{word}; resume with: komadori train {config} --data" in messages
    assert messages.rstrip().endswith(f"-o {run} --resume")
    assert len(list(run.glob("**/model.json"))) == 1


def test_an_ignored_signal_stays_ignored() -> None:
    """As for a background command of a shell script."""
    process = subprocess.Popen(
        [*KOMADORI, "perft", "5"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0


_ENDLESS = """
import sys, threading, time
from komadori.cli import _group, interrupt
import click

@click.command()
def endless():
    interrupt.hint("the same command resumes")
    stop = threading.Event()
    with interrupt.interrupt_sets(stop, grace_s=0.5):
        print("ready", flush=True)
        while True:
            time.sleep(0.1)  # work that never looks at `stop`

_group._LazyGroup.get_command = lambda *_: endless
_group.run(["endless"])
"""


def test_killable_work_gets_time_to_end() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    status, messages, _ = stop(process, signal.SIGTERM, after=0)
    assert (status, messages) == (143, "terminated; the same command resumes\n")


def test_a_label_that_takes_long_does_not_keep_a_command(tmp_path: Path) -> None:
    out = tmp_path / "labels"
    process = start(
        "generate", "relabel", sample_path(), "--by", "alphabeta", "--depth", "60", "-o", out
    )
    while not (out / "settings.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    status, messages, seconds = stop(process, signal.SIGINT, after=1.0)
    assert (status, messages.lstrip("\n")) == (
        130,
        f"interrupted; finished work is kept in {out}; the same command resumes\n",
    )
    assert seconds < 6


@pytest.mark.parametrize(
    "words",
    [
        "lab run hand-input --runs runs",
        "generate teacher --games 1 -o out",
        "generate selfplay --games 1 -o out",
        "generate nearby games.csa -o out",
        "generate relabel games.csa --by default -o out",
    ],
)
def test_an_early_interrupt_says_how_to_resume(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports of torch and OpenVINO take seconds, also when finished work waits in the folder."""

    class Interrupted(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    write_games(tmp_path / "games.csa", list(islice(GameReader(sample_path()), 1)))
    for name in ("komadori.cli.generate_run", "komadori.cli.lab_display"):
        monkeypatch.setitem(sys.modules, name, Interrupted(name))
    monkeypatch.setattr(interrupt, "_hint", "")
    result = CliRunner().invoke(group, words.split())
    assert result.exit_code == 130
    assert result.output.splitlines()[-1].endswith("; the same command resumes")
