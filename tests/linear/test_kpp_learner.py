"""The KPP learner: runs, run folders, weight files, and play."""

from __future__ import annotations

import filecmp
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.linear import command
from komadori.linear import KppWeights, WeightsError
from komadori.linear.kpp import Learner, Report, Settings
from komadori.linear.regression import (
    Leaves,
    Loss,
    LossSettings,
    Positions,
    batches,
    held_out,
    measure,
    with_draws,
)
from komadori.linear.weights import TwoPieceWeights
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaSearcher

SETTINGS = Settings(epochs=2, batch=600, threads=1)


@pytest.fixture(scope="module")
def samples() -> records.Samples:
    return records.load_samples([records.sample_path()])


@pytest.fixture(scope="module")
def positions(samples) -> Positions:
    return Positions.of(samples, np.arange(1600))


def learner(folder, positions: Positions, settings: Settings = SETTINGS, **options) -> Learner:
    train, test = positions.take(np.arange(1200)), positions.take(np.arange(1500, 1600))
    return Learner(settings, train, test, folder, **({"resume": False} | options))


@pytest.fixture(scope="module")
def whole(tmp_path_factory, positions) -> tuple[Learner, list[Report]]:
    """A run of two epochs and its reports."""
    ran = learner(tmp_path_factory.mktemp("kpp") / "whole", positions)
    reports: list[Report] = []
    ran.run(report=reports.append)
    return ran, reports


def test_a_run_leaves_weights_and_resumes(tmp_path, positions, whole) -> None:
    ran, reports = whole
    assert [report.epoch for report in reports] == [1, 2]
    assert reports[1].loss.result < reports[0].loss.result

    part = learner(tmp_path / "part", positions, replace(SETTINGS, checkpoint_minutes=0.0))
    updates = []
    part.run(lambda state: updates.append(state.update), stop=lambda: len(updates) == 3)
    assert (part.state.epoch, part.state.update) == (1, 1)
    rest = learner(tmp_path / "part", positions, resume=True)
    assert (rest.state.epoch, rest.state.update) == (1, 1)
    rest.run()
    for name in ("weights", "squares", "average"):
        assert np.array_equal(getattr(rest.state, name), getattr(ran.state, name)), name
    folders = (ran.folder.path, tmp_path / "part")
    assert filecmp.cmp(*(folder / "weights.npz" for folder in folders), shallow=False)
    saved, averaged = KppWeights.load(ran.folder.path / "weights.npz"), ran.weights()
    for name in ("kpp", "kkp", "kk"):
        assert np.array_equal(getattr(saved, name), getattr(averaged, name)), name
    logs = [(folder / "log.jsonl").read_text().splitlines() for folder in folders]
    assert [json.loads(line)["held_out"] for line in logs[0]] == [
        json.loads(line)["held_out"] for line in logs[1]
    ]

    with pytest.raises(ValueError, match="holds a run already"):
        learner(tmp_path / "part", positions)
    with pytest.raises(ValueError, match="nothing to resume"):
        learner(tmp_path / "none", positions, resume=True)
    other = replace(SETTINGS, teacher_weight=1.0)
    with pytest.raises(ValueError, match=r"other settings: teacher_weight was 0\.5, is 1\.0"):
        learner(tmp_path / "part", positions, other, resume=True)
    shorter = positions.take(np.r_[np.arange(50, 1600), np.arange(50)])
    with pytest.raises(ValueError, match="other data"):
        learner(tmp_path / "part", shorter, resume=True)
    longer = learner(tmp_path / "part", positions, replace(SETTINGS, epochs=3), resume=True)
    assert longer.state.epoch == 2
    longer.folder.lock.release()
    path = tmp_path / "part/state.npz"
    state = dict(np.load(path))
    for name, array in (
        ("position", np.array(1)),
        ("position", -state["position"]),
        ("squares", state["squares"][1:]),
        ("squares", -state["squares"]),
        ("weights", state["weights"] + np.float32(np.inf)),
    ):
        np.savez(path, **state | {name: array})
        with pytest.raises(ValueError, match="damaged"):
            learner(tmp_path / "part", positions, resume=True)


def test_a_run_killed_between_state_and_weights_resumes(tmp_path, positions, monkeypatch) -> None:
    settings = replace(SETTINGS, epochs=1)
    killed = learner(tmp_path / "run", positions, settings)

    def save(weights: KppWeights, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KppWeights, "save", save)
    with pytest.raises(KeyboardInterrupt):
        killed.run()
    monkeypatch.undo()
    learner(tmp_path / "run", positions, settings, resume=True).run()
    found = KppWeights.load(tmp_path / "run/weights.npz")
    assert np.array_equal(found.kkp, killed.weights().kkp)


