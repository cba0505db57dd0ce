"""Distillation: the teacher's evaluation of positions inside searches, learned and resumable."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.linear import command as group
from komadori.generate import distillation
from komadori.generate.distillation import NETWORK, Distillation, Settings, _write_array
from komadori.linear.nnue_weights import NnueWeights
from komadori.rules import Board

SMALL = Settings(chunks=4, draws=60, keep=2, passes=3, nodes=200, batch=256, test_positions=400)


@pytest.fixture(scope="module")
def teacher():
    with resources.as_file(resources.files("komadori") / "data" / "nnue-k-p.bin") as path:
        yield path


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "games.hcpe3"
    records.write_games(path, records.read_games(records.sample_path())[:12])
    return path


def run(settings, teacher, source, folder, *, resume=False, stop=bool, **more):
    found = Distillation(settings, teacher, [source], folder, resume=resume, **more)
    reports = []
    found.run(reports.append, stop=stop)
    return found, reports


def test_a_network_comes_closer_to_its_teacher(teacher, source, tmp_path) -> None:
    settings = Settings(
        chunks=4, draws=700, keep=4, passes=4, nodes=300, batch=96, rate=3e-3, test_positions=400
    )
    found, reports = run(settings, teacher, source, tmp_path)
    untrained = Distillation(settings, teacher, [source], tmp_path / "other", resume=False)
    untrained.run(stop=lambda: untrained._test is not None)
    assert found.is_done
    assert [report.chunk for report in reports] == [1, 2, 3, 4]
    assert reports[-1].error_cp < 0.9 * untrained.errors_cp()[0]
    assert reports[-1].loss < 0.7 * reports[0].loss
    assert reports[-1].rate < 0.05 * settings.rate
    assert reports[3].trained > 3 * reports[3].positions  # earlier chunks too
    weights = NnueWeights.load(tmp_path / NETWORK)
    assert weights.content == found.weights().content
    assert not list((tmp_path / "positions").iterdir())


@pytest.mark.parametrize("average", [0.0, 0.99])
def test_the_network_is_the_average_of_the_weights(average, teacher, source, tmp_path) -> None:
    settings = Settings(
        chunks=1, draws=100, nodes=200, batch=64, rate=3e-3, test_positions=100, average=average
    )
    found, _ = run(settings, teacher, source, tmp_path)
    last = NnueWeights(found.model.quantised().to_bytes()).content
    assert (found.weights().content == last) == (average == 0)


def test_positions_have_the_evaluation_of_the_teacher(teacher, source, tmp_path) -> None:
    found = Distillation(SMALL, teacher, [source], tmp_path, resume=False)
    found.run(stop=lambda: found.chunk == 2)
    hcp = np.load(tmp_path / "positions" / "000001.npy", allow_pickle=False)
    assert len(np.unique(hcp, axis=0)) == len(hcp) > 100
    network = NnueWeights.load(teacher)
    scores = found._evaluated(hcp)
    for row in range(0, len(hcp), 50):
        assert network.evaluate(Board.from_hcp(hcp[row].tobytes())) == scores[row]


def test_searched_labels_differ_from_the_static_evaluation_by_what_is_not_average(
    teacher, source, tmp_path
) -> None:
    settings = replace(SMALL, draws=400, label_nodes=60, label_limit_cp=200)
    found = Distillation(settings, teacher, [source], tmp_path, resume=False, start=teacher)
    found.run(stop=lambda: found.chunk == 1)
    positions = np.load(tmp_path / "positions" / "000000.npy", allow_pickle=False)
    hcp, labels = found._labelled(positions)
    static = found._evaluated(hcp)
    differences = labels - static
    assert len(hcp) > 2000
    assert abs(differences.mean()) < 0.5
    for low in (-300, -100, 0, 200):
        within = (low <= static) & (static < low + 100)
        assert abs(differences[within].mean()) < 0.5
    assert 200 < np.abs(differences).max() <= 400
    assert np.std(differences) > 50


def test_calibrated_labels_add_what_a_search_found_beyond_the_mean() -> None:
    static = np.array([10, 20, -30, 250, 250], np.int32)
    scores = np.array([60, 90, 0, 5000, 200], np.int16)
    labels = distillation.calibrated(static, scores, 100)
    assert labels.tolist() == [0, 30, -30, 325, 175]
    large = np.array([60_000, -60_000, 60_000], np.int32)  # of an `fv_scale` of 1
    labels = distillation.calibrated(large, np.zeros(3, np.int16), 100)
    assert labels.tolist() == [32767, -32768, 32767]


@pytest.mark.parametrize(("label_nodes", "period"), [(0, 17), (30, 11)])
def test_a_stopped_run_resumes_to_the_same_network(
    label_nodes, period, teacher, source, tmp_path
) -> None:
    settings = replace(SMALL, label_nodes=label_nodes)
    whole, _ = run(settings, teacher, source, tmp_path / "whole", start=teacher)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls % period == 0

    folder = tmp_path / "parts"
    parts, _ = run(settings, teacher, source, folder, start=teacher, stop=stop)
    stops = 0
    while not parts.is_done:
        stops += 1
        assert stops < 100
        has_begun = (folder / "state.npz").exists()
        parts, _ = run(
            settings, teacher, source, folder, start=teacher, resume=has_begun, stop=stop
        )
    assert stops > 1
    assert parts.weights().content == whole.weights().content
    assert (folder / NETWORK).read_bytes() == (tmp_path / "whole" / NETWORK).read_bytes()


def test_a_run_from_before_searched_labels_resumes(teacher, source, tmp_path) -> None:
    begun = Distillation(SMALL, teacher, [source], tmp_path, resume=False, start=teacher)
    begun.run(stop=lambda: begun.chunk == 1)
    card = json.loads((tmp_path / "run.json").read_text())
    for added in ("label_nodes", "label_limit_cp"):
        del card["settings"][added]
    (tmp_path / "run.json").write_text(json.dumps(card))
    resumed, _ = run(SMALL, teacher, source, tmp_path, start=teacher, resume=True)
    assert resumed.is_done


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_positions_are_written_whole_or_not_at_all(tmp_path) -> None:
    """On a full disk, which numpy doesn't notice when it writes to a file itself."""
    path = tmp_path / "positions.npy"
    array = np.arange(60, dtype=np.uint8).reshape(-1, 4)
    _write_array(path, array)
    assert np.array_equal(np.load(path), array)
    with pytest.raises(OSError, match="No space left"):
        _write_array(Path("/dev/full"), array)


