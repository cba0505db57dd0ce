"""Signals end every command with their exit status and a message on what was kept."""

from __future__ import annotations

import builtins
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from komadori.cli import interrupt, loop
from komadori.cli._group import group
from komadori.model_folder import LEARNER_STATE, checkpoint_path
from komadori.records import GameReader, sample_path, write_games
from komadori.shipped import experiment_path

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


_AGAIN = """
import os, signal, sys
from pathlib import Path
from komadori.cli import _group, interrupt
import click

def press(text=""):
    os.kill(os.getpid(), signal.SIGINT)
    return text

@click.command()
def again():
    interrupt.hint(lambda: press("kept"))
    press()

_group._LazyGroup.get_command = lambda *_: again
if sys.argv[1] == "at the start":
    Path.cwd = press
elif sys.argv[1] == "in the message":
    say = _group.say
    _group.say = lambda text, err: say(press(text), err=err)
_group.run(["again"])
"""


@pytest.mark.parametrize("moment", ["at the start", "while it ends", "in the message"])
def test_a_signal_at_any_moment_gives_one_message(moment: str) -> None:
    """Ctrl-C pressed several times raised KeyboardInterrupt outside of the handler of the first."""
    done = subprocess.run(
        [sys.executable, "-c", _AGAIN, moment], capture_output=True, text=True, timeout=60
    )
    message = "interrupted" if moment == "at the start" else "interrupted; kept"
    assert (done.returncode, done.stderr.strip()) == (130, message)


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


_SWALLOWED = """
import time
print("ready", flush=True)
try:
    time.sleep(30)
except BaseException as error:
    {then}
print("goes on", flush=True)
"""
_COMMAND = """
import sys
import click
from komadori.cli import _group, interrupt

@click.command()
def command():
    interrupt.hint("the same command resumes")
    {body}

_group._LazyGroup.get_command = lambda *_: command
_group.run(["command"])
"""


@pytest.mark.parametrize(
    ("is_import", "then"),
    [
        (True, "pass"),
        (True, "raise RecursionError"),
        (True, "raise ImportError from error"),
        (False, "raise RecursionError"),
        (False, "raise ImportError from error"),
    ],
)
def test_an_interrupt_that_a_package_makes_an_error_is_still_one(
    is_import: bool, then: str, tmp_path: Path
) -> None:
    """numpy's and torch's imports swallow KeyboardInterrupt, or fail with another error."""
    code = _SWALLOWED.format(then=then)
    (tmp_path / "package.py").write_text(code)
    body = "import package" if is_import else f"exec({code!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND.format(body=body)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    status, messages, seconds = stop(process, signal.SIGINT, after=0.1)
    assert (status, messages) == (130, "interrupted; the same command resumes\n")
    assert seconds < 6


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


_HANGS = """
import signal, sys, time
from pathlib import Path

signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    if line == f"{sys.argv[1]}\\n":
        Path(sys.argv[2]).touch()
        while True:
            time.sleep(60)
    print(f"{line.strip()}ok", flush=True)
"""


@pytest.mark.parametrize("command", ["teacher", "relabel"])
@pytest.mark.parametrize("word", ["usi", "isready"])
def test_an_engine_that_hangs_as_it_starts_does_not_keep_a_command(
    command: str, word: str, tmp_path: Path
) -> None:
    """Waiting for it to quit took two seconds, or three if it ignores SIGTERM."""
    engine, hangs = tmp_path / "engine.py", tmp_path / "hangs"
    engine.write_text(_HANGS)
    words = shlex.join([sys.executable, str(engine), word, str(hangs)])
    options = {
        "teacher": ("--engine", words, "--games", "2", "--nodes", "5"),
        "relabel": (sample_path(), "--by", f"usi:{words}", "--nodes", "5"),
    }
    process = start("generate", command, *options[command], "-o", tmp_path / "out")
    while not hangs.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    status, messages, seconds = stop(process, signal.SIGINT, after=0.2)
    assert (status, messages.lstrip("\n")[:12]) == (130, "interrupted;")
    assert seconds < 1.6  # 0.6 on an idle machine


def test_an_iteration_that_would_be_lost_anyway_does_not_keep_a_loop(tmp_path: Path) -> None:
    out = tmp_path / "loop"
    settings = ("--rounds", "1", "--games", "4", "--nodes", "20")
    process = start("linear", "loop", *settings, "--data", sample_path(), "-o", out)
    assert process.stderr is not None
    while "train: " not in process.stderr.readline():
        assert process.poll() is None
    status, messages, seconds = stop(process, signal.SIGINT, after=0.5)
    assert (status, messages) == (130, f"interrupted; the same command resumes ({out})\n")
    assert seconds < loop.GRACE_S - 0.5


