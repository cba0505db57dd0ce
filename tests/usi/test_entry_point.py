"""`komadori usi` as a process: what a GUI starts."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from komadori import inference
from komadori.cpus import available_threads
from komadori.inference.model_file import int8_form
from komadori.rules import Board
from komadori.usi import models
from komadori.usi.client import EngineDiedError, UsiEngine
from komadori.usi.protocol import STARTPOS, GoCommand
from komadori.web.library import Library

FIRST_MOVES = {move.usi() for move in Board().legal_moves}
COMMAND = [sys.executable, "-m", "komadori", "usi"]


@pytest.mark.parametrize("player", ["material", "random"])
def test_players_without_a_network(player: str) -> None:
    with UsiEngine([*COMMAND, "--player", player]) as engine:
        assert engine.name.startswith("komadori ")
        assert "Draw_Ply" in engine.declared
        assert "DNN_Model" not in engine.declared
        thought = engine.think(STARTPOS, ["7g7f"], GoCommand(byoyomi_ms=1000), 10.0)
        board = Board()
        board.push_usi("7g7f")
        assert board.parse_usi(thought.best.move)


@pytest.mark.parametrize("player", ["model", "policy", "one-ply"])
def test_players_with_a_network(player: str) -> None:
    command = [*COMMAND, "--player", player, "--model", "random:3", "--option", "UCT_Threads=1"]
    with UsiEngine(command) as engine:
        assert engine.declared["DNN_Model"].default == "random:3"
        assert engine.declared["UCT_Threads"].default == "1"
        thought = engine.think(STARTPOS, [], GoCommand(nodes=50), 20.0)
        assert Board().parse_usi(thought.best.move)
        assert thought.last_info is not None
        assert thought.last_info.pv[0] == thought.best.move


@pytest.mark.parametrize(
    ("arguments", "environment", "own"),
    [
        ([], {}, "EvalFile"),
        (["--option", "MultiPV=2"], {}, "EvalFile"),
        (["--weights", "nn.bin"], {"KOMADORI_MODEL": "net.onnx"}, "EvalFile"),
        (["--model", "random:3"], {}, "DNN_Model"),
        (["--option", "UCT_Threads=1"], {}, "DNN_Model"),
        ([], {"KOMADORI_MODEL": "net.onnx"}, "DNN_Model"),
    ],
)
def test_what_plays_follows_from_what_is_given(
    arguments: list[str], environment: dict[str, str], own: str
) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments],
        input="usi\nquit\n",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"option name {own} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "threads"),
    [
        ([], {"KOMADORI_THREADS": "3"}, "3"),
        (["--option", "Threads=5"], {"KOMADORI_THREADS": "3"}, "5"),
        ([], {}, str(available_threads())),
    ],
)
def test_the_default_player_uses_every_cpu(
    arguments: list[str], environment: dict[str, str], threads: str
) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "KOMADORI_THREADS"}
    done = subprocess.run(
        [*COMMAND, *arguments],
        input="usi\nquit\n",
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"option name Threads type spin default {threads} " in done.stdout


def test_limits_of_nothing_are_answered() -> None:
    with UsiEngine([*COMMAND, "--player", "alphabeta"]) as engine:
        for go in (GoCommand(nodes=0), GoCommand(depth=0)):
            assert engine.think(STARTPOS, [], go, 10.0).best.move in FIRST_MOVES


@pytest.mark.parametrize("player", ["material", "random"])
def test_players_without_a_search_heed_searchmoves(player: str) -> None:
    with UsiEngine([*COMMAND, "--player", player]) as engine:
        for move in ("1g1f", "9i9h"):
            go = GoCommand(nodes=1, searchmoves=(move,))
            assert engine.think(STARTPOS, [], go, 10.0).best.move == move


def test_a_missing_model_is_named_and_ends_the_engine() -> None:
    with pytest.raises(EngineDiedError, match=r"status 1.*no model missing\.onnx"):
        UsiEngine([*COMMAND, "--player", "model"], {"DNN_Model": "missing.onnx"})


def test_the_error_for_a_missing_model_names_the_working_directory(tmp_path: Path) -> None:
    """There the one of --model is looked up first: it was renamed, or the shell is elsewhere."""
    done = subprocess.run(
        [*COMMAND, "--model", "gone.onnx"],
        cwd=tmp_path,
        input="isready\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"looked for {tmp_path / 'gone.onnx'}" in done.stdout


def test_a_model_whose_path_cannot_be_looked_up_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--model", str(tmp_path / ("a" * 300))],
        input="isready\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "info string error: no model" in done.stdout
    assert "Traceback" not in done.stderr


def test_bad_arguments_are_named() -> None:
    for arguments, message in (
        (["--option", "MultiPV=x"], "option MultiPV: 'x' isn't an integer"),
        (["--option", "Nope=1"], "no option 'Nope'"),
        (["--player", "random", "--option", "usi_hash=5"], "no option 'usi_hash'"),
        (["--player", "material", "--option", "USI_Hash=5"], "no option 'USI_Hash'"),
        (["--option", "MultiPV"], "--option MultiPV: expected NAME=VALUE"),
        (["--player", "god"], "invalid choice: 'god'"),
        (["--player", "alphabeta", "--model", "a.onnx"], "takes no network: leave out --model"),
        (["--player", "policy", "--weights", "w"], "takes no evaluation: leave out --weights"),
        (["--model", "uniform", "--eval", "nnue"], "takes no evaluation: leave out --eval"),
    ):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stdout == ""


def test_help_of_the_command() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert "--model" in done.stdout


def test_a_closed_output_ends_the_process() -> None:
    process = subprocess.Popen(
        [*COMMAND, "--player", "material"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"usi\nisready\nposition startpos\ngo infinite\n")
    process.stdin.flush()
    while process.stdout.readline().strip() != b"readyok":
        pass
    process.stdout.close()
    with contextlib.suppress(OSError):  # it may have left already
        process.stdin.write(b"stop\nusi\n")
        process.stdin.flush()
    assert process.wait(timeout=10.0) == 0  # though its input is still open
    with contextlib.suppress(OSError):
        process.stdin.close()


def test_what_libraries_print_stays_out_of_the_protocol(tmp_path: Path) -> None:
    """Python's and C's standard output both end on standard error."""
    (tmp_path / "sitecustomize.py").write_text(
        "import komadori.players.simple as simple, os\n"
        "made = simple.MaterialPlayer.__init__\n"
        "def noisy(self, *a, **k):\n"
        "    print('noise', flush=True); os.write(1, b'noise\\n'); made(self, *a, **k)\n"
        "simple.MaterialPlayer.__init__ = noisy\n"
    )
    done = subprocess.run(
        [*COMMAND, "--player", "material"],
        input="usi\nisready\ngo nodes 1\nisready\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert "noise" not in done.stdout
    assert done.stdout.startswith("id name")


# ---------------------------------------------------------------------------- where models are


def test_the_packages_model_is_found_by_a_user_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", models.ENVIRONMENT):
        monkeypatch.delenv(name, raising=False)
    assert Path(models.find_model("default")).is_file()
    with pytest.raises(models.ModelNotFoundError, match=r"no model ~nobody-here/net\.onnx"):
        models.find_model("~nobody-here/net.onnx")
    with pytest.raises(models.NoHomeError, match="set HOME or XDG_DATA_HOME"):
        Library()
    Library(tmp_path / "library").close()


def test_a_model_that_links_to_itself_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").symlink_to("net.onnx")
    with pytest.raises(models.ModelNotFoundError, match=r"no model net\.onnx: looked for"):
        models.find_model("net.onnx", is_typed=True)


def test_models_are_never_found_by_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv(models.ENVIRONMENT, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(models.ModelNotFoundError, match=r"no model net\.onnx: looked for"):
        models.find_model("net.onnx")
    assert models.find_model("net.onnx", is_typed=True) == str(tmp_path / "net.onnx")
    missing = re.escape(str(tmp_path / "no.onnx"))
    with pytest.raises(models.ModelNotFoundError, match=f"looked for {missing}, "):
        models.find_model("no.onnx", is_typed=True)
    own = tmp_path / "home" / "komadori" / "models"
    own.mkdir(parents=True)
    (own / "net.onnx").write_bytes(b"")
    assert models.find_model("net.onnx") == str(own / "net.onnx")
    assert models.find_model(str(tmp_path / "net.onnx")) == str(tmp_path / "net.onnx")
    assert models.find_model("uniform") == "uniform"
    assert models.find_model("random:4") == "random:4"
    monkeypatch.setenv(models.ENVIRONMENT, str(tmp_path / "net.onnx"))
    assert models.find_model("") == str(tmp_path / "net.onnx")


def test_models_beside_the_launcher_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.onnx").write_bytes(b"")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "komadori-usi")])
    assert models.find_model("net.onnx") == str(tmp_path / "net.onnx")


# ---------------------------------------------------------------------------- time


@pytest.mark.slow  # depends on timing: for a quiet machine
def test_a_network_search_keeps_its_byoyomi() -> None:
    """By the engine's own clock, with a margin for a loaded system."""
    command = [*COMMAND, "--model", "random:3", "--option", "UCT_Threads=1"]
    moves: list[str] = []
    with UsiEngine(command) as engine:
        engine.new_game()
        for _ in range(6):
            go = GoCommand(btime_ms=0, wtime_ms=0, byoyomi_ms=1000)
            thought = engine.think(STARTPOS, moves, go, 10.0)
            assert thought.last_info is not None
            assert thought.last_info.time_ms is not None
            assert thought.last_info.time_ms < 1000
            assert 20 < thought.time_ms < 2000  # it uses its time, too
            moves.append(thought.best.move)


