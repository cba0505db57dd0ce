"""Training data of a policy network: nodes per move at equal generation time.

    python bench/policy_data.py --test GAMES... [--nodes 1000 250 4000] [--seconds 900]
        [--config experiments/resnet5x64.toml] [--net resnet4x48] [--samples 1024000]
        [--games 200] [--match-nodes 300] [--folder policy-data]

Each arm plays games with its own number of nodes per move for `--seconds` of CPU time, trains the
same network from scratch on `--samples` positions of them, is measured on the test games, and plays
`--games` games against the first arm. An interrupted run resumes: finished parts in the folder are
reused, and an arm that had not finished generating starts again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from arms import play_arms

from komadori.atomic import write_text
from komadori.generate import (
    BuiltinGames,
    Evaluation,
    GameFolder,
    Lines,
    SearchBounds,
    TeacherSettings,
    generate_games,
)

#: Games per file.
SEGMENT = 500


def generate(folder: Path, nodes: int, options: argparse.Namespace) -> dict[str, Any]:
    """Play until the CPU time is spent; return the counts."""
    facts = folder / "games.json"
    if not facts.exists():
        games = folder / "games"
        shutil.rmtree(games, ignore_errors=True)
        settings = TeacherSettings(searches=(SearchBounds(nodes=nodes),))
        source = BuiltinGames(settings, Lines(), Evaluation("nnue", None), threads=options.threads)
        start = time.process_time()

        def is_over() -> bool:
            return bool(time.process_time() - start > options.seconds)

        with GameFolder(games, {"nodes": nodes}, SEGMENT) as out:
            generate_games(out, source, 0, threads=options.threads, stop=is_over)
            counts = out.counts()
        found = {
            "games": counts.games,
            "positions": counts.scored,
            "nodes": counts.nodes,
            "cpu_seconds": time.process_time() - start,
        }
        write_text(facts, json.dumps(found))
    result: dict[str, Any] = json.loads(facts.read_text())
    print(f"{folder.name}: {result}", flush=True)
    return result


def komadori(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "komadori", *arguments], check=True)


def learn(folder: Path, options: argparse.Namespace) -> Path:
    """Train and export; return the ONNX file."""
    network, run = folder / "network.onnx", folder / "run"
    if not network.exists():
        steps = options.samples // options.batch
        settings = {
            "model.net": options.net,
            "loop.batch_size": options.batch,
            "loop.epochs": 0,
            "loop.max_steps": steps,
            "loop.evaluate_every": 0,
            "data.test_limit": 5000,
        }
        command = ["train", str(options.config), "--data", str(folder / "games" / "*.hcpe3*")]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        komadori(*command, "-o", str(run), *(["--resume"] if run.exists() else []))
        komadori("export", str(run), "-o", str(network))
    return network


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Print the accuracy on the test games."""
    for test in options.test:
        facts = folder / f"{test.name}.json"
        if not facts.exists():
            command = [sys.executable, "-m", "komadori", "evaluate", str(folder / "network.onnx")]
            done = subprocess.run(
                [*command, "--data", str(test), "--json"], check=True, capture_output=True
            )
            write_text(facts, done.stdout.decode())
        print(f"{folder.name}, {test.name}: {facts.read_text()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--test", type=Path, nargs="+", default=[], help="files of games")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 250, 4000])
    parser.add_argument("--seconds", type=float, default=900, help="CPU time per arm, generating")
    parser.add_argument("--config", type=Path, default=Path("experiments/resnet5x64.toml"))
    parser.add_argument("--net", default="resnet4x48")
    parser.add_argument("--samples", type=int, default=1_024_000, help="positions trained on")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--match-nodes", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("policy-data"))
    options = parser.parse_args()
    arms: dict[str, Path] = {}
    for nodes in options.nodes:
        folder: Path = options.folder / f"nodes-{nodes}"
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder, nodes, options)
        arms[folder.name] = learn(folder, options)
        measure(folder, options)
    players = {name: f"model:{path}?threads=1&Leaf_Weight=0" for name, path in arms.items()}
    play_arms(
        players,
        options.folder,
        games=options.games,
        nodes=options.match_nodes,
        concurrency=options.threads,
    )


if __name__ == "__main__":
    main()
