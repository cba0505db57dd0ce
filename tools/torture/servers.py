"""Hostile others at the end of a line: a CSA server, a USI engine."""

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


def csa_servers(_shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """A CSA server that sends anything: no traceback, no escape sequence, the password nowhere,
    even where the server echoes it."""
    from tools.torture.attacks import BrokenError, end, start

    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()
    thread = threading.Thread(target=_serve, args=(listener, chance, stop), daemon=True)
    thread.start()
    words = [
        target, "random", "--host", "127.0.0.1", "--port", str(listener.getsockname()[1]),
        "--name", "me", "--password", PASSWORD, "--games", "2", "--out", "games",
    ]  # fmt: skip
    process = start([*words, *(["--verbose"] if chance.random() < 0.5 else [])], folder)
    try:
        thread.join(chance.uniform(8, 14))
        stop.set()
        listener.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        messages = end(process, most_s=60)
    finally:
        stop.set()
    said = messages + "".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*.csa") if path.is_file()
    )
    for secret in (PASSWORD, PASSWORD.partition(",")[2]):
        if secret in said:
            raise BrokenError("the password was shown")
    if process.returncode not in (0, 1, 143):
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")


def _serve(listener: socket.socket, chance: random.Random, stop: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not stop.is_set():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError, ValueError):
                connection.settimeout(2.0)
                _talk(connection, chance)


def _talk(connection: socket.socket, chance: random.Random) -> None:
    from tools.torture.attacks import FOREIGN, mutated

    def odd(share: float, usual: str, others: tuple[str, ...]) -> str:
        return chance.choice(others) if chance.random() < share else usual

    names = tuple(text.decode("latin-1") for text in FOREIGN)
    said = connection.recv(4096).decode("utf-8", "replace")
    connection.sendall(f"LOGIN:me OK\n{said}\n".encode())  # the password, too
    summary = SUMMARY.format(
        id=odd(0.3, "a+b", ("x" * 3000, "../../x", "a/b", "", *names)),
        black=odd(0.5, "me", names),
        white=odd(0.5, "you", names),
        turn=odd(0.1, "+", ("-", "*", "")),
        most=odd(0.3, "20", NUMBERS),
        unit=odd(0.3, "1sec", ("1msec", "5min", "9" * 5000 + "sec", "0sec", "sec", "")),
        total=odd(0.3, "10", NUMBERS),
        byoyomi=odd(0.3, "0", NUMBERS),
        increment=odd(0.3, "1", NUMBERS),
    ).encode("utf-8", "replace")
    connection.sendall(mutated(summary, chance) if chance.random() < 0.2 else summary)
    with contextlib.suppress(TimeoutError):
        connection.recv(4096)
    connection.sendall(b"START:a+b\n")
    for _ in range(chance.randrange(1, 12)):
        line = chance.choice(LINES).encode()
        connection.sendall((chance.choice(FOREIGN) if chance.random() < 0.2 else line) + b"\n")
        if chance.random() < 0.5:
            with contextlib.suppress(TimeoutError):
                connection.settimeout(0.3)
                connection.recv(4096)


ENGINE = """\
import random, sys, time
chance = random.Random({seed})
FOREIGN = {foreign!r}
def put(line):
    data = line if isinstance(line, bytes) else line.encode("utf-8", "replace")
    sys.stdout.buffer.write(data + b"\\n")
    sys.stdout.buffer.flush()
for line in sys.stdin:
    word = line.split()[:1]
    if chance.random() < 0.3:
        put(chance.choice(FOREIGN))
    if word == ["usi"]:
        put(b"id name " + chance.choice(FOREIGN))
        put(b"option name " + chance.choice(FOREIGN) + b" type spin default x min 9 max 1")
        put("usiok")
    elif word == ["isready"]:
        put("readyok")
    elif word == ["go"]:
        for _ in range(chance.randrange(4)):
            put(chance.choice([
                "info depth x score cp " + "9" * 300, "info score mate +", "info pv 1a1b zz",
                "info string \\x1b[31m[/b]", "info multipv 0 nodes -1 score cp nan",
            ]))
        put(chance.choice([
            "bestmove resign", "bestmove win", "bestmove 7g7f", "bestmove", "bestmove \\x1b[2J",
            "bestmove [/b]", "bestmove 1a1b ponder " + "z" * 500, "bestmove none",
        ]))
    elif word == ["quit"]:
        if chance.random() < 0.3:
            time.sleep(30)
        break
"""


def usi_engines(_shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """A USI engine that says anything: every game of the match ends with a reason; no traceback, no
    escape sequence."""
    from tools.torture.attacks import FOREIGN, BrokenError, end, start

    engine = folder / "engine.py"
    engine.write_text(
        f"#!{sys.executable}\n" + ENGINE.format(seed=chance.random(), foreign=list(FOREIGN))
    )
    engine.chmod(0o755)
    words = [target, f"usi:{engine}", "random", "--games", "4", "--max-plies", "20", "--out", "m"]
    process = start([*words, "--time", "0.1"], folder)
    messages = end(process)
    lines = (folder / "m" / "games.jsonl").read_text("utf-8").splitlines()
    if process.returncode or len(lines) != 5:
        raise BrokenError(f"{process.returncode}, {len(lines)} lines: {messages[-400:]}")