# ----------------------------------------------------------------------- the package's evaluations


def test_without_an_option_the_default_player_plays(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != models.ENVIRONMENT}
    lines = (
        "usi\nsetoption name Threads value 1\nisready\nusinewgame\n"
        "position startpos moves 7g7f\ngo nodes 20000\n"
    )
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environment, "XDG_DATA_HOME": str(tmp_path)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        for line in process.stdout:
            assert "error" not in line
            if line.startswith("bestmove"):
                break
        process.communicate("quit\n", timeout=60)
    # Sound replies of every opening book.
    assert line.split()[1] in ("3c3d", "8c8d", "4a3b")


def test_the_network_of_the_package_is_small_and_known() -> None:
    path = inference.default_model()
    assert models.find_model("default") == str(path)
    files = list(path.parent.glob("default*"))
    assert sum(file.stat().st_size for file in files) < 10_000_000
    card = json.loads(path.with_suffix(".json").read_text())
    assert card["training"]["samples"] > 1_000_000
    assert not any(str(Path.home()) in file.read_text() for file in path.parent.glob("*.json"))
    assert int8_form(path) is not None


# ---------------------------------------------------------------------------- under attack


@contextlib.contextmanager
def started(*options: str, send: str, until: str) -> Iterator[subprocess.Popen[str]]:
    """An engine with these lines sent, once it has written one that begins with `until`."""
    with subprocess.Popen(
        [*COMMAND, "--option", "USI_Hash=16", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(send)
        process.stdin.flush()
        while not process.stdout.readline().startswith(until):
            assert process.poll() is None
        yield process


def test_ctrl_c_ends_an_infinite_search_with_status_130() -> None:
    for player, model in (("model", "--model=uniform"), ("alphabeta", "--eval=material")):
        with started(
            f"--player={player}",
            model,
            send="isready\nposition startpos\ngo infinite\n",
            until="info depth",
        ) as process:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert out.count("bestmove") == 1


def test_ctrl_c_while_the_engine_starts_ends_it_with_status_130() -> None:
    """The first `position` and `go` import packages, which may swallow an exception."""
    for wait in (0.0, 0.01, 0.03, 0.1, 0.3):
        with started(
            "--eval=material",
            send="usi\nposition startpos\nisready\ngo infinite\n",
            until="usiok",
        ) as process:
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert "error" not in out


_SLOW_IMPORT = """
import builtins, sys, time
from komadori import cli
real = builtins.__import__
def slow(name, *rest):
    if name == "komadori.cli.usi":
        print("importing", flush=True)
        time.sleep(60)
    return real(name, *rest)
builtins.__import__ = slow
sys.argv = ["komadori", "usi"]
cli.{function}()
"""


@pytest.mark.parametrize("function", ["main", "serve_usi"])
def test_ctrl_c_before_the_handshake_ends_the_engine_with_status_130(function: str) -> None:
    code = _SLOW_IMPORT.format(function=function)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted\n")


def test_tables_too_large_are_reported_and_a_smaller_one_plays_on() -> None:
    for player, options in (
        ("alphabeta", ["--eval", "material"]),
        ("model", ["--model", "uniform"]),
    ):
        with subprocess.Popen(
            [*COMMAND, "--player", player, "--option", "USI_Hash=16", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("isready\n")
            process.stdin.flush()
            while process.stdout.readline().strip() != "readyok":
                pass
            moves, lines = [], []
            process.stdin.write("position startpos\n")
            for hash_mb in (1048576, 16):
                process.stdin.write(f"setoption name USI_Hash value {hash_mb}\ngo nodes 10\n")
                process.stdin.flush()
                while not (lines and lines[-1].startswith("bestmove")):
                    lines.append(process.stdout.readline())
                    assert lines[-1], lines
                moves.append(lines.pop())
            process.communicate("quit\n", timeout=30)
        assert process.returncode == 0
        assert any("MiB are more than this machine's memory" in line for line in lines)
        assert moves[0] == "bestmove resign\n"
        assert moves[1] != "bestmove resign\n"


def test_a_folder_that_cannot_be_read_holds_no_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a user's folder in a sandbox; the bundled network is found nevertheless."""
    closed, stat = tmp_path / "closed", os.stat

    def refuse(path: object, *rest: object, **more: object) -> os.stat_result:
        if str(path).startswith(str(closed)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setenv("XDG_DATA_HOME", str(closed))
    monkeypatch.delenv(models.ENVIRONMENT, raising=False)
    monkeypatch.setattr(os, "stat", refuse)
    assert models.find_model("") == models.find_model("default")


def test_weights_that_cannot_be_read_are_named_by_a_search_too(tmp_path: Path) -> None:
    lines = f"setoption name EvalFile value {tmp_path}\nposition startpos\ngo nodes 5\n"
    done = subprocess.run(COMMAND, input=lines, capture_output=True, text=True, timeout=60)
    named = f"error: {tmp_path}: Is a directory; nothing is played without it"
    assert done.stdout.splitlines() == [f"info string {named}", "bestmove resign"]
