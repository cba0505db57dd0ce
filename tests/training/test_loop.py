import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from training_toys import make_config, make_samples

from komadori import nets, training
from komadori.training import checkpoint, device


def run(folder, config, encoder, samples, **more):
    return training.train(config, samples, None, folder, encoder=encoder, **more)


def train_losses(result):
    return {e["step"]: e["loss"] for e in result.history if e["kind"] == "train"}


def test_learns_a_learnable_rule(tmp_path, encoder):
    config = make_config(
        loop={"max_steps": 150, "evaluate_every": 0},
        model={"net": "resnet1x16"},
        schedule={"rate": 0.1},
    )
    result = run(tmp_path / "run", config, encoder, make_samples(1500))
    assert result.test.policy_top1 > 0.95
    assert result.test.value_accuracy > 0.95
    assert result.test.best_is_legal == 1.0
    assert result.is_complete
    losses = train_losses(result)
    assert losses[150] < 0.3 * losses[1]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda policy, value: (policy, value[:, None]), "([32, 1296], [32, 1])"),
        (lambda policy, value: (policy, value[:, None].repeat(1, 2)), "([32, 1296], [32, 2])"),
        (lambda policy, value: (policy[:, :100], value), "([32, 100], [32])"),
        (lambda policy, value: (policy, value.mean()), "([32, 1296], [])"),
        (lambda policy, _: (policy,), "([32, 1296])"),
        (lambda policy, _: policy, "Tensor"),
        (lambda policy, value: {"policy": policy, "value": value}, "dict"),
    ],
)
def test_a_network_with_other_outputs_is_named(
    tmp_path, encoder, samples, monkeypatch, change, found
):
    """As a network of one's own may have."""
    outputs = nets.ResNet.outputs
    monkeypatch.setattr(nets.ResNet, "outputs", lambda *inputs: change(*outputs(*inputs)))
    message = f"model.net = resnet1x8: its outputs are {found}, expected (policy [32, 1296], "
    with pytest.raises(training.ConfigError) as raised:
        run(tmp_path / "run", make_config(device={"replicas": 1}), encoder, samples)
    assert str(raised.value) == message + "value [32] or [32, 3])"


def test_logs_checkpoints_and_result(tmp_path, encoder, samples):
    reports = []
    config = make_config(loop={"keep": 2})
    result = run(tmp_path / "run", config, encoder, samples, progress=reports.append)
    assert [e["step"] for e in result.history if e["kind"] == "test"] == [4, 8, 12]
    assert sorted(f.name for f in (tmp_path / "run/checkpoints").iterdir()) == [
        "step-00000008",
        "step-00000012",
    ]
    assert result.checkpoint == tmp_path / "run/checkpoints/step-00000012"
    assert result.samples == reports[-1].entry["samples"]
    assert reports[-1].progress == 1.0
    data = next(e for e in result.history if e["kind"] == "data")
    assert data["positions_in_both"] == 0
    assert data["train_games"] + data["test_games"] == 30
    assert training.read_log(tmp_path / "run") == result.history
    _, card = nets.load_model(result.checkpoint)
    assert card.training["test"]["policy_top1"] == result.test.policy_top1
    progress, saved = checkpoint.read_progress(result.checkpoint)
    assert saved == config
    assert progress.step == 12


