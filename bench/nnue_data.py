"""Training data of an NNUE: nodes per label at equal generation time, and the value target.

    python bench/nnue_data.py nodes  GAMES... [--weights teacher.bin] [--nodes 120 20 500 1500]
        [--seconds 300] [--samples 12000000] [--games 400] [--folder nnue-data]
    python bench/nnue_data.py target GAMES... [--lambdas 1 0.7 0.333] [--samples ...]

`nodes`: each arm labels positions near those of the games for `--seconds` of CPU time with its own
number of nodes, and trains a network from scratch on them. `target`: each arm trains on the games
themselves, with its own weight of the score relative to the result. All arms train on `--samples`
positions, counted over the epochs, and play `--games` games against the first arm at a fixed number
of nodes per move. An interrupted run resumes: finished parts in the folder are reused.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from arms import play_arms

from komadori import records
from komadori.atomic import write_text
from komadori.generate.nearby import Nearby, NearbyFolder, NearbySettings, generate_nearby
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation

#: Source positions per file; an unfinished file is lost when the time is over.
SEGMENT = 8192
#: Maximum number of epochs, however few positions there are.
MAX_EPOCHS = 24


def label(folder: Path, sources: list[Path], nodes: int, options: argparse.Namespace) -> int:
    """Label until the CPU time is spent; return the number of positions."""
    facts = folder / "labels.json"
    if not facts.exists():
        start = time.process_time()

        def is_over() -> bool:
            return bool(time.process_time() - start > options.seconds)

        seed = 0
        while not is_over():
            seed += 1
            settings = NearbySettings(search=SearchBounds(nodes=nodes), seed=seed)
            nearby = Nearby(settings, Evaluation("nnue", options.weights), options.threads)
            with NearbyFolder(folder / f"labels-{seed}", {"seed": seed}) as out:
                generate_nearby(sources, out, nearby, segment_positions=SEGMENT, stop=is_over)
        spent = time.process_time() - start
        counts = [json.loads(p.read_text()) for p in folder.glob("labels-*/[0-9]*.json")]
        positions = sum(one["positions"] for one in counts)
        write_text(facts, json.dumps({"positions": positions, "cpu_seconds": spent}))
    found: dict[str, Any] = json.loads(facts.read_text())
    print(f"{folder.name}: {found['positions']:,} positions in {found['cpu_seconds']:.0f} s of CPU")
    return int(found["positions"])


def learn(folder: Path, data: list[str], positions: int, weight: float, samples: int) -> Path:
    """Train with this weight of the score; return the network's file."""
    weights = folder / "run" / "nn.bin"
    done = folder / "trained"
    if not done.exists():
        epochs = max(1, min(MAX_EPOCHS, round(samples / positions)))
        command = [sys.executable, "-m", "komadori", "linear", "train", "nnue"]
        for pattern in data:
            command += ["--data", pattern]
        command += ["--epochs", str(epochs), "--lambda", str(weight), "--set", "patience=0"]
        command += ["--set", f"result_weight={1 - weight:g}", "-o", str(folder / "run")]
        if (folder / "run").exists():
            command.append("--resume")
        subprocess.run(command, check=True)
        write_text(done, f"{epochs} epochs\n")
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("question", choices=["nodes", "target"])
    parser.add_argument("sources", metavar="GAMES", nargs="+", type=Path)
    parser.add_argument("--weights", type=Path, help="the teacher's evaluation (the package's)")
    parser.add_argument("--nodes", type=int, nargs="+", default=[120, 20, 500, 1500])
    parser.add_argument("--lambdas", type=float, nargs="+", default=[1.0, 0.7, 0.333])
    parser.add_argument("--seconds", type=float, default=300, help="CPU time per arm for labelling")
    parser.add_argument("--samples", type=int, default=12_000_000, help="positions trained on")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--match-nodes", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("nnue-data"))
    options = parser.parse_args()
    sources: list[Path] = options.sources
    arms: dict[str, Path] = {}
    if options.question == "nodes":
        for nodes in options.nodes:
            folder = options.folder / f"nodes-{nodes}"
            positions = label(folder, sources, nodes, options)
            pattern = str(folder / "labels-*" / "*.hcpe*")
            arms[folder.name] = learn(folder, [pattern], positions, 1.0, options.samples)
    else:
        positions = sum(len(records.load_samples([path])) for path in sources)
        data = [str(path) for path in sources]
        for weight in options.lambdas:
            folder = options.folder / f"lambda-{weight:g}"
            arms[folder.name] = learn(folder, data, positions, weight, options.samples)
    players = {name: f"alphabeta?Eval=nnue&EvalFile={path}" for name, path in arms.items()}
    play_arms(
        players,
        options.folder,
        games=options.games,
        nodes=options.match_nodes,
        concurrency=options.threads,
    )


if __name__ == "__main__":
    main()
