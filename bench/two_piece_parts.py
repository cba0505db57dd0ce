"""Ablations of the two-piece learner: agreement on held-out games, and match results.

    python bench/two_piece_parts.py DATA... [--iterations N] [--positions N] [--games N]

Every variant changes one part and trains on the same positions in the same order. It then plays
against the unchanged learner's weights and against plain material at fixed nodes, with paired
openings.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from komadori import arena, records, training
from komadori.linear.two_piece import Learner, Records, Report, Settings
from komadori.training import Part

VARIANTS: dict[str, dict[str, object]] = {
    "full method": {},
    "no sharing by relative position": {"relative": False},
    "no penalty": {"penalty": 0.0},
    "penalty on the weight itself": {"penalty_of": "weight"},
    "distant pairs included": {"locality": False},
    "values fall with distance": {"distance": True},
    "piece values fixed": {"material": False},
}


def split(files: list[Path], seed: int) -> tuple[Records, Records]:
    samples = records.load_samples(files)
    moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
    parts = training.split_by_game(Part(samples, moved), 0.01, seed)
    found = training.make_split(*parts, test_limit=3000, seed=seed)
    all_records = Records(samples.hcp, samples.move16)
    return all_records.take(found.train.rows), all_records.take(found.test.rows)


def learn(settings: Settings, data: tuple[Records, Records], folder: Path) -> Report:
    reports: list[Report] = []
    Learner(settings, *data, folder, resume=False).run(reports.append)
    return reports[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--positions", type=int, default=8000)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    base = Settings(iterations=given.iterations, positions=given.positions, threads=given.threads)
    data = split(given.data, base.seed)
    print(
        f"{'':<32}{'agreement in the top 1, 2, 4, 8':>34}{'loss':>8}{'s':>6}  against", flush=True
    )
    with tempfile.TemporaryDirectory() as folder:
        baseline: str | None = None
        for name, changes in VARIANTS.items():
            run = Path(folder) / name.replace(" ", "-")
            start = time.monotonic()
            report = learn(replace(base, **changes), data, run)  # type: ignore[arg-type]
            seconds = time.monotonic() - start
            player = f"alphabeta?Eval=two-piece&EvalFile={run / 'weights.npz'}&nodes={given.nodes}"
            opponents = {"material": f"alphabeta?Eval=material&nodes={given.nodes}"}
            if baseline:
                opponents["full method"] = baseline
            else:
                baseline = player
            against = []
            for opponent, spec in opponents.items():
                result = arena.play_match(player, spec, games=given.games, concurrency=2)
                score = f"+{result.wins} -{result.losses} ={result.draws}"
                against.append(f"{opponent} {score}, {result.estimate}")
            top = "  ".join(f"{100 * report.agreement[k - 1]:.1f} %" for k in (1, 2, 4, 8))
            row = f"{name:<32}{top:>34}{report.loss_after:>8.4f}{seconds:>6.0f}"
            print(f"{row}  {'; '.join(against)}", flush=True)


if __name__ == "__main__":
    main()
