"""`komadori train`, `evaluate` and `export` on the bundled games."""

import dataclasses
import json
import lzma
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import inference, nets, records, training
from komadori.cli.evaluate import command as evaluate
from komadori.cli.export import command as export
from komadori.cli.train import command as train

TOML = """
[model]
net = "resnet1x8"
[data]
test_limit = 300
[loop]
batch_size = 32
epochs = 0
max_steps = 6
evaluate_every = 3
checkpoint_every = 3
log_every = 1
tensorboard = false
[device]
device = "cpu"
precision = "float32"
"""


def invoke(command, *arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "tiny.toml").write_text(TOML)
    write_first_games(folder / "games.hcpe3", 100)
    return folder


@pytest.fixture(scope="module")
def run(folder):
    done = invoke(
        train, folder / "tiny.toml", "--data", folder / "games.hcpe3", "--out", folder / "run"
    )
    assert done.exit_code == 0, done.output
    return done


def test_train(run, folder):
    assert "step       3  test loss" in run.output
    assert "policy accuracy, top 1" in run.output
    assert "6 steps, 192 samples" in run.output
    data = next(e for e in training.read_log(folder / "run") if e["kind"] == "data")
    assert data["positions_in_both"] == 0
    assert data["test_positions"] == 300
    assert (data["train_games"], data["test_games"]) == (90, 10)
    assert "0 in both" in run.output


def test_missing_scores_are_said_before_the_training(run, folder):
    assert "score 0" not in run.output
    games = records.read_games(folder / "games.hcpe3")
    for game in games:
        game.scores_cp[:] = records.NO_SCORE
    records.write_games(folder / "unscored.csa", games)
    for weight in (0.333, 0):
        done = invoke(
            train,
            folder / "tiny.toml",
            *("--data", folder / "unscored.csa", "--out", folder / f"unscored-{weight}"),
            *("--set", "loop.max_steps=1", "--set", f"loss.value_lambda={weight}"),
        )
        assert done.exit_code == 0, done.output
        said = "100 % of the positions have the score 0, as those without a score do; --set "
        assert (said in done.stderr) == (weight > 0)


def test_resume_with_a_changed_setting(run, folder):
    arguments = ("--data", folder / "games.hcpe3", "--out", folder / "run", "--resume")
    done = invoke(train, folder / "tiny.toml", *arguments, "--set", "loop.max_steps=8")
    assert done.exit_code == 0, done.output
    assert "8 steps, 256 samples" in done.output


def test_another_run_begins_with_its_weights(run, folder):
    arguments = ("--data", folder / "games.hcpe3", "--out", folder / "second")
    done = invoke(train, folder / "tiny.toml", *arguments, "--from", folder / "run")
    assert done.exit_code == 0, done.output
    saved = json.loads((folder / "second" / "config.json").read_text())
    assert saved["model"]["init_from"] == str(folder / "run")
    resume = (train, folder / "tiny.toml", *arguments, "--resume")
    for again in (("--from", folder / "run"), ()):
        assert invoke(*resume, *again).exit_code == 0
        saved = json.loads((folder / "second" / "config.json").read_text())
        assert saved["model"]["init_from"] == str(folder / "run")
    done = invoke(*resume, "--from", folder / "second")
    assert done.exit_code == 2
    assert f"the run {folder / 'second'} began from {folder / 'run'}" in done.output
    done = invoke(train, folder / "tiny.toml", *arguments, "--from", folder / "missing")
    assert done.exit_code == 2
    assert "missing" in done.output


