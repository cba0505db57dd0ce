"""The measures of experiments: titles and formats, and those that need more than the test part."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from komadori import inference, training
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.training import Part, RunResult

#: Forms of `Measure` besides Python's format specifications.
PERCENT, CLOCK = "%", "clock"


@dataclass(frozen=True)
class Measure:
    """title: heading of its column. form: PERCENT for a fraction, CLOCK for seconds, or a format
    specification. unit: of gaps; points for fractions. has_spread: whether seeds differ in it."""

    title: str
    form: str = ".3f"
    unit: str = ""
    has_spread: bool = True

    def format(self, value: float) -> str:
        """The value as text, "" for NaN."""
        if not math.isfinite(value):
            return ""
        if self.form == CLOCK:
            minutes, seconds = divmod(round(value), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        return f"{100 * value:.1f} %" if self.form == PERCENT else format(value, self.form)


#: By name, in the order of the diary's columns.
MEASURES = {
    "train_loss": Measure("train loss"),
    "train_result_loss": Measure("train result loss"),
    "train_score_loss": Measure("train score loss"),
    "train_total_loss": Measure("total train loss"),
    "loss": Measure("total test loss"),
    "policy_top1": Measure("policy accuracy", PERCENT),
    "policy_top3": Measure("top 3", PERCENT),
    "policy_top5": Measure("top 5", PERCENT),
    "policy_loss": Measure("policy test loss", unit=" nats"),
    "weighted_loss": Measure("total test loss"),
    "weighted_policy_loss": Measure("weighted policy test loss"),
    "value_accuracy": Measure("value accuracy", PERCENT),
    "value_result_loss": Measure("result loss"),
    "value_score_loss": Measure("score loss"),
    "best_is_legal": Measure("best label legal", PERCENT),
    "policy_entropy": Measure("policy entropy", unit=" nats"),
    "policy_top1_mass": Measure("largest probability", PERCENT),
    "root_moves": Measure("root moves", ".1f", " moves"),
    "root_fraction": Measure("visits of the most visited move", PERCENT),
    "channels": Measure("channels", ",.0f", has_spread=False),
    "cpu_us": Measure("µs per sample", ",.0f", " µs"),
    "time": Measure("time", CLOCK, has_spread=False),
    "int8_per_s": Measure("int8 positions/s", ",.0f"),
    "int8_time": Measure("int8 time"),
    "int8_top1_lost": Measure("int8: points lost", "+.2f", " points"),
    "parameters": Measure("parameters", ",.0f", has_spread=False),
    "result_loss": Measure("result loss above floor (nats)", ".4f", " nats"),
    "teacher_loss": Measure("teacher loss above floor (nats)", ".4f", " nats"),
    "agreement_1": Measure("best move in the first 1", PERCENT),
    "agreement_2": Measure("2", PERCENT),
    "agreement_4": Measure("4", PERCENT),
    "agreement_8": Measure("8", PERCENT),
    "weights_touched": Measure("weights touched", ",.0f"),
    "elo_first": Measure("Elo against the first", "+.0f", " Elo"),
    "elo_first_error": Measure("± (95 %)", ",.0f"),
    "score_first": Measure("score against the first", PERCENT),
    "strength": Measure("strength"),
    "positions": Measure("positions"),
}


def measure_of(name: str) -> Measure:
    """The measure of that name; an unlisted one has its name as title and three decimals."""
    return MEASURES.get(name) or Measure(name)


#: Positions and playouts of the search that shows how sharp a policy is, as in the diary,
#: その49 (再学習).
SEARCHED, PLAYOUTS = 100, 800


def root_moves(result: RunResult, test: Part) -> dict[str, float]:
    """How widely a search spreads its visits at the root.

    root_moves: mean number of moves visited by `PLAYOUTS` playouts, over `SEARCHED` held-out
    positions of plies 20 to 100, the same for every run of a seed; root_moves_error: its 95 %
    error by their spread, missing for a single position. root_fraction: mean fraction of the
    visits at the most visited move.
    """
    samples = test.samples
    ply = samples.ply[test.rows]
    middle = test.rows[(ply >= 20) & (ply <= 100)]
    if not len(middle):
        middle = test.rows
    rows = np.random.default_rng(0).permutation(middle)[:SEARCHED]
    visited, fractions = [], []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        training.export(result.checkpoint, model)
        evaluator = inference.load(model)
        searcher = PuctSearcher(evaluator, PuctOptions(pv_interval_ms=0, multipv=600))
        try:
            for row in rows:
                searcher.new_game()
                searcher.set_position(Board.from_hcp(samples.hcp[row].tobytes()))
                lines = searcher.search(Limits(playouts=PLAYOUTS)).infos
                visits = [line.visits for line in lines if line.visits]
                visited.append(len(visits))
                if visits:
                    fractions.append(max(visits) / sum(visits))
        finally:
            searcher.close()
            evaluator.close()
    found = {"root_moves": float(np.mean(visited)), "root_fraction": float(np.mean(fractions))}
    if len(visited) > 1:
        found["root_moves_error"] = 1.96 * float(np.std(visited, ddof=1)) / len(visited) ** 0.5
    return found


#: By name, as in an experiment's `extras`.
EXTRAS: dict[str, Callable[[RunResult, Part], dict[str, float]]] = {
    "root_moves": root_moves,
}
