"""Training with nothing installed but numpy, torch and the core."""

import json
import subprocess
import sys
from pathlib import Path

from komadori import records, training

#: What the package or its extras install, but torch and what comes with it.
OTHERS = (
    "click",
    "rich",
    "rsshogi",
    "openvino",
    "onnx",
    "onnxruntime",
    "matplotlib",
    "tensorboard",
)


def bare(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python -m komadori.training` where none of the others can be imported."""
    program = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({OTHERS}))\n"
        "runpy.run_module('komadori.training', run_name='__main__', alter_sys=True)\n"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def write_config(path: Path) -> Path:
    path.write_text(
        "[model]\nnet = 'resnet1x8'\n[loop]\nbatch_size = 64\nmax_steps = 4\nlog_every = 2\n"
        "evaluate_every = 4\n[data]\ntrain_limit = 500\ntest_limit = 50\n"
        "[device]\ndevice = 'cpu'\nthreads = 1\n"
    )
    return path


def test_a_run_and_its_resumption(tmp_path):
    config = write_config(tmp_path / "tiny.toml")
    done = bare(config, "--data", records.sample_path(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "step 4: test loss" in done.stdout
    assert "samples/s" in done.stdout
    more = (config, "--data", records.sample_path(), "--resume", "--set", "loop.max_steps=6")
    done = bare(*more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 steps, 384 samples" in done.stdout
    log = training.read_log(tmp_path / "runs" / "tiny")
    assert [e["step"] for e in log if e["kind"] == "test"] == [4, 6]
    assert json.loads((tmp_path / "runs/tiny/config.json").read_text())["loop"]["max_steps"] == 6


def test_errors_are_one_line(tmp_path):
    config = write_config(tmp_path / "tiny.toml")
    done = bare(config, "--data", "none-*.hcpe3", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "Error: none-*.hcpe3: no such file\n"
    done = bare(config, "--set", "loop.clip=-1", cwd=tmp_path)
    assert done.returncode == 1
    assert "clip is not negative" in done.stderr
