"""Playouts per second of self-play, compared to raw inference.

    python bench/selfplay.py [--model default] [--root gumbel] [--playouts 200] [--seconds 10]

Prints playouts/s and evaluated positions/s of all games together, and their ratios to raw inference
with the same batch size, measured before and after each turn, by wall time and by CPU time, which
other programs affect less. Goal: at least 0.9. Playouts that need no network (mates, repetitions,
transpositions) count as playouts, not as evaluated.
"""

from __future__ import annotations

import argparse
import time

from komadori import inference
from komadori.generate.selfplay import SelfPlayGames
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.inference.measure import fill_inputs, positions_per_second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("--root", default="gumbel", choices=("gumbel", "noise"))
    parser.add_argument("--playouts", type=int, default=200)
    parser.add_argument("--fast-playouts", type=int, default=40)
    parser.add_argument("--games", type=int, default=None, help="concurrent games")
    parser.add_argument("--batch", type=int, default=0, help="0: automatic")
    parser.add_argument("--seconds", type=float, default=10.0, help="per turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--mate-nodes", type=int, default=1000)
    parser.add_argument("--leaf-weight", type=float, default=0.0)
    arguments = parser.parse_args()
    settings = SelfPlaySettings(
        root=arguments.root,
        playouts=arguments.playouts,
        fast_playouts=arguments.fast_playouts,
        mate_nodes=arguments.mate_nodes,
        leaf_weight=arguments.leaf_weight,
    )
    options = {"max_batch": arguments.batch} if arguments.batch else {}
    evaluator = inference.load(arguments.model, precision="auto", **options)
    games = SelfPlayGames(evaluator, settings, games_at_once=arguments.games)
    games.add(range(1_000_000))
    print(
        f"{arguments.model} ({getattr(evaluator, 'precision', evaluator.name)}), batch "
        f"{evaluator.max_batch}, {evaluator.slots} slots, {games.games_at_once} games at once, "
        f"{settings.root}, {settings.playouts}/{settings.fast_playouts} playouts"
    )
    _play(games, arguments.seconds)  # warm-up
    raw: list[float] = []
    speeds: list[float] = []
    rows: list[float] = []
    cpu: list[float] = []
    for _ in range(arguments.turns):
        raw_cpu = time.process_time()
        raw.append(_raw(evaluator, arguments.seconds / 2))
        raw_cpu = (time.process_time() - raw_cpu) / (raw[-1] * arguments.seconds / 2)
        used = time.process_time()
        start, playouts, evaluated = time.perf_counter(), games.playouts, games.evaluated
        _play(games, arguments.seconds)
        seconds = time.perf_counter() - start
        used = (time.process_time() - used) / max(games.playouts - playouts, 1)
        cpu.append(raw_cpu / used)
        speeds.append((games.playouts - playouts) / seconds)
        rows.append((games.evaluated - evaluated) / seconds)
        raw.append(_raw(evaluator, arguments.seconds / 2))
        mean = (raw[-1] + raw[-2]) / 2
        print(
            f"raw {mean:9,.0f} positions/s   self-play {speeds[-1]:9,.0f} playouts/s, "
            f"{rows[-1]:9,.0f} evaluated/s   ratio {speeds[-1] / mean:.3f} "
            f"(evaluated {rows[-1] / mean:.3f}), by CPU time {cpu[-1]:.3f}"
        )
    games.stop()
    evaluator.close()
    total = sum(speeds) / len(speeds) / (sum(raw) / len(raw))
    network = sum(rows) / len(rows) / (sum(raw) / len(raw))
    by_cpu = sum(cpu) / len(cpu)
    print(
        f"ratio {total:.3f}, of evaluated leaves only {network:.3f}, by CPU time {by_cpu:.3f} "
        "(goal: 0.9)"
    )


def _play(games: SelfPlayGames, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        games.take(max(1, int(left * 1000)))
    games.pause()


def _raw(evaluator: inference.Evaluator, seconds: float) -> float:
    fill_inputs(evaluator)
    return positions_per_second(evaluator, seconds)


if __name__ == "__main__":
    main()