def test_untrained_is_what_a_run_starts_from(tmp_path, encoder, samples):
    config = make_config()
    start = training.save_untrained(config, tmp_path / "start", encoder)
    result = run(tmp_path / "run", config, encoder, samples, stop=lambda: True)
    assert result.step == 0
    found, expected = (nets.load_model(f)[0].state_dict() for f in (start, result.checkpoint))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_run_may_start_from_the_weights_of_another(tmp_path, encoder, samples):
    first = run(tmp_path / "first", make_config(), encoder, samples)
    model = {"net": "resnet1x8", "init_from": str(tmp_path / "first")}
    config = make_config(model=model, schedule={"rate": 1e-9}, loop={"max_steps": 1})
    second = run(tmp_path / "second", config, encoder, samples)
    weights = dict(nets.load_model(first.checkpoint)[0].named_parameters())
    for name, value in nets.load_model(second.checkpoint)[0].named_parameters():
        torch.testing.assert_close(value, weights[name], atol=1e-6, rtol=0)
    (tmp_path / "first").rename(tmp_path / "away")  # not asked for again
    more = make_config(model=model, schedule={"rate": 1e-9}, loop={"max_steps": 2})
    assert run(tmp_path / "second", more, encoder, samples, resume=True).step == 2
    with pytest.raises(training.CheckpointError, match="first"):
        run(tmp_path / "third", config, encoder, samples)
    other = make_config(model={"net": "resnet2x8", "init_from": str(tmp_path / "away")})
    with pytest.raises(
        training.ConfigError, match=r"init_from.*its net is resnet1x8, not resnet2x8"
    ):
        run(tmp_path / "third", other, encoder, samples)


def test_every_epoch_shows_each_sample_once(tmp_path, encoder, samples):
    config = make_config(loop={"epochs": 2, "max_steps": 0})
    result = run(tmp_path / "run", config, encoder, samples)
    assert result.samples == 2 * 240  # 24 of 30 games, the last batch smaller
    # 8 batches per epoch: 5 in parallel neither repeat nor skip any, except in the last step.
    config = make_config(loop={"epochs": 3, "max_steps": 0, "accumulate": 5})
    result = run(tmp_path / "five", config, encoder, samples)
    assert (result.step, result.samples) == (5, 3 * 240 + 32)


def test_another_batch_size_resumes_where_the_run_stopped(tmp_path, encoder, samples):
    seen = []

    class Watching(type(encoder)):
        def encode(self, samples, rows, mirror, out):
            seen.append(rows.copy())
            return super().encode(samples, rows, mirror, out)

    def of(size, **more):
        loop = {"batch_size": size, "epochs": 1, "max_steps": 0, "evaluate_every": 0, **more}
        return make_config(loop=loop, data={"test_fraction": 0})

    calls = iter(range(100))
    part = run(tmp_path / "run", of(32), encoder, samples, stop=lambda: next(calls) == 3)
    assert part.samples == 96
    rest = run(tmp_path / "run", of(50), Watching(), samples, resume=True)
    assert (rest.step, rest.samples) == (3 + 5, 300)
    order = np.random.default_rng([1, 0]).permutation(300)
    assert np.array_equal(np.concatenate(seen[:5]), order[96:])


def test_checkpoints_that_counted_batches_resume(tmp_path, encoder, samples):
    calls = iter(range(100))
    part = run(tmp_path / "run", make_config(), encoder, samples, stop=lambda: next(calls) == 3)
    path = part.checkpoint / "training.json"
    state = json.loads(path.read_text())
    assert state["cursor"] == {"epoch": 0, "sample": 96}
    state |= {"format_version": 1, "cursor": {"epoch": 0, "batch": 3}}
    path.write_text(json.dumps(state))
    progress, _ = checkpoint.read_progress(part.checkpoint)
    assert progress.cursor == training.Cursor(0, 96)


def test_a_resumed_log_has_each_test_once(tmp_path, encoder, samples):
    calls = iter(range(100))
    run(tmp_path / "run", make_config(), encoder, samples, stop=lambda: next(calls) == 4)
    rest = run(tmp_path / "run", make_config(), encoder, samples, resume=True)
    assert [e["step"] for e in rest.history if e["kind"] == "test"] == [4, 8, 12]
    calls = iter(range(100))
    run(tmp_path / "odd", make_config(), encoder, samples, stop=lambda: next(calls) == 5)
    rest = run(tmp_path / "odd", make_config(), encoder, samples, resume=True)
    assert [e["step"] for e in rest.history if e["kind"] == "test"] == [4, 8, 12]


