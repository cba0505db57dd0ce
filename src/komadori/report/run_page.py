"""The report of a training run: an HTML page, and each plot as SVG and PNG."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import nets, training
from komadori.atomic import atomic_writer, write_text
from komadori.extras import need
from komadori.report.examine import (
    MIDDLE_PIECES,
    OPENING_PIECES,
    PHASES,
    Candidate,
    Examination,
    candidates,
    examine,
)
from komadori.report.figures import Curve, Plot, plot_png, plot_svg
from komadori.report.html import render_template
from komadori.rules import Board
from komadori.training import Config, Metrics, Part
from komadori.training.encoder import CoreEncoder
from komadori.wording import counted, names_arguments

#: Plies per point of the accuracy by ply.
PLIES = 10
#: Fewest positions of a point in a plot.
FEWEST = 20
#: Positions of largest loss shown as boards.
BOARDS = 8
#: Numbers beyond this are damage, and near the largest float can't be drawn.
LARGEST_DRAWN = 1e100


@dataclass(frozen=True)
class PhaseRow:
    """Metrics of one phase, fractions in [0, 1] of its positions."""

    name: str
    positions: int
    top1: float
    top3: float
    top5: float
    value: float
    legal: float


@dataclass(frozen=True)
class WorstPosition:
    """A position with a large policy loss."""

    caption: str
    board_svg: str
    moves: Sequence[tuple[str, float, bool]]


@dataclass(frozen=True)
class RunPage:
    """The content of the page; `plots` by file name."""

    title: str
    figures: dict[str, str]
    plots: dict[str, Plot]
    phases: Sequence[PhaseRow]
    phase_note: str
    worst: Sequence[WorstPosition]
    facts: dict[str, str]


@names_arguments
def write_run_report(
    run_dir: Path | str,
    train: training.Samples | Part,
    test: training.Samples | Part | None,
    out: Path | str,
    device: str = "auto",
) -> Path:
    """Evaluate the run's newest checkpoint on its test part and write OUT/index.html.

    Needs the run's own samples, to repeat its split. Raises TrainingError for others, and the
    errors of loading a checkpoint.
    """
    need("matplotlib", "jinja2")
    run_dir, out = Path(run_dir), Path(out)
    folder = training.resolve(run_dir)
    network, card = nets.load_model(folder)
    if not (table := card.facts("config")):
        raise training.TrainingError(f"{folder}: the card names no config of a training run")
    config = training.config_from_dict(table, str(folder))
    split = training.split_of(config, train, test)
    part = split.test
    expected = card.facts("data").get("train_fingerprint", split.fingerprint)
    if split.fingerprint != expected:
        raise training.TrainingError(
            f"{run_dir}: these are not the run's games, so the test could contain positions it was "
            "trained on; give the run's own --data and --test"
        )
    if not len(part):
        raise training.TrainingError(f"{run_dir}: no test positions to report on")
    compute = training.Compute.of(replace(config.device, device=device))
    encoder = CoreEncoder(card.features, card.labels)
    compute.place(network)
    loss = training.loss_config_of(card)
    metrics = training.evaluate(network, part, encoder, loss, compute)
    seen = examine(network, part, encoder, loss, compute)
    worst = []
    for row in _worst_rows(seen, part):
        moves = candidates(network, part, row, encoder, card.labels, compute)
        worst.append(_worst(part, row, moves, seen))
    history = training.read_log(run_dir) if (run_dir / "log.jsonl").exists() else []
    plots = {**curves(history), **plots_of(seen)}
    page = RunPage(
        title=run_dir.resolve().name,
        figures=_figures(metrics),
        plots=plots,
        phases=phase_rows(seen),
        phase_note=(
            f"Opening: up to {OPENING_PIECES} pieces in hand or promoted, both sides together; "
            f"middle game: up to {MIDDLE_PIECES}; endgame: more. A king within the enemy's three "
            "ranks counts there only."
        ),
        worst=worst,
        facts=_facts(config, history, part, card),
    )
    text = render_template(
        "run.html.j2", page=page, plots={n: plot_svg(p) for n, p in plots.items()}
    )
    write_text(out / "index.html", text)
    for name, plot in plots.items():
        write_text(out / "figures" / f"{name}.svg", plot_svg(plot, alone=True))
        with atomic_writer(out / "figures" / f"{name}.png") as file:
            file.write(plot_png(plot))
    return out / "index.html"


def curves(history: Sequence[dict[str, Any]]) -> dict[str, Plot]:
    """The learning curves of a log, over training positions."""
    train = [e for e in history if e["kind"] == "train"]
    test = [e for e in history if e["kind"] == "test"]

    def curve(label: str, entries: list[dict[str, Any]], key: str) -> Curve:
        known = _known(entries, key)
        return Curve(label, [e["samples"] for e in known], [e[key] for e in known])

    def both(key: str) -> list[Curve]:
        return [curve("training", _thinned(train, key), key), curve("held out", test, key)]

    at = "training positions"
    tops = [("top 1", "policy_top1"), ("top 3", "policy_top3"), ("top 5", "policy_top5")]
    plots = {
        "policy-loss": Plot("Policy loss", at, both("policy_loss")),
        "value-loss": Plot("Value loss against the result", at, both("value_result_loss")),
        "policy-accuracy": Plot(
            "Policy accuracy on held-out games",
            at,
            [curve(name, test, key) for name, key in tops],
            percent=True,
        ),
        "value-accuracy": Plot(
            "Value accuracy and legal moves",
            at,
            [
                curve("winner predicted", test, "value_accuracy"),
                curve("best label legal, unmasked", test, "best_is_legal"),
            ],
            percent=True,
        ),
        "rate": Plot("Learning rate", at, [curve("rate", train, "rate")]),
        "speed": Plot("Samples per second", at, [curve("samples/s", train, "samples_per_s")]),
    }
    return {name: plot for name, plot in plots.items() if any(c.x for c in plot.curves)}


def plots_of(seen: Examination) -> dict[str, Plot]:
    """Plots of the calibration and of the accuracy by ply and by phase."""
    rows = phase_rows(seen)
    places = [float(i) for i in range(len(rows))]
    return {
        "calibration": _calibration(seen),
        "accuracy-by-ply": _by_ply(seen),
        "accuracy-by-phase": Plot(
            "Accuracy by phase",
            "",
            [
                Curve("policy, top 1", places, [row.top1 for row in rows]),
                Curve("value", places, [row.value for row in rows]),
                Curve("best label legal", places, [row.legal for row in rows]),
            ],
            percent=True,
            kind="bar",
            ticks=[row.name for row in rows],
        ),
    }


def phase_rows(seen: Examination) -> list[PhaseRow]:
    """One row per phase that occurs."""
    rows = []
    for number, name in enumerate(PHASES):
        chosen = seen.phase == number
        if chosen.any():
            labelled = chosen & seen.labelled
            rows.append(
                PhaseRow(
                    name,
                    int(chosen.sum()),
                    top1=_fraction(seen.rank < 1, labelled),
                    top3=_fraction(seen.rank < 3, labelled),
                    top5=_fraction(seen.rank < 5, labelled),
                    value=_fraction(_predicted(seen), chosen & (seen.result != 0.5)),
                    legal=_fraction(seen.is_legal, chosen),
                )
            )
    return rows


def _by_ply(seen: Examination) -> Plot:
    x, policy, value = [], [], []
    for begin in range(0, int(seen.ply.max()) + 1, PLIES):
        chosen = (seen.ply >= begin) & (seen.ply < begin + PLIES)
        labelled, decided = chosen & seen.labelled, chosen & (seen.result != 0.5)
        if min(labelled.sum(), decided.sum()) >= FEWEST:
            x.append(begin + PLIES / 2)
            policy.append(_fraction(seen.rank == 0, labelled))
            value.append(_fraction(_predicted(seen), decided))
    both = [Curve("policy, top 1", x, policy), Curve("value", x, value)]
    return Plot("Accuracy by move number", f"move ({PLIES} per point)", both, percent=True)


def _calibration(seen: Examination) -> Plot:
    bins = np.clip((seen.win * 10).astype(np.int64), 0, 9)
    x, y = [], []
    for number in range(10):
        chosen = bins == number
        if chosen.sum() >= FEWEST:
            x.append(float(seen.win[chosen].mean()))
            y.append(float(seen.result[chosen].mean()))
    return Plot(
        "Value calibration",
        "predicted win probability",
        [Curve("games won", x, y)],
        percent=True,
        kind="calibration",
    )


def _worst_rows(seen: Examination, part: Part) -> list[int]:
    """Rows of the samples with the largest policy loss, one per game."""
    rows: list[int] = []
    games: set[int] = set()
    for place in np.argsort(-seen.policy_loss, kind="stable"):
        row = int(seen.rows[place])
        game = int(part.samples.game[row])
        if seen.labelled[place] and game not in games:
            rows.append(row)
            games.add(game)
        if len(rows) == BOARDS:
            break
    return rows


def _worst(part: Part, row: int, moves: list[Candidate], seen: Examination) -> WorstPosition:
    board = Board.from_hcp(part.samples.hcp[row].tobytes())
    place = int(np.flatnonzero(seen.rows == row)[0])
    side = "Black" if board.turn == 0 else "White"
    result = {1.0: "won", 0.0: "lost", 0.5: "drew"}[float(part.samples.result[row])]
    caption = (
        f"Move {part.samples.ply[row]}, {side} to move and {result}; loss "
        f"{seen.policy_loss[place]:.1f}, win probability {seen.win[place]:.0%}"
    )
    drawn = [(one.move, max(one.probability, 0.02)) for one in moves]
    return WorstPosition(
        caption,
        board.svg(arrows=drawn, labels=False),
        [(board.kif(one.move), one.probability, one.is_teacher) for one in moves],
    )


def _figures(metrics: Metrics) -> dict[str, str]:
    return {
        "policy accuracy, top 1": f"{metrics.policy_top1:.1%}",
        "top 3": f"{metrics.policy_top3:.1%}",
        "top 5": f"{metrics.policy_top5:.1%}",
        "value accuracy": f"{metrics.value_accuracy:.1%}",
        "best label legal, unmasked": f"{metrics.best_is_legal:.1%}",
        "policy loss": f"{metrics.policy_loss:.3f}",
        "value loss": f"{metrics.value_loss:.3f}",
        "policy entropy": f"{metrics.policy_entropy:.2f}",
    }


def _count(card: nets.ModelCard, name: str) -> int:
    """A count of the card; 0 if it is missing or damaged."""
    count = card.training.get(name, 0)
    return count if isinstance(count, int) else 0


def _facts(
    config: Config, history: Sequence[dict[str, Any]], part: Part, card: nets.ModelCard
) -> dict[str, str]:
    facts = {
        "network": nets.short_name(config.model.net),
        "features, labels": f"{card.features}, {card.labels}",
        "test positions": f"{len(part):,}",
        "trained on": f"{counted(_count(card, 'samples'), 'sample')}, "
        f"{counted(_count(card, 'steps'), 'step')} of {config.loop.batch_size}",
        "optimizer": f"{config.optimizer.name}, {config.schedule.kind} {config.schedule.rate:g}",
        "value": f"lambda {config.loss.value_lambda:g}, coefficient {card.eval_coef:.0f}",
    }
    for entry in history:
        with contextlib.suppress(KeyError, TypeError, ValueError):  # of a damaged entry
            facts.update(_facts_of(entry))
    return facts


def _facts_of(entry: dict[str, Any]) -> dict[str, str]:
    """What an entry of the log tells of the run. Raises KeyError, TypeError or ValueError."""
    if entry["kind"] == "run":
        made_with = f"komadori {entry['komadori']}, {entry['device_name']}, {entry['dtype']}"
        return {"made with": made_with, "parameters": f"{entry['parameters']:,}"}
    if entry["kind"] == "data":
        positions = (
            f"{entry['train_positions']:,} and {entry['test_positions']:,} positions, "
            f"{entry['positions_in_both']} in both"
        )
        return {"train and test": positions}
    return {}


def _known(entries: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The entries with a number there that can be drawn: others are null or damaged."""
    return [e for e in entries if _is_drawable(e.get(key)) and _is_drawable(e.get("samples"))]


def _is_drawable(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= LARGEST_DRAWN  # NaN isn't


def _thinned(entries: list[dict[str, Any]], key: str, most: int = 300) -> list[dict[str, Any]]:
    """Reduce to at most `most` points, each the mean of its neighbours."""
    known = _known(entries, key)
    step = math.ceil(len(known) / most) if known else 1
    groups = [known[i : i + step] for i in range(0, len(known), step)]
    return [{**g[-1], key: sum(e[key] for e in g) / len(g)} for g in groups]


def _predicted(seen: Examination) -> NDArray[np.bool_]:
    predicted: NDArray[np.bool_] = (seen.win > 0.5) == (seen.result > 0.5)
    return predicted


def _fraction(hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    return float(hits[among].mean()) if among.any() else math.nan
