"""Reading more positions than memory should hold: bytes a ply, positions per second, memory.

    python bench/stream.py [GAMES] [--positions 10000000] [--window 1000000] [--threads 2]

Copies the file of games (by default the bundled sample) into as many segments as make so many
positions, compressed as `komadori generate` compresses them, and reads an epoch in windows.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from pathlib import Path

from komadori import records
from komadori.records.stream import SampleStream


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", type=Path, default=[records.sample_path()])
    parser.add_argument("--positions", type=int, default=10_000_000)
    parser.add_argument("--window", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "0.hcpe3.xz"
        games = (game for path in arguments.games for game in records.GameReader(path))
        records.write_games(first, games)
        each = len(records.load_samples(first))
        count = -(-arguments.positions // each)
        for i in range(1, count):
            shutil.copy(first, Path(folder) / f"{i}.hcpe3.xz")
        paths = sorted(Path(folder).iterdir())
        size = sum(path.stat().st_size for path in paths)
        print(f"{count} files of {each:,} positions: {size / each / count:.2f} bytes a position")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stream = SampleStream(paths, arguments.window, threads=arguments.threads)
        wall, processor = time.perf_counter(), time.process_time()
        total = 0
        for window in stream.windows(0):
            total += len(window)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{total:,} positions in windows of {arguments.window:,}: {total / wall:,.0f}/s by the "
            f"clock with {arguments.threads} threads, {total / processor:,.0f} per second of a "
            f"core; {peak / 1024:,.0f} MiB at most, {before / 1024:,.0f} before; all in memory "
            f"would be {49 * total / 2**20:,.0f}, unpacked on the disk likewise"
        )


if __name__ == "__main__":
    main()
