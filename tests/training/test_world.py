"""Two processes under torchrun train the same network as one process."""

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from training_toys import ToyEncoder, make_samples

from komadori import nets, records, training
from komadori.cli._group import group
from komadori.training import Loader, Part
from komadori.training.guard import NanGuard
from komadori.training.loss import Losses, Size
from komadori.training.workers import Workers
from komadori.training.world import World

TOML = """
[model.net]
family = "resnet"
blocks = 1
channels = 8
[data]
test_limit = 60
mirror = true
[loop]
batch_size = 37
epochs = 1
clip = 0.5
ema_decay = 0.5
evaluate_every = 3
checkpoint_every = 4
log_every = 1
tensorboard = false
[device]
device = "cpu"
precision = "float32"
threads = {threads}
replicas = {replicas}
"""


def command(folder, games, name, *, processes, resume=False, steps=0, changes=()):
    config = folder / f"{name}.toml"
    threads, replicas = (2, 2) if processes == 1 else (1, 1)
    config.write_text(TOML.format(threads=threads, replicas=replicas))
    words = ["train", str(config), "--data", str(games), "-o", str(folder / name)]
    words += ["--resume"] if resume else []
    words += ["--set", f"loop.max_steps={steps}"] if steps else []
    words += [part for change in changes for part in ("--set", change)]
    if processes == 1:
        threads = torch.get_num_threads()
        try:
            result = CliRunner().invoke(group, words)
        finally:
            torch.set_num_threads(threads)
        assert result.exit_code == 0, result.output
        return result.output
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [sys.executable, *launch, "-m", "komadori", *words],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_processes_equal_one(tmp_path, games):
    """The same parts of the same batches, so the same gradients, losses and weights."""
    # Seven steps: the epoch's last batch is too small for one process to split it.
    command(tmp_path, games, "one", processes=1, steps=7)
    output = command(tmp_path, games, "two", processes=2, steps=7)
    assert output.count("samples/s)") == 1  # only one process prints
    logs = [training.read_log(tmp_path / name) for name in ("one", "two")]
    facts = [next(e for e in log if e["kind"] == "run") for log in logs]
    assert [fact["processes"] for fact in facts] == [1, 2]
    for kind, keys in (
        ("train", ("loss", "gradient_norm", "samples", "rate")),
        ("test", ("loss", "positions", "policy_top1")),
    ):
        one, two = ([e for e in log if e["kind"] == kind] for log in logs)
        assert len(one) == len(two) >= 3
        for key in keys:
            assert [e[key] for e in two] == pytest.approx([e[key] for e in one], rel=1e-5)
    first, second = (
        nets.read_tensors(training.newest_checkpoint(tmp_path / name) / "model.safetensors")
        for name in ("one", "two")
    )
    for name in first:
        torch.testing.assert_close(second[name], first[name], atol=1e-5, rtol=1e-4)


def test_two_processes_equal_one_while_streaming(tmp_path, games):
    """Windows of compressed files, which every process reads and takes its rows of."""
    folder = tmp_path / "files"
    folder.mkdir()
    known = records.read_games(games)
    for number in range(4):
        records.write_games(folder / f"{number}.hcpe3.xz", known[number::4])
    changes = ("data.window=111", "data.test_fraction=0.25", "loss.policy_target=visits")
    # More steps than an epoch has, so that windows of two orders of the files are read.
    for name, processes in (("one", 1), ("two", 2)):
        pattern = folder / "*.hcpe3.xz"
        command(
            tmp_path,
            pattern,
            name,
            processes=processes,
            steps=12,
            changes=(*changes, "loop.epochs=0"),
        )
    one, two = (
        [e for e in training.read_log(tmp_path / name) if e["kind"] == "train"]
        for name in ("one", "two")
    )
    assert len(one) == len(two) == 12
    for key in ("loss", "gradient_norm", "samples", "epoch"):
        assert [e[key] for e in two] == pytest.approx([e[key] for e in one], rel=1e-5), key
    assert one[-1]["epoch"] > 1
    first, second = (
        nets.read_tensors(training.newest_checkpoint(tmp_path / name) / "model.safetensors")
        for name in ("one", "two")
    )
    for name in first:
        torch.testing.assert_close(second[name], first[name], atol=1e-5, rtol=1e-4)


def test_the_batch_of_a_bad_loss_is_that_of_all_processes(tmp_path):
    samples = make_samples(64)
    part = Part.whole(samples)
    bad = Losses(*[torch.tensor(float("nan"))] * 4)
    for rank in (1, 0):
        loader = Loader(part, ToyEncoder(), 32, shard=World(rank, 2).shard)
        with contextlib.closing(loader.batches()) as batches:
            batch = next(batches)
        assert len(batch) == 16
        guard = NanGuard(tmp_path, World(rank, 2).is_first)
        guard.watch(bad, batch, 7)
        with pytest.raises(training.DivergedError, match="step 7 is nan"):
            guard.settle()
        path = tmp_path / "bad-batch-step-00000007.npz"
        assert path.exists() == (rank == 0)
    with np.load(path) as saved:
        assert sorted(saved["rows"]) == sorted(batch.whole)
        assert len(saved["rows"]) == 32


@pytest.mark.slow
def test_two_processes_resume(tmp_path, games):
    command(tmp_path, games, "whole", processes=1, steps=8)
    command(tmp_path, games, "parts", processes=2, steps=6)
    command(tmp_path, games, "parts", processes=2, steps=8, resume=True)
    whole, parts = (
        {
            e["step"]: e["samples"]
            for e in training.read_log(tmp_path / name)
            if e["kind"] == "train"
        }
        for name in ("whole", "parts")
    )
    assert parts == whole


def test_a_shard_may_be_empty():
    """A last batch of one position leaves the first of two processes with none."""
    shards = [World(rank, 2).shard(1) for rank in (0, 1)]
    assert [len(range(1)[shard]) for shard in shards] == [0, 1]
    samples = make_samples(1)
    loader = Loader(Part.whole(samples), ToyEncoder(), 4, shard=World(0, 2).shard)
    batch = next(loader.batches())
    assert (len(batch), batch.size) == (0, Size(1, 1))
    assert Workers(1, 1).map(lambda *_: pytest.fail("nothing to do"), batch) == []
    assert float(Losses.sum([]).total) == 0
