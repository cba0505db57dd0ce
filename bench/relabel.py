"""Positions/s of relabelling at one visit, compared to the bare network.

    python bench/relabel.py [--model default] [--rounds 5] [--positions 20000]

The bare network only runs inference in every slot; relabelling also reads games, encodes, selects
candidates, compresses and writes. Both run in turns on the same evaluator. Prints
the ratio by wall time and by CPU time, which other programs affect less.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from komadori import records
from komadori.generate.labellers import NetworkLabeller, PolicySettings
from komadori.generate.relabel import LabelFolder, relabel
from komadori.inference import Evaluator
from komadori.inference.measure import fill_inputs, positions_per_second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--positions", type=int, default=20_000)
    arguments = parser.parse_args()
    labeller = NetworkLabeller(arguments.model, PolicySettings(), precision="auto")
    evaluator = labeller.evaluator
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "games.hcpe3"
        games, plies = [], 0
        for game in records.GameReader(records.sample_path()):
            games.append(game)
            plies += len(game)
            if plies >= arguments.positions:
                break
        records.write_games(source, games)
        ratios: list[tuple[float, float]] = []
        for number in range(arguments.rounds):
            before = bare(evaluator)
            start, cpu = time.perf_counter(), time.process_time()
            with LabelFolder(Path(folder) / str(number), {"bench": number}) as out:
                counts = relabel([source], out, labeller, segment_positions=plies // 2)
            assert counts is not None
            by_wall = counts.positions / (time.perf_counter() - start)
            by_cpu = counts.positions / (time.process_time() - cpu)
            after = bare(evaluator)
            ratios.append(
                (2 * by_wall / (before[0] + after[0]), 2 * by_cpu / (before[1] + after[1]))
            )
            print(
                f"relabel {by_wall:,.0f}/s, bare network {(before[0] + after[0]) / 2:,.0f}/s: "
                f"{ratios[-1][0]:.3f} by wall time, {ratios[-1][1]:.3f} by CPU time"
            )
    wall, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"median ratio {wall:.3f} by wall time, {cpu:.3f} by CPU time (goal 0.9)")


def bare(evaluator: Evaluator) -> tuple[float, float]:
    """Return the positions per second of wall time and of CPU time."""
    fill_inputs(evaluator)
    start, cpu = time.perf_counter(), time.process_time()
    speed = positions_per_second(evaluator, 2.0, warm_up=0.0)
    cpus = (time.process_time() - cpu) / (time.perf_counter() - start)
    return speed, speed / cpus


if __name__ == "__main__":
    main()