@pytest.mark.parametrize("test", [1, 2, 3])
def test_a_stopped_test_is_repeated(tmp_path, encoder, samples, test):
    """The first, second or last test of the run; a test of minutes doesn't delay the end."""
    whole = run(tmp_path / "whole", make_config(), encoder, samples)
    begun = []

    def in_test():
        begun.append(True)
        return len(begun) == batches * (test - 1) + 1

    config = make_config(loop={"test_batch_size": 16})
    batches = math.ceil(whole.test.positions / 16)
    part = run(tmp_path / "part", config, encoder, samples, stop_test=in_test)
    assert (part.step, part.is_complete, part.test) == (4 * test, False, None)
    assert "test" not in nets.load_model(part.checkpoint)[1].training
    rest = run(tmp_path / "part", config, encoder, samples, resume=True)
    assert rest.is_complete
    tests = {e["step"]: e["loss"] for e in rest.history if e["kind"] == "test"}
    assert list(tests) == [4, 8, 12]
    assert tests == pytest.approx(
        {e["step"]: e["loss"] for e in whole.history if e["kind"] == "test"}
    )


def test_a_run_stopped_before_its_last_test_is_not_complete(tmp_path, encoder, samples):
    calls = iter(range(100))
    part = run(tmp_path / "a", make_config(), encoder, samples, stop=lambda: next(calls) == 12)
    assert (part.step, part.is_complete, part.test) == (12, False, None)
    rest = run(tmp_path / "a", make_config(), encoder, samples, resume=True)
    assert rest.is_complete
    assert rest.test.positions


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\n", b'{"kind": "train"}\n', b'{"step": 1}\n', b'{"kind": "test", "step": "2"}\n'],
)
def test_damaged_lines_of_a_log_are_left_out(tmp_path, encoder, samples, line):
    calls = iter(range(100))
    part = run(tmp_path / "run", make_config(), encoder, samples, stop=lambda: next(calls) == 4)
    log = tmp_path / "run" / "log.jsonl"
    log.write_bytes(line + log.read_bytes())
    assert training.read_log(tmp_path / "run") == part.history
    rest = run(tmp_path / "run", make_config(), encoder, samples, resume=True)
    assert [e["step"] for e in rest.history if e["kind"] == "test"] == [4, 8, 12]
    assert line not in log.read_bytes()


def test_ruined_weights_do_not_become_a_checkpoint(tmp_path, encoder, samples):
    schedule = {"kind": "step", "drops": [0.5], "factor": 1e38, "warmup_steps": 0}
    loop = {"checkpoint_every": 1, "keep": 1, "evaluate_every": 0}
    config = make_config(schedule=schedule, loop=loop)
    with pytest.raises(
        training.DivergedError, match=r"after 7 steps are not finite.*step-00000006"
    ):
        run(tmp_path / "run", config, encoder, samples)
    calm = make_config(loop=loop)
    assert run(tmp_path / "run", calm, encoder, samples, resume=True).step == 12
    once = make_config(schedule={"rate": 1e38, "warmup_steps": 0}, loop={"max_steps": 1})
    with pytest.raises(training.DivergedError, match="the test loss after 1 steps is nan"):
        run(tmp_path / "once", once, encoder, samples)


def test_the_only_game_may_be_no_test(tmp_path, encoder, samples):
    samples.game[:] = 0
    with pytest.raises(training.ConfigError, match=r"test_fraction = 0\.2 leaves no game to learn"):
        run(tmp_path / "run", make_config(), encoder, samples)


