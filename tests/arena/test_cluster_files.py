"""The files of a match's players on the machines of a cluster."""

from __future__ import annotations

import importlib.resources
import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

import komadori
from komadori import arena
from komadori.arena import cluster
from komadori.arena.cluster import MatchWorker
from komadori.arena.openings import Opening
from komadori.arena.workers import Job, WorkerError
from komadori.players import PlayerSpecError


class JobOfFleetError(Exception):
    """Holds the job that a cluster's workers would get."""


def job_on_cluster(monkeypatch: pytest.MonkeyPatch, player: str) -> dict[str, Any]:
    """What the workers of a match on a cluster are told, as JSON."""

    def fleet(_address: str, _worker: str, job: dict[str, Any], **_: object) -> None:
        raise JobOfFleetError(job)

    monkeypatch.setattr(cluster, "Fleet", fleet)
    with pytest.raises(JobOfFleetError) as caught:
        arena.play_match(player, "random", games=2, nodes=1, ray="auto")
    return cast(dict[str, Any], json.loads(json.dumps(caught.value.args[0])))


def test_a_worker_of_a_cluster_plays_with_the_files_of_the_head_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine may have another network under the same path."""
    weights = tmp_path / "nn.bin"
    shipped = (Path(komadori.__file__).parent / "data" / "nnue-k-p.bin").read_bytes()
    weights.write_bytes(shipped)
    job = job_on_cluster(monkeypatch, f"alphabeta?EvalFile={weights}")
    worker = MatchWorker(job, "the same files", 1)
    weights.write_bytes(shipped[:-1] + bytes([shipped[-1] ^ 1]))
    with pytest.raises(PlayerSpecError, match=r"nn\.bin: differs from the head's"):
        MatchWorker(job, "another network", 1)
    worker.add([asdict(Job(0, 0, Opening(), True, 5))])
    with pytest.raises(WorkerError, match=r"nn\.bin changed while it was in use"):
        take_one(worker)
    worker.stop()


def take_one(worker: MatchWorker) -> None:
    ends = time.monotonic() + 60
    while not worker.take() and time.monotonic() < ends:
        pass


def test_bundled_files_may_be_elsewhere_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_on_cluster(monkeypatch, "alphabeta")
    package = tmp_path / "komadori"
    shutil.copytree(Path(komadori.__file__).parent / "data", package / "data")
    monkeypatch.setattr(importlib.resources, "files", lambda _: package)
    MatchWorker(job, "elsewhere", 1).stop()
    (package / "data" / "nnue-k-p.bin").write_bytes(b"another version")
    with pytest.raises(PlayerSpecError, match=r"nnue-k-p\.bin: differs from the head's"):
        MatchWorker(job, "another version", 1)
