"""Samples mapped from the disk against the same samples loaded."""

import itertools

import numpy as np
import pytest

from komadori import records
from komadori.records import mapped


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """Two files of a few games each, and their positions in the fixed formats."""
    folder = tmp_path_factory.mktemp("games")
    few = list(itertools.islice(records.read_games(records.sample_path()), 9))
    records.write_games(folder / "a.hcpe3", few[:5])
    records.write_games(folder / "b.hcpe3.xz", few[5:])
    for suffix in ("hcpe", "hcpe2", "psv"):
        with records.SampleWriter(folder / f"c.{suffix}") as file:
            for game in few[:5]:
                file.write_game(game)
    return folder


def same(one, other):
    return all(
        np.array_equal(column, other.columns()[name]) for name, column in one.columns().items()
    )


@pytest.mark.parametrize(
    "names", [["a.hcpe3"], ["a.hcpe3", "b.hcpe3.xz"], ["c.hcpe"], ["c.hcpe2"], ["c.psv", "a.hcpe3"]]
)
def test_mapped_is_loaded(games, names, tmp_path):
    paths = [games / name for name in names]
    found = records.map_samples(paths, tmp_path / "cache")
    assert isinstance(found.hcp, np.memmap)
    assert same(found, records.load_samples(paths))


def test_large_files_are_decoded_a_few_games_at_a_time(games, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "LARGE_BYTES", 0)
    monkeypatch.setattr(mapped, "_GAMES_AT_ONCE", 2)
    paths = [games / "a.hcpe3", games / "b.hcpe3.xz"]
    assert same(records.map_samples(paths, tmp_path), records.load_samples(paths))


def test_made_once_and_anew_for_a_changed_file(games, tmp_path, monkeypatch):
    path = tmp_path / "x.hcpe3"
    path.write_bytes((games / "a.hcpe3").read_bytes())
    first = len(records.map_samples(path, tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(mapped, "_build", lambda *_: pytest.fail("decoded again"))
        assert len(records.map_samples(path, tmp_path / "cache")) == first
    records.write_games(path, list(records.read_games(games / "a.hcpe3"))[:2])
    assert len(records.map_samples(path, tmp_path / "cache")) < first


def test_nothing_is_left_of_a_failure(games, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        records.map_samples(games / "a.hcpe3", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_truncated_cache_is_told(games, tmp_path):
    records.map_samples(games / "a.hcpe3", tmp_path)
    (place,) = tmp_path.iterdir()
    with (place / "hcp.bin").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(records.RecordError, match=r"hcp\.bin: missing or truncated"):
        records.map_samples(games / "a.hcpe3", tmp_path)


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        records.map_samples(tmp_path / "none.hcpe3", tmp_path)
    (tmp_path / "empty.hcpe").write_bytes(b"")
    with pytest.raises(records.RecordError, match="no game with samples"):
        records.map_samples(tmp_path / "empty.hcpe", tmp_path / "cache")