_STARTS = """
import sys, time
from komadori.cli import _group
from komadori.generate.loop import stages

def create(loop):
    print("ready", flush=True)
    time.sleep(60)  # as torch's import and statistics of batch norms do

stages._create_first_player = create
_group.run(["loop", "run", sys.argv[1], "-o", "loop"])
"""


def test_the_first_player_of_a_loop_does_not_keep_it(tmp_path: Path) -> None:
    config = tmp_path / "loop.toml"
    config.write_text('learner = "two-piece"\ngenerations = 1\n[games]\ngames = 2\n')
    process = subprocess.Popen(
        [sys.executable, "-c", _STARTS, str(config)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    status, messages, seconds = stop(process, signal.SIGINT, after=0.1)
    assert status == 130
    assert messages.splitlines()[-1] == "interrupted; the same command resumes (loop)"
    assert seconds < loop.GRACE_S - 0.5


RESUMES = "the same command resumes"
STARTS_OVER = "nothing was saved; the same command starts over"
#: Every command whose folder can be resumed: what it says before anything is saved, and after.
RESUMABLE = {
    "quickstart -o out": (STARTS_OVER, RESUMES),
    "train resnet5x64 --data games.csa -o out": (
        STARTS_OVER,
        "resume with: komadori train CONFIG --data games.csa -o out --resume",
    ),
    "lab run hand-input --runs runs": (RESUMES, RESUMES),
    "linear train two-piece --data games.csa -o out": (STARTS_OVER, "--resume continues (out)"),
    "linear train kpp --data games.csa -o out": (STARTS_OVER, "--resume continues (out)"),
    "linear train nnue --data games.csa -o out": (STARTS_OVER, "--resume continues (out)"),
    "linear distill nn.bin --data games.csa -o out": (STARTS_OVER, "--resume continues (out)"),
    "linear loop -o out": (f"{RESUMES} (out)",) * 2,
    "loop run from-package -o out": (f"{RESUMES} (out)",) * 2,
    "loop stage games from-package -o out": (f"{RESUMES} (out)",) * 2,
    "generate teacher --search nodes=5 -o out": (f"finished work is kept in out; {RESUMES}",) * 2,
    "generate selfplay --games 1 -o out": (f"finished work is kept in out; {RESUMES}",) * 2,
    "generate nearby games.csa -o out": (f"finished work is kept in out; {RESUMES}",) * 2,
    "generate relabel games.csa --by default -o out": (f"finished work is kept in out; {RESUMES}",)
    * 2,
    "analyse games.csa": (RESUMES, RESUMES),
    "analyse games.csa --fresh": ("the same command starts over",) * 2,
    "match random random -o out": (RESUMES, RESUMES),
    "match random random": ("with --out a match can be resumed",) * 2,
    "ladder play out.db": ("the games that ended are kept",) * 2,
    "tune alphabeta parameters.toml -o out": (RESUMES, RESUMES),
}


def _interrupted_import(name: str, globals: Any = None, *others: Any) -> Any:
    """Ctrl-C in the first import that a command makes when it runs."""
    is_heavy = name.startswith("komadori.") and not name.startswith("komadori.cli.")
    if is_heavy and (globals or {}).get("__name__", "").startswith("komadori.cli."):
        raise KeyboardInterrupt
    return _import(name, globals, *others)


_import = builtins.__import__


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("words", RESUMABLE)
def test_an_early_interrupt_says_how_to_resume(
    words: str, is_saved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports of torch and OpenVINO take seconds, also when finished work waits in the folder."""

    monkeypatch.chdir(tmp_path)
    write_games(tmp_path / "games.csa", list(islice(GameReader(sample_path()), 1)))
    (tmp_path / "nn.bin").touch()
    if is_saved:
        for run in ("out", "out/training"):
            checkpoint_path(tmp_path / run, 1).mkdir(parents=True)
        (tmp_path / "out" / LEARNER_STATE).touch()
    group.get_command(click.Context(group), words.split()[0])  # imports the command's module
    with monkeypatch.context() as patch:
        patch.setattr(interrupt, "_hint", "")
        patch.setattr(builtins, "__import__", _interrupted_import)
        result = CliRunner().invoke(group, words.split())
    assert result.exit_code == 130
    expected = RESUMABLE[words][is_saved].replace(
        "CONFIG", str(experiment_path(Path("resnet5x64")))
    )
    assert result.output.splitlines()[-1] == f"interrupted; {expected}"


def test_every_command_that_resumes_is_tested() -> None:
    """Commands with a folder for their results, `--out`, resume or have no such folder."""

    def walk(command: click.Command, words: str) -> Iterator[str]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from walk(below, f"{words} {name}".strip())
        elif "resum" in repr([command.help, *(getattr(p, "help", "") for p in command.params)]):
            yield words

    missing = [
        words
        for words in walk(group, "")
        if not any(f"{own} ".startswith(f"{words} ") for own in RESUMABLE)
    ]
    assert missing == []
