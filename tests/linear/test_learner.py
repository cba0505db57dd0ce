"""The learner of the two-piece evaluation: gradient, steps, penalty, projections, whole runs."""

from __future__ import annotations

import errno
import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori._core import linear as core
from komadori.cli.linear import command
from komadori.cli.linear_data import EpochTable
from komadori.linear import TwoPieceWeights, absolute_orbits
from komadori.linear.orbits import FIRST_ON_BOARD
from komadori.linear.regression import NO_LOSS, Loss
from komadori.linear.run_folder import RunFolder
from komadori.linear.two_piece import (
    MATERIAL_STEPS,
    Geometry,
    Learner,
    Records,
    Settings,
    fall_with_distance,
    penalties,
)
from komadori.linear.weights import VALUED_TYPES

SETTINGS = Settings(iterations=2, positions=120, updates=4, threads=1)


@pytest.fixture(scope="module")
def games() -> Records:
    samples = records.load_samples([records.sample_path()])
    return Records(samples.hcp, samples.move16)


@pytest.fixture(scope="module")
def geometry() -> Geometry:
    return Geometry()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, games: Records) -> Learner:
    """A learner after an uninterrupted run."""
    found = learner(tmp_path_factory.mktemp("whole") / "run", games)
    found.run()
    return found


def learner(folder, games: Records, settings: Settings = SETTINGS, **options) -> Learner:
    rows = np.arange(4000)
    return Learner(
        settings,
        games.take(rows[:3000]),
        games.take(rows[3900:]),
        folder,
        **({"resume": False} | options),
    )


# -- lines and gradient


def test_lines_do_not_depend_on_threads(games: Records) -> None:
    weights = TwoPieceWeights.material().core()
    one, two = (
        core.find_lines(weights, games.hcp[:300], games.move16[:300], 5, threads)
        for threads in (1, 2)
    )
    assert (one.comparisons, one.leaves, one.nodes) == (two.comparisons, two.leaves, two.nodes)
    assert one.searched + one.left_out == 300
    loss_1, pieces_1, pairs_1 = core.gradient(weights, one, 1)
    loss_2, pieces_2, pairs_2 = core.gradient(weights, two, 2)
    assert loss_1 == pytest.approx(loss_2)
    assert pieces_1 == pytest.approx(pieces_2)
    assert np.allclose(pairs_1, pairs_2, atol=1e-5)


def test_an_illegal_record_is_left_out(games: Records) -> None:
    weights = TwoPieceWeights.material().core()
    moves = np.zeros(3, np.uint16)
    lines = core.find_lines(weights, games.hcp[:3], moves, 1, 1)
    assert (lines.searched, lines.left_out, lines.comparisons) == (0, 3, 0)
    assert list(core.ranks(weights, games.hcp[:3], moves, 1, 1)) == [-1, -1, -1]


def test_the_gradient_is_the_slope_of_the_loss(games: Records) -> None:
    orbits = absolute_orbits()
    rng = np.random.default_rng(3)
    w = rng.integers(-200, 201, orbits.size).astype(float) * ~Geometry().is_zero

    def loss_of(values: np.ndarray) -> float:
        return core.gradient(weights_of(values).core(), lines, 1)[0]

    def weights_of(values: np.ndarray) -> TwoPieceWeights:
        pairs = orbits.scatter(values).astype(np.int16)
        return TwoPieceWeights(pairs, TwoPieceWeights.material().piece_values)

    lines = core.find_lines(weights_of(w).core(), games.hcp[:400], games.move16[:400], 5, 1)
    _, pieces, pairs = core.gradient(weights_of(w).core(), lines, 1)
    down = orbits.gather(np.asarray(pairs))
    for orbit in np.argsort(-np.abs(down))[:40]:
        step = 16.0
        higher, lower = w.copy(), w.copy()
        higher[orbit] += step
        lower[orbit] -= step
        slope = (loss_of(higher) - loss_of(lower)) / (2 * step)
        assert -slope == pytest.approx(down[orbit], rel=0.03, abs=1e-4)
    for piece_type in VALUED_TYPES:
        base = weights_of(w)
        values = []
        for change in (1, -1):
            piece_values = base.piece_values.copy()
            piece_values[piece_type] += change
            values.append(
                core.gradient(replace(base, piece_values=piece_values).core(), lines, 1)[0]
            )
        assert (values[1] - values[0]) / 2 == pytest.approx(pieces[piece_type], rel=0.03, abs=0.02)


