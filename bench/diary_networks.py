"""The diary's networks against one another: games of equal playouts and of equal time.

    python bench/diary_networks.py GAMES... [--positions 300000] [--width 64] [--playouts 100]
        [--movetime 100] [--games 20] [--timed-games 20] [--round 4] [--precision float32]
        [--folder networks]

Trains the laboratory's rows in NETWORKS for one epoch each with the row's recipe. Policy-only rows
also train a value head with weight 1, which the search needs. Then plays a round robin under each
condition, `--round` games per pair at a time, until every pair has `--games` of equal playouts
and `--timed-games` of equal time. After each round, writes results.json to the folder and prints
ratings (mean 0) with 95 % errors. An interrupted run resumes.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

from komadori import arena, records, training
from komadori.arena.ladder import read_match
from komadori.arena.ratings import Tally, fit
from komadori.atomic import write_text
from komadori.lab import experiment
from komadori.lab.size import Size

#: Name -> row of the laboratory.
NETWORKS = {
    "plain CNN": ("batch-norm", "n9"),
    "pydlshogi": ("pydlshogi", "norms"),
    "ResNet, sigmoid": ("value-output", "sigmoid"),
    "ResNet, tanh": ("value-output", "tanh"),
    "Wide ResNet": ("label", "2187"),
    "attention": ("attention", "2-layers"),
}

#: Adjudication: both sides agree for four moves each; or the ply limit.
ENDS: dict[str, Any] = {"adjudicate_cp": 2000, "adjudicate_moves": 4, "max_plies": 256}


def config_of(name: str, size: Size, threads: int) -> training.Config:
    """Return the row's config, with a value loss."""
    which, variant = NETWORKS[name]
    loaded = experiment.load(experiment.FOLDER / f"{which}.toml")
    config = loaded.training_config(loaded.variant(variant), size)
    loss = config.loss
    if not loss.value_weight:
        loss = dataclasses.replace(loss, value_weight=1.0)
    device = dataclasses.replace(config.device, device="cpu", threads=threads, replicas=1)
    return dataclasses.replace(config, loss=loss, device=device)


def network(
    name: str, samples: records.Samples, size: Size, folder: Path, threads: int
) -> dict[str, Any]:
    """Train and export the network unless it exists already; return its facts."""
    path = folder / ("-".join(NETWORKS[name]) + ".onnx")
    facts = path.with_suffix(".facts.json")
    if not (path.exists() and facts.exists()):
        run = path.with_suffix("")
        resume = run.exists() and training.newest_checkpoint(run) is not None
        print(f"training {name}", flush=True)
        config = config_of(name, size, threads)
        result = training.train(config, samples, None, run, resume=resume)
        training.export(result.checkpoint, path, name=name)
        assert result.test is not None
        test = result.test.to_dict()
        found = {
            "path": str(path),
            "parameters": next(e for e in training.read_log(run) if e["kind"] == "run")[
                "parameters"
            ],
            "policy_top1": test["policy_top1"],
            "value_accuracy": test["value_accuracy"],
            "training_s": result.seconds,
        }
        write_text(facts, json.dumps(found))
        print(
            f"  policy {test['policy_top1']:.1%}, value {test['value_accuracy']:.1%}, "
            f"{result.seconds:.0f} s",
            flush=True,
        )
    loaded: dict[str, Any] = json.loads(facts.read_text())
    return loaded


@dataclasses.dataclass
class Condition:
    """The games of one condition and their results."""

    name: str
    conditions: arena.Conditions
    folder: Path
    games: int
    """Per pair."""

    def play(self, models: dict[str, str], games: int) -> None:
        for (a, first), (b, second) in itertools.combinations(models.items(), 2):
            out = self.folder / f"{a}-{b}".replace(", ", "-").replace(" ", "-")
            arena.play_match(
                first, second, games=games, conditions=self.conditions, out=out, names=(a, b)
            )

    def tally(self, names: list[str]) -> tuple[list[Tally], dict[str, float]]:
        """Return the results by colour, and the mean time per move of each network in ms."""
        rows = []
        times: dict[str, list[int]] = {name: [] for name in names}
        for path in sorted(self.folder.iterdir()):
            counts: dict[tuple[str, str], list[int]] = {}
            for record in read_match(path)[1]:
                found = counts.setdefault(record.names, [0, 0, 0])
                found[("black", "draw", "white").index(record.winner)] += 1
                for i, ms in enumerate(record.times_ms):
                    times[record.names[(record.opening_plies + i) % 2]].append(ms)
            rows += [Tally(*colours, *found) for colours, found in counts.items()]
        return rows, {name: sum(t) / max(1, len(t)) for name, t in times.items()}

    def show(self, names: list[str]) -> dict[str, Any]:
        rows, times = self.tally(names)
        found = fit(names, rows)
        print(f"\n{self.name}: {self.conditions}\n")
        print("| network | Elo | score | games | ms per move |\n|---|--:|--:|--:|--:|")
        for rating in found.ratings:
            print(
                f"| {rating.name} | {rating.elo:+.0f} ± {rating.error:.0f} | {rating.score:.1%} "
                f"| {rating.games} | {times[rating.name]:.0f} |",
                flush=True,
            )
        return {
            "conditions": str(self.conditions),
            "ratings": [dataclasses.asdict(rating) for rating in found.ratings],
            "ms_per_move": times,
            "games": [dataclasses.asdict(row) for row in rows],
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("games_files", nargs="+", metavar="GAMES")
    parser.add_argument("--positions", type=int, default=300_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--playouts", type=int, default=100, help="per move")
    parser.add_argument("--movetime", type=int, default=100, help="ms per move")
    parser.add_argument("--games", type=int, default=20, help="per pair, of equal playouts")
    parser.add_argument("--timed-games", type=int, help="per pair, of equal time [--games]")
    parser.add_argument("--round", type=int, default=4, help="games of a pair before the next")
    parser.add_argument("--precision", default="float32", help="of the inference")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("networks"))
    options = parser.parse_args()
    timed_games = options.timed_games or options.games
    for games in (options.games, timed_games, options.round):
        if games < 2 or games % 2:
            parser.error("games come in pairs: an even number above zero")
    options.folder.mkdir(parents=True, exist_ok=True)
    samples = records.load_samples(options.games_files)
    size = Size(options.positions, options.width)
    facts = {
        name: network(name, samples, size, options.folder, options.threads) for name in NETWORKS
    }
    settings = f"threads={options.threads}&precision={options.precision}"
    models = {name: f"model:{known['path']}?{settings}" for name, known in facts.items()}
    both = [
        Condition(
            "equal playouts",
            arena.Conditions(nodes=options.playouts, **ENDS),
            options.folder / "playouts",
            options.games,
        ),
        Condition(
            "equal time",
            arena.Conditions(movetime_ms=options.movetime, **ENDS),
            options.folder / "time",
            timed_games,
        ),
    ]
    most = max(condition.games for condition in both)
    for games in (*range(options.round, most, options.round), most):
        for condition in both:
            condition.play(models, min(games, condition.games))
        found = {condition.name: condition.show(list(models)) for condition in both}
        write_text(
            options.folder / "results.json", json.dumps({"networks": facts, **found}, indent=1)
        )


if __name__ == "__main__":
    main()
