"""Converting CSA to hcpe3 on one thread, compared to a limit and to cshogi's and rsshogi's parsers.

    python bench/records.py [--plies 200000] [--repeat 5]

The input is games of the bundled sample, written as CSA with scores and times like floodgate's.
Calls are measured in turns; prints the best of the repeats.

- convert: the functions of `komadori records convert a.csa -o b.hcpe3`: read, check every move,
  write. The limit is a million plies in 6 s.
- read: only reading the CSA file.
- cshogi, rsshogi: parsing the same text into their own records. cshogi checks no moves.
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
    """Return games of the sample, repeated until they have at least `plies` plies."""
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
    """Run the calls in turns; return the best seconds of each."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