@pytest.mark.parametrize(
    ("name", "average"),
    [
        ("sgd", {}),
        ("sgd", {"ema_decay": 0.9}),
        ("sgd", {"ema_decay": 0.9, "norm_batches": 2}),
        ("sgd", {"swa_every": 2, "swa_start": 5, "norm_batches": 2}),
        ("sgd", {"swa_every": 2, "swa_start": 9}),
        ("adamw", {"ema_decay": 0.9}),
        ("adam", {}),
        ("rmsprop", {}),
        ("adagrad", {}),
    ],
)
def test_resume_equals_uninterrupted(tmp_path, encoder, samples, name, average):
    config = make_config(
        optimizer={"name": name},
        schedule={"rate": 0.01},
        loss={"lambda_decay": 0.5},
        loop=average,
        data={"mirror": True},
    )
    whole = run(tmp_path / "whole", config, encoder, samples)
    calls = iter(range(100))
    part = run(tmp_path / "part", config, encoder, samples, stop=lambda: next(calls) == 7)
    assert part.step == 7
    assert not part.is_complete
    rest = run(tmp_path / "part", config, encoder, samples, resume=True)
    expected, found = train_losses(whole), train_losses(rest)
    assert found.keys() == expected.keys()
    assert max(abs(found[s] - expected[s]) for s in expected) < 1e-6
    assert rest.test.loss == pytest.approx(whole.test.loss, abs=1e-6)
    assert rest.samples == whole.samples


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lower_precisions_learn_and_resume(tmp_path, encoder, samples, precision):
    config = make_config(device={"precision": precision}, loop={"max_steps": 30})
    whole = run(tmp_path / "whole", config, encoder, samples)
    losses = train_losses(whole)
    assert losses[30] < 0.9 * losses[1]
    calls = iter(range(100))
    run(tmp_path / "part", config, encoder, samples, stop=lambda: next(calls) == 7)
    rest = run(tmp_path / "part", config, encoder, samples, resume=True)
    found = train_losses(rest)
    assert max(abs(found[s] - losses[s]) for s in losses) < 1e-6


def test_the_precision_suits_the_device(monkeypatch):
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    monkeypatch.setattr(device, "_has_fast_bfloat16", lambda _: False)  # such as a T4
    assert device._best_dtype(gpu) is torch.float16
    assert device._best_dtype(cpu) is torch.float32
    monkeypatch.setattr(device, "_has_fast_bfloat16", lambda _: True)
    assert device._best_dtype(gpu) is device._best_dtype(cpu) is torch.bfloat16


def test_gradients_that_overflow_halve_the_scale_and_skip_the_step(tmp_path, encoder, samples):
    config = make_config(
        device={"precision": "float16"}, loss={"value_weight": 1e6}, loop={"max_steps": 3}
    )
    result = run(tmp_path / "run", config, encoder, samples)
    state = json.loads((result.checkpoint / "training.json").read_text())
    assert state["gradient_scale"]["scale"] < 65536
    assert state["step"] == 3


@pytest.mark.slow
def test_compiled_is_the_same_network(tmp_path, encoder, samples):
    """At a learning rate so low that rounding of gradients doesn't separate the losses. torch's
    compiler takes most of a minute on a CPU.
    """
    slow = {"rate": 1e-4}
    plain = run(tmp_path / "plain", make_config(schedule=slow), encoder, samples)
    config = make_config(schedule=slow, device={"compile": "default"})
    compiled = run(tmp_path / "compiled", config, encoder, samples)
    expected, found = train_losses(plain), train_losses(compiled)
    assert max(abs(found[s] - expected[s]) for s in expected) < 1e-4


def test_a_run_is_not_overwritten(tmp_path, encoder, samples):
    run(tmp_path / "run", make_config(), encoder, samples)
    with pytest.raises(training.TrainingError, match="holds a run already"):
        run(tmp_path / "run", make_config(), encoder, samples)
    with pytest.raises(training.TrainingError, match="nothing to resume"):
        run(tmp_path / "other", make_config(), encoder, samples, resume=True)


