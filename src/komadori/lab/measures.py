"""Measures of some experiments beside those of the test part."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from komadori import inference, training
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.training import Part, RunResult

#: Positions and playouts of the search that shows how sharp a policy is, as in the diary,
#: その49 (再学習).
SEARCHED, PLAYOUTS = 100, 800


def root_moves(result: RunResult, test: Part) -> dict[str, float]:
    """How widely a search spreads its visits at the root.

    root_moves: mean number of moves visited by `PLAYOUTS` playouts, over `SEARCHED` held-out
    positions of plies 20 to 100, the same for every run of a seed; root_moves_error: its 95 %
    error by their spread. root_share: mean fraction of the visits at the most visited move.
    """
    samples = test.samples
    ply = samples.ply[test.rows]
    middle = test.rows[(ply >= 20) & (ply <= 100)]
    if not len(middle):
        middle = test.rows
    rows = np.random.default_rng(0).permutation(middle)[:SEARCHED]
    visited, shares = [], []
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
                    shares.append(max(visits) / sum(visits))
        finally:
            searcher.close()
            evaluator.close()
    return {
        "root_moves": float(np.mean(visited)),
        "root_moves_error": 1.96 * float(np.std(visited, ddof=1)) / len(visited) ** 0.5,
        "root_share": float(np.mean(shares)),
    }


#: By name, as in an experiment's `extras`.
EXTRAS: dict[str, Callable[[RunResult, Part], dict[str, float]]] = {
    "root_moves": root_moves,
}
