"""Positions per second of `komadori generate nearby`, and the fraction of time inside searches.

    python bench/nearby.py [--threads 2] [--nodes 120 1500] [--positions 20000] [--rounds 5]

The rest of the threads' time is spent on reading, sampling moves, counting, compressing and
writing.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from komadori import records
from komadori.generate.nearby import Nearby, NearbyFolder, NearbySettings, generate_nearby
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nodes", type=int, nargs="*", default=[120, 1500])
    parser.add_argument("--positions", type=int, default=20_000, help="at 120 nodes; fewer at more")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--eval", default="nnue")
    parser.add_argument("--weights", type=Path)
    arguments = parser.parse_args()
    for nodes in arguments.nodes:
        settings = NearbySettings(search=SearchBounds(nodes=nodes))
        nearby = Nearby(settings, Evaluation(arguments.eval, arguments.weights), arguments.threads)
        ratios, speeds, rates = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source.hcpe3"
            games, plies = [], 0
            for game in records.GameReader(records.sample_path()):
                games.append(game)
                plies += len(game)
                if plies >= arguments.positions * 120 // nodes:
                    break
            records.write_games(source, games)
            for number in range(arguments.rounds):
                searched, before = nearby.search.search_seconds, nearby.search.nodes
                wall, cpu_s = time.perf_counter(), time.process_time()
                with NearbyFolder(Path(folder) / str(number), {"round": number}) as out:
                    counts = generate_nearby([source], out, nearby)
                assert counts is not None
                wall, cpu_s = time.perf_counter() - wall, time.process_time() - cpu_s
                searched = nearby.search.search_seconds - searched
                # Wall time for both: search_seconds includes waiting for a CPU.
                ratios.append(searched / (wall * arguments.threads))
                speeds.append(counts.positions / cpu_s)
                rates.append((nearby.search.nodes - before) / cpu_s)
        print(
            f"{nodes:>6} nodes: {statistics.median(speeds):,.0f} positions per second of CPU time; "
            f"searches take {statistics.median(ratios):.3f} of the time of {arguments.threads} "
            f"threads ({min(ratios):.3f} to {max(ratios):.3f}), "
            f"{statistics.median(rates) / 1000:,.0f} knodes/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
