"""Latency of the USI engine: `usiok` and `readyok` compared to the start of Python, and `bestmove`
after `stop` in a search on all CPUs.

    python bench/handshake.py [--runs 10] [--model uniform]

Prints medians in ms, the ratio of `usiok` to the start of a bare interpreter, and the maximum of
`stop`, all measured in turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def bare_ms() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - start) * 1000


def engine_ms(model: str, folder: str) -> tuple[float, float, list[float]]:
    """Return the ms from start to usiok, from isready to readyok, from each stop to bestmove."""
    engine = Path(sys.executable).parent / "komadori-usi"
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(engine), "--model", model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(line: bytes, answer: bytes) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        while not (got := process.stdout.readline()).startswith(answer):
            if not got:
                sys.exit(f"the engine exited before {answer.decode()} (status {process.wait()})")
        return time.perf_counter()

    usiok = ask(b"usi", b"usiok")
    readyok = ask(b"isready", b"readyok")
    stops = []
    for line in (b"position startpos\n", b"position startpos moves 7g7f\n"):
        process.stdin.write(line + b"go infinite\n")
        process.stdin.flush()
        time.sleep(0.3)
        asked = time.perf_counter()
        stops.append((ask(b"stop", b"bestmove") - asked) * 1000)
    process.communicate(b"quit\n")
    return (usiok - start) * 1000, (readyok - usiok) * 1000, stops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--model", default="uniform")
    arguments = parser.parse_args()
    model = arguments.model
    if Path(model).exists():
        model = str(Path(model).resolve())
    bare: list[float] = []
    usiok: list[float] = []
    readyok: list[float] = []
    stops: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.runs):
            bare.append(bare_ms())
            first, second, third = engine_ms(model, folder)
            usiok.append(first)
            readyok.append(second)
            stops += third
    median = statistics.median
    print(f"python -c pass   {median(bare):7.0f} ms")
    print(f"usiok            {median(usiok):7.0f} ms   {median(usiok) / median(bare):.1f} x")
    print(f"readyok after    {median(readyok):7.0f} ms   ({arguments.model})")
    print(f"bestmove after stop {median(stops):4.0f} ms   at most {max(stops):.0f} ms")


if __name__ == "__main__":
    main()
