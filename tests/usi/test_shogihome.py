"""ShogiHome's USI dialogues, replayed to a real process.

What it sends when is taken from its engine process and from the logs of its CSA bridge
(github.com/sunfish-shogi/shogihome at 040d2921, src/background/usi/engine.ts and
src/command/usi-csa-bridge/e2e).
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from komadori.rules import Board
from komadori.usi.models import DEFAULT_PLAYER

DIALOGUES = sorted((Path(__file__).parent / "data").glob("shogihome-*.txt"))
#: ShogiHome gives up on usiok after 10 s; readyok may take longer.
TIMEOUT_S = 60


class Engine:
    """A process whose lines are read as they come."""

    def __init__(self, player: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "komadori", "usi", "--player", player],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.answers = 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def expect(self, wanted: str) -> str:
        """The next line that has this; counts the answers passed on the way."""
        while True:
            line = self._lines.get(timeout=TIMEOUT_S)
            assert line is not None, f"the engine ended before {wanted!r}"
            assert "error" not in line, line
            if line.startswith(("bestmove", "checkmate")):
                self.answers += 1
            if wanted in line:
                return line

    def end(self) -> int:
        """After quit: the exit status, with every line read."""
        while (line := self._lines.get(timeout=TIMEOUT_S)) is not None:
            assert not line.startswith(("bestmove", "checkmate")), f"one answer too many: {line}"
        return self._process.wait(TIMEOUT_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def board_of(line: str) -> Board:
    """The board of a position line."""
    start, _, moves = line.removeprefix("position ").partition(" moves ")
    board = Board() if start == "startpos" else Board(start.removeprefix("sfen "))
    for move in moves.split():
        board.push_usi(move)
    return board


@pytest.mark.parametrize("player", ["model", DEFAULT_PLAYER])
@pytest.mark.parametrize("path", DIALOGUES, ids=lambda path: path.stem)
def test_dialogue(path: Path, player: str) -> None:
    engine = Engine(player)
    board, searches = Board(), 0
    try:
        for line in path.read_text().splitlines():
            if line.startswith("> "):
                engine.send(line[2:])
                searches += line.startswith("> go ")
                if line.startswith("> position"):
                    board = board_of(line[2:])
            elif line.startswith("< "):
                answer = engine.expect(line[2:])
                if answer.startswith("bestmove"):
                    move = answer.split()[1]
                    assert move in ("resign", "win") or board.parse_usi(move)
                    assert engine.answers == searches
            else:
                assert line.startswith("#"), line
        assert engine.end() == 0
        assert engine.answers == searches
    finally:
        engine.kill()


def test_there_are_dialogues() -> None:
    assert len(DIALOGUES) == 5
