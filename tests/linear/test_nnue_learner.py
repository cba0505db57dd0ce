"""The learner of NNUE: its gradient, its threads, its rounding, its runs."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from nnue_oracle import INPUTS, Network
from numpy.typing import NDArray
from two_piece_oracle import mirrored, positions

from komadori import records
from komadori._core import linear as core
from komadori._core.alphabeta import material
from komadori.cli.generate import command as generate
from komadori.cli.linear import command
from komadori.linear.nnue import Learner, Settings
from komadori.linear.nnue_weights import NnueWeights
from komadori.linear.regression import Loss, Positions
from komadori.rules import BLACK, Board

LOSS = {"result_weight": 1.0, "teacher_weight": 0.5, "squared": False}


@functools.cache
def examples(count: int, seed: int) -> Positions:
    """Positions of games scored by material, with results that agree most of
    the time.
    """
    samples = records.load_samples([records.sample_path()])
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(samples.hcp), count, replace=False)
    boards = [Board.from_hcp(samples.hcp[row].tobytes()) for row in rows]
    score = np.array([material(b) * (1 if b.turn == BLACK else -1) for b in boards], np.int16)
    result = (rng.random(count) < 1 / (1 + np.exp(-score / 600))).astype(np.float32)
    return Positions(samples.hcp[rows], score, result, samples.move16[rows])


def data_of(positions: Positions) -> core.NnueData:
    return core.NnueData(positions.hcp, positions.score_cp.astype(np.float32), positions.result, 2)


def numbers(count: int) -> NDArray[np.uint32]:
    """Of all samples, every other one mirrored."""
    every = np.arange(count, dtype=np.uint32)
    every[1::2] |= np.uint32(core.NNUE_MIRRORED)
    return every


@functools.cache
def trained(architecture: str, threads: int = 2) -> tuple[core.NnueModel, int]:
    """A model after some steps, so that every part has a gradient."""
    model = core.NnueModel(architecture, 3, threads)
    data = data_of(examples(64, 1))
    for _ in range(20):
        model.step(data, numbers(64), rate=0.003, decay=0.0, **LOSS)
    return model, len(model.parameters)


@pytest.mark.parametrize("architecture", sorted(INPUTS))
@pytest.mark.parametrize("squared", [False, True])
def test_gradient_is_that_of_finite_differences(architecture: str, squared: bool) -> None:
    model, size = trained(architecture)
    data, batch = data_of(examples(24, 2)), numbers(24)
    loss = {"result_weight": 0.7, "teacher_weight": 0.5, "squared": squared}

    def mean() -> float:
        result, teacher, _, _ = model.loss(data, batch, **loss)
        return float((0.7 * result + 0.5 * teacher) / 24)

    gradient, sums = model.gradient(data, batch, **loss)
    gradient = np.asarray(gradient)
    assert sums == pytest.approx(model.loss(data, batch, **loss))
    layers = size - (256 + 512 * 32 + 32 + 32 * 32 + 32 + 32 + 1)
    starts = (0, layers, layers + 256, layers + 16640, layers + 16672, layers + 17696)
    if architecture == "halfkp":  # shared rows: of pieces, kings, relations
        starts += (125388 * 256, 126936 * 256, 127017 * 256)
    rng = np.random.default_rng(4)
    parameters = model.parameters
    checked = 0
    for begin in starts:
        end = min(b for b in (*starts, size) if b > begin)
        strong = begin + np.argsort(-np.abs(gradient[begin:end]))[:200]
        for at in rng.choice(strong, 6, replace=False):
            old, found = float(parameters[at]), []
            # Activations that reach their limit within a step bend the loss; a short step is lost
            # in float's precision.
            for step in (1e-2, 2e-3):
                parameters[at] = old + step
                above = mean()
                parameters[at] = old - step
                found.append((above - mean()) / (2 * step))
            parameters[at] = old
            checked += any(x == pytest.approx(gradient[at], rel=0.05, abs=2e-6) for x in found)
    assert checked >= 6 * len(starts) - 4
    assert np.abs(gradient).max() > 1e-3


@pytest.mark.parametrize("architecture", sorted(INPUTS))
def test_threads_add_up_to_one(architecture: str) -> None:
    data, batch = data_of(examples(50, 2)), numbers(50)
    one, _ = trained(architecture, threads=1)
    two = core.NnueModel(architecture, 9, 2)
    two.parameters[:] = one.parameters
    gradients = [np.asarray(m.gradient(data, batch, **LOSS)[0]) for m in (one, two)]
    assert np.abs(gradients[0]).max() > 0
    assert np.allclose(*gradients, rtol=1e-3, atol=1e-7)
    again = np.asarray(two.gradient(data, batch, **LOSS)[0])
    assert np.allclose(again, gradients[1], rtol=1e-3, atol=1e-7)  # no gradient was left over


def test_a_step_is_adams() -> None:
    data, batch = data_of(examples(40, 2)), numbers(40)
    model = core.NnueModel("k-p", 3, 1)
    p, m, v = (model.parameters.astype(np.float64), 0.0, 0.0)
    for step in range(1, 4):
        g = np.asarray(model.gradient(data, batch, **LOSS)[0]).astype(np.float64)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        p = 0.99 * p - 0.1 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        model.step(data, batch, rate=0.1, decay=0.1, **LOSS)
        layers = len(p) - 17761
        p[layers + 256 : layers + 16640] = np.clip(
            p[layers + 256 : layers + 16640], -127 / 64, 127 / 64
        )
        p[layers + 16672 : layers + 17696] = np.clip(
            p[layers + 16672 : layers + 17696], -127 / 64, 127 / 64
        )
        most = 127 * 127 / 9600
        p[-33:-1] = np.clip(p[-33:-1], -most, most)
        strong = np.abs(g) > 1e-6
        assert np.allclose(model.parameters[strong], p[strong], rtol=1e-3, atol=1e-3)
        p = model.parameters.astype(np.float64)
    assert model.steps == 3


@pytest.mark.parametrize("architecture", sorted(INPUTS))
def test_rounded_it_is_the_engines_network(architecture: str) -> None:
    model, _ = trained(architecture)
    kept = examples(60, 6)
    data = data_of(kept)
    weights = model.quantised()
    written = Network(weights.to_bytes())
    assert written.architecture == architecture
    values = np.asarray(weights.evaluate_all(kept.hcp, 2))
    assert [
        Network(weights.to_bytes()).value(Board.from_hcp(h.tobytes())) for h in kept.hcp[:5]
    ] == [int(v) for v in values[:5]]
    every = np.arange(60, dtype=np.uint32)
    exact = 600 * np.asarray(model.logits(data, every))
    model.rounds = True
    rounded = 600 * np.asarray(model.logits(data, every))
    model.rounds = False
    assert np.abs(rounded - values).max() < 12  # the effect of a hidden unit at its limit
    assert np.abs(rounded - values).mean() < 1.5
    assert np.abs(exact - values).mean() < 60
    assert exact.std() > 100


def test_clipped_hidden_units_open_again_with_a_leak() -> None:
    model = core.NnueModel("k-p", 3, 2)
    data, every = data_of(examples(256, 4)), numbers(256)
    biases1 = len(model.parameters) - (1 + 32 + 32 + 32 * 32 + 32)
    off, full = slice(biases1, biases1 + 8), slice(biases1 + 8, biases1 + 16)
    model.parameters[off] = -9
    model.parameters[full] = 9
    gradient, _ = model.gradient(data, every, **LOSS)
    assert not gradient[off].any()
    assert not gradient[full].any()
    model.leak = 0.1
    gradient, _ = model.gradient(data, every, **LOSS)
    assert (gradient[off] < 0).all()  # a step raises the biases
    assert (gradient[full] > 0).all()
    model.leak = 0.2
    twice, _ = model.gradient(data, every, **LOSS)
    np.testing.assert_allclose(twice[off], 2 * gradient[off], rtol=0.2)


def test_a_run_from_before_the_leak_resumes_without_one(tmp_path: Path) -> None:
    some = examples(300, 5)
    settings = Settings(epochs=1, batch=100, leaves="root", threads=1, leak=0.0)
    Learner(settings, some, some, tmp_path, resume=False).run()
    card = json.loads((tmp_path / "run.json").read_text())
    del card["settings"]["leak"]
    (tmp_path / "run.json").write_text(json.dumps(card))
    assert Learner(settings, some, some, tmp_path, resume=True).is_done
    with pytest.raises(ValueError, match=r"leak was 0.0, is 0.01"):
        Learner(Settings(**{**vars(settings), "leak": 0.01}), some, some, tmp_path, resume=True)


def test_mirrored_data_is_the_mirrored_board() -> None:
    boards = positions(20, 8)
    turned = [mirrored(b) for b in boards]
    zeros = np.zeros(20, np.float32)

    def data(boards: list[Board]) -> core.NnueData:
        return core.NnueData(
            np.stack([np.frombuffer(b.hcp(), np.uint8) for b in boards]), zeros, zeros, 1
        )

    every = np.arange(20, dtype=np.uint32)
    for architecture in INPUTS:
        model, _ = trained(architecture)
        plain = np.asarray(model.logits(data(turned), every))
        marked = np.asarray(model.logits(data(boards), every | np.uint32(core.NNUE_MIRRORED)))
        assert np.allclose(plain, marked, atol=1e-5)
        assert not np.allclose(plain, np.asarray(model.logits(data(boards), every)), atol=1e-3)


# -- runs


def run(folder: Path, resume: bool = False, **changes: object) -> Learner:
    settings = Settings(**{"epochs": 3, "batch": 64, "leaves_every": 2} | changes)  # type: ignore[arg-type]
    learner = Learner(settings, examples(400, 1), examples(80, 2), folder, resume=resume)
    learner.run()
    return learner


def test_it_learns_material(tmp_path: Path) -> None:
    teacher_only = {"result_weight": 0.0, "teacher_weight": 1.0, "leaves": "root", "mirror": False}
    learner = run(tmp_path, epochs=20, batch=32, patience=0, rate=5e-4, **teacher_only)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    losses = [Loss(**r["train"]).above_floor[1] for r in log]
    assert losses[-1] < 0.4 * losses[0]
    tested = [Loss(**r["quantised"]).above_floor[1] for r in log]
    assert learner.best == pytest.approx(min(tested))
    weights = NnueWeights.load(tmp_path / "nn.bin")
    values = [weights.evaluate(Board.from_hcp(h.tobytes())) for h in learner.train.hcp]
    assert np.corrcoef(values, learner.train.score_cp)[0, 1] > 0.7


def test_a_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    """Also between two leaf updates: the same weights find the same leaves."""
    settings = Settings(epochs=4, batch=64, leaves_every=4, threads=1)
    parts = examples(400, 1), examples(80, 2)
    whole = Learner(settings, *parts, tmp_path / "whole", resume=False)
    whole.run()
    for epochs in range(1, 5):
        learner = Learner(settings, *parts, tmp_path / "steps", resume=epochs > 1)

        def stop(report: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            learner.run(stop)
    assert (tmp_path / "steps" / "nn.bin").read_bytes() == (
        tmp_path / "whole" / "nn.bin"
    ).read_bytes()
    assert np.array_equal(learner.model.parameters, whole.model.parameters)
    assert learner.epoch == whole.epoch == 4


def test_a_run_killed_between_state_and_network_resumes(tmp_path: Path, monkeypatch) -> None:
    whole = run(tmp_path / "whole", epochs=1)

    def killed(weights: NnueWeights, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NnueWeights, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", epochs=1)
    monkeypatch.undo()
    assert not (tmp_path / "killed/nn.bin").exists()
    assert run(tmp_path / "killed", resume=True, epochs=1).is_done
    assert (tmp_path / "killed/nn.bin").read_bytes() == whole.weights().content


def test_a_stopped_epoch_is_repeated(tmp_path: Path) -> None:
    parts, settings = (examples(400, 1), examples(80, 2)), Settings(epochs=2, batch=64, threads=1)
    whole = Learner(settings, *parts, tmp_path / "whole", resume=False)
    whole.run()
    folder, epochs = tmp_path / "parts", []
    for most in (3, 10, 100):  # seven steps per epoch
        learnt: list[int] = []
        learner = Learner(settings, *parts, folder, resume=(folder / "state.npz").exists())
        learner.run(None, learnt.append, lambda most=most, learnt=learnt: len(learnt) >= most)
        epochs.append((learner.epoch, len(learnt), learner.is_done))
    assert epochs == [(0, 3, False), (1, 10, False), (2, 7, True)]
    assert (folder / "nn.bin").read_bytes() == (tmp_path / "whole" / "nn.bin").read_bytes()


def test_a_stop_ends_the_search_of_leaves(tmp_path: Path, monkeypatch) -> None:
    parts, settings = (examples(400, 1), examples(80, 2)), Settings(epochs=2, batch=64, threads=1)
    whole = Learner(settings, *parts, tmp_path / "whole", resume=False)
    whole.run()
    monkeypatch.setattr("komadori.linear.nnue._LEAVES", 100)
    asked: list[int] = []

    def stop() -> bool:  # within the first leaves
        asked.append(1)
        return len(asked) == 3

    learner = Learner(settings, *parts, tmp_path / "parts", resume=False)
    learner.run(None, lambda count: pytest.fail("it was trained"), stop)
    assert len(asked) == 3
    learner.run()  # leaves found in parts are the same
    assert learner.is_done
    assert learner.weights().content == whole.weights().content


@pytest.mark.parametrize(
    "damage",
    [
        *("cut", "changed", "pickled", "encrypted", "incomplete", "scalar", "text"),
        *("infinite", "negative squares", "negative counts"),
    ],
)
def test_a_damaged_state_is_refused(tmp_path: Path, damage: str) -> None:
    parts, settings = (examples(400, 1), examples(80, 2)), Settings(epochs=1, threads=1)
    Learner(settings, *parts, tmp_path, resume=False).run()
    path = tmp_path / "state.npz"
    content = bytearray(path.read_bytes())
    (tmp_path / "sound.npz").write_bytes(content)
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[len(content) // 2] ^= 255
    elif damage == "pickled":
        content = bytearray(b"\x80\x04N.")
    elif damage == "encrypted":
        content[content.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    if damage == "incomplete":
        np.savez(path, parameters=np.zeros(3, np.float32))
    elif damage in ("scalar", "text"):
        state = dict(np.load(tmp_path / "sound.npz"))
        np.savez(path, **state | {"numbers": np.array(1 if damage == "scalar" else ["x"] * 3)})
    elif damage in ("infinite", "negative squares", "negative counts"):
        state = dict(np.load(tmp_path / "sound.npz"))
        changed = {
            "infinite": {"parameters": state["parameters"] + np.float32(np.inf)},
            "negative squares": {"second_moments": state["second_moments"] - np.float32(1)},
            "negative counts": {"numbers": -state["numbers"]},
        }
        np.savez(path, **state | changed[damage])
    with pytest.raises(ValueError, match="damaged"):
        Learner(settings, *parts, tmp_path, resume=True)


def test_a_run_begins_with_anothers_weights(tmp_path: Path) -> None:
    first = run(tmp_path / "first", epochs=2)
    parts, settings = (examples(400, 1), examples(80, 2)), Settings(rate=1e-4, epochs=2)
    second = Learner(settings, *parts, tmp_path / "second", resume=False, init_from=first.folder)
    assert second.epoch == 0
    assert np.array_equal(second.model.parameters, first.model.parameters)
    second.run()
    other = run(tmp_path / "other-weights", seed=2, epochs=2)
    for given in (first.folder, None):
        Learner(settings, *parts, second.folder, resume=True, init_from=given).run()
    with pytest.raises(ValueError, match="second: began with other initial weights"):
        Learner(settings, *parts, second.folder, resume=True, init_from=other.folder)
    with pytest.raises(ValueError, match="first: began with other initial weights"):
        Learner(first.settings, *parts, first.folder, resume=True, init_from=other.folder)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "state.npz").write_bytes(b"no state")
    for architecture, folder in (("halfkp", "first"), ("k-p", "broken")):
        wrong = Settings(architecture=architecture)
        with pytest.raises(ValueError, match="no state of a"):
            Learner(wrong, *parts, tmp_path / "third", resume=False, init_from=tmp_path / folder)


@pytest.mark.parametrize("architecture", sorted(INPUTS))
def test_a_run_begins_with_the_weights_of_a_file(tmp_path: Path, architecture: str) -> None:
    model, _ = trained(architecture)
    content = model.quantised().to_bytes()
    (tmp_path / "nn.bin").write_bytes(content)
    parts = examples(400, 1), examples(80, 2)
    settings = Settings(architecture=architecture)
    learner = Learner(
        settings, *parts, tmp_path / "run", resume=False, init_from=tmp_path / "nn.bin"
    )
    assert learner.weights().content == content
    other = Settings(architecture="k-p" if architecture == "halfkp" else "halfkp")
    with pytest.raises(ValueError, match=rf"nn\.bin: the network's inputs are {architecture}, "):
        Learner(other, *parts, tmp_path / "other", resume=False, init_from=tmp_path / "nn.bin")
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(ValueError, match="not an NNUE network") as raised:
        Learner(settings, *parts, tmp_path / "junk-run", resume=False, init_from=tmp_path / "junk")
    assert str(raised.value).count("junk:") == 1


def test_it_stops_where_nothing_gets_better(tmp_path: Path) -> None:
    learner = run(tmp_path, epochs=40, patience=1, rate=0.05)
    assert learner.epoch < 40
    assert learner.epoch == learner.best_epoch + 1


def test_another_run_is_refused(tmp_path: Path) -> None:
    run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match="holds a run already"):
        run(tmp_path)
    with pytest.raises(ValueError, match="batch was 64, is 32"):
        run(tmp_path, resume=True, batch=32)
    other = Learner(
        Settings(epochs=1, batch=64), examples(50, 3), examples(20, 4), tmp_path / "o", resume=False
    )
    other.run()
    with pytest.raises(ValueError, match="other data"):
        Learner(
            Settings(epochs=1, batch=64),
            examples(60, 3),
            examples(20, 4),
            tmp_path / "o",
            resume=True,
        )
    with pytest.raises(ValueError, match="nothing to resume"):
        run(tmp_path / "none", resume=True)
    for changes in ({"architecture": "kpp"}, {"batch": 0}, {"leaves": "all"}, {"rate": 0.0}):
        with pytest.raises(ValueError, match=next(iter(changes))):
            Settings(**changes)  # type: ignore[arg-type]


def test_losses_are_reported_without_their_floor() -> None:
    found = Loss.of_sums((6.0, 8.0, 0.0, 5.0), 2)
    assert found.above_floor == (3.0, 1.5)
    assert Settings(teacher_weight=2.0).total(found) == 6.0


def test_the_command(tmp_path: Path) -> None:
    data = str(records.sample_path())
    arguments = ["train", "nnue", "--data", data, "-o", str(tmp_path / "run")]
    options = ["--epochs", "1", "--threads", "2", "--test-fraction", "0.9", "--test-limit", "200"]
    done = CliRunner().invoke(command, [*arguments, *options, "--set", "batch=1024"])
    assert done.exit_code == 0, done.output
    assert "memory:" in done.output
    (line,) = [line for line in done.output.splitlines() if line.startswith("    1  ")]
    assert len(line) <= 80
    assert line.endswith("*")
    assert NnueWeights.load(tmp_path / "run" / "nn.bin").core().architecture == "k-p"
    again = CliRunner().invoke(command, [*arguments, *options])
    assert again.exit_code == 1
    assert "holds a run already; resume it (--resume)" in again.output.replace("\n", " ")


def test_missing_scores_are_said_before_the_training(tmp_path: Path) -> None:
    games = records.read_games(records.sample_path())[:20]
    for game in games:
        game.scores_cp[:] = records.NO_SCORE
    records.write_games(tmp_path / "a.csa", games)
    arguments = ["train", "nnue", "--data", str(tmp_path / "a.csa"), "--epochs", "1"]
    for weight in ("1", "0"):
        folder = str(tmp_path / weight)
        done = CliRunner().invoke(command, [*arguments, "-o", folder, "--lambda", weight])
        assert done.exit_code == 0, done.output
        assert ("100 % of the positions have the score 0" in done.stderr) == (weight == "1")


def test_wrong_initial_weights_are_refused_before_the_data_is_read(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("no weights")
    (tmp_path / "folder").mkdir()
    np.savez(tmp_path / "folder" / "state.npz", parameters=np.zeros(3, np.float32))
    sound = np.array(core.NnueModel("k-p", 1, 1).parameters)
    for name, array in (
        ("scalar", np.float32(1)),
        ("broadcast", np.ones(1, np.float32)),
        ("complex", sound.astype(np.complex64)),
        ("nan", sound * np.float32("nan")),
        ("large", np.zeros(10_000_000, np.float32)),
    ):
        (tmp_path / name).mkdir()
        np.savez_compressed(tmp_path / name / "state.npz", parameters=array)
    (tmp_path / "empty").mkdir()
    data = tmp_path / "data.hcpe3"
    data.write_text("no records: an error of its own, once they are read")
    for name, words in (
        ("junk", "junk: "),
        ("folder", "no state of a k-p network"),
        ("scalar", "no state of a k-p network"),
        ("broadcast", "no state of a k-p network"),
        ("complex", "no state of a k-p network"),
        ("nan", "no state of a k-p network"),
        ("large", "no state of a k-p network"),
        ("empty", "state.npz: No such file"),
    ):
        for window in ([], ["--window", "2000"]):
            arguments = ["train", "nnue", "--data", str(data), "-o", str(tmp_path / "run")]
            found = CliRunner().invoke(
                command, [*arguments, "--from", str(tmp_path / name), *window]
            )
            assert found.exit_code == 1
            assert words in re.sub(r"\[Errno 2\] (.*): '(.*)'", r"\2: \1", found.output)
            assert "data.hcpe3" not in found.output


@pytest.mark.parametrize("window", [[], ["--window", "2000"]])
def test_positions_without_a_move_are_learnt(window: list[str], tmp_path) -> None:
    """As `generate nearby --evaluated-every` writes them: the label is a static evaluation."""
    games = tmp_path / "games.hcpe3"
    records.write_games(games, records.read_games(records.sample_path())[:12])
    inside = ["nearby", str(games), "-o", str(tmp_path / "inside"), "--search", "nodes=100"]
    inside += ["--evaluated-every", "8", "--segment", "200"]
    made = CliRunner().invoke(generate, inside)
    assert made.exit_code == 0, made.output
    count = len(records.load_samples(sorted(tmp_path.glob("inside/*.xz"))))
    arguments = ["train", "nnue", "--data", str(tmp_path / "inside/*.xz"), "--epochs", "1"]
    arguments += ["--test-fraction", "0.3", "--set", "leaves=root", "--set", "result_weight=0"]
    arguments += ["--lambda", "1", "--threads", "1", "-o", str(tmp_path / "run"), *window]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    found = re.search(r"training on ([\d,]+) positions", result.output)
    assert found
    assert int(found[1].replace(",", "")) > count / 2 > 500
    (line,) = [line for line in result.output.splitlines() if line.startswith("    1  ")]
    assert line.split()[-6:-2] == ["-"] * 4  # nothing to agree with


def test_windows_of_other_labels_are_other_data(tmp_path) -> None:
    """Positions scored again have the same file name and size."""
    from komadori.linear.windows import PositionWindows
    from komadori.records.stream import SampleStream

    samples = records.load_samples(records.sample_path()).take(slice(0, 100))
    found = []
    for score in (0, 1):
        samples.score_cp[50] = score
        with records.SampleWriter(tmp_path / "a.hcpe") as writer:
            writer.write(samples)
        found.append(PositionWindows(SampleStream([tmp_path / "a.hcpe"], 64)).fingerprint())
    assert found[0] != found[1]


def test_windows_of_a_stream_are_learnt_one_after_the_other(tmp_path) -> None:
    """A stopped and resumed run equals an uninterrupted one."""
    games = records.read_games(records.sample_path())[:12]
    for i in range(6):
        records.write_games(tmp_path / f"{i}.hcpe3.xz", games[2 * i : 2 * i + 2])
    arguments = ["train", "nnue", "--data", str(tmp_path / "*.xz"), "--test-fraction", "0.2"]
    arguments += ["--window", "400", "--epochs", "2", "--threads", "1", "--set", "leaves_every=2"]
    result = CliRunner().invoke(command, [*arguments, "-o", str(tmp_path / "whole")])
    assert result.exit_code == 0, result.output
    assert "windows" in result.output
    log = (tmp_path / "whole/log.jsonl").read_text().splitlines()
    from komadori.linear.windows import PositionWindows
    from komadori.records.stream import SampleStream, split_files

    train, test = split_files(sorted(tmp_path.glob("*.xz")), 0.2, 1)
    stream = SampleStream(train, 400, seed=1)
    assert len(log) == 2 * PositionWindows(stream).per_epoch
    held_out = records.load_samples(test)
    positions = Positions.of(held_out, np.flatnonzero(held_out.move16 != 0))
    settings = Settings(epochs=2, threads=1, leaves="root", patience=0)
    parts = Learner(settings, PositionWindows(stream), positions, tmp_path / "p", resume=False)
    parts.run(stop=lambda: parts.epoch >= 3)
    assert not parts.is_done
    on = Learner(settings, PositionWindows(stream), positions, tmp_path / "p", resume=True)
    on.run()
    one = Learner(settings, PositionWindows(stream), positions, tmp_path / "o", resume=False)
    one.run()
    assert on.epoch == one.epoch == 2 * PositionWindows(stream).per_epoch
    assert (np.asarray(on.model.parameters) == np.asarray(one.model.parameters)).all()
