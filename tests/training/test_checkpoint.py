import errno
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from training_toys import make_config, make_samples

from komadori import nets, training
from komadori.training import CheckpointError, checkpoint


@pytest.fixture
def finished(tmp_path, encoder, samples):
    return training.train(make_config(), samples, None, tmp_path / "run", encoder=encoder)


def edit(folder, **changes):
    path = folder / "training.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_resolve(finished):
    assert training.resolve(finished.run_dir) == finished.checkpoint
    assert training.resolve(finished.checkpoint) == finished.checkpoint
    inside = re.escape(f"nor a run with checkpoints, but it contains {finished.run_dir}")
    with pytest.raises(CheckpointError, match=inside):
        training.resolve(finished.run_dir.parent)
    with pytest.raises(CheckpointError, match=r"nor a run with checkpoints$"):
        training.resolve(finished.checkpoint.parent)
    with pytest.raises(CheckpointError, match="nowhere: no such model folder or run"):
        training.resolve(finished.run_dir / "nowhere")


def test_a_newer_version_says_why_not(finished):
    edit(finished.checkpoint, format_version=99)
    with pytest.raises(CheckpointError, match="version 99; this komadori reads up to 2"):
        checkpoint.read_progress(finished.checkpoint)
    card = finished.checkpoint / "model.json"
    card.write_text(card.read_text().replace('"format_version": 1', '"format_version": 99'))
    with pytest.raises(nets.ModelFileError, match="version 99"):
        nets.load_model(finished.checkpoint)


def resume(finished, encoder, samples):
    config = make_config(loop={"max_steps": 20})
    return training.train(config, samples, None, finished.run_dir, resume=True, encoder=encoder)


@pytest.mark.parametrize("name", ["model.safetensors", "training.safetensors"])
def test_truncated_and_missing_files_are_named(finished, name, encoder, samples):
    path = finished.checkpoint / name
    data = path.read_bytes()
    path.write_bytes(data[:-10])
    with pytest.raises(CheckpointError, match=rf"{name}: truncated: {len(data) - 10} of"):
        resume(finished, encoder, samples)
    path.write_bytes(data + b"0123456789")
    with pytest.raises(CheckpointError, match=rf"{name}: changed: {len(data) + 10} of"):
        resume(finished, encoder, samples)
    path.unlink()
    with pytest.raises(CheckpointError, match=f"{name}: missing"):
        checkpoint.read_progress(finished.checkpoint)


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "x"},
        {"step": -1},
        {"step": True},
        {"samples": None},
        {"samples": 1e308},
        {"seconds": "x"},
        {"seconds": float("nan")},
        {"cursor": {"epoch": "x", "sample": 0}},
        {"cursor": {"epoch": 0, "sample": -5}},
    ],
    ids=str,
)
def test_progress_that_cannot_be_names_its_file(finished, changes):
    edit(finished.checkpoint, **changes)
    with pytest.raises(CheckpointError, match=r"training\.json: incomplete: \w+ is .*, not a "):
        checkpoint.read_progress(finished.checkpoint)


def test_a_setting_that_is_unknown_names_the_file_once(finished):
    edit(finished.checkpoint, config={"model": {"net": {"family": "gone"}}})
    with pytest.raises(CheckpointError, match=r"training\.json: model\.net\.family: un") as caught:
        checkpoint.read_progress(finished.checkpoint)
    assert str(caught.value).count("training.json") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rng.torch", None, "no random state"),
        ("rng.torch", "short", "no random state"),
        ("optimizer.0.", "optimizer.x.a", "optimizer.x.a fits no parameter"),
        ("optimizer.0.", "optimizer.-1.a", "optimizer.-1.a fits no parameter"),
        ("optimizer.0.", "optimizer.0", r"optimizer\.0 fits no parameter"),
        ("optimizer.0.", "optimizer.0.a.b", "optimizer.0.a.b fits no parameter"),
        ("optimizer.0.", "optimizer.99999.a", "optimizer.99999.a fits no parameter"),
        ("optimizer.0.", "optimizer.0.a", "optimizer.0.a fits no parameter"),
    ],
)
def test_tensors_that_fit_nothing_name_their_file(finished, encoder, samples, old, new, message):
    path = finished.checkpoint / "training.safetensors"
    tensors = nets.read_tensors(path)
    name = next(name for name in tensors if name.startswith(old))
    tensor = tensors.pop(name)
    if new == "short":
        tensors[name] = tensor[:-8]
    elif new:
        tensors[new] = tensor
    nets.write_tensors(path, tensors)
    sizes = json.loads((finished.checkpoint / "training.json").read_text())["files"]
    edit(finished.checkpoint, files=sizes | {path.name: path.stat().st_size})
    with pytest.raises(CheckpointError, match=rf"training\.safetensors: .*{message}"):
        resume(finished, encoder, samples)


