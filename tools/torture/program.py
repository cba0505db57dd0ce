"""A program that uses the library in several threads, to be interrupted at any time.

    python tools/torture/program.py RECORDS SEED

Daemon threads search, read and solve for as long as the process lives; the main thread trains
linear evaluations. Prints a line once all threads are started. On Ctrl-C, exits with status 7.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from komadori.generate import BuiltinGames, Evaluation, Lines, SearchBounds, TeacherSettings
from komadori.linear import nnue, two_piece
from komadori.linear.regression import Positions
from komadori.mate import MateSolver
from komadori.records import load_samples, read_games
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

STATUS = 7
MATE = "7k1/5g2g/4G2G1/8L/9/9/9/9/9 b 2r2b4s4n3l18p 1"


def search() -> None:
    searcher = AlphaBetaSearcher("two-piece", options=AlphaBetaOptions(hash_mb=1, threads=2))
    while True:
        searcher.set_position(Board())
        searcher.search(Limits(nodes=3000))


def count() -> None:
    while True:
        Board().perft(3)


def solve() -> None:
    while True:
        MateSolver().solve(Board(MATE))


def read(path: Path) -> None:
    while True:
        load_samples(path)
        read_games(path)


def play() -> None:
    settings = TeacherSettings(searches=(SearchBounds(nodes=100),), hash_mb=1, max_plies=40)
    source = BuiltinGames(settings, Lines(), Evaluation("two-piece"), None, 2)
    for number in itertools.count():
        source.add([number])
        source.take(10)


def train(positions: Positions, rng: random.Random) -> None:
    """Train one evaluation after another, each in a new folder."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            test = positions.take(np.arange(50))
            if rng.random() < 0.5:
                settings = nnue.Settings(epochs=1, threads=2, batch=256)
                nnue.Learner(settings, positions, test, Path(folder) / "n", resume=False).run()
            else:
                small = two_piece.Settings(iterations=1, positions=100, updates=1, threads=2)
                records = two_piece.Records(positions.hcp, positions.move16)
                held_out = two_piece.Records(test.hcp, test.move16)
                two_piece.Learner(small, records, held_out, Path(folder) / "t", resume=False).run()


def main() -> None:
    path, rng = Path(sys.argv[1]), random.Random(sys.argv[2])
    samples = load_samples(path)
    positions = Positions.of(samples, np.flatnonzero(samples.move16)[:1000])
    work: list[Callable[[], None]] = [search, count, solve, lambda: read(path), play]
    for one in rng.sample(work, 3):
        threading.Thread(target=one, daemon=True).start()
    print("started", flush=True)
    train(positions, rng)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(STATUS)
