"""Fuzzed input: every `go` is answered, and the engine survives."""

from __future__ import annotations

import random

import pytest
from usi_fakes import Gui

from komadori.players.searchers import SearcherBuilder
from komadori.usi.options import option_table

WORDS = (
    *("usi", "isready", "setoption", "position", "go", "stop", "ponderhit", "usinewgame"),
    *("gameover", "name", "value", "startpos", "sfen", "moves", "btime", "wtime", "byoyomi"),
    *("binc", "winc", "infinite", "ponder", "mate", "nodes", "depth", "movetime", "searchmoves"),
    *("MultiPV", "USI_Hash", "DNN_Model", "C_init", "Draw_Ply", "NodesLimit", "true", "win"),
    *("7g7f", "3c3d", "8h2b+", "B*5e", "P*5e", "1a1b", "5i5h", "0", "1", "-1", "99999", "1e9"),
    *("99999999999999999999", "b", "w", "-", "4k4/9/9/9/9/9/9/9/4K4", "9/9/9/9/9/9/9/9/9"),
    *("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL", "kkkkkkkkk/9", "2G18p", "x"),
    *("bestmove", "info", "usiok", "readyok", "\x00", "\xff", "日本語", "%s%n", "'", '"', "\\"),
)
SENSIBLE = (
    "position startpos",
    "position startpos moves 7g7f 3c3d 8h2b+",
    "position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1",
    "go nodes 1",
    "go infinite",
    "go ponder btime 100 wtime 100",
    "go btime 10 wtime 10 byoyomi 10",
    "go mate 10",
    "stop",
    "ponderhit",
    "isready",
    "usinewgame",
)


def a_line(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(SENSIBLE).encode()
    if kind < 0.85:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 9))).encode()
    if kind < 0.95:
        line = bytearray(chance.choice(SENSIBLE).encode())
        for _ in range(chance.randint(1, 3)):
            line[chance.randrange(len(line))] = chance.randrange(256)
        return bytes(line).replace(b"\n", b" ")
    return chance.randbytes(chance.randint(1, 200)).replace(b"\n", b" ")


def is_go(line: bytes) -> bool:
    return line.decode("utf-8", "surrogateescape").split(maxsplit=1)[:1] == ["go"]


def fuzz(lines: int, seed: int, gui: Gui | None = None) -> None:
    chance = random.Random(seed)
    with (gui or Gui()).ready() as gui:
        sent = 0
        expected = 0
        while sent < lines:
            batch = []
            for _ in range(chance.randint(1, 40)):
                line = a_line(chance)
                if line.strip() == b"quit":
                    continue
                batch.append(line)
                expected += is_go(line)
            sent += len(batch)
            gui.send(*batch, "stop", "isready")
            gui.expect("readyok", within_s=20.0)
        # A running search is stopped and answered before the last position is searched.
        gui.send("stop", "position startpos moves 7g7f", "go nodes 1", "usi")
        expected += 1
        gui.expect("usiok", within_s=20.0)
        gui.log += gui.rest(0.5)
        gui.send("quit")
        assert gui.join(20.0) == 0
    answers = [line for line in gui.log if line.startswith(("bestmove", "checkmate"))]
    assert len(answers) == expected
    for line in gui.log:
        word = line.partition(" ")[0]
        assert word in ("", "id", "option", "usiok", "readyok", "info", "bestmove", "checkmate")


def test_some_thousand_lines() -> None:
    fuzz(3_000, seed=1)


def test_some_thousand_lines_to_a_tree_search() -> None:
    options = option_table("model")
    options.preset({"DNN_Model": "uniform", "USI_Hash": "16", "DfPn_Hash": "4"})
    fuzz(2_000, seed=2, gui=Gui(SearcherBuilder("model"), options))


@pytest.mark.slow
def test_a_hundred_thousand_lines() -> None:
    for seed in range(20):
        fuzz(5_000, seed=seed)
