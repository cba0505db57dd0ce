"""Work on a local Ray cluster of two nodes, one of which is killed midway."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cluster import ClusterError, Fleet
from komadori.cluster.commands import CommandWorker
from komadori.lab.results import Store

os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """A head without a core for work; nodes are added by the tests."""
    from ray.cluster_utils import Cluster

    ray.shutdown()
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": 100 << 20},
    )
    yield made
    ray.shutdown()
    made.shutdown()


def add_node(cluster):
    """A node of a core. Ray gives one 30 seconds to start, which a busy machine may not keep."""
    for attempt in range(4):
        try:
            return cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        except Exception as error:
            if attempt == 3 or "timed out" not in str(error):
                raise
    return None


@pytest.fixture(scope="module")
def nodes(cluster):
    """Two nodes of a core each; the last test kills the first."""
    made = [add_node(cluster) for _ in range(2)]
    cluster.wait_for_nodes()
    return made


TEACHER = ["--eval", "two-piece", "--nodes", "3000", "--hash", "1", "--segment-games", "6"]


def test_the_command(cluster, nodes, tmp_path) -> None:
    from komadori.cli.generate import command

    arguments = ["teacher", "-o", str(tmp_path / "games"), "--games", "6", *TEACHER]
    result = CliRunner().invoke(command, [*arguments, "--ray", cluster.address])
    assert result.exit_code == 0, result.output
    assert "games      6 with" in result.output
    assert not (tmp_path / "games/workers").exists()


def test_a_match_on_the_cluster(cluster, nodes, tmp_path) -> None:
    from komadori.arena import play_match

    result = play_match(
        "material", "random", games=4, nodes=1, out=tmp_path / "match", ray=cluster.address
    )
    assert result.played == 4
    assert sorted(record.index for record in result.games) == [0, 1, 2, 3]


def test_commands_everywhere(cluster, nodes, tmp_path) -> None:
    from komadori.cluster.everywhere import run_everywhere

    words = ["sh", "-c", "echo here > $$.txt; sleep 0.2"]
    assert run_everywhere(cluster.address, words, folder=tmp_path)
    assert len(list(tmp_path.glob("*.txt"))) == 2
    with pytest.raises(ClusterError, match=r"status 3.*alas"):
        run_everywhere(cluster.address, ["sh", "-c", "echo alas; exit 3"], folder=tmp_path)


def test_work_that_cant_be_done_says_why(cluster, nodes, tmp_path) -> None:
    job = {"settings": {"sed": 1}}
    with Fleet(cluster.address, "komadori.generate.cluster_games:TeacherWorker", job) as fleet:
        fleet.add([1])
        with pytest.raises(ClusterError, match="unknown key 'sed'"):
            fleet.take(60)


def test_a_lost_node_loses_only_unfinished_games(cluster, nodes, tmp_path) -> None:
    from komadori.generate import (
        Evaluation,
        GameFolder,
        Lines,
        SearchBounds,
        TeacherSettings,
        generate_games,
        segment_files,
        teacher_card,
    )
    from komadori.generate.cluster_games import ClusterGames, teacher_job
    from komadori.generate.sources import BuiltinGames

    settings = TeacherSettings(searches=(SearchBounds(nodes=6000),), hash_mb=1, max_plies=120)
    lines, player = Lines(), Evaluation("two-piece")
    card = teacher_card(settings, lines, {"player": player.card()})
    changes: list[str] = []
    killed = False

    def progress(at) -> None:
        nonlocal killed
        if at.games >= 2 and not killed:
            assert at.games < 14, "the games end too fast for a loss"
            killed = True
            cluster.remove_node(nodes[0], allow_graceful=False)

    with GameFolder(tmp_path / "cluster", card, 6) as folder:
        job = teacher_job(tmp_path / "cluster", settings, lines, player, None)
        source = ClusterGames(cluster.address, tmp_path / "cluster", job, on_change=changes.append)
        assert source.threads == 2
        assert generate_games(folder, source, 18, threads=2, on_progress=progress)
        assert killed
        assert any("is lost" in text for text in changes)
    with GameFolder(tmp_path / "here", card, 6) as folder:
        source = BuiltinGames(settings, lines, player, threads=1)
        assert generate_games(folder, source, 18)
    ours, theirs = (segment_files(tmp_path / name) for name in ("here", "cluster"))
    assert [path.read_bytes() for path in ours] == [path.read_bytes() for path in theirs]
    assert len(ours) == 3


@pytest.fixture
def mortal(cluster):
    """Two more nodes of a core each, of which the test may kill any."""
    made = [add_node(cluster) for _ in range(2)]
    cluster.wait_for_nodes()
    yield made
    for node in made:
        if node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)


def invoke(*arguments):
    from komadori.cli.generate import command

    return CliRunner().invoke(command, [*map(str, arguments)])


def killing(cluster, node, folder: Path, pattern: str, count: int) -> threading.Thread:
    """Kills the node as soon as so many files are there."""

    def watch() -> None:
        ends = time.monotonic() + 120
        while len(list(folder.glob(pattern))) < count and time.monotonic() < ends:
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_labels_are_the_same_after_a_node_was_lost(cluster, mortal, tmp_path) -> None:
    games = records.read_games(records.sample_path())[:40]
    source = tmp_path / "games.hcpe3"
    records.write_games(source, games)
    options = ["--by", "alphabeta?Eval=material", "--nodes", 1500, "--multipv", 2]
    options += ["--segment", 200, "-o"]
    thread = killing(cluster, mortal[0], tmp_path / "cluster", "0*.json", 3)
    result = invoke("relabel", source, *options, tmp_path / "cluster", "--ray", cluster.address)
    thread.join()
    assert result.exit_code == 0, result.output
    assert "is lost" in result.output
    assert invoke("relabel", source, *options, tmp_path / "here").exit_code == 0
    ours, theirs = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("0*")}
        for name in ("here", "cluster")
    )
    assert len(ours) > 20
    assert ours == theirs
    again = invoke("relabel", source, *options, tmp_path / "cluster", "--ray", cluster.address)
    assert f"{len(records.load_samples(source)):,} positions" in again.output


def test_self_play_continues_without_a_node(cluster, mortal, tmp_path) -> None:
    options = ["--model", "random:3", "--playouts", 8, "--fast-playouts", 2, "--max-plies", 40]
    options += ["--at-once", 4, "--segment-games", 10, "--games", 30, "-o"]
    thread = killing(cluster, mortal[0], tmp_path / "cluster", "000000.json", 1)
    result = invoke("selfplay", *options, tmp_path / "cluster", "--ray", cluster.address)
    thread.join()
    assert result.exit_code == 0, result.output
    assert "games      30 with" in result.output
    assert invoke("selfplay", *options, tmp_path / "here").exit_code == 0
    ours, theirs = (
        [
            game.usi_moves()
            for path in sorted((tmp_path / name).glob("*.xz"))
            for game in records.read_games(path)
        ]
        for name in ("here", "cluster")
    )
    assert ours == theirs
    assert not (tmp_path / "cluster/workers").exists()


EXPERIMENT = """
title = "A toy"
source = "nowhere"
question = "Which?"
[base.model]
net = "resnet1x8"
[base.loop]
batch_size = 16
log_every = 1
[base.device]
precision = "float32"
replicas = 1
[[variants]]
name = "slow"
title = "a low rate"
set = { schedule.rate = 1e-6 }
[[variants]]
name = "fast"
title = "a usual rate"
set = { schedule.rate = 0.05 }
"""


def test_an_experiment_is_completed_without_a_node(cluster, mortal, tmp_path) -> None:
    (tmp_path / "two.toml").write_text(EXPERIMENT)
    words = ["lab", "run", "two", "--experiments", str(tmp_path), "--results", "results"]
    words += ["--runs", "runs", "--positions", "2000", "--width", "8", "--test-positions", "50"]
    words += ["--device", "cpu", "--seeds", "1,2,3", "--ray", cluster.address]
    thread = killing(cluster, mortal[0], tmp_path / "results", "**/*.json", 1)
    done = subprocess.run(
        [sys.executable, "-m", "komadori", *words], cwd=tmp_path, capture_output=True, text=True
    )
    thread.join()
    assert done.returncode == 0, done.stderr
    found = Store(tmp_path / "results").records("two")
    assert sorted((one.variant, one.seed) for one in found) == [
        (name, seed) for name in ("fast", "slow") for seed in (1, 2, 3)
    ]


def test_no_cluster() -> None:
    ray.shutdown()
    with pytest.raises(ClusterError, match="no Ray cluster at 127"):
        Fleet("127.0.0.1:1", "komadori.cluster.commands:CommandWorker", {})


def test_commands_without_a_cluster(tmp_path: Path) -> None:
    worker = CommandWorker({"folder": str(tmp_path)}, "here", 2)
    worker.add([["sh", "-c", "pwd"], ["no-such-program"]])
    found: list = []
    ends = time.monotonic() + 20
    while len(found) < 2 and time.monotonic() < ends:
        found += worker.take()
    results = {item[0]: result for item, result in found}
    assert results["sh"] == {"code": 0, "words": f"{tmp_path}\n"}
    assert results["no-such-program"]["code"] == 127