@pytest.mark.parametrize("damage", ["cut", "of another type", "of another shape"])
def test_damaged_positions_are_searched_again(damage, teacher, source, tmp_path) -> None:
    whole, _ = run(SMALL, teacher, source, tmp_path / "whole", start=teacher)
    begun = Distillation(SMALL, teacher, [source], tmp_path / "cut", resume=False, start=teacher)
    path = tmp_path / "cut" / "positions" / "000002.npy"
    begun.run(stop=path.exists)
    assert begun.chunk == 2
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    else:
        shape = (3, 32) if damage == "of another type" else (96,)
        np.save(path, np.zeros(shape, np.int16 if len(shape) == 2 else np.uint8))
    resumed, _ = run(SMALL, teacher, source, tmp_path / "cut", start=teacher, resume=True)
    assert resumed.weights().content == whole.weights().content


@pytest.mark.parametrize("label_nodes", [0, 30])
def test_a_new_run_takes_no_positions_of_one_that_ended_before_its_first_state(
    label_nodes, teacher, source, tmp_path
) -> None:
    other = replace(SMALL, nodes=50, label_nodes=30 - label_nodes)
    begun = Distillation(other, teacher, [source], tmp_path / "run", resume=False)
    path = tmp_path / "run" / "positions" / "000000.npy"
    begun.run(stop=path.exists)
    assert path.exists()
    assert begun.chunk == 0
    begun._run_folder.lock.release()
    settings = replace(SMALL, chunks=1, label_nodes=label_nodes)
    alone, _ = run(settings, teacher, source, tmp_path / "alone")
    after, _ = run(settings, teacher, source, tmp_path / "run")
    assert after.weights().content == alone.weights().content


def test_every_other_chunk_is_of_the_learners_searches(
    teacher, source, tmp_path, monkeypatch
) -> None:
    players = []
    search = Distillation._search

    def recorded(self, player, *rest):
        players.append(player.weights)
        return search(self, player, *rest)

    monkeypatch.setattr(Distillation, "_search", recorded)
    run(SMALL, teacher, source, tmp_path)
    own = tmp_path / NETWORK
    assert players == [teacher, teacher, own, teacher, own]  # first the held-out positions


def test_memory_is_that_of_the_chunks_there_are() -> None:
    needed = distillation.bytes_needed
    assert needed(Settings(chunks=2, keep=24)) == needed(Settings(chunks=2, keep=2))
    assert needed(Settings(chunks=24, keep=2)) == needed(Settings(chunks=2, keep=2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passes": 0}, "passes"),
        ({"max_plies": -1}, "plies"),
        ({"architecture": "kpp"}, "architecture"),
        ({"rate": 0.0}, "rate"),
        ({"seed": -1}, "seed"),
        ({"threads": 100_000}, "threads is 100000, at most 512"),
        ({"draws": 9 * 10**18}, "draws"),
    ],
)
def test_settings_that_make_no_sense_are_named(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**change)


