"""KPP's learning curve: what more data is worth.

    python bench/kpp_learning.py DATA... [--shares S,S,...] [--epochs N] [--beside WEIGHTS...]

Learns shares of the games, measures each on the same held-out games, and says by what power of the
data the held-out losses fall, and how much data it would take to reach those of other evaluations
(--beside) and to touch every weight.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from komadori import records, training
from komadori.linear import KppWeights, NnueWeights, TwoPieceWeights
from komadori.linear.kpp import Learner, Report, Settings
from komadori.linear.kpp_weights import TABLES
from komadori.linear.regression import HeldOut, LossSettings, Positions, measure
from komadori.training import Part


class Data:
    """Games to learn from in shares, and held-out positions that none of them has."""

    def __init__(self, files: list[Path], seed: int, test_limit: int) -> None:
        samples = records.load_samples(files)
        moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
        parts = training.split_by_game(Part(samples, moved), 0.01, seed)
        split = training.make_split(*parts, test_limit=test_limit, seed=seed)
        self.samples, self.rows = samples, split.train.rows
        self.test = Positions.of(samples, split.test.rows)
        games = np.unique(samples.game[self.rows])
        self.games = np.random.default_rng([seed, 2]).permutation(games)

    def share(self, share: float) -> tuple[Positions, int]:
        """(positions, games): a smaller share is part of a larger one."""
        games = self.games[: max(1, round(share * len(self.games)))]
        rows = self.rows[np.isin(self.samples.game[self.rows], games)]
        return Positions.of(self.samples, rows), len(games)


def learn(settings: Settings, train: Positions, test: Positions, folder: Path) -> Report:
    reports: list[Report] = []
    Learner(settings, train, test, folder, resume=False).run(report=reports.append)
    return reports[-1]


def row(name: str, report: Report, seconds: float) -> str:
    """Losses are elmo's two terms, less their floors, whatever was learned from."""
    result, teacher = report.held_out.loss.above_floor
    top = " | ".join(f"{100 * report.held_out.agreement[k - 1]:.1f} %" for k in (1, 2, 4, 8))
    seen, _ = report.loss.above_floor
    return (
        f"| {name} | {seen:.4f} | {result:.4f} | {teacher:.4f} | {top} | {report.touched:,} | "
        f"{seconds:.0f} s |"
    )


HEAD = (
    "| learned | result, learning | result, held out | teacher, held out | k = 1 | 2 | 4 | 8 "
    "| weights touched | time |"
)


def judged(report: Report, folder: Path, test: Positions, threads: int) -> Report:
    """The report with the held-out loss in cross entropy, whatever loss was learned."""
    weights = KppWeights.load(folder / "weights.npz").core()
    return replace(report, held_out=measure(weights, test, LossSettings(), threads))


def curve(data: Data, usual: Settings, given: argparse.Namespace) -> None:
    print(HEAD)
    print("|---|---|---|---|---|---|---|---|---|---|")
    counts: list[int] = []
    measures: dict[str, list[float]] = {name: [] for name in (RESULT, TEACHER, MISSED, TOUCHED)}
    for share in (float(text) for text in given.shares.split(",")):
        train, games = data.share(share)
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            report = learn(usual, train, data.test, Path(folder))
            report = judged(report, Path(folder), data.test, usual.threads)
            name = f"{share:g}: {len(train):,} positions of {games:,} games"
            print(row(name, report, time.monotonic() - began), flush=True)
        counts.append(len(train))
        for name, value in judgement(report.held_out).items():
            measures[name].append(value)
        measures[TOUCHED].append(report.touched)
    others = {
        path: measure(evaluation(path), data.test, LossSettings(), 1) for path in given.beside
    }
    for path, found in others.items():
        print(f"\n{path.name} on the same: {found}")
    if len(counts) < 2:
        return
    print("\n| what | power of the positions | off by at most | positions asked for |")
    print("|---|---|---|---|")
    for name, values in measures.items():
        power, constant = np.polyfit(np.log(counts), np.log(values), 1)
        error = np.abs(np.polyval((power, constant), np.log(counts)) - np.log(values)).max()
        goals = (
            {path.name: judgement(found)[name] for path, found in others.items()}
            if (name != TOUCHED)
            else {"all of KPP": float(TABLES["KPP"][1])}
        )
        asked = (
            f"{goal}: {np.exp((np.log(value) - constant) / power):,.0f}"
            for goal, value in goals.items()
        )
        print(f"| {name} | {power:.3f} | {100 * error:.1f} % | {'; '.join(asked)} |")


RESULT, TEACHER = "result's loss, held out", "teacher's loss, held out"
MISSED, TOUCHED = "teacher's move missed (k = 1)", "weights touched"


def judgement(held_out: HeldOut) -> dict[str, float]:
    """What falls as an evaluation learns."""
    result, teacher = held_out.loss.above_floor
    return {RESULT: result, TEACHER: teacher, MISSED: 1 - held_out.agreement[0]}


def evaluation(path: Path) -> Any:
    """Weights of another evaluation, for the core."""
    if path.suffix == ".bin":
        return NnueWeights.load(path).core()
    return TwoPieceWeights.load(path).core()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--shares", default="0.125,0.25,0.5,1", help="of the games")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--rate", type=float, default=3.0)
    parser.add_argument("--lower-rate", type=float, default=30.0)
    parser.add_argument("--test-limit", type=int, default=5000)
    parser.add_argument("--lambda", dest="teacher", type=float, default=0.5)
    parser.add_argument("--result-weight", type=float, default=1.0)
    parser.add_argument(
        "--beside",
        type=Path,
        nargs="+",
        default=[],
        help="weights (two-piece, nn.bin) whose losses it is extrapolated to",
    )
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    usual = Settings(
        result_weight=given.result_weight,
        teacher_weight=given.teacher,
        epochs=given.epochs,
        batch=given.batch,
        rate=given.rate,
        singles_rate=given.rate,
        lower_rate=given.lower_rate,
        threads=given.threads,
        checkpoint_minutes=60.0,
    )
    curve(Data(given.data, usual.seed, given.test_limit), usual, given)


if __name__ == "__main__":
    main()
