"""Samples/s of the loader alone, and of training with it compared to fixed batches.

    python bench/loader.py [FILE.hcpe3 ...] [--net resnet10x192] [--seconds S]

First measures the loader alone, shuffling over all positions, with one and two encoding threads.
Then measures, in turns, training steps with the loader and on a batch in memory; prints their ratio
by wall time and by CPU time, which other programs affect less.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial

from komadori import records
from komadori.training import Compute, DeviceConfig, Loader, Part
from komadori.training.encoder import CoreEncoder
from training import samples_per_s


def loading_speed(part: Part, batch_size: int, threads: int, seconds: float) -> float:
    """Samples/s of shuffled and encoded batches, without training."""
    encoder = CoreEncoder("dlshogi", "2187", threads=threads)
    batches = Loader(part, encoder, batch_size, seed=1).batches()
    for _ in range(8):  # warm-up: first shuffle, full queue
        next(batches)
    done, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        done += len(next(batches))
    rate = done / (time.monotonic() - start)
    batches.close()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=[records.sample_path()])
    parser.add_argument("--net", default="resnet5x64")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=4.0, help="per measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", help="folder to map the samples from instead of loading them")
    options = parser.parse_args()

    start = time.monotonic()
    if options.cache:
        part = Part.whole(records.map_samples(options.files, options.cache))
    else:
        part = Part.whole(records.load_samples(options.files))
    seconds = time.monotonic() - start
    action = "mapped" if options.cache else "read"
    print(f"{len(part):,} positions {action} in {seconds:.2f} s ({len(part) / seconds:,.0f}/s)")
    for threads in (1, 2):
        rates = [
            loading_speed(part, options.batch_size, threads, options.seconds / 2)
            for _ in range(options.rounds)
        ]
        print(
            f"loader, {threads} encoding thread{'s' * (threads > 1)}: "
            f"median {statistics.median(rates):,.0f}, best {max(rates):,.0f} samples/s",
            flush=True,
        )

    compute = Compute.of(DeviceConfig())
    loader = Loader(part, CoreEncoder("dlshogi", "2187"), options.batch_size, seed=1)
    stream = loader.batches()
    fixed = next(stream)
    ratios, cpu_ratios, speeds = [], [], []
    for _ in range(options.rounds):
        alone = samples_per_s(options.net, compute, lambda: fixed, options.seconds)
        loaded = samples_per_s(options.net, compute, partial(next, stream), options.seconds)
        ratios.append(loaded[0] / alone[0])
        cpu_ratios.append(loaded[1] / alone[1])
        speeds.append(loaded[0])
    stream.close()
    facts = compute.describe()
    print(
        f"{options.net}, {facts['device_name']} {facts['dtype']}, batch {options.batch_size}: "
        f"{statistics.median(speeds):,.0f} samples/s with the loader, "
        f"{statistics.median(ratios):.3f} of fixed batches "
        f"({min(ratios):.3f} to {max(ratios):.3f}); by CPU time "
        f"{statistics.median(cpu_ratios):.3f}"
    )


if __name__ == "__main__":
    main()
