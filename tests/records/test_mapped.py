"""Samples mapped from the disk against the same samples loaded."""

import itertools
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from komadori import records
from komadori.records import files, mapped, samples
from komadori.rules import Board


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


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    """Two files of games whose plies have none to four candidates, and one of games without."""
    folder = tmp_path_factory.mktemp("weighed")
    rng = np.random.default_rng(1)
    games = list(itertools.islice(records.read_games(records.sample_path()), 6))
    for game in games[:4]:
        board, count, moves = Board(game.initial_sfen), [], []
        for code in game.moves:
            legal = [move.move16 for move in board.legal_moves]
            chosen = rng.permutation(legal)[: rng.integers(0, 5)]
            count.append(len(chosen))
            moves += chosen.tolist()
            board.push(board.move_from_move16(int(code)))
        visits = rng.integers(0, 50, len(moves)).astype(np.uint16)
        game.candidates = records.Candidates(
            np.array(count, np.uint16), np.array(moves, np.uint16), visits
        )
    records.write_games(folder / "a.hcpe3", games[:3])
    records.write_games(folder / "b.hcpe3.xz", games[3:4])
    records.write_games(folder / "c.csa", games[4:])
    return folder


@pytest.mark.parametrize("at_once", [1, 2, 1024])
def test_mapped_moves_are_those_loaded(weighed, tmp_path, monkeypatch, at_once):
    paths = [weighed / name for name in ("b.hcpe3.xz", "c.csa", "a.hcpe3")]
    loaded, moves = records.load_sample_moves(paths)
    monkeypatch.setattr(samples, "GAMES_AT_ONCE", at_once)
    found, mapped_moves = records.map_sample_moves(paths, tmp_path / "cache")
    assert same(found, loaded)
    assert same(records.load_samples(paths), loaded)
    for name in ("first", "move16", "visits"):
        column = getattr(mapped_moves, name)
        assert isinstance(column, np.memmap)
        assert np.array_equal(column, getattr(moves, name))
    assert moves.first[-1] == len(moves.move16) == len(moves.visits)
    assert set(np.diff(moves.first).tolist()) == {1, 2, 3, 4}
    # A ply's candidates; for games without candidates the move played.
    read = [records.read_games(path) for path in paths]
    first = next(i for i, n in enumerate(read[0][0].candidates.count) if n)
    known = read[0][0].candidates
    n = int(known.count[first])
    assert moves.move16[:n].tolist() == known.move16[:n].tolist()
    assert moves.visits[:n].tolist() == known.visits[:n].tolist()
    played = np.flatnonzero(loaded.game == 1)
    assert (np.diff(moves.first)[played] == 1).all()
    assert np.array_equal(moves.move16[moves.first[played]], loaded.move16[played])


def test_a_cache_with_moves_serves_the_samples(weighed, tmp_path, monkeypatch):
    path = weighed / "a.hcpe3"
    both = records.map_sample_moves(path, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(mapped, "_build", lambda *_: pytest.fail("decoded again"))
        assert same(records.map_samples(path, tmp_path), both[0])
        assert len(records.map_sample_moves(path, tmp_path)[1].move16) == len(both[1].move16)
    (place,) = tmp_path.glob("[!.]*")
    with (place / "candidate.bin").open("r+b") as file:
        file.truncate(10)
    with pytest.raises(records.RecordError, match=r"candidate\.bin: missing or truncated"):
        records.map_sample_moves(path, tmp_path)


def test_a_cache_of_samples_is_not_taken_for_one_with_moves(weighed, tmp_path):
    path = weighed / "a.hcpe3"
    plain = records.map_samples(path, tmp_path)
    found, moves = records.map_sample_moves(path, tmp_path)
    assert same(found, plain)
    assert len(moves.first) == len(plain) + 1
    assert len(list(tmp_path.glob("[!.]*"))) == 2


#: Maps argv[1] in argv[2] once four processes have put a file into argv[3]; prints rows and builds.
MAP_TOGETHER = """
import os, sys, time
from pathlib import Path
from komadori import records
from komadori.records import mapped

build, built = mapped._build, []

def slow_build(*how):
    built.append(1)
    time.sleep(0.3)  # so that processes without a lock would overlap
    build(*how)

mapped._build = slow_build
waiting = Path(sys.argv[3])
(waiting / str(os.getpid())).touch()
deadline = time.monotonic() + 60
while len(list(waiting.iterdir())) < 4 and time.monotonic() < deadline:
    time.sleep(0.005)
print(len(records.map_samples(sys.argv[1], sys.argv[2])), len(built))
"""


def test_processes_that_want_the_same_cache_make_it_once(weighed, tmp_path):
    (tmp_path / "waiting").mkdir()
    command = [sys.executable, "-c", MAP_TOGETHER, str(weighed / "a.hcpe3")]
    command += [str(tmp_path / "cache"), str(tmp_path / "waiting")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert {rows for rows, _ in printed} == {str(len(records.load_samples(weighed / "a.hcpe3")))}
    assert sorted(built for _, built in printed) == ["0", "0", "0", "1"]


def test_moves_need_games(games, tmp_path):
    for read in (
        records.load_sample_moves,
        lambda path: records.map_sample_moves(path, tmp_path / "cache"),
    ):
        with pytest.raises(records.RecordError, match="holds positions, not games"):
            read(games / "c.hcpe")
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [".lock"]


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
    monkeypatch.setattr(samples, "GAMES_AT_ONCE", 2)
    paths = [games / "a.hcpe3", games / "b.hcpe3.xz"]
    assert same(records.map_samples(paths, tmp_path), records.load_samples(paths))


def test_made_once_and_again_for_a_changed_file(games, tmp_path, monkeypatch):
    path = tmp_path / "x.hcpe3"
    path.write_bytes((games / "a.hcpe3").read_bytes())
    first = len(records.map_samples(path, tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(mapped, "_build", lambda *_: pytest.fail("decoded again"))
        assert len(records.map_samples(path, tmp_path / "cache")) == first
    records.write_games(path, list(records.read_games(games / "a.hcpe3"))[:2])
    assert len(records.map_samples(path, tmp_path / "cache")) < first


def test_a_failure_leaves_no_files(games, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        records.map_samples(games / "a.hcpe3", tmp_path / "cache")
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_truncated_cache_is_reported(games, tmp_path):
    records.map_samples(games / "a.hcpe3", tmp_path)
    (place,) = tmp_path.glob("[!.]*")
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_folder_for_temporary_files_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.psv.xz"
    path.write_bytes(lzma.compress(bytes(40_000)))
    with Path("/dev/full").open("r+b", 0) as full:
        monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda _: full)
        with pytest.raises(OSError, match="No space left") as caught:
            files.content(path)
    assert caught.value.filename == tempfile.gettempdir()
