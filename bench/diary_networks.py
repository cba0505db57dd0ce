"""The diary's networks against one another: games of equal playouts and of equal time.

    python bench/diary_networks.py GAMES... [--positions 300000] [--width 64] [--playouts 200]
        [--movetime 100] [--games 100] [--folder networks]

Trains the laboratory's rows named in NETWORKS at the size given, one epoch each and one after
another, and exports them. Every pair then plays `--games` games under each of the two conditions,
paired openings, float32. Prints ratings (mean 0) with their 95 % errors for each condition. What is
in the folder already, networks and games, is not made again.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from komadori import arena, records, training
from komadori.arena.ladder import read_match
from komadori.arena.ratings import Tally, fit
from komadori.lab import experiment
from komadori.lab.network_learner import NetworkLearner
from komadori.lab.size import Size

#: Name -> row of the laboratory.
NETWORKS = {
    "plain CNN": ("batch-norm", "n0"),
    "plain CNN, batch norms": ("batch-norm", "n12"),
    "pydlshogi": ("pydlshogi", "norms"),
    "ResNet, sigmoid": ("value-output", "sigmoid"),
    "ResNet, tanh": ("value-output", "tanh"),
    "Wide ResNet": ("label", "2187"),
    "attention": ("attention", "1-layer"),
}


def network(name: str, samples: records.Samples, size: Size, folder: Path, threads: int) -> Path:
    """The row's network as an ONNX file, trained where there is none yet."""
    which, variant = NETWORKS[name]
    path = folder / f"{which}-{variant}.onnx"
    if path.exists():
        return path
    one = experiment.load(experiment.FOLDER / f"{which}.toml")
    config = one.training_config(one.variant(variant), size)
    config = NetworkLearner().on_device(config, "cpu", threads)
    run = folder / f"{which}-{variant}"
    resume = run.exists() and training.newest_checkpoint(run) is not None
    print(f"training {name}", flush=True)
    result = training.train(config, samples, None, run, resume=resume)
    training.export(result.checkpoint, path, name=name)
    if result.test:
        test = result.test.to_dict()
        print(f"  policy {test['policy_top1']:.2%}, value {test['value_accuracy']:.2%}", flush=True)
    return path


def play(
    models: dict[str, Path], conditions: arena.Conditions, games: int, folder: Path, threads: int
) -> None:
    rows = []
    for (a, first), (b, second) in itertools.combinations(models.items(), 2):
        specs = [f"model:{path}?threads={threads}" for path in (first, second)]
        out = folder / f"{first.stem}-{second.stem}"
        arena.play_match(*specs, games=games, conditions=conditions, out=out, names=(a, b))
        counts = {a: [0, 0, 0], b: [0, 0, 0]}  # as Black: won, drawn, lost
        for record in read_match(out)[1]:
            counts[record.names[0]][("black", "draw", "white").index(record.winner)] += 1
        rows += [Tally(a, b, *counts[a]), Tally(b, a, *counts[b])]
    found = fit(list(models), rows)
    print(f"\n{conditions}, {games} games per pair\n")
    print("| network | Elo | games | score |\n|---|---|---|---|")
    for rating in found.ratings:
        print(
            f"| {rating.name} | {rating.elo:+.0f} ± {rating.error:.0f} | {rating.games} "
            f"| {rating.score:.1%} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("games_files", nargs="+", metavar="GAMES")
    parser.add_argument("--positions", type=int, default=300_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--playouts", type=int, default=200)
    parser.add_argument("--movetime", type=int, default=100, help="ms per move")
    parser.add_argument("--games", type=int, default=100, help="per pair and condition")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("networks"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    samples = records.load_samples(options.games_files)
    size = Size(options.positions, options.width)
    models = {
        name: network(name, samples, size, options.folder, options.threads) for name in NETWORKS
    }
    for kind, conditions in (
        ("playouts", arena.Conditions(nodes=options.playouts)),
        ("time", arena.Conditions(movetime_ms=options.movetime)),
    ):
        play(models, conditions, options.games, options.folder / kind, options.threads)


if __name__ == "__main__":
    main()