def test_damaged_initial_weights_are_named_once(teacher, source, tmp_path) -> None:
    start = tmp_path / "start.bin"
    start.write_bytes(b"hello\n")
    with pytest.raises(ValueError, match=r"start\.bin: not an NNUE network") as caught:
        Distillation(SMALL, teacher, [source], tmp_path / "run", resume=False, start=start)
    assert str(caught.value).count("start.bin") == 1


def test_a_chunk_without_a_position_ends_the_run(teacher, source, tmp_path) -> None:
    settings = Settings(chunks=1, draws=1, nodes=1, limit_cp=1, test_positions=1)
    with pytest.raises(ValueError, match="chunk 1 has no position"):
        run(settings, teacher, source, tmp_path)
    assert not (tmp_path / NETWORK).exists()


def test_a_resumed_run_must_have_the_same_teacher(teacher, source, tmp_path) -> None:
    run(SMALL, teacher, source, tmp_path / "run", stop=threading.Event().is_set)
    other = tmp_path / "other.bin"
    NnueWeights(
        Distillation(SMALL, teacher, [source], tmp_path / "x", resume=False).weights().content
    ).save(other)
    with pytest.raises(ValueError, match="has other data: teacher"):
        Distillation(SMALL, other, [source], tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match="holds a run already"):
        Distillation(SMALL, teacher, [source], tmp_path / "run", resume=False)


class TestCommand:
    def invoke(self, *arguments):
        return CliRunner().invoke(group, ["distill", *map(str, arguments)])

    def test_a_teacher_in_the_output_folder_is_kept(self, teacher, source, tmp_path) -> None:
        own = tmp_path / NETWORK
        own.write_bytes(teacher.read_bytes())
        done = self.invoke(own, "--data", source, "-o", tmp_path, "--chunks", "1")
        assert done.exit_code == 1
        assert f"holds {NETWORK} of something else" in done.output
        assert own.read_bytes() == teacher.read_bytes()
        assert set(tmp_path.iterdir()) == {own}

    def test_a_network_beside_a_run_without_a_state_is_kept(
        self, teacher, source, tmp_path
    ) -> None:
        folder = tmp_path / "run"
        run(SMALL, teacher, source, folder, stop=lambda: True)
        assert (folder / "run.json").exists()
        assert not (folder / "state.npz").exists()
        own = folder / NETWORK
        own.write_bytes(teacher.read_bytes())
        done = self.invoke(own, "--data", source, "-o", folder, "--chunks", "1")
        assert done.exit_code == 1
        assert f"holds {NETWORK} of something else" in done.output
        assert own.read_bytes() == teacher.read_bytes()

    def test_prints_a_line_per_chunk_and_what_comes_next(self, teacher, source, tmp_path) -> None:
        folder = tmp_path / "run"
        small = [f"--set={k}={v}" for k, v in (("draws", 60), ("nodes", 200), ("keep", 2))]
        found = self.invoke(
            teacher, "--data", source, "-o", folder, "--chunks", 2, "--from", teacher, *small
        )
        assert found.exit_code == 0, found.output
        logged = [json.loads(line) for line in (folder / "log.jsonl").open()]
        assert [report["chunk"] for report in logged] == [1, 2]
        for report in logged:
            assert f"{report['positions']:,}" in found.output
            assert f"{report['error_cp']:.1f}" in found.output
        lines = found.output.splitlines()
        assert sum(line.startswith("chunk  positions") for line in lines) == 1
        assert "␊" not in found.output
        assert f"EvalFile={folder / NETWORK}" in found.output

    @pytest.mark.parametrize("junk", [b"", b"not a network", b"\x16\x2f\xf3\x7a" + bytes(500)])
    def test_a_file_that_is_no_network_is_an_error_before_work(
        self, source, tmp_path, junk
    ) -> None:
        path = tmp_path / "junk.bin"
        path.write_bytes(junk)
        found = self.invoke(path, "--data", source, "-o", tmp_path / "run")
        assert found.exit_code == 1
        assert str(path) in found.output
        assert not (tmp_path / "run").exists()

    def test_files_without_games_are_an_error(self, teacher, tmp_path) -> None:
        path = tmp_path / "empty.hcpe3"
        path.write_bytes(b"")
        found = self.invoke(teacher, "--data", path, "-o", tmp_path / "run")
        assert found.exit_code == 1
        assert "no usable game" in found.output

    def test_games_of_a_damaged_file_that_are_left_out_are_counted(
        self, teacher, source, tmp_path
    ) -> None:
        cut = tmp_path / "cut.hcpe3"
        cut.write_bytes(source.read_bytes()[:-40])
        small = [f"--set={k}={v}" for k, v in (("draws", 20), ("nodes", 20), ("keep", 1))]
        found = self.invoke(teacher, "--data", cut, "-o", tmp_path / "run", "--chunks", 1, *small)
        assert found.exit_code == 0, found.output
        assert "games left out: 1" in found.output
