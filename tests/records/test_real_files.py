"""Real files, skipped where they aren't present."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from komadori.records import End, GameWriter, RecordError, Winner, load_samples, read_games

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CSA = DATA / "records" / "wcsc28-csa.tgz"
TEACHER = [DATA / "teacher" / f"teacher-{n}.hcpe3.xz" for n in (1, 2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CSA.exists():
        pytest.skip("the files are not next to the repository")
    path = tmp_path_factory.mktemp("wcsc28")
    with tarfile.open(CSA) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from 3.11.4 on
        archive.extractall(path, **safely)
    return path


def test_a_championship(folder: Path, tmp_path: Path) -> None:
    games = []
    for path in sorted(folder.rglob("*.csa")):
        found = read_games(path)
        assert not found.skipped
        games += found
    assert (len(games), sum(map(len, games))) == (262, 30364)
    assert sum(game.winner == Winner.UNKNOWN for game in games) == 1
    assert sum(game.end == End.ILLEGAL_MOVE for game in games) == 16
    assert all(game.black and game.white for game in games)
    for suffix in ("csa", "kif"):
        with GameWriter(tmp_path / f"a.{suffix}") as writer:
            for game in games:
                writer.write(game)
        assert list(read_games(tmp_path / f"a.{suffix}")) == games


def test_concatenated_files_with_marks(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "all.csa"
    path.write_bytes(b"".join(p.read_bytes() for p in sorted(folder.rglob("*.csa"))))
    games = read_games(path)
    assert len(games) == 262
    assert not games.skipped


@pytest.mark.slow
@pytest.mark.skipif(not TEACHER[0].exists(), reason="the files are not next to the repository")
def test_the_teacher_games() -> None:
    samples = load_samples(TEACHER)
    assert not samples.skipped
    assert len(samples) == 2_307_303
    assert samples.game[-1] + 1 == 21_244
    decided = np.abs(samples.score_cp) > 300
    agree = (samples.score_cp[decided] > 0) == (samples.result[decided] > 0.5)
    assert round(float(agree.mean()), 2) == 0.84


def test_reading_refuses_an_unknown_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(RecordError, match=r"\.csa"):
        read_games(tmp_path / "a.xyz")
