"""A run's log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from komadori.training.run_log import RunLog, read_log


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    loading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
    )

    def write(steps: range, resume_step: int | None) -> None:
        log = RunLog(tmp_path, resume_step=resume_step, tensorboard=True)
        for step in steps:
            log.write("train", step, {"loss": step / 10, "nan": float("nan"), "word": "no number"})
        log.close()

    write(range(1, 6), None)
    write(range(4, 8), 3)  # resumed after step 3
    board = loading.EventAccumulator(str(tmp_path / "tensorboard"))
    board.Reload()
    assert board.Tags()["scalars"] == ["train/loss"]
    found = [(event.step, event.value) for event in board.Scalars("train/loss")]
    assert found == [(step, pytest.approx(step / 10)) for step in range(1, 8)]
    assert [entry["step"] for entry in read_log(tmp_path)] == list(range(1, 8))


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from komadori.training.errors import TrainingError
from komadori.training.run_log import RunLog

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = RunLog(Path(sys.argv[1]), resume_step=None, tensorboard=True)
size = max(path.stat().st_size for path in Path(sys.argv[1], "tensorboard").iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 2000, size + 2000))
try:
    for step in range(100):
        log.write("train", step, {letter: 0.5 for letter in "abcdefghijkl"})
except TrainingError as error:
    print(error)
log.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_a_full_disk_is_one_error(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert done.stdout.splitlines() == [f"{events}: can't be written: File too large"]
    assert not done.stderr


def test_event_files_are_in_order_after_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_file = pytest.importorskip("komadori.training.event_file", exc_type=ImportError)
    paths = []
    for now in (2_000, 1_000, 3_000):
        monkeypatch.setattr("komadori.training.event_file.time.time_ns", lambda now=now: now)
        file = event_file.EventFile(tmp_path)
        file.close()
        paths.append(file.path)
    assert [path.name.split(".")[3] for path in paths] == ["2000", "2001", "3000"]