@pytest.mark.parametrize("name", ["sgd", "adamw", "adam", "rmsprop", "adagrad", "muon"])
def test_each_tensor_of_an_optimizer_is_needed(name, tmp_path, encoder, samples):
    config = make_config(optimizer={"name": name}, loop={"max_steps": 2, "epochs": 9})
    run = training.train(config, samples, None, tmp_path / name, encoder=encoder)
    path = run.checkpoint / "training.safetensors"
    tensors = nets.read_tensors(path)
    last = max(key for key in tensors if key.startswith("optimizer."))
    sizes = json.loads((run.checkpoint / "training.json").read_text())["files"]
    # Without its only tensor, a parameter is one that no step has changed yet.
    for new in (f"{last}_of_another_kind", *(() if name == "sgd" else (None,))):
        renamed = {(new if key == last else key): value for key, value in tensors.items()}
        renamed.pop(None, None)
        nets.write_tensors(path, renamed)
        edit(run.checkpoint, files=sizes | {path.name: path.stat().st_size})
        with pytest.raises(CheckpointError, match=r"training\.safetensors: optimizer\.") as caught:
            training.train(config, samples, None, tmp_path / name, resume=True, encoder=encoder)
        assert str(caught.value).endswith(("fits no parameter of this optimizer", "is missing"))


def test_other_network_is_refused(finished, encoder, samples):
    config = make_config(model={"net": "resnet2x8"}, loop={"max_steps": 20})
    with pytest.raises(training.TrainingError, match="network is resnet1x8, not resnet2x8"):
        training.train(config, samples, None, finished.run_dir, resume=True, encoder=encoder)


def test_full_disk_loses_no_checkpoint(tmp_path, encoder, samples, monkeypatch):
    fsync, calls = os.fsync, iter(range(1000))

    def full(handle):
        if next(calls) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"No space left.*step-0000\d+, is whole"):
        training.train(
            make_config(loop={"max_steps": 100}), samples, None, tmp_path / "run", encoder=encoder
        )
    monkeypatch.undo()
    checkpoint.read_progress(checkpoint.newest_checkpoint(tmp_path / "run"))
    names = [f.name for f in (tmp_path / "run/checkpoints").iterdir()]
    assert all(name.startswith("step-") for name in names)


def test_kill_loses_no_checkpoint(tmp_path, encoder, samples):
    """Repeatedly kills a run that saves after every step; each time it can be resumed."""
    script = tmp_path / "forever.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from training_toys import ToyEncoder, make_config, make_samples
        from komadori import training
        loop = dict(max_steps=10**6, checkpoint_every=1, evaluate_every=0, keep=1)
        run = {str(tmp_path / "run")!r}
        resume = training.newest_checkpoint(__import__("pathlib").Path(run)) is not None
        training.train(make_config(loop=loop), make_samples(), None, run, resume=resume,
                       encoder=ToyEncoder(), progress=lambda r: print(r.step, flush=True))
        """)
    )
    reached = 0
    for delay in (0.05, 0.113):
        process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
        seen = [int(process.stdout.readline()) for _ in range(2)]
        assert seen == [reached + 1, reached + 2]
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        seen += map(int, process.stdout.read().split())
        process.wait()
        progress, _ = checkpoint.read_progress(checkpoint.newest_checkpoint(tmp_path / "run"))
        # A step is reported after the previous checkpoint was written and before its own.
        assert seen[-1] - 1 <= progress.step <= seen[-1] + 1
        reached = progress.step
    loop = {"max_steps": reached + 3, "checkpoint_every": 0, "evaluate_every": 0}
    result = training.train(
        make_config(loop=loop), make_samples(), None, tmp_path / "run", resume=True, encoder=encoder
    )
    assert result.step == reached + 3
    names = [f.name for f in (tmp_path / "run/checkpoints").iterdir()]
    assert all(name.startswith("step-") for name in names)
