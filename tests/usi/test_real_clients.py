"""The installed engine in whole games under other people's USI clients."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from komadori.rules import Board

ENGINE = Path(sys.executable).parent / ("komadori-usi" + (".exe" if os.name == "nt" else ""))


def run(command: list[str], folder: Path, timeout: float = 240.0) -> str:
    """The output of a program started in `folder`; fails with it unless the status is 0."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_entry_point_is_installed() -> None:
    assert ENGINE.exists(), "the package's console scripts are installed with it"


@pytest.mark.engine
def test_cshogi_plays_a_match(tmp_path: Path) -> None:
    """cshogi starts a path without arguments, in that file's folder."""
    pytest.importorskip("cshogi")
    folder = tmp_path / "csa"
    folder.mkdir()
    out = run(
        [
            *(sys.executable, "-m", "cshogi.cli", str(ENGINE), str(ENGINE)),
            *("--options1", "DNN_Model:uniform,NodesLimit:30"),
            *("--options2", "DNN_Model:random:7,UCT_Threads:1"),
            *("--games", "2", "--byoyomi", "1000", "100", "--draw", "60"),
            *("--name1", "first", "--name2", "second", "--csa", str(folder)),
        ],
        tmp_path,
    )
    assert "2 of 2 games finished." in out
    assert "時間切れ" not in out
    assert "反則" not in out
    records = list(folder.glob("*.csa"))
    assert len(records) == 2
    for record in records:
        board = Board()
        moves = re.findall(r"^([+-]\d{4}[A-Z]{2})", record.read_text(), re.MULTILINE)
        assert len(moves) >= 10
        for move in moves:
            board.push(board.parse_csa(move))


@pytest.mark.engine
def test_cshogi_ponders(tmp_path: Path) -> None:
    pytest.importorskip("cshogi")
    out = run(
        [
            *(sys.executable, "-m", "cshogi.cli", str(ENGINE), str(ENGINE)),
            *("--options1", "DNN_Model:random:1", "--options2", "DNN_Model:random:2"),
            *("--games", "2", "--byoyomi", "50", "--draw", "24", "--ponder"),
        ],
        tmp_path,
    )
    assert "2 of 2 games finished." in out


@pytest.mark.engine
def test_shogiarena_plays_a_tournament(tmp_path: Path) -> None:
    """Refuses an engine without Draw_Ply or MaxMovesToDraw, and checks every option it sets."""
    pytest.importorskip("shogiarena")
    for name, arguments in (("a", ["--model", "uniform"]), ("b", ["--player", "material"])):
        (tmp_path / f"{name}.yaml").write_text(
            json.dumps(
                {
                    "name": name,
                    "engine_path": str(ENGINE),
                    "working_directory": str(tmp_path),
                    "engine_args": arguments,
                    "options": {"NodesLimit": 30},
                }
            )
        )
    (tmp_path / "tournament.yaml").write_text(
        json.dumps(
            {
                "experiment_name": "test",
                "engines": [{"engine_path": "a.yaml"}, {"engine_path": "b.yaml"}],
                "tournament": {
                    "scheduler": "round_robin",
                    "games_per_pair": 2,
                    "num_parallel": 1,
                },
                "rules": {
                    "time_control": {"time_ms": 60000, "increment_ms": 100},
                    "adjudication": {"max_plies": 60},
                },
                "dashboard": {"enabled": False},
            }
        )
    )
    script = Path(sys.executable).parent / "shogiarena"
    runner = [sys.executable, str(script)] if script.exists() else ["shogiarena"]
    run([*runner, "run", "tournament", "tournament.yaml", "--run-dir", "out"], tmp_path)
    status = json.loads((tmp_path / "out" / "completion_status.json").read_text())
    assert status["status"] == "clean", status
    assert (status["completed"], status["error_games"]) == (2, 0)
