"""Move generation on one thread, compared to cshogi and rsshogi.

    python bench/movegen.py [--repeat 5]

Each library does the same work through its Python interface, in turns; prints the best of the
repeats. Checks that all counts are equal.

- list: every legal move of 500 random positions as a Python list, including non-promotions
  (cshogi returns ints, rsshogi and komadori objects).
- walk: perft of a position by push and pop in Python, with leaves counted from the list.
- core: komadori's own perft with bulk counting, as in `komadori perft`. The others have no such
  function in Python; the reference is the 128 million nodes/s of a strong public C++ engine on a
  machine of this kind.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial

import cshogi
from rsshogi.core import Board as RsBoard

import komadori._core as core
from komadori.rules import Board

START = Board().sfen()
MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
REFERENCE_NODES_PER_S = 128e6


def random_sfens(number: int) -> list[str]:
    rng = random.Random(1)
    sfens: list[str] = []
    while len(sfens) < number:
        board = Board()
        for _ in range(200):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
            if rng.random() < 0.05:
                sfens.append(board.sfen())
    return sfens[:number]


def walk_komadori(board: Board, depth: int) -> int:
    moves = list(board.legal_moves)
    if depth == 1:
        return len(moves)
    leaves = 0
    for move in moves:
        board.push(move)
        leaves += walk_komadori(board, depth - 1)
        board.pop()
    return leaves


def walk_cshogi(board: cshogi.Board, depth: int) -> int:
    moves = list(board.legal_moves)
    if depth == 1:
        return len(moves)
    leaves = 0
    for move in moves:
        board.push(move)
        leaves += walk_cshogi(board, depth - 1)
        board.pop()
    return leaves


def walk_rsshogi(board: RsBoard, depth: int) -> int:
    moves = board.legal_moves()
    if depth == 1:
        return len(moves)
    leaves = 0
    for move in moves:
        board.apply_move(move)
        leaves += walk_rsshogi(board, depth - 1)
        board.pop()
    return leaves


def best_times(tasks: dict[str, Callable[[], int]], repeat: int) -> tuple[int, dict[str, float]]:
    """Run the tasks in turns; return their common count and the best seconds of each."""
    best = dict.fromkeys(tasks, float("inf"))
    counts = set()
    for _ in range(repeat):
        for name, task in tasks.items():
            start = time.perf_counter()
            counts.add(task())
            best[name] = min(best[name], time.perf_counter() - start)
    if len(counts) != 1:
        raise SystemExit(f"the libraries disagree: {counts}")
    return counts.pop(), best


def report(title: str, count: int, best: dict[str, float]) -> None:
    ours = best["komadori"]
    print(f"{title}: {count:,} moves")
    for name, seconds in best.items():
        ratio = "" if name == "komadori" else f"   komadori is {seconds / ours:.2f}x as fast"
        print(f"  {name:<10}{1e3 * seconds:9.2f} ms{count / seconds / 1e6:9.2f} M/s{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    print(f"komadori core {core.VARIANT}; cshogi and rsshogi as installed from PyPI")

    sfens = random_sfens(500)
    ours = [Board(sfen) for sfen in sfens]
    theirs = [cshogi.Board(sfen) for sfen in sfens]
    rust = [RsBoard(sfen) for sfen in sfens]
    tasks: dict[str, Callable[[], int]] = {
        "komadori": lambda: sum(len(list(board.legal_moves)) for board in ours),
        "cshogi": lambda: sum(len(list(board.legal_moves)) for board in theirs),
        "rsshogi": lambda: sum(len(board.legal_moves()) for board in rust),
    }
    report("list, 500 random positions", *best_times(tasks, repeat))
    for title, sfen, depth in (("start position", START, 3), ("matsuri", MATSURI, 2)):
        tasks = {
            "komadori": partial(walk_komadori, Board(sfen), depth),
            "cshogi": partial(walk_cshogi, cshogi.Board(sfen), depth),
            "rsshogi": partial(walk_rsshogi, RsBoard(sfen), depth),
        }
        report(f"walk, {title}, depth {depth}", *best_times(tasks, repeat))

    for title, sfen, depth in (("start position", START, 5), ("matsuri", MATSURI, 3)):
        board = Board(sfen)
        count, best = best_times({"komadori": partial(board.perft, depth)}, repeat)
        speed = count / best["komadori"]
        print(
            f"core, {title}: perft({depth}) = {count:,} in {1e3 * best['komadori']:.1f} ms, "
            f"{speed / 1e6:,.0f} M nodes/s, {speed / REFERENCE_NODES_PER_S:.2f}x the reference"
        )


if __name__ == "__main__":
    main()