def test_ranks_count_the_better_moves(games: Records) -> None:
    weights = TwoPieceWeights.material().core()
    ranks = core.ranks(weights, games.hcp[:200], games.move16[:200], 1, 1)
    assert ranks.min() >= 0
    assert 0.2 < np.mean(ranks == 0) < 1.0
    assert ranks.max() > 5
    for depth in (-1, 0, 3):
        with pytest.raises(ValueError, match="depth must be 1 or 2"):
            core.ranks(weights, games.hcp[:1], games.move16[:1], depth, 1)


# -- penalty and steps


def test_the_penalty_is_one_two_three_at_3_30_300() -> None:
    assert penalties(np.array([3.0, 30.0, -300.0, 0.0, 0.2]), 1.0) == pytest.approx(
        [1, 2, -3, 0, 0]
    )


def test_a_penalty_stops_at_the_base(tmp_path, games: Records) -> None:
    learn = learner(tmp_path, games)
    geometry, state = learn.geometry, learn.state
    free = np.flatnonzero(geometry.has_hand & ~geometry.is_zero)[:3]
    state.w[free] = (10, -10, 40)
    state.step[:] = 16
    learn.update(np.zeros((1696, 1696), np.float32), 1.0)
    assert list(state.w[free]) == [0, 0, 24]


def test_weights_converge_where_gradient_and_penalty_are_equal(tmp_path, games: Records) -> None:
    settings = replace(SETTINGS, relative=False, hand_weight=1.0)
    learn = learner(tmp_path, games, settings)
    geometry, state = learn.geometry, learn.state
    chosen = np.flatnonzero(geometry.has_hand & ~geometry.is_zero & ~geometry.is_self)[:3]
    pairs = np.zeros((1696, 1696))
    for orbit, g in zip(chosen, (1.0, 2.0, 3.0), strict=True):
        a, b = geometry.first[orbit], geometry.second[orbit]
        pairs[a, b] = g
    for _ in range(80):
        learn.update(pairs, 1.0)
    assert state.w[chosen] == pytest.approx([3, 30, 300], abs=8)


def test_steps_grow_and_shrink(tmp_path, games: Records) -> None:
    learn = learner(tmp_path, games, replace(SETTINGS, penalty=0.0, relative=False))
    orbit = np.flatnonzero(~learn.geometry.is_zero & ~learn.geometry.is_far)[500]
    a, b = learn.geometry.first[orbit], learn.geometry.second[orbit]
    pairs = np.zeros((1696, 1696))
    learn.state.step[:] = 10
    steps = []
    for g in (1, 1, 1, 1, -1, -1):
        pairs[a, b] = g
        learn.update(pairs, 1.0)
        steps.append(learn.state.step[orbit])
    assert steps == pytest.approx([10, 10, 12, 14.4, 7.2, 7.2])


def test_values_of_pieces_keep_their_sum(tmp_path, games: Records) -> None:
    learn = learner(tmp_path, games)
    before = learn.state.piece_values.copy()
    gradient = np.zeros(16)
    gradient[list(VALUED_TYPES)] = np.arange(13)
    learn.update_material(gradient)
    change = learn.state.piece_values - before
    assert tuple(change[list(VALUED_TYPES)]) == MATERIAL_STEPS
    assert change.sum() == 0


# -- projections


