"""Windows over files: every position once per epoch, seeded order, bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from komadori import records
from komadori.generate.openings import Lines
from komadori.records.keys import position_keys
from komadori.records.stream import SampleStream, split_files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Seven files of some of the bundled games each, the last one of other games twice."""
    folder = tmp_path_factory.mktemp("files")
    games = records.read_games(records.sample_path())[:35]
    paths = []
    for i in range(7):
        path = folder / f"{i}.hcpe3.xz"
        records.write_games(path, games[5 * i : 5 * i + 5])
        paths.append(path)
    return paths


def rows(samples) -> list[tuple]:
    return [
        (bytes(h), int(m), int(s), float(r), int(p))
        for h, m, s, r, p in zip(
            samples.hcp, samples.move16, samples.score_cp, samples.result, samples.ply, strict=True
        )
    ]


@pytest.mark.parametrize("window", [1, 100, 333, 10**6])
def test_an_epoch_is_every_position_once(files, window) -> None:
    whole = records.load_samples(files)
    stream = SampleStream(files, max(window, 50), seed=3)
    windows = list(stream.windows(epoch=2))
    assert len(stream) == len(whole)
    assert [len(w) for w in windows[:-1]] == [stream.window] * (len(windows) - 1)
    assert [w.first for w in windows] == [i * stream.window for i in range(len(windows))]
    shown = [row for w in windows for row in rows(w.samples)]
    assert sorted(shown) == sorted(rows(whole))


def test_files_are_mixed_differently_in_each_epoch(files) -> None:
    stream = SampleStream(files, 500, seed=1)
    orders = [stream.order(epoch) for epoch in range(5)]
    assert all(sorted(order) == sorted(files) for order in orders)
    assert len({tuple(order) for order in orders}) == 5
    assert SampleStream(files, 500, seed=2).order(0) != orders[0]
    first = [w.samples.hcp.tobytes() for w in stream.windows(0)]
    again = [w.samples.hcp.tobytes() for w in SampleStream(files, 500, seed=1).windows(0)]
    assert first == again
    threads = SampleStream(files, 500, seed=1, threads=3)
    assert first == [w.samples.hcp.tobytes() for w in threads.windows(0)]
    resumed = [w.samples.hcp.tobytes() for w in stream.windows(0, start=1000)]
    assert resumed == first[2:]


def test_games_of_a_window_are_distinguished(files) -> None:
    whole = records.load_samples(files)
    for window in SampleStream(files, 10**6).windows(0):
        assert len(np.unique(window.samples.game)) == len(np.unique(whole.game))


def test_candidates_come_along(files) -> None:
    _, moves = records.load_sample_moves(files)
    stream = SampleStream(files, 321, with_moves=True)
    total = 0
    for window in stream.windows(0):
        assert window.moves is not None
        assert len(window.moves.first) == len(window) + 1
        best = window.moves.first[:-1]
        assert window.moves.first[-1] == len(window.moves.move16)
        total += len(window.moves.move16)
        has_one = np.diff(window.moves.first) == 1
        assert (window.moves.move16[best[has_one]] == window.samples.move16[has_one]).all()
    assert total == len(moves.move16)


def test_positions_of_the_test_part_are_left_out(files) -> None:
    held_out = records.load_samples(files[:1])
    keys = position_keys(held_out.hcp)
    stream = SampleStream(files[1:], 1000, leave_out=keys, with_moves=True)
    seen = np.concatenate([position_keys(w.samples.hcp) for w in stream.windows(0)])
    assert not np.isin(seen, keys).any()
    everything = sum(len(records.load_samples(path)) for path in files[1:])
    assert 0 < everything - len(seen) < everything / 5, "openings are in both"


def test_the_thread_ends_with_the_iterator_and_errors_come_through(files, tmp_path) -> None:
    import threading

    before = threading.active_count()
    windows = SampleStream(files, 50).windows(0)
    next(windows)
    windows.close()
    assert threading.active_count() == before
    bad = tmp_path / "bad.hcpe3.xz"
    bad.write_bytes(b"no xz")
    with pytest.raises(records.RecordError, match=r"bad\.hcpe3\.xz"):
        list(SampleStream([bad], 50).windows(0))
    with pytest.raises(records.RecordError, match="no record files"):
        SampleStream([])


def test_files_are_split_whole(files) -> None:
    train, test = split_files(files, 0.3, seed=1)
    assert len(test) == 2
    assert sorted(train + test) == sorted(files)
    assert split_files(files, 0.3, seed=1) == (train, test)
    assert split_files(files, 0.001, seed=1)[1] != []
    assert split_files(files[:1], 0.3, seed=1) == (files[:1], [])


def test_a_single_file_is_one_file_not_its_letters() -> None:
    path = records.sample_path()
    for one in (path, str(path)):
        assert SampleStream(one).paths == [path]
        assert split_files(one, 0.5, 1) == ([path], [])
        assert Lines(one).files == [str(path)]


@pytest.mark.parametrize("how", ["replaced", "overwritten"])
@pytest.mark.parametrize("when", ["in an epoch", "between epochs"])
def test_files_that_change_meanwhile_are_an_error(files, tmp_path, how, when) -> None:
    own = []
    for path in files[:3]:
        own.append(tmp_path / path.name)
        own[-1].write_bytes(path.read_bytes())
    stream = SampleStream(own, 50)
    assert len(stream)
    windows = stream.windows(0)
    next(windows)
    if when == "between epochs":
        list(windows)
        windows = stream.windows(1)
    for path in own:
        target = path if how == "overwritten" else path.with_suffix(".new")
        target.write_bytes(files[3].read_bytes())
        target.replace(path)
    with pytest.raises(records.RecordError, match=r"hcpe3\.xz: changed while it was in use"):
        list(windows)
