"""elmo's experiment and KPP's learning curve: what the loss and the data are worth.

    python bench/kpp_learning.py loss DATA... [--share S] [--epochs N] [--games N]
    python bench/kpp_learning.py curve DATA... [--shares S,S,...] [--epochs N]

`loss` learns the same positions in the same order with lambda 0 (results alone), 0.33, 0.5 and 1,
with the teacher alone, and with squared errors in place of cross entropy, and measures each on the
same held-out games; with --games each also plays the first variant at --nodes.
`curve` learns shares of the games, measures each on the same held-out games, and says by what
power of the data the held-out losses fall, and how much data it would take to reach those of other
evaluations (--beside) and to touch every weight.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from komadori import arena, records, training
from komadori.linear import NnueWeights, TwoPieceWeights
from komadori.linear.kpp import Learner, Report, Settings
from komadori.linear.kpp_weights import TABLES
from komadori.linear.regression import HeldOut, LossSettings, Positions, measure
from komadori.training import Part

VARIANTS: dict[str, dict[str, object]] = {
    "lambda 0.5 (elmo)": {},
    "lambda 0: no teacher": {"teacher_weight": 0.0},
    "lambda 0.33": {"teacher_weight": 0.33},
    "lambda 1": {"teacher_weight": 1.0},
    "no result": {"result_weight": 0.0, "teacher_weight": 1.0},
    "squared, lambda 0.5": {"loss": "squared"},
    "squared, no result (Apery)": {
        "loss": "squared",
        "result_weight": 0.0,
        "teacher_weight": 1.0,
    },
}


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


def row(name: str, report: Report, seconds: float, more: str = "") -> str:
    """Losses are elmo's two terms, less their floors, whatever was learned from."""
    result, teacher = report.held_out.loss.above_floor
    top = " | ".join(f"{100 * report.held_out.agreement[k - 1]:.1f} %" for k in (1, 2, 4, 8))
    seen, _ = report.loss.above_floor
    return (
        f"| {name} | {seen:.4f} | {result:.4f} | {teacher:.4f} | {top} | {report.touched:,} | "
        f"{seconds:.0f} s |{more}"
    )


HEAD = (
    "| learned | result, learning | result, held out | teacher, held out | k = 1 | 2 | 4 | 8 "
    "| weights touched | time |"
)


def judged(report: Report, folder: Path, test: Positions, threads: int) -> Report:
    """The report with the held-out loss in cross entropy, whatever loss was learned."""
    from komadori.linear import KppWeights

    weights = KppWeights.load(folder / "weights.npz").core()
    return replace(report, held_out=measure(weights, test, LossSettings(), threads))


def losses(data: Data, usual: Settings, given: argparse.Namespace) -> None:
    train, games = data.share(given.share)
    print(f"{len(train):,} positions of {games:,} games, {len(data.test):,} held out\n")
    extra = " against the first |" if given.games else ""
    print(HEAD + extra)
    print("|---|---|---|---|---|---|---|---|---|---|" + ("---|" if extra else ""))
    with tempfile.TemporaryDirectory() as temporary:
        first: Path | None = None
        for number, (name, changes) in enumerate(VARIANTS.items()):
            folder, began = Path(temporary) / str(number), time.monotonic()
            report = learn(replace(usual, **changes), train, data.test, folder)  # type: ignore[arg-type]
            report = judged(report, folder, data.test, usual.threads)
            seconds = time.monotonic() - began
            (folder / "state.npz").unlink()
            more = ""
            if given.games:
                more = f" {play(folder, first, given) if first else ''} |"
                first = first or folder
            print(row(name, report, seconds, more), flush=True)


def play(ours: Path, theirs: Path, given: argparse.Namespace) -> str:
    players = [
        f"alphabeta?Eval=kpp&EvalFile={f / 'weights.npz'}&USI_Hash=16" for f in (ours, theirs)
    ]
    result = arena.play_match(
        *players, games=given.games, conditions=arena.Conditions(nodes=given.nodes)
    )
    return str(result)


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
    parser.add_argument("what", choices=["loss", "curve"])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--share", type=float, default=1 / 8, help="of the games, for `loss`")
    parser.add_argument("--shares", default="0.125,0.25,0.5,1", help="for `curve`")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--rate", type=float, default=3.0)
    parser.add_argument("--lower-rate", type=float, default=30.0)
    parser.add_argument("--test-limit", type=int, default=5000)
    parser.add_argument("--games", type=int, default=0, help="of a match, for `loss`")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--lambda", dest="teacher", type=float, default=0.5, help="for `curve`")
    parser.add_argument("--result-weight", type=float, default=1.0, help="for `curve`")
    parser.add_argument(
        "--beside",
        type=Path,
        nargs="+",
        default=[],
        help="for `curve`: weights (two-piece, nn.bin) whose losses it is extrapolated to",
    )
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    usual = Settings(
        result_weight=given.result_weight if given.what == "curve" else 1.0,
        teacher_weight=given.teacher if given.what == "curve" else 0.5,
        epochs=given.epochs,
        batch=given.batch,
        rate=given.rate,
        singles_rate=given.rate,
        lower_rate=given.lower_rate,
        threads=given.threads,
        checkpoint_minutes=60.0,
    )
    data = Data(given.data, usual.seed, given.test_limit)
    (losses if given.what == "loss" else curve)(data, usual, given)


if __name__ == "__main__":
    main()
