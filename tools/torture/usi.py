"""Attack the USI engine: signals, oversized tables, commands in random order, invalid lines.

    python tools/torture/usi.py [--rounds 20] [--seed 1] [--player alphabeta ...]

Every `go` must get exactly one answer, no engine may crash or print a traceback, and on Ctrl-C it
must exit with status 130 within 1.5 seconds. Prints the number of tries and each violation; the
exit status is 1 if there is one. Part of `make torture`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

#: Time limit of every answer.
TIMEOUT_S = 60.0
#: Time limit from SIGINT to exit, multiplied by the load per CPU if that is above 1.
INTERRUPT_TIMEOUT_S = 1.5

PLAYERS = {
    "model": ["--player", "model", "--model", "random:3", "--option", "USI_Hash=64"],
    "policy": ["--player", "policy", "--model", "random:3"],
    "alphabeta": ["--player", "alphabeta"],
    "material": ["--player", "material"],
}

POSITIONS = (
    "startpos",
    "startpos moves 7g7f 3c3d 2g2f",
    "sfen 4k4/9/4GS3/9/9/9/9/9/4K4 b - 1",
    "sfen l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "sfen 4k4/9/9/9/9/9/9/9/9 b 2G2R2B 1",  # Black has no king
    "sfen 9/9/9/9/9/9/9/9/4K4 b 2G2R2B 1",  # White has no king
    "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 2",  # mated
    "sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",  # a handicap
)
GOES = (
    "go nodes 50",
    "go infinite",
    "go movetime 20",
    "go btime 0 wtime 0 byoyomi 60",
    f"go btime {'9' * 25} wtime 1 byoyomi 40",
    "go binc 50 winc 50",
    "go ponder btime 0 wtime 0 byoyomi 50",
    "go mate 30",
    "go mate infinite",
    "go depth 3",
    "go nodes 0",
    "go nodes 20 searchmoves 1a1b",
    "go searchmoves 7g7f",
    "go sideways",
)
#: Without tables that are too large: an `isready` then ends the engine (see `large_tables`).
OTHERS = (
    "stop",
    "ponderhit",
    "ponderhit btime 0 wtime 0 byoyomi 30",
    "isready",
    "usinewgame",
    "gameover draw",
    "setoption name MultiPV value 3",
    "setoption name USI_MultiPV value 1",
    "setoption name USI_Hash value 32",
    "setoption name DfPn_Hash value 64",
    "setoption name Threads value 2",
    "setoption name USI_OwnBook value true",
    "setoption name Book_File value nonesuch.db",
    "setoption name Stochastic_Ponder value true",
    "usi",
)


class Engine:
    """An engine under attack."""

    def __init__(self, player: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "komadori", "usi", *PLAYERS[player]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.answers = 0
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._changed = threading.Condition()
        for target in (self._read, self._read_errors):
            threading.Thread(target=target, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            line = raw.decode("utf-8", "replace").strip()
            with self._changed:
                self.lines.append(line)
                self.answers += line.startswith(("bestmove", "checkmate"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            self.errors.append(raw.decode("utf-8", "replace").rstrip())

    def send(self, *lines: str | bytes) -> None:
        assert self.process.stdin is not None
        for line in lines:
            data = line if isinstance(line, bytes) else line.encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        with self._changed:
            return (
                self._changed.wait_for(
                    lambda: condition() or self.process.poll() is not None, TIMEOUT_S
                )
                and condition()
            )

    def has_line(self, start: str) -> bool:
        return any(line.startswith(start) for line in self.lines)

    def ready(self) -> bool:
        self.send("usi", "isready")
        return self.wait_for(lambda: self.has_line("readyok"))

    def quit(self) -> str:
        """Quit the engine; return the problem or ""."""
        try:
            self.send("quit")
            status = self.process.wait(TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired):
            status = None
        self.kill()
        if status != 0:
            return f"exited with {status}"
        if any("Traceback" in line for line in self.errors):
            return "traceback: " + " | ".join(self.errors[-3:])
        return ""

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Report:
    """The number of tries by kind, and the violations."""

    def __init__(self) -> None:
        self.tried: dict[str, int] = {}
        self.violated: list[str] = []

    def add(self, what: str, count: int, problem: str) -> None:
        self.tried[what] = self.tried.get(what, 0) + count
        if problem:
            self.violated.append(f"{what}: {problem}")
            print(self.violated[-1], flush=True)


def interrupts(player: str, rounds: int, rng: random.Random, report: Report) -> None:
    """Send SIGINT during a search."""
    for _ in range(rounds):
        engine = Engine(player)
        problem = ""
        if not engine.ready():
            problem = f"no readyok: {engine.errors[-2:]}"
        else:
            engine.send(
                "position startpos", rng.choice(("go infinite", "go ponder", "go mate 9999"))
            )
            time.sleep(rng.uniform(0.0, 0.3))
            start = time.monotonic()
            engine.process.send_signal(signal.SIGINT)
            try:
                status: int | None = engine.process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                status = None
            elapsed = time.monotonic() - start
            if status != 130:
                problem = f"status {status}: {' | '.join(engine.errors[-2:])}"
            elif elapsed > INTERRUPT_TIMEOUT_S * max(
                1.0, os.getloadavg()[0] / (os.cpu_count() or 1)
            ):
                problem = f"took {elapsed:.1f} s"
        engine.kill()
        report.add(f"Ctrl-C ({player})", 1, problem)


def large_tables(player: str, report: Report) -> None:
    """Set tables larger than the memory, before and after one that fits."""
    engine = Engine(player)
    problem = "" if engine.ready() else "no readyok"
    goes = 0
    for name in ("USI_Hash", "DfPn_Hash"):
        for value in (1 << 20, 16):
            engine.send(f"setoption name {name} value {value}", "position startpos")
            for go in ("go nodes 30", "go mate 50"):
                engine.send(go)
                goes += 1
    if not problem and not engine.wait_for(lambda: engine.answers >= goes):
        problem = f"{engine.answers} answers to {goes} go"
    if not problem and not any(line.startswith("bestmove") for line in engine.lines[-2:]):
        engine.send("go nodes 30")
        goes += 1
        if not engine.wait_for(lambda: engine.answers >= goes):
            problem = "no answer afterwards"
    report.add(f"oversized tables ({player})", goes, problem or engine.quit())
    engine.kill()


def random_order(player: str, rounds: int, rng: random.Random, report: Report) -> None:
    """Send commands in random order, as fast as possible."""
    engine = Engine(player)
    if not engine.ready():
        report.add(f"random order ({player})", 0, "no readyok")
        engine.kill()
        return
    goes = 0
    try:
        for _ in range(rounds * 20):
            kind = rng.random()
            if kind < 0.35:
                engine.send("position " + rng.choice(POSITIONS), rng.choice(GOES))
                goes += 1
            elif kind < 0.4:
                engine.send("position sfen nonsense", "go nodes 5")
                goes += 1
            elif kind < 0.9:
                engine.send(rng.choice(OTHERS))
            else:
                time.sleep(rng.uniform(0, 0.05))
        engine.send("stop")
        problem = ""
        if not engine.wait_for(lambda: engine.answers >= goes):
            problem = f"{engine.answers} answers to {goes} go"
        else:
            time.sleep(0.2)
            if engine.answers != goes:
                problem = f"{engine.answers} answers to {goes} go"
    except OSError:
        problem = f"crashed: {engine.process.poll()}: {' | '.join(engine.errors[-3:])}"
    report.add(f"random order ({player})", goes, problem or engine.quit())
    engine.kill()


def garbage(player: str, rounds: int, rng: random.Random, report: Report) -> None:
    """Send lines with bytes changed, deleted and repeated."""
    engine = Engine(player)
    if not engine.ready():
        report.add(f"garbage ({player})", 0, "no readyok")
        engine.kill()
        return
    source = [*GOES, *OTHERS, *("position " + p for p in POSITIONS)]
    sent = 0
    try:
        for _ in range(rounds * 20):
            line = bytearray(rng.choice(source).encode())
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(line)) if line else 0
                change = rng.randrange(4)
                if change == 0 and line:
                    line[at] = rng.randrange(256)
                elif change == 1:
                    line[at:at] = rng.randbytes(rng.randint(1, 8))
                elif change == 2:
                    del line[at : at + rng.randint(1, 6)]
                else:
                    line *= 2
            data = bytes(line).replace(b"\n", b"")
            if data.strip() == b"quit":
                continue
            engine.send(data)
            sent += 1
        engine.send("stop", "position startpos", "usi")
        before = len(engine.lines)
        problem = ""
        if not engine.wait_for(lambda: any(x == "usiok" for x in engine.lines[before - 1 :])):
            problem = "no usiok afterwards"
    except OSError:
        problem = f"crashed: {engine.process.poll()}: {' | '.join(engine.errors[-3:])}"
    report.add(f"garbage ({player})", sent, problem or engine.quit())
    engine.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--player", action="append", choices=tuple(PLAYERS))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    report = Report()
    for player in arguments.player or tuple(PLAYERS):
        if player != "material":
            interrupts(player, max(1, arguments.rounds // 2), rng, report)
        large_tables(player, report)
        random_order(player, arguments.rounds, rng, report)
        garbage(player, arguments.rounds, rng, report)
    for what, count in report.tried.items():
        print(f"{what:<32}{count:>8,} tried")
    print(f"usi: {sum(report.tried.values()):,} tried, {len(report.violated)} violated")
    return int(bool(report.violated))


if __name__ == "__main__":
    sys.exit(main())