def test_far_pairs_without_a_king_are_zero(geometry: Geometry) -> None:
    def is_far(first: tuple[int, int, int], second: tuple[int, int, int]) -> bool:
        features = [FIRST_ON_BOARD + 81 * k + 9 * (f - 1) + r - 1 for k, f, r in (first, second)]
        return bool(geometry.is_far[geometry.orbits.of[features[0], features[1]]])

    gold, lance, king = 4, 1, 9
    assert not is_far((gold, 5, 5), (gold, 7, 7))
    assert is_far((gold, 5, 5), (gold, 8, 5))
    assert not is_far((lance, 5, 7), (gold, 5, 4))  # its squares lie one forward
    assert is_far((lance, 5, 4), (gold, 5, 7))
    assert not is_far((king, 5, 9), (gold, 5, 1))


def test_weights_fall_with_the_distance_and_stay_symmetric(geometry: Geometry) -> None:
    w = np.random.default_rng(2).integers(-300, 301, geometry.orbits.size).astype(float)
    w[geometry.is_zero] = 0
    fallen = fall_with_distance(w, geometry, 1.0)
    assert np.any(fallen != w)
    kinds = np.where(geometry.first >= FIRST_ON_BOARD, (geometry.first - FIRST_ON_BOARD) // 81, -1)
    others = (geometry.second - FIRST_ON_BOARD) // 81
    no_king = ~np.isin(kinds, (9, 19)) & ~np.isin(others, (9, 19))
    assert np.array_equal(fallen[no_king], w[no_king])
    pairs = geometry.orbits.scatter(fallen)
    assert np.array_equal(pairs, pairs.T)


# -- runs


def test_a_run_leaves_weights_and_resumes(tmp_path, games: Records, whole: Learner) -> None:
    part = learner(tmp_path / "part", games)
    part.run(stop=lambda: part.state.iteration == 1)
    assert part.state.iteration == 1
    rest = learner(tmp_path / "part", games, resume=True)
    rest.run()
    assert np.array_equal(rest.state.w, whole.state.w)
    assert np.array_equal(rest.state.piece_values, whole.state.piece_values)
    loaded = TwoPieceWeights.load(tmp_path / "part/weights.npz")
    assert np.array_equal(loaded.pairs, whole.weights().pairs)
    lines = (tmp_path / "part/log.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2]
    with pytest.raises(ValueError, match="holds a run already"):
        learner(tmp_path / "part", games)
    with pytest.raises(ValueError, match="nothing to resume"):
        learner(tmp_path / "other", games, resume=True)
    settings = replace(SETTINGS, penalty=0.5)
    with pytest.raises(ValueError, match=r"other settings: penalty was 1\.0, is 0\.5"):
        learner(tmp_path / "part", games, settings, resume=True)
    with pytest.raises(ValueError, match=r"other data: .*train was"):
        learner(tmp_path / "part", games.take(np.arange(10, 4010)), resume=True)
    path = tmp_path / "part/state.npz"
    state = dict(np.load(path))
    for name, array in (
        ("w", state["w"][1:]),
        ("run", np.array(1)),
        ("iteration", "x"),
        ("w", state["w"] * np.nan),
        ("w", state["w"] + np.inf),
        ("w", state["w"] + 32001.0),
        ("step", state["step"] * np.inf),
        ("piece_values", np.full_like(state["piece_values"], 30_001)),
        ("iteration", np.array(-1)),
        ("iteration", np.array(1 << 62)),
    ):
        np.savez(path, **state | {name: np.asarray(array)})
        with pytest.raises(ValueError, match=r"state\.npz: damaged"):
            learner(tmp_path / "part", games, resume=True)
    np.savez_compressed(path, **state | {"w": np.zeros(50_000_000)})
    with pytest.raises(ValueError, match=r"state\.npz: damaged"):
        learner(tmp_path / "part", games, resume=True)
    (tmp_path / "part/run.json").unlink()
    with pytest.raises(ValueError, match=r"run\.json: No such file or directory$"):
        learner(tmp_path / "part", games, resume=True)


@pytest.mark.parametrize("name", ["log.jsonl", "run.json", "nn.bin", "weights.npz"])
@pytest.mark.parametrize("content", ['{"kind": "run"}\n', "[]", "junk"])
def test_a_file_of_something_else_is_kept(tmp_path, games: Records, name: str, content) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"holds {name} of something else"):
        learner(tmp_path, games)
    assert (tmp_path / name).read_text() == content
    assert {path.name for path in tmp_path.iterdir()} <= {name, ".lock"}


@pytest.mark.parametrize("name", ["log.jsonl", "nn.bin", "weights.npz"])
def test_a_run_without_a_state_has_no_weights_of_its_own(tmp_path, games: Records, name) -> None:
    learner(tmp_path, games).folder.lock.release()
    (tmp_path / name).write_bytes(b"foreign")
    for resume, message in ((False, f"holds {name} of something else"), (True, "nothing to res")):
        with pytest.raises(ValueError, match=message):
            learner(tmp_path, games, resume=resume)
    assert (tmp_path / name).read_bytes() == b"foreign"


def test_a_run_killed_between_state_and_weights_resumes(
    tmp_path, games: Records, whole: Learner, monkeypatch
) -> None:
    killed = learner(tmp_path / "killed", games)
    saves = []

    def save(weights: TwoPieceWeights, path: Path) -> None:
        saves.append(path)
        if len(saves) == SETTINGS.iterations:
            raise KeyboardInterrupt
        original(weights, path)

    original = TwoPieceWeights.save
    monkeypatch.setattr(TwoPieceWeights, "save", save)
    with pytest.raises(KeyboardInterrupt):
        killed.run()
    monkeypatch.undo()
    learner(tmp_path / "killed", games, resume=True).run()
    folders = (whole.folder.path, tmp_path / "killed")
    weights = [TwoPieceWeights.load(folder / "weights.npz") for folder in folders]
    assert np.array_equal(weights[0].pairs, weights[1].pairs)


@pytest.mark.parametrize("written", [0, 40])
def test_a_log_that_lacks_its_last_line_or_a_part_of_it_is_whole_after_resuming(
    tmp_path, games: Records, whole: Learner, monkeypatch, written: int
) -> None:
    """As after a kill between state and log, or on a full disk."""
    cut = learner(tmp_path / "cut", games)
    log = tmp_path / "cut" / "log.jsonl"

    def fail(folder: RunFolder, report: object) -> None:
        log.write_bytes(b'{"iteration": 1, "loss_before": 0.123456789}'[:written])
        raise OSError(errno.ENOSPC, "No space left on device", str(log))

    monkeypatch.setattr(RunFolder, "log", fail)
    with pytest.raises(OSError, match="No space left"):
        cut.run()
    monkeypatch.undo()
    learner(tmp_path / "cut", games, resume=True).run()
    logs = [
        [json.loads(line) | {"seconds": 0} for line in (folder / "log.jsonl").open()]
        for folder in (whole.folder.path, tmp_path / "cut")
    ]
    assert [report["iteration"] for report in logs[0]] == [1, 2]
    assert logs[0] == logs[1]
    path = tmp_path / "cut" / "state.npz"
    np.savez(path, **dict(np.load(path)) | {"report": np.frombuffer(b"{", np.uint8)})
    with pytest.raises(ValueError, match=r"state\.npz: damaged"):
        learner(tmp_path / "cut", games, resume=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_on_a_full_disk_is_named(tmp_path, games: Records) -> None:
    folder = learner(tmp_path, games).folder
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"log\.jsonl"):
        folder.log({"step": 1})


def test_a_run_stopped_before_its_first_state_begins_again(tmp_path, games: Records) -> None:
    learner(tmp_path, games).folder.lock.release()
    learner(tmp_path, games).folder.lock.release()


def test_a_log_is_json(tmp_path, games: Records) -> None:
    folder = learner(tmp_path, games).folder
    folder.log({"loss": float("nan"), "rate": float("inf"), "step": 1})
    line = (tmp_path / "log.jsonl").read_text()
    assert json.loads(line, parse_constant=pytest.fail) == {"loss": None, "rate": None, "step": 1}


@pytest.mark.parametrize(
    "change", [{"penalty_of": "log"}, {"iterations": 0}, {"threads": 0}, {"threads": 513}]
)
def test_settings_are_checked(change) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        Settings(**change)


def test_the_command(tmp_path) -> None:
    folder = tmp_path / "run"
    arguments = ["train", "two-piece", "--data", str(records.sample_path()), "-o", str(folder)]
    arguments += ["--iterations", "1", "--positions", "60", "--test-limit", "50"]
    result = CliRunner().invoke(command, [*arguments, "--set", "updates=2"])
    assert result.exit_code == 0, result.output
    assert "0 in both" in result.output
    assert "agreement" in result.output
    assert TwoPieceWeights.load(folder / "weights.npz").pairs.any()
    again = CliRunner().invoke(command, arguments)
    assert again.exit_code == 1
    assert "holds a run already" in again.output
    wrong = CliRunner().invoke(command, [*arguments, "--set", "relative=perhaps"])
    assert "true or false is needed" in wrong.output


def test_nothing_held_out_has_no_agreement(tmp_path, games: Records) -> None:
    """It was NaN, in the log too, which was no JSON then."""
    none = games.take(np.arange(0))
    learn = Learner(SETTINGS, games.take(np.arange(3000)), none, tmp_path / "run", resume=False)
    learn.run()
    for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines():
        assert json.loads(line, parse_constant=pytest.fail).get("agreement", []) == []
    with pytest.raises(ValueError, match=r"^no training positions$"):
        Learner(SETTINGS, none, games, tmp_path / "none", resume=False)


@pytest.mark.parametrize("evaluation", ["two-piece", "kpp", "nnue"])
def test_one_game_leaves_nothing_to_train_on(tmp_path, evaluation: str) -> None:
    """The message was that every game is drawn, or that no move has a close value."""
    one = tmp_path / "one.hcpe3"
    records.write_games(one, islice(records.read_games(records.sample_path()), 1))
    arguments = ["train", evaluation, "--data", str(one), "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 1
    expected = r"Error: --test-fraction 0\.\d+ leaves no game to train on; give more games"
    assert re.fullmatch(expected, result.output.splitlines()[-1])


def test_a_column_of_the_table_without_positions_has_no_figures() -> None:
    table = EpochTable(("training", "held out"), ("    s",))
    losses = Loss(0.5, 0.25, 0.125, 0.125, 10), NO_LOSS
    *_, titles, line = table.lines(1, losses, (), ("    9",))
    assert line == "    1  0.3750 0.1250       -      -     -    -    -    -      9"
    assert len(line) == len(titles)


@pytest.mark.slow
def test_it_overfits_twenty_games(tmp_path) -> None:
    samples = records.load_samples([records.sample_path()])
    rows = np.flatnonzero(samples.game < 20)
    few = Records(samples.hcp, samples.move16).take(rows)
    settings = Settings(iterations=30, positions=len(few), penalty=0.0, locality=False, threads=2)
    learn = Learner(settings, few, few, tmp_path, resume=False)
    reports = []
    learn.run(reports.append)
    assert reports[-1].agreement[0] > 0.9
    assert reports[-1].agreement[0] > reports[0].agreement[0]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_folder_that_was_moved_away_ends_the_run(
    tmp_path, games: Records, is_replaced: bool
) -> None:
    """Another in its place is left alone, and none is made that can't be resumed."""
    folder = tmp_path / "run"

    def move(_: object) -> None:
        folder.rename(tmp_path / "moved")
        if is_replaced:
            folder.mkdir()
            (folder / "state.npz").write_text("mine")

    moved = learner(folder, games)
    with pytest.raises(OSError, match="was moved, removed or replaced while it was in use"):
        moved.run(move)
    assert (folder / "state.npz").read_text() == "mine" if is_replaced else not folder.exists()
    learner(tmp_path / "moved", games, resume=True).run()
