"""CSA into hcpe3, beside the limit, cshogi's and rsshogi's parsers, in one run on one thread.

    python bench/records.py [--plies 200000] [--repeat 5]

The files are made from the bundled sample: its games written as CSA with scores and times, as
floodgate's are. Calls are taken in turn; the best of the repeats counts.

- convert: `komadori records convert a.csa -o b.hcpe3`, by its functions: files read, every move
  checked, files written. The limit is a million plies in 6 s.
- read: the CSA file into games, alone.
- cshogi, rsshogi: the same text, one call for each game or for all, into their own records. cshogi
  checks no move.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import cshogi.CSA
import numpy as np
import rsshogi.record

from komadori.records import (
    Game,
    GameReader,
    GameWriter,
    read_games,
    sample_path,
    write_games,
)

LIMIT_PLIES_PER_S = 1e6 / 6


def sample_games(plies: int) -> list[Game]:
    """Games of the sample, repeated, of at least so many plies in all."""
    sample = read_games(sample_path())
    games: list[Game] = []
    left = plies
    while left > 0:
        for game in sample:
            game.headers = {"black": "komadori", "white": "another"}
            game.times_ms = np.full(len(game), 1000, np.int32)
            games.append(game)
            left -= len(game)
            if left <= 0:
                break
    return games


def convert(source: Path, target: Path) -> None:
    with GameWriter(target) as writer:
        for game in GameReader(source):
            writer.write(game)


def best_of(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Each call's best seconds; the calls are taken in turn."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="CSA to hcpe3, beside other parsers.")
    parser.add_argument("--plies", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    games = sample_games(arguments.plies)
    plies = sum(map(len, games))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.csa", Path(folder) / "b.hcpe3"
        write_games(source, games)
        text = source.read_text()
        texts = text.split("/\n")
        seconds = best_of(
            {
                "convert": lambda: convert(source, target),
                "read": lambda: list(islice(GameReader(source), None)),
                "cshogi": lambda: cshogi.CSA.Parser.parse_str(text),
                "rsshogi": lambda: [rsshogi.record.Record.from_csa_str(t) for t in texts],
            },
            arguments.repeat,
        )
    print(f"{len(games):,} games, {plies:,} plies, {len(text.encode()):,} bytes of CSA")
    speeds = {name: plies / taken for name, taken in seconds.items()}
    for name, speed in speeds.items():
        print(f"{name:<8} {speed:>12,.0f} plies/s   a million plies in {1e6 / speed:5.2f} s")
    print(f"convert / limit   {speeds['convert'] / LIMIT_PLIES_PER_S:.2f}")
    print(f"read / cshogi     {speeds['read'] / speeds['cshogi']:.2f}")
    print(f"read / rsshogi    {speeds['read'] / speeds['rsshogi']:.2f}")


if __name__ == "__main__":
    main()
