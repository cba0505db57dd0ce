"""Cluster workers without Ray: the same files as one machine writes."""

from __future__ import annotations

import time
from dataclasses import asdict

import pytest

from komadori import records
from komadori.generate.cluster_games import WORKERS, SelfPlayWorker, recover_games, selfplay_job
from komadori.generate.cluster_labels import LabellerSpec, LabelWorker
from komadori.generate.labellers import PolicySettings
from komadori.generate.openings import Lines
from komadori.generate.relabel import LabelFolder, relabel
from komadori.generate.selfplay import SelfPlayGames
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.inference import load
from komadori.records.files import identify


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "games.hcpe3"
    records.write_games(path, records.read_games(records.sample_path())[:8])
    return path


def results(worker, count: int) -> list:
    found: list = []
    ends = time.monotonic() + 60
    while len(found) < count and time.monotonic() < ends:
        found += worker.take()
    return found


def label_job(source, folder, spec: LabellerSpec, size: int):
    labeller = spec.make()
    job = {
        "labeller": asdict(spec),
        "card": labeller.card(),
        "sources": [str(source)],
        "sources_card": identify([source]),
        "folder": str(folder),
        "segment_positions": size,
    }
    return labeller, job


@pytest.mark.parametrize(
    "spec",
    [
        LabellerSpec("random:3", policy=PolicySettings(least=0.01)),
        LabellerSpec("alphabeta?Eval=material", engine={"depth": 1, "multipv": 2}),
    ],
)
def test_a_label_worker_writes_the_segments_it_is_given(source, tmp_path, spec) -> None:
    out = tmp_path / "cluster"
    out.mkdir()
    labeller, job = label_job(source, out, spec, 150)
    with LabelFolder(tmp_path / "here", {}) as folder:
        whole = relabel([source], folder, labeller, segment_positions=150)
    assert whole is not None
    names = sorted(path.name for path in (tmp_path / "here").glob("0*"))
    count = len(names) // 2
    assert count > 3
    worker = LabelWorker(job, "one", 1)
    worker.add([2, 0])  # another has had segment 1
    found = results(worker, 2)
    assert sorted(number for number, _ in found) == [0, 2]
    worker.add([1, *range(3, count)])
    found += results(worker, count - 2)
    assert sum(counts["positions"] for _, counts in found) == whole.positions
    assert sorted(path.name for path in out.glob("0*")) == names
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert worker.take() == []


def test_a_label_worker_refuses_what_differs_from_the_head(source, tmp_path) -> None:
    _, job = label_job(source, tmp_path, LabellerSpec("random:3"), 150)
    with pytest.raises(ValueError, match="the labeller differs"):
        LabelWorker(job | {"card": {}}, "one", 1)
    with pytest.raises(ValueError, match="the sources differ"):
        LabelWorker(job | {"sources_card": []}, "one", 1)


def test_a_self_play_worker_plays_the_games_of_its_numbers(tmp_path) -> None:
    settings = SelfPlaySettings(playouts=4, fast_playouts=1, max_plies=20, mate_nodes=0)
    lines = Lines(())
    job = selfplay_job(tmp_path, settings, lines, "random:3", "random:3", 3, {})
    worker = SelfPlayWorker(job, "one", 1)
    worker.add([4, 1, 7])
    assert sorted(number for number, _ in results(worker, 3)) == [1, 4, 7]
    worker.stop()
    assert (tmp_path / WORKERS / "one.journal").exists()
    played = {game.facts.number: game for game in recover_games(tmp_path)}
    alone = SelfPlayGames(load("random:3"), settings, (), 3)
    alone.add([7])
    (game,) = [one for _ in range(100) for one in alone.take(50)]
    assert game.hcpe3 == played[7].hcpe3
    with pytest.raises(ValueError, match="the model differs"):
        SelfPlayWorker(job | {"digest": "x"}, "two", 1)