def test_evaluate(run, folder):
    few = folder / "few.hcpe3"
    write_first_games(few, 3)
    done = invoke(evaluate, folder / "run", "--data", few, "--device", "cpu", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["positions"] == len(records.load_samples(few))
    assert 0 <= found["policy_top1"] <= found["policy_top3"] <= found["policy_top5"] < 1
    table = invoke(evaluate, folder / "run", "--data", few, "--device", "cpu")
    assert f"{found['loss']:.4f}" in table.output
    assert "was trained on" not in table.stderr


def test_evaluate_names_the_games_that_were_trained_on(run, folder):
    few = folder / "unseen.hcpe3"
    write_first_games(few, 3)
    for model in (folder / "run", training.resolve(folder / "run")):
        given = ("--data", folder / "games.hcpe3", "--data", few, "--json")
        done = invoke(evaluate, model, *given)
        assert done.exit_code == 0, done.output
        assert done.stderr == (
            f"{model} was trained on {folder / 'games.hcpe3'}: the figures aren't those of "
            "held-out games\n"
        )
        assert json.loads(done.stdout)["positions"] > 0


def test_export(run, folder):
    done = invoke(export, folder / "run", "-o", folder / "tiny.onnx")
    assert done.exit_code == 0, done.output
    assert "largest difference between torch and" in done.output
    card = nets.ModelCard.from_json(json.loads((folder / "tiny.json").read_text()), "tiny.json")
    assert card.net == nets.ResNetConfig(1, 8)
    assert card.training["data"]["positions_in_both"] == 0
    assert card.training["config"]["data"]["train"] == ["games.hcpe3"]  # a name, no folder


def test_an_onnx_file_measures_as_its_checkpoint(run, folder):
    few = folder / "few.hcpe3"
    write_first_games(few, 3)
    assert invoke(export, folder / "run", "-o", folder / "same.onnx").exit_code == 0
    results = []
    for model, option in ((folder / "run", "--device=cpu"), (folder / "same.onnx", "--json")):
        done = invoke(evaluate, model, "--data", few, option, "--json")
        assert done.exit_code == 0, done.output
        results.append(json.loads(done.output))
    assert results[1] == pytest.approx(results[0], abs=0.02)  # the backend may round to bfloat16


def test_an_onnx_file_is_measured_by_the_card_that_travels_in_it(run, folder, tmp_path):
    """The JSON file beside the model may be missing or damaged: the metadata counts."""
    few = folder / "few.hcpe3"
    write_first_games(few, 3)
    model = tmp_path / "moved.onnx"
    trained = ("--set", "loss.eval_coef=100", "--set", "loss.value_lambda=1")
    out = tmp_path / "run"
    data = ("--data", folder / "games.hcpe3", "--out", out)
    assert invoke(train, folder / "tiny.toml", *data, *trained).exit_code == 0
    assert invoke(export, out, "-o", model).exit_code == 0
    card = model.with_suffix(".json")
    measured = []
    for content in (card.read_bytes(), None, b"", b"{", b'{"a": "\xff"}', b"[]"):
        card.unlink(missing_ok=True)
        if content is not None:
            card.write_bytes(content)
        done = invoke(evaluate, model, "--data", few, "--json")
        assert done.exit_code == 0, (content, done.output)
        measured.append(json.loads(done.output))
    assert measured == [measured[0]] * len(measured)


def test_an_onnx_file_of_a_custom_family_is_measured_anywhere(folder, tmp_path, monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class OwnConfig(nets.ResNetConfig):
        pass

    def parse(name):
        return OwnConfig(1, 8) if name == "own" else None

    own = nets.Family("own", OwnConfig, nets.ResNet, parse, lambda config: "own")
    few, model, out = folder / "few.hcpe3", tmp_path / "own.onnx", tmp_path / "run"
    write_first_games(few, 3)
    settings = ("--set", "model.net=own", "--set", "loss.eval_coef=100")
    measured = []
    with monkeypatch.context() as patched:
        patched.setitem(nets.FAMILIES, "own", own)
        done = invoke(train, folder / "tiny.toml", "--data", few, "--out", out, *settings)
        assert done.exit_code == 0, done.output
        assert invoke(export, out, "-o", model).exit_code == 0
        measured.append(invoke(evaluate, model, "--data", few, "--json").output)
    measured.append(invoke(evaluate, model, "--data", few, "--json").output)
    assert json.loads(measured[1]) == json.loads(measured[0])
    done = invoke(evaluate, out, "--data", few)
    assert "unknown network family 'own'; a custom family must be registered in" in done.output


def test_train_on_visits_and_a_damaged_file(run, folder):
    """Training on visits through the command; the truncated last game is reported and skipped."""
    torn = folder / "torn.hcpe3"
    torn.write_bytes((folder / "games.hcpe3").read_bytes()[:-50])
    options = ("--set", "loss.policy_target=visits", "--set", "data.duplicates=average")
    target = folder / "visits"
    done = invoke(train, folder / "tiny.toml", "--data", torn, "--out", target, *options)
    assert done.exit_code == 0, done.output
    assert f"skipped: {torn}" in done.output
    data = next(e for e in training.read_log(target) if e["kind"] == "data")
    assert data["train_games"] + data["test_games"] == 99


def test_visits_are_learnt_from_a_cache_as_from_memory(folder):
    logs = []
    for cache in ("", folder / "cache"):
        target = folder / f"visits-{'mapped' if cache else 'loaded'}"
        settings = ["--set", "loss.policy_target=visits", "--set", f"data.cache={cache}"]
        common = ["--data", folder / "games.hcpe3", "--out", target]
        done = invoke(train, folder / "tiny.toml", *common, *settings)
        assert done.exit_code == 0, done.output
        logs.append([e["loss"] for e in training.read_log(target) if e["kind"] == "train"])
    assert logs[0] == logs[1]
    assert len(logs[0]) == 6
    assert [p.suffix for p in (folder / "cache").glob("*/visits.*")] == [".bin"]


def test_errors_are_one_line(run, folder):
    sample = folder / "games.hcpe3"
    tiny = folder / "tiny.toml"
    for status, arguments, message in [
        (2, (tiny,), "no games: give --data or set data.train"),
        (1, (tiny, "--data", folder / "none*.hcpe3"), "no such file"),
        (2, (tiny, "--data", sample, "--set", "loop.x=1"), "unknown key 'loop.x'"),
        (
            2,
            (tiny, "--data", sample, "--set", "loss.distill_weight=0.9"),
            "no effect without loss.distill_from",
        ),
        (1, (tiny, "--data", sample, "--out", folder / "run"), "resume it (--resume)"),
        (
            1,
            (tiny, "--data", sample, "--set", "device.device=cuda:77"),
            "device.device = 'cuda:77' can't be used",
        ),
        *(
            (
                1,
                (tiny, "--data", sample, "--set", f"device.device={device}"),
                f"device.device = '{device}' can't be used: this build of PyTorch doesn't",
            )
            for device in ("mps:77", "hpu", "meta")
        ),
    ]:
        done = invoke(train, *arguments)
        assert done.exit_code == status
        assert message in done.output
        assert "Traceback" not in done.output
        assert len(done.output.splitlines()[-1]) < 400
    done = invoke(export, folder)
    assert done.exit_code == 1
    assert "neither a model folder nor a run" in done.output


@pytest.mark.parametrize(
    "path",
    [
        *sorted((Path(__file__).parents[2] / "experiments").glob("*.toml")),
        records.sample_path().parent / "quickstart.toml",
    ],
    ids=lambda path: path.stem,
)
def test_every_shipped_config_trains(path, folder):
    """The shipped config, with a few steps of a few samples."""
    assert tomllib.loads(path.read_text())["model"]
    overrides = (
        "loop.max_steps=2",
        "loop.batch_size=4",
        "loop.evaluate_every=0",
        "loop.tensorboard=false",
        "data.test_limit=8",
        "device.device=cpu",
    )
    settings = [part for override in overrides for part in ("--set", override)]
    target = folder / f"shipped-{path.stem}"
    if "distill_from" in tomllib.loads(path.read_text()).get("loss", {}):
        teacher = folder / f"teacher-{path.stem}"
        small = ["model.net=resnet1x8", "loss.eval_coef=600"]
        training.save_untrained(training.load_config(path, small), teacher)
        settings += ["--set", f"loss.distill_from={teacher}"]
    done = invoke(train, path, "--data", folder / "games.hcpe3", "--out", target, *settings)
    assert done.exit_code == 0, done.output
    assert "2 steps, 8 samples" in done.output


def write_first_games(path, games):
    """The first games of the bundled sample as an hcpe3 file.

    hcpe3: 36 bytes per game (hcp, u16 plies, result, opponent), then per ply
    {u16 move, s16 score, u16 candidates} and 4 bytes per candidate.
    """
    data = lzma.decompress(records.sample_path().read_bytes())
    at = 0
    for _ in range(games):
        plies = int(np.frombuffer(data[at + 32 : at + 34], "<u2")[0])
        at += 36
        for _ in range(plies):
            at += 6 + 4 * int(np.frombuffer(data[at + 4 : at + 6], "<u2")[0])
    path.write_bytes(data[:at])


def test_the_bundled_network_is_evaluated_by_its_name(tmp_path) -> None:
    data = tmp_path / "few.hcpe3"
    records.write_games(data, records.read_games(records.sample_path())[:1])
    by_name, by_path = (
        CliRunner().invoke(evaluate, [name, "--data", str(data), "--json"])
        for name in ("default", str(inference.default_model()))
    )
    assert by_name.exit_code == 0, by_name.output
    assert by_name.output == by_path.output
    table = CliRunner().invoke(evaluate, ["default", "--data", str(data)]).output
    assert table.splitlines()[-1].startswith("default: ")
