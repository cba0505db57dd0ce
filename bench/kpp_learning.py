"""The learning curve of KPP: losses by amount of data.

    python bench/kpp_learning.py DATA... [--fractions F,F,...] [--epochs N] [--compare WEIGHTS...]

Trains on fractions of the games and evaluates each on the same held-out games. Fits a power law of
the number of positions to the held-out losses and extrapolates it: positions needed to reach the
losses of other evaluations (--compare) and to train every weight.
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
    """Training games, of which a fraction can be used, and held-out positions."""

    def __init__(self, files: list[Path], seed: int, test_limit: int) -> None:
        samples = records.load_samples(files)
        moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
        parts = training.split_by_game(Part(samples, moved), 0.01, seed)
        split = training.make_split(*parts, test_limit=test_limit, seed=seed)
        self.samples, self.rows = samples, split.train.rows
        self.test = Positions.of(samples, split.test.rows)
        games = np.unique(samples.game[self.rows])
        self.games = np.random.default_rng([seed, 2]).permutation(games)

    def part(self, fraction: float) -> tuple[Positions, int]:
        """Return (positions, number of games); smaller parts are subsets of larger ones."""
        games = self.games[: max(1, round(fraction * len(self.games)))]
        rows = self.rows[np.isin(self.samples.game[self.rows], games)]
        return Positions.of(self.samples, rows), len(games)


def learn(settings: Settings, train: Positions, test: Positions, folder: Path) -> Report:
    reports: list[Report] = []
    Learner(settings, train, test, folder, resume=False).run(report=reports.append)
    return reports[-1]


def row(name: str, report: Report, seconds: float) -> str:
    """Return a table row; losses are elmo's two terms minus their minima."""
    result, teacher = report.held_out.loss.above_floor
    top = " | ".join(f"{100 * report.held_out.agreement[k - 1]:.1f} %" for k in (1, 2, 4, 8))
    training_loss, _ = report.loss.above_floor
    return (
        f"| {name} | {training_loss:.4f} | {result:.4f} | {teacher:.4f} | {top} "
        f"| {report.touched:,} | {seconds:.0f} s |"
    )


HEAD = (
    "| data | result, training | result, held out | teacher, held out | k = 1 | 2 | 4 | 8 "
    "| weights trained | time |"
)


def with_held_out(report: Report, folder: Path, test: Positions, threads: int) -> Report:
    """Return the report with the held-out loss as cross entropy, whatever the training loss."""
    weights = KppWeights.load(folder / "weights.npz").core()
    return replace(report, held_out=measure(weights, test, LossSettings(), threads))


def curve(data: Data, base: Settings, given: argparse.Namespace) -> None:
    print(HEAD)
    print("|---|---|---|---|---|---|---|---|---|---|")
    counts: list[int] = []
    measures: dict[str, list[float]] = {name: [] for name in (RESULT, TEACHER, MISSED, TOUCHED)}
    for fraction in (float(text) for text in given.fractions.split(",")):
        train, games = data.part(fraction)
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            report = learn(base, train, data.test, Path(folder))
            report = with_held_out(report, Path(folder), data.test, base.threads)
            name = f"{fraction:g}: {len(train):,} positions of {games:,} games"
            print(row(name, report, time.monotonic() - start), flush=True)
        counts.append(len(train))
        for name, value in measures_of(report.held_out).items():
            measures[name].append(value)
        measures[TOUCHED].append(report.touched)
    others = {
        path: measure(evaluation(path), data.test, LossSettings(), 1) for path in given.compare
    }
    for path, found in others.items():
        print(f"\n{path.name} on the same positions: {found}")
    if len(counts) < 2:
        return
    print("\n| measure | exponent | largest error of the fit | positions needed |")
    print("|---|---|---|---|")
    for name, values in measures.items():
        power, constant = np.polyfit(np.log(counts), np.log(values), 1)
        error = np.abs(np.polyval((power, constant), np.log(counts)) - np.log(values)).max()
        goals = (
            {path.name: measures_of(found)[name] for path, found in others.items()}
            if (name != TOUCHED)
            else {"all of KPP": float(TABLES["KPP"][1])}
        )
        needed = (
            f"{goal}: {np.exp((np.log(value) - constant) / power):,.0f}"
            for goal, value in goals.items()
        )
        print(f"| {name} | {power:.3f} | {100 * error:.1f} % | {'; '.join(needed)} |")


RESULT, TEACHER = "result's loss, held out", "teacher's loss, held out"
MISSED, TOUCHED = "teacher's move missed (k = 1)", "weights trained"


def measures_of(held_out: HeldOut) -> dict[str, float]:
    """Return the measures that decrease during training."""
    result, teacher = held_out.loss.above_floor
    return {RESULT: result, TEACHER: teacher, MISSED: 1 - held_out.agreement[0]}


def evaluation(path: Path) -> Any:
    """Load the core's weights of another evaluation."""
    if path.suffix == ".bin":
        return NnueWeights.load(path).core()
    return TwoPieceWeights.load(path).core()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--fractions", default="0.125,0.25,0.5,1", help="of the games")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--rate", type=float, default=3.0)
    parser.add_argument("--lower-rate", type=float, default=30.0)
    parser.add_argument("--test-limit", type=int, default=5000)
    parser.add_argument("--lambda", dest="teacher", type=float, default=0.5)
    parser.add_argument("--result-weight", type=float, default=1.0)
    parser.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        default=[],
        help="weights (two-piece, nn.bin) to whose losses the fit is extrapolated",
    )
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    base = Settings(
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
    curve(Data(given.data, base.seed, given.test_limit), base, given)


if __name__ == "__main__":
    main()
