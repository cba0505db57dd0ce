"""Hostile peers: a CSA server, a USI engine."""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import threading
from pathlib import Path

PASSWORD = "floodgate-300-10F,very-secret-trip"

SUMMARY = """\
BEGIN Game_Summary
Protocol_Version:1.2
Protocol_Mode:Server
Format:Shogi 1.0
Game_ID:{id}
Name+:{black}
Name-:{white}
Your_Turn:{turn}
Rematch_On_Draw:NO
To_Move:+
Max_Moves:{most}
BEGIN Time
Time_Unit:{unit}
Total_Time:{total}
Byoyomi:{byoyomi}
Increment:{increment}
Least_Time_Per_Move:0
END Time
BEGIN Position
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
END Position
END Game_Summary
"""
NUMBERS = ("10", "0", "-5", "1e308", "nan", "inf", "9" * 5000, "", "1.5", "0x10", "１０")
LINES = (
    "+7776FU,T3000000",
    "+7776FU,T" + "9" * 400,
    "+7776FU,T1,'* 30 +2726FU",
    "-3334FU,T0",
    "+0000XX",
    "%TORYO,T1",
    "%KACHI",
    "#WIN",
    "#LOSE",
    "#CHUDAN",
    "#DRAW",
    "#ILLEGAL_MOVE",
    "REJECT:x by y",
    "LOGOUT:completed",
    "\x1b[2J\x1b]0;owned\x07",
    "[/red] [bold]",
    "BEGIN Game_Summary",
    "\ufeff#WIN",
)


def csa_servers(_inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """A CSA server that sends random lines: no traceback, no escape sequence; the password appears
    nowhere, even if the server echoes it."""
    from tools.torture.attacks import ViolationError, start, wait_for_exit

    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()
    thread = threading.Thread(target=_serve, args=(listener, rng, stop), daemon=True)
    thread.start()
    words = [
        target, "random", "--host", "127.0.0.1", "--port", str(listener.getsockname()[1]),
        "--name", "me", "--password", PASSWORD, "--games", "2", "--out", "games",
    ]  # fmt: skip
    process = start([*words, *(["--verbose"] if rng.random() < 0.5 else [])], folder)
    try:
        thread.join(rng.uniform(8, 14))
        stop.set()
        listener.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        messages = wait_for_exit(process, timeout_s=60)
    finally:
        stop.set()
    output = messages + "".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*.csa") if path.is_file()
    )
    for secret in (PASSWORD, PASSWORD.partition(",")[2]):
        if secret in output:
            raise ViolationError("the password was shown")
    if process.returncode not in (0, 1, 143):
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")


def _serve(listener: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not stop.is_set():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError, ValueError):
                connection.settimeout(2.0)
                _talk(connection, rng)


def _talk(connection: socket.socket, rng: random.Random) -> None:
    from tools.torture.attacks import HOSTILE_TEXTS, mutated

    def corrupt(probability: float, valid: str, others: tuple[str, ...]) -> str:
        return rng.choice(others) if rng.random() < probability else valid

    names = tuple(text.decode("latin-1") for text in HOSTILE_TEXTS)
    login = connection.recv(4096).decode("utf-8", "replace")
    connection.sendall(f"LOGIN:me OK\n{login}\n".encode())  # echoes the password
    summary = SUMMARY.format(
        id=corrupt(0.3, "a+b", ("x" * 3000, "../../x", "a/b", "", *names)),
        black=corrupt(0.5, "me", names),
        white=corrupt(0.5, "you", names),
        turn=corrupt(0.1, "+", ("-", "*", "")),
        most=corrupt(0.3, "20", NUMBERS),
        unit=corrupt(0.3, "1sec", ("1msec", "5min", "9" * 5000 + "sec", "0sec", "sec", "")),
        total=corrupt(0.3, "10", NUMBERS),
        byoyomi=corrupt(0.3, "0", NUMBERS),
        increment=corrupt(0.3, "1", NUMBERS),
    ).encode("utf-8", "replace")
    connection.sendall(mutated(summary, rng) if rng.random() < 0.2 else summary)
    with contextlib.suppress(TimeoutError):
        connection.recv(4096)
    connection.sendall(b"START:a+b\n")
    for _ in range(rng.randrange(1, 12)):
        line = rng.choice(LINES).encode()
        connection.sendall((rng.choice(HOSTILE_TEXTS) if rng.random() < 0.2 else line) + b"\n")
        if rng.random() < 0.5:
            with contextlib.suppress(TimeoutError):
                connection.settimeout(0.3)
                connection.recv(4096)


ENGINE = """\
import random, sys, time
rng = random.Random({seed})
HOSTILE_TEXTS = {hostile!r}
def put(line):
    data = line if isinstance(line, bytes) else line.encode("utf-8", "replace")
    sys.stdout.buffer.write(data + b"\\n")
    sys.stdout.buffer.flush()
for line in sys.stdin:
    word = line.split()[:1]
    if rng.random() < 0.3:
        put(rng.choice(HOSTILE_TEXTS))
    if word == ["usi"]:
        put(b"id name " + rng.choice(HOSTILE_TEXTS))
        put(b"option name " + rng.choice(HOSTILE_TEXTS) + b" type spin default x min 9 max 1")
        put("usiok")
    elif word == ["isready"]:
        put("readyok")
    elif word == ["go"]:
        for _ in range(rng.randrange(4)):
            put(rng.choice([
                "info depth x score cp " + "9" * 300, "info score mate +", "info pv 1a1b zz",
                "info string \\x1b[31m[/b]", "info multipv 0 nodes -1 score cp nan",
            ]))
        put(rng.choice([
            "bestmove resign", "bestmove win", "bestmove 7g7f", "bestmove", "bestmove \\x1b[2J",
            "bestmove [/b]", "bestmove 1a1b ponder " + "z" * 500, "bestmove none",
        ]))
    elif word == ["quit"]:
        if rng.random() < 0.3:
            time.sleep(30)
        break
"""


def usi_engines(_inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """A USI engine that sends random lines: every game of the match ends with a reason; no
    traceback, no escape sequence."""
    from tools.torture.attacks import HOSTILE_TEXTS, ViolationError, start, wait_for_exit

    engine = folder / "engine.py"
    engine.write_text(
        f"#!{sys.executable}\n" + ENGINE.format(seed=rng.random(), hostile=list(HOSTILE_TEXTS))
    )
    engine.chmod(0o755)
    words = [target, f"usi:{engine}", "random", "--games", "4", "--max-plies", "20", "--out", "m"]
    process = start([*words, "--time", "0.1"], folder)
    messages = wait_for_exit(process)
    lines = (folder / "m" / "games.jsonl").read_text("utf-8").splitlines()
    if process.returncode or len(lines) != 5:
        raise ViolationError(f"{process.returncode}, {len(lines)} lines: {messages[-400:]}")
