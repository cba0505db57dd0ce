"""Training samples from hcpe3."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from komadori import records
from komadori.rules import Board
from komadori.training.data import Part

SAMPLE_GAMES = 2467
SAMPLE_PLIES = 267648


@pytest.fixture(scope="module")
def samples() -> records.Samples:
    return records.load_samples(records.sample_path())


def test_the_bundled_sample_is_whole(samples: records.Samples) -> None:
    assert len(samples) == SAMPLE_PLIES
    assert samples.game[-1] + 1 == SAMPLE_GAMES
    assert not samples.skipped


def test_columns_have_the_promised_shapes(samples: records.Samples) -> None:
    assert samples.hcp.shape == (SAMPLE_PLIES, 32)
    assert samples.hcp.dtype == np.uint8
    assert samples.move16.dtype == np.uint16
    assert samples.score_cp.dtype == np.int16
    assert samples.result.dtype == np.float32
    assert set(np.unique(samples.result)) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize(
    ("name", "shape"),
    [("hcp", (9, 31)), ("hcp", (9,)), ("hcp", ()), ("ply", (8,)), ("end", (9, 1))],
)
def test_a_column_of_another_shape_is_named(
    name: str, shape: tuple[int, ...], samples: records.Samples
) -> None:
    columns = samples.take(slice(0, 9)).columns()
    columns[name] = np.zeros(shape, columns[name].dtype)
    with pytest.raises(ValueError, match=f"{name} has shape"):
        records.Samples(**columns)


def test_a_row_is_the_position_before_its_move(samples: records.Samples) -> None:
    for row in np.random.default_rng(1).integers(0, SAMPLE_PLIES, 300):
        board = Board.from_hcp(samples.hcp[row].tobytes())
        assert board.move_from_move16(int(samples.move16[row])) in board.legal_moves


def test_the_side_to_move_sees_its_own_result(samples: records.Samples) -> None:
    decided = np.abs(samples.score_cp) > 300
    agree = (samples.score_cp[decided] > 0) == (samples.result[decided] > 0.5)
    assert agree.mean() > 0.8
    first = samples.take(samples.game == 0)
    assert np.all(first.result[::2] + first.result[1::2][0] == 1)


def test_rows_can_be_looked_at(samples: records.Samples) -> None:
    row = samples[5]
    assert row.move in row.board.legal_moves
    assert (row.ply, row.board.ply) == (samples.ply[5], samples.ply[5])
    assert (row.score_cp, row.result) == (samples.score_cp[5], samples.result[5])
    assert samples[-1].game == samples.game[-1]
    assert isinstance(row.end, records.End)
    assert len(samples[2:7]) == 5
    assert len(samples[samples.game == 3]) == (samples.game == 3).sum()
    assert [one.board.sfen() for one in samples[:3]] == [samples[i].board.sfen() for i in range(3)]
    with pytest.raises(IndexError):
        samples[len(samples)]
    with pytest.raises(ValueError, match=r"^rows has 2 dimensions, 1 is needed$"):
        samples[np.argwhere(samples.game == 3)]
    for rows in ("result", 1.5, True, np.True_, None):
        with pytest.raises(TypeError, match=r"^rows: expected indices, a mask or a slice, got "):
            samples[rows]  # type: ignore[call-overload]


def test_samples_are_equal_if_all_columns_are(samples: records.Samples) -> None:
    assert samples == copy.deepcopy(samples)
    assert samples != samples[:5]
    changed = samples[:5]
    changed.score_cp = changed.score_cp + np.int16(1)
    assert samples[:5] != changed
    assert samples != 3


def test_games_with_candidates_and_parts_can_be_compared(samples: records.Samples) -> None:
    games = records.read_games(records.sample_path())[:2]
    again = records.read_games(records.sample_path())[:2]
    assert games == again
    assert games[0] != games[1]
    assert games[0].candidates is not None
    assert games[0].candidates == again[0].candidates != games[1].candidates
    part, rows = Part(samples, np.arange(9)), np.arange(9)
    assert part == Part(samples, rows)
    assert part != Part(samples, rows[1:])


def test_readers_can_be_sent_to_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "game.usi"
    records.write_games(path, [records.Game.from_usi(["7g7f", "3c3d"])])
    reader = pickle.loads(pickle.dumps(records.GameReader(path)))
    assert [game.usi_moves() for game in reader] == [["7g7f", "3c3d"]]


@pytest.mark.parametrize("load", [records.load_samples, records.load_sample_moves])
def test_a_file_without_a_result_says_what_is_missing(tmp_path, load):
    records.write_games(tmp_path / "a.usi", [records.Game.from_usi(["7g7f", "3c3d"])])
    damaged = tmp_path / "b.csa"
    damaged.write_text("PI\n+\n+1111OU\n")
    with pytest.raises(records.RecordError, match=r"a\.usi: .*a game without a result has none"):
        load(tmp_path / "a.usi")
    with pytest.raises(records.RecordError, match=r"b\.csa: .*byte 5: ply 1: "):
        load(damaged)