def test_weights_play_and_files_are_checked(tmp_path, positions, whole) -> None:
    path = whole[0].folder.path / "weights.npz"
    weights = KppWeights.load(path)
    in_core = weights.core()
    searcher = AlphaBetaSearcher("kpp", path)
    for row in positions.hcp[::400]:
        board = Board.from_hcp(row.tobytes())
        assert searcher.evaluate(board) == in_core.evaluate(board)
    searcher.set_position(Board())
    assert searcher.search(Limits(nodes=3000)).best_move in Board().legal_moves
    with pytest.raises(ValueError, match="needs a file of weights"):
        AlphaBetaSearcher("kpp")

    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(WeightsError, match=r"damaged\.npz"):
        KppWeights.load(damaged)
    np.savez(damaged, format="komadori-kpp", format_version=9)
    with pytest.raises(WeightsError, match="format version 9"):
        KppWeights.load(damaged)
    np.savez(damaged, format="komadori-kpp", format_version=1, kpp=weights.kpp[:5], kkp=0, kk=0)
    with pytest.raises(WeightsError, match="kpp has another shape"):
        KppWeights.load(damaged)
    wide = replace(weights, kpp=weights.kpp.astype(np.int32))
    for use in (wide.core, lambda: wide.save(path)):  # the core would wrap large weights around
        with pytest.raises(WeightsError, match="kpp has another shape or type"):
            use()
    lopsided = weights.kkp.copy()
    lopsided[2 * np.flatnonzero(weights.kkp[::2])[-1]] += 1  # one image of an orbit
    with pytest.raises(WeightsError, match="kkp isn't symmetric"):
        replace(weights, kkp=lopsided).save(path)
    assert np.array_equal(KppWeights.load(path).kpp, weights.kpp)


def test_settings_are_checked() -> None:
    for change in ({"loss": "hinge"}, {"draws": "maybe"}, {"epochs": 0}, {"rate": -1.0}):
        with pytest.raises(ValueError, match=next(iter(change))):
            Settings(**change)
    with pytest.raises(ValueError, match="both 0"):
        Settings(result_weight=0.0, teacher_weight=0.0)
    assert Settings(lower_rate=0.0, rate=2.0).rates() == [2, 0, 0, 30, 30, 0, 0, 0]
    assert Settings().batch_of(10**9) == 1_000_000
    assert Settings().batch_of(24_000) == 1_000


def test_held_out_measures(positions) -> None:
    settings = LossSettings()
    weights = KppWeights.material().core()
    found = measure(weights, positions, settings, 1)
    decided = positions.without_draws()
    leaves = Leaves.of(weights, decided, 1)
    assert found.loss.positions == len(leaves.roots) <= len(decided)
    terms = settings.terms(leaves.value_cp, leaves.roots)
    for name, row in (("result", 0), ("teacher", 1), ("teacher_floor", 3)):
        assert getattr(found.loss, name) == pytest.approx(terms[row].mean())
    assert found.loss.above_floor[1] > 0
    assert list(found.agreement) == sorted(found.agreement)
    halves = Loss.of(terms[:, :300]) + Loss.of(terms[:, 300:])
    assert halves.teacher == pytest.approx(found.loss.teacher)


def test_draws_are_left_out_or_half(positions) -> None:
    drawn = replace(positions, result=np.full(len(positions), 0.5, np.float32))
    with pytest.raises(ValueError, match="every game is drawn"):
        with_draws(drawn, LossSettings())
    assert len(with_draws(drawn, LossSettings(draws="half"))) == len(positions)
    assert len(with_draws(drawn, LossSettings(result_weight=0))) == len(positions)
    measured = measure(TwoPieceWeights.material().core(), drawn, LossSettings(), 1)
    assert measured.loss.positions == 0  # not an error after the training
    assert len(held_out(drawn, LossSettings())) == len(positions)
    half = replace(drawn, result=np.where(np.arange(len(positions)) % 2, 1, drawn.result))
    assert (held_out(half, LossSettings()).result == 1).all()
    with pytest.raises(ValueError, match=r"^no training positions$"):
        with_draws(drawn.take(np.arange(0)), LossSettings())
    with pytest.raises(ValueError, match="no held-out positions"):
        held_out(drawn.take(np.arange(0)), LossSettings())


def test_batches_cover_an_epoch_once() -> None:
    rows = batches(1003, 100, 1, 0)
    assert sorted(np.concatenate(rows)) == list(range(1003))
    assert {len(batch) for batch in rows} == {100, 101}
    assert not np.array_equal(rows[0], batches(1003, 100, 1, 1)[0])


def test_the_command(tmp_path) -> None:
    folder = tmp_path / "run"
    arguments = ["train", "kpp", "--data", str(records.sample_path()), "-o", str(folder)]
    arguments += [
        "--test-fraction",
        "0.98",
        "--test-limit",
        "40",
        "--epochs",
        "1",
        "--threads",
        "1",
    ]
    result = CliRunner().invoke(command, [*arguments, "--set", "batch=3000"])
    assert result.exit_code == 0, result.output
    for text in ("memory: 513 MB", "0 in both", "training       held out", "\n    1  0."):
        assert text in result.output
    wrong = CliRunner().invoke(command, [*arguments, "--resume", "--lambda", "0.33"])
    assert wrong.exit_code == 1
    assert "teacher_weight was 0.5, is 0.33" in wrong.output


@pytest.mark.slow
def test_it_overfits_twenty_games(tmp_path, samples) -> None:
    """The winner, from the sign of the leaf's value."""
    few = with_draws(Positions.of(samples, np.flatnonzero(samples.game < 20)), LossSettings())
    settings = Settings(epochs=20, batch=500, teacher_weight=0.0, threads=2)
    learn = Learner(settings, few, few.take(np.arange(50)), tmp_path, resume=False)
    learn.run()
    leaves = Leaves.of(learn.weights().core(), few, 2)
    won = leaves.roots.result > 0.5
    assert np.mean((leaves.value_cp > 0) == won) > 0.99