def test_a_linear_run_keeps_its_log(tmp_path, encoder, samples):
    for name in ("run.json", "log.jsonl"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(training.TrainingError, match="holds a run of komadori linear"):
        run(tmp_path, make_config(), encoder, samples)
    assert (tmp_path / "log.jsonl").read_text() == "{}"


@pytest.mark.parametrize("name", ["config.json", "log.jsonl", "model.safetensors"])
def test_a_run_replaces_no_file_of_others(tmp_path, encoder, samples, name):
    for text in ('{"name": "mine"}\n', "mine"):
        (tmp_path / name).write_text(text)
        with pytest.raises(training.TrainingError, match=f"holds {name} of something else"):
            run(tmp_path, make_config(), encoder, samples)
        assert (tmp_path / name).read_text() == text
        assert not (tmp_path / "checkpoints").exists()


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path, encoder, samples):
    run(tmp_path, make_config(), encoder, samples)
    shutil.rmtree(tmp_path / "checkpoints")
    log = (tmp_path / "log.jsonl").read_text()
    for cut in (0, 5, len(log)):
        (tmp_path / "log.jsonl").write_text(log[:cut])
        run(tmp_path, make_config(), encoder, samples)
        shutil.rmtree(tmp_path / "checkpoints")


def test_a_run_with_dropout_repeats_itself_on_several_threads(tmp_path, encoder, samples):
    net = {"family": "wide-resnet", "blocks": 1, "channels": 8, "dropout": 0.5}
    config = make_config(model={"net": net}, device={"threads": 2})
    runs = [run(tmp_path / name, config, encoder, samples) for name in ("one", "two")]
    assert train_losses(runs[0]) == train_losses(runs[1])
    calls = iter(range(100))
    run(tmp_path / "part", config, encoder, samples, stop=lambda: next(calls) == 7)
    rest = run(tmp_path / "part", config, encoder, samples, resume=True)
    expected, found = train_losses(runs[0]), train_losses(rest)
    assert max(abs(found[s] - expected[s]) for s in expected) < 1e-6


def test_another_optimizer_does_not_resume_a_run(tmp_path, encoder, samples):
    run(tmp_path / "run", make_config(), encoder, samples, stop=lambda: True)
    other = make_config(optimizer={"name": "adam"})
    with pytest.raises(training.TrainingError, match="optimizer is sgd, not adam"):
        run(tmp_path / "run", other, encoder, samples, resume=True)


def test_a_network_that_needs_other_inputs_is_a_bad_setting(tmp_path, encoder, samples):
    config = make_config(model={"net": "attention1x64"})
    with pytest.raises(
        training.ConfigError, match=r"model\.net = attention1x64h8: attention takes one"
    ):
        run(tmp_path / "run", config, encoder, samples)


def test_other_data_does_not_resume_a_run(tmp_path, encoder, samples):
    run(tmp_path / "run", make_config(), encoder, samples, stop=lambda: True)
    with pytest.raises(training.TrainingError, match="seed is 1, not 7"):
        run(tmp_path / "run", make_config(seed=7), encoder, samples, resume=True)
    with pytest.raises(training.TrainingError, match="not those of the run"):
        run(tmp_path / "run", make_config(), encoder, make_samples(seed=1), resume=True)
    run(tmp_path / "run", make_config(), encoder, samples, resume=True)


def test_nan_stops_the_run_and_saves_the_batch(tmp_path, encoder, samples):
    samples.result[:] = np.nan
    with pytest.raises(training.TrainingError, match=r"step 0 is nan.*bad-batch"):
        run(tmp_path / "run", make_config(), encoder, samples)
    with np.load(tmp_path / "run/bad-batch-step-00000000.npz") as bad:
        assert bad["hcp"].shape == (32, 32)
        assert np.array_equal(bad["hcp"], samples.hcp[bad["rows"]])
    assert checkpoint.newest_checkpoint(tmp_path / "run") is None


def test_missing_moves_train_the_value_only(tmp_path, encoder):
    samples = make_samples(1500)
    samples.move16[:] = 0
    config = make_config(loop={"max_steps": 60, "evaluate_every": 0})
    config = replace(config, loss=replace(config.loss, entropy_bonus=0.1))
    result = run(tmp_path / "run", config, encoder, samples)
    initial = nets.load_model(training.save_untrained(config, tmp_path / "new", encoder))[0]
    learned = nets.load_model(result.checkpoint)[0]
    assert torch.equal(learned.policy.bias, initial.policy.bias)
    assert result.test.labelled == 0
    assert math.isnan(result.test.policy_top1)
    assert result.test.value_accuracy > 0.95
    entry = json.loads((tmp_path / "run/log.jsonl").read_text().splitlines()[-2])
    assert entry["policy_top1"] is None


