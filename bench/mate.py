"""Mate problems on one core: komadori's df-pn compared to cshogi's.

    python bench/mate.py [PROBLEMS...] [--repeat 5]

A file of problems has lines `plies<TAB>SFEN`, plain or .xz; the default are the tests'. Both
solvers get the same prepared boards, in turns; prints the best CPU time of each.
"""

from __future__ import annotations

import argparse
import lzma
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cshogi

from komadori.mate import MateSolver
from komadori.rules import Board

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "mate" / "data"


def read(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    return [line.split("\t")[1] for line in text.splitlines() if not line.startswith("#")]


def valid(sfens: list[str]) -> list[str]:
    """Return the positions that Board accepts."""
    kept = []
    for sfen in sfens:
        try:
            Board(sfen)
        except ValueError:
            continue
        kept.append(sfen)
    return kept


def solves(solver: MateSolver, board: Board, max_nodes: int) -> bool:
    return solver.solve(board, max_nodes).is_mate


def run(problems: list[Callable[[], bool]]) -> tuple[float, float, int]:
    """Return the CPU seconds of all problems and of the slowest, and the number of solved ones."""
    slowest, solved = 0.0, 0
    start = time.process_time()
    for solve in problems:
        before = time.process_time()
        solved += bool(solve())
        slowest = max(slowest, time.process_time() - before)
    return time.process_time() - start, slowest, solved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=2_000_000, help="limit per problem")
    arguments = parser.parse_args()
    for path in arguments.files or sorted(FIXTURES.glob("*.tsv")):
        everything = read(path)
        sfens = valid(everything)
        ours = [Board(sfen) for sfen in sfens]
        theirs = [cshogi.Board(sfen=sfen) for sfen in sfens]
        solver = MateSolver(hash_mb=64)
        peer = cshogi.DfPn()
        peer.set_max_search_node(arguments.nodes)
        best: dict[str, tuple[float, float, int]] = {}
        engines: dict[str, list[Callable[[], bool]]] = {
            "komadori": [partial(solves, solver, board, arguments.nodes) for board in ours],
            "cshogi": [partial(peer.search, board) for board in theirs],
        }
        for _ in range(arguments.repeat):
            for name, problems in engines.items():
                found = run(problems)
                best[name] = min(best.get(name, found), found)
        print(f"{path.name}: {len(sfens)} problems, {len(everything) - len(sfens)} illegal skipped")
        for name, (seconds, slowest, solved) in best.items():
            print(
                f"  {name:<10}{solved:>6} solved {seconds * 1000:>10.1f} ms CPU"
                f"   slowest {slowest * 1000:.2f} ms"
            )
        print(f"  komadori / cshogi: {best['komadori'][0] / best['cshogi'][0]:.2f}")


if __name__ == "__main__":
    main()
