"""Streaming of training data that doesn't fit in memory: bytes per position, positions/s, memory.

    python bench/stream.py [GAMES] [--positions 10000000] [--window 1000000] [--threads 2]
    python bench/stream.py --train [--net resnet5x64] [--visits]

Copies the games (default: the bundled sample) to as many compressed segments as needed for
--positions and reads an epoch in windows. With --train, loads like `komadori train` with
data.window (counts, shuffles within windows, encodes batches), and compares the speed to that of
training steps, both per second of CPU time.
"""

from __future__ import annotations

import argparse
import contextlib
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
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--visits", action="store_true")
    parser.add_argument("--net", default="resnet5x64")
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
        print(f"{count} files of {each:,} positions: {size / each / count:.2f} bytes per position")
        if arguments.train:
            trainer(paths, arguments)
        else:
            reader(paths, arguments)


class Clock:
    """Wall time, CPU time and peak memory since its creation."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def report(self, label: str, total: int) -> float:
        """Print the speed; return the positions per second of CPU time."""
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{label} {total:,} positions: {total / wall:,.0f}/s of wall time, "
            f"{total / cpu:,.0f} per second of CPU time; peak memory {peak / 1024:,.0f} MiB, "
            f"{self.memory / 1024:,.0f} before"
        )
        return total / cpu


def reader(paths: list[Path], arguments: argparse.Namespace) -> None:
    stream = SampleStream(
        paths, arguments.window, threads=arguments.threads, with_moves=arguments.visits
    )
    clock = Clock()
    total = sum(len(window) for window in stream.windows(0))
    clock.report(f"read in windows of {arguments.window:,}:", total)
    print(f"unpacked in memory or on disk it would take {49 * total / 2**20:,.0f} MiB")


def trainer(paths: list[Path], arguments: argparse.Namespace) -> None:
    from komadori import training
    from komadori.training.encoder import CoreEncoder
    from training import samples_per_s  # bench/training.py

    config = training.config_from_dict(
        {
            "model": {"net": arguments.net},
            "data": {
                "window": arguments.window,
                "test_fraction": 0.0,
                "threads": arguments.threads,
            },
            "loss": {"policy_target": "visits" if arguments.visits else "move"},
        }
    )
    encoder = CoreEncoder(config.model.features, config.model.labels, threads=arguments.threads)
    clock = Clock()
    part = training.split_of(config, training.Files.of(paths), None, encoder).train
    clock.report("counted", len(part))
    loader = training.Loader(part, encoder, config.loop.batch_size)
    clock, total = Clock(), 0
    for batch in loader.batches(epochs=1):
        total += len(batch)
    loaded = clock.report("to batches", total)
    print(f"unpacked in memory or on disk it would take {49 * total / 2**20:,.0f} MiB")
    compute = training.Compute.of(training.DeviceConfig())
    with contextlib.closing(loader.batches()) as batches:
        batch = next(batches)
        _, trained = samples_per_s(arguments.net, compute, lambda: batch, 10.0)
    print(
        f"{arguments.net} trains {trained:,.0f} samples per second of CPU time: the loader is "
        f"{loaded / trained:,.0f} times as fast"
    )


if __name__ == "__main__":
    main()