def test_accumulation_equals_one_large_batch(tmp_path, encoder):
    """Without batch norm, whose statistics would be per micro-batch: the policy alone."""
    net = {"family": "cnn", "layers": 2, "channels": 8, "norms": 0}
    runs = []
    for size, accumulate in ((240, 1), (60, 4)):
        config = make_config(
            loop={"batch_size": size, "accumulate": accumulate, "max_steps": 3, "clip": 0.0},
            model={"net": net},
            schedule={"kind": "constant", "rate": 0.5, "warmup_steps": 0},
            loss={"value_weight": 0.0},
        )
        runs.append(run(tmp_path / f"{accumulate}", config, encoder, make_samples(2000)))
    assert runs[0].samples == runs[1].samples == 720
    first, second = (dict(nets.load_model(r.checkpoint)[0].named_parameters()) for r in runs)
    start = nets.load_model(training.save_untrained(config, tmp_path / "start", encoder))[0]
    for name, value in start.named_parameters():
        if name.startswith("value."):
            continue
        torch.testing.assert_close(first[name], second[name], rtol=1e-4, atol=1e-6)
        assert not torch.allclose(first[name], value, atol=1e-4), name


def test_a_run_stops_between_the_micro_steps_of_a_step(tmp_path, encoder, samples):
    """A step of many of them could not be interrupted. What was done of it leaves no trace."""
    net = {"family": "wide-resnet", "blocks": 1, "channels": 8, "dropout": 0.5}
    config = make_config(model={"net": net}, loop={"accumulate": 3, "max_steps": 6})
    whole = run(tmp_path / "whole", config, encoder, samples)
    calls = iter(range(100))
    part = run(tmp_path / "part", config, encoder, samples, stop=lambda: next(calls) == 7)
    assert (part.step, next(calls)) == (2, 8)  # three calls per step
    rest = run(tmp_path / "part", config, encoder, samples, resume=True)
    assert train_losses(rest) == train_losses(whole)
    expected, found = (nets.load_model(r.checkpoint)[0].state_dict() for r in (whole, rest))
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_time_limited_run_ends_its_schedule(tmp_path, encoder, samples):
    config = make_config(
        loop={"max_steps": 0, "max_seconds": 0.7, "evaluate_every": 0, "checkpoint_every": 0}
    )
    result = run(tmp_path / "run", config, encoder, samples)
    rates = [e["rate"] for e in result.history if e["kind"] == "train"]
    assert 0.7 <= result.seconds + 0.2 < 3
    assert rates[-1] < 0.2 * max(rates)
    assert result.is_complete


def test_without_test_part(tmp_path, encoder, samples):
    result = run(tmp_path / "run", make_config(data={"test_fraction": 0}), encoder, samples)
    assert result.test is None
    assert isinstance(result.checkpoint, Path)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_folder_that_was_moved_away_ends_the_run(tmp_path, encoder, samples, is_replaced):
    folder = tmp_path / "run"
    config = make_config(loop={"max_steps": 8, "evaluate_every": 4, "checkpoint_every": 2})

    def move(_):
        if (folder / "checkpoints").exists():
            folder.rename(tmp_path / "moved")
            if is_replaced:
                folder.mkdir()
                (folder / "log.jsonl").write_text("mine")

    with pytest.raises(OSError, match="was moved, removed or replaced while it was in use"):
        run(folder, config, encoder, samples, progress=move)
    if is_replaced:
        assert [path.name for path in folder.iterdir()] == ["log.jsonl"]
    else:
        assert not folder.exists()
    assert run(tmp_path / "moved", config, encoder, samples, resume=True).is_complete
