"""Encoding speed on one core in positions per second, compared to cshogi.

    python bench/encode.py [--positions 4096] [--batch 256] [--rounds 15]

All rows are measured in turns, so that other load affects them equally; prints the best and the
median of the rounds. Output arrays are reused for every batch, as in training and search. Times are
CPU time of this process; positions are from random games.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Literal

import cshogi
import cshogi.dlshogi
import numpy as np
from numpy.typing import NDArray

from komadori._core import VARIANT
from komadori.encoding import FEATURES, encode_labels, encode_planes, legal_mask
from komadori.rules import Board

FLOAT32_GOAL, PACKED_GOAL = 150_000, 1_000_000


def random_positions(count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Return (hcps [count, 32], a legal move16 of each)."""
    rng = random.Random(1)
    hcps, moves = np.zeros((count, 32), np.uint8), np.zeros(count, np.uint16)

    def positions() -> Iterator[tuple[bytes, int]]:
        while True:
            board = Board()
            for _ in range(150):
                legal = list(board.legal_moves)
                if not legal:
                    break
                move = rng.choice(legal)
                yield board.hcp(), move.move16
                board.push(move)

    for i, (hcp, move) in zip(range(count), positions(), strict=False):
        hcps[i], moves[i] = np.frombuffer(hcp, np.uint8), move
    return hcps, moves


Row = tuple[str, Callable[[], None]]


def our_rows(hcps: NDArray[np.uint8], moves: NDArray[np.uint16], batch: int) -> list[Row]:
    chunks = [slice(first, first + batch) for first in range(0, len(hcps), batch)]

    def planes(features: str, dtype: Literal["float32", "uint8", "packed"]) -> Row:
        out = encode_planes(hcps[:batch], features, dtype)

        def run() -> None:
            for chunk in chunks:
                encode_planes(hcps[chunk], features, dtype, out=out)

        return f"komadori hcp -> {features} {dtype}", run

    rows = [
        planes("dlshogi", "float32"),
        planes("dlshogi", "uint8"),
        planes("dlshogi", "packed"),
        planes("dlshogi-119", "float32"),
        planes("dlshogi-119", "packed"),
        planes("pydlshogi", "float32"),
        planes("attention", "float32"),
    ]
    for scheme in ("2187", "8181"):

        def labels(scheme: str = scheme) -> None:
            for chunk in chunks:
                encode_labels(hcps[chunk], moves[chunk], scheme)

        rows.append((f"komadori hcp, move16 -> label {scheme}", labels))

    def masks() -> None:
        for chunk in chunks:
            legal_mask(hcps[chunk])

    return [*rows, ("komadori hcp -> legal mask 2187", masks)]


def cshogi_rows(hcps: NDArray[np.uint8], moves: NDArray[np.uint16], batch: int) -> list[Row]:
    features1 = np.zeros((batch, *FEATURES["dlshogi"]["features1"].shape), np.float32)
    features2 = np.zeros((batch, *FEATURES["dlshogi"]["features2"].shape), np.float32)
    board = cshogi.Board()
    turns = (hcps[:, 0] & 1).tolist()
    move16s = moves.tolist()

    def planes() -> None:
        make = cshogi.dlshogi.make_input_features
        for first in range(0, len(hcps), batch):
            for i in range(batch):
                board.set_hcp(hcps[first + i])
                make(board, features1[i], features2[i])

    def planes_only() -> None:
        make = cshogi.dlshogi.make_input_features
        for _first in range(0, len(hcps), batch):
            for i in range(batch):
                make(board, features1[i], features2[i])

    def labels() -> None:
        make = cshogi.dlshogi.make_move_label
        for move, turn in zip(move16s, turns, strict=True):
            make(move, turn)

    return [
        ("cshogi set_hcp + make_input_features", planes),
        ("cshogi make_input_features (one position)", planes_only),
        ("cshogi make_move_label", labels),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--positions", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    count = args.positions // args.batch * args.batch
    hcps, moves = random_positions(count)
    rows = our_rows(hcps, moves, args.batch) + cshogi_rows(hcps, moves, args.batch)
    seconds: dict[str, list[float]] = {name: [] for name, _ in rows}
    for _ in range(args.rounds):
        for name, run in rows:
            start = time.process_time()
            run()
            seconds[name].append((time.process_time() - start) / count)
    best = {name: min(times) for name, times in seconds.items()}
    reference = best["cshogi set_hcp + make_input_features"]
    label_reference = best["cshogi make_move_label"]

    print(f"core variant {VARIANT}, {count} positions, batches of {args.batch}, one core")
    print(f"{'':44}{'positions/s':>12}{'us':>8}{'median us':>11}{'x cshogi':>10}")
    for name, times in seconds.items():
        against = label_reference if "label" in name else reference
        print(
            f"{name:44}{1 / best[name]:12,.0f}{best[name] * 1e6:8.3f}"
            f"{statistics.median(times) * 1e6:11.3f}{against / best[name]:10.1f}"
        )
    goals = {
        "komadori hcp -> dlshogi float32": FLOAT32_GOAL,
        "komadori hcp -> dlshogi packed": PACKED_GOAL,
    }
    for name, goal in goals.items():
        print(f"{name}: {1 / best[name] / goal:.2f} x the goal of {goal:,}/s")
    return int(any(1 / best[name] < goal for name, goal in goals.items()))


if __name__ == "__main__":
    sys.exit(main())
