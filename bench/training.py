"""Samples/s of training steps for several networks and configurations.

    python bench/training.py [NET ...] [--seconds S] [--compile]

For each network, in turns: as `komadori train` on this machine (bfloat16 where it is fast, one
thread per part of the batch), in float32, with torch's intra-op threads, and with the loader.
Prints medians. With --compile, compares to torch.compile instead and prints the compile time and
the number of samples after which it pays off.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch

from komadori import nets, records
from komadori.training import Compute, DeviceConfig, Loader, LossConfig, Part
from komadori.training.config import OptimizerConfig
from komadori.training.device import targets_on
from komadori.training.encoder import CoreEncoder
from komadori.training.loader import Batch
from komadori.training.loss import Losses, Size, losses
from komadori.training.optimizer import make_optimizer
from komadori.training.workers import Replicas, Workers

ROUNDS = 3


def samples_per_s(
    net: str, compute: Compute, next_batch: Callable[[], Batch], seconds: float
) -> tuple[float, float]:
    """Return samples per second of wall time and of CPU time of optimizer steps for `seconds`.

    The first two steps are not counted.
    """
    network = compute.place(nets.build(net)).train()
    optimizer = make_optimizer(network, OptimizerConfig())
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 0.01
    replicas = Replicas(network, compute.replicas)
    workers: Workers = compute.workers()
    forwards = [compute.compiled(one) for one in replicas.networks]

    def micro_step(size: Size, replica: int, shard: Batch) -> Losses:
        with compute.autocast():
            policy, value = forwards[replica](*compute.inputs(shard))
        loss = losses(policy, value, targets_on(shard, compute.device), LossConfig(), size)
        loss.total.backward()  # type: ignore[no-untyped-call]
        return loss

    done, start, cpu = 0, time.monotonic(), time.process_time()
    for step in range(1_000_000):
        if step == 2:
            done, start, cpu = 0, time.monotonic(), time.process_time()
        if step > 2 and time.monotonic() - start > seconds:
            break
        batch = next_batch()
        optimizer.zero_grad(set_to_none=True)
        workers.map(partial(micro_step, batch.size), batch)
        replicas.gather()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        done += len(batch)
    wall, cpu = time.monotonic() - start, time.process_time() - cpu
    workers.close()
    return done / wall, done / cpu


def compare_compiled(
    names: Sequence[str], default: Compute, next_batch: Callable[[], Batch], seconds: float
) -> None:
    """Print samples/s with and without torch.compile, and after how many samples it pays off."""
    print(f"{'net':14}{'plain':>10}{'compiled':>10}{'ratio':>7}{'compiling':>11}   pays off after")
    for net in names:
        compiled = replace(default, compile="default")
        start = time.monotonic()
        samples_per_s(net, compiled, next_batch, 0.0)
        took = time.monotonic() - start
        found: dict[Compute, list[float]] = {default: [], compiled: []}
        for _ in range(ROUNDS):
            for compute, speeds in found.items():
                speeds.append(samples_per_s(net, compute, next_batch, seconds)[0])
        plain, fast = (statistics.median(speeds) for speeds in found.values())
        gained = 1 / plain - 1 / fast
        pays = f"{took / gained:,.0f} samples" if gained > 0 else "never"
        print(f"{net:14}{plain:10,.0f}{fast:10,.0f}{fast / plain:7.2f}{took:9.0f} s   {pays}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", default=["resnet4x48", "resnet4x64", "resnet5x64"])
    parser.add_argument("--seconds", type=float, default=5.0, help="per measurement")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--compile", action="store_true", help="compare to torch.compile")
    options = parser.parse_args()

    part = Part.whole(records.load_samples(records.sample_path()))
    loader = Loader(part, CoreEncoder("dlshogi", "2187"), options.batch_size, seed=1)
    stream: Iterator[Batch] = loader.batches()
    fixed = next(stream)
    default = Compute.of(DeviceConfig())
    total = default.replicas * default.threads_each
    ways: dict[str, tuple[Compute, Callable[[], Batch]]] = {
        default.describe()["dtype"]: (default, lambda: fixed),
        "float32": (replace(default, dtype=torch.float32), lambda: fixed),
        "fork-join": (replace(default, replicas=1, threads_each=total), lambda: fixed),
        "with loader": (default, partial(next, stream)),
    }
    if options.compile:
        compare_compiled(options.nets, default, lambda: fixed, options.seconds)
        return
    print(f"batch {options.batch_size}, {default.describe()['threads']} threads; samples/s")
    print(f"{'net':14}" + "".join(f"{name:>14}" for name in ways) + "   loader ratio")
    for net in options.nets:
        found: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, (compute, next_batch) in ways.items():
                found[name].append(samples_per_s(net, compute, next_batch, options.seconds)[0])
        median = {name: statistics.median(values) for name, values in found.items()}
        first = next(iter(median.values()))
        row = "".join(f"{value:14,.0f}" for value in median.values())
        print(f"{net:14}{row}   {median['with loader'] / first:.3f}", flush=True)


if __name__ == "__main__":
    main()
