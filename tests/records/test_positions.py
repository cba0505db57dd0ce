"""Formats of one position per record: bytes, damage, format detection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rsshogi.core

from komadori import records
from komadori.records import (
    LAYOUTS,
    End,
    Game,
    RecordError,
    SampleReader,
    Samples,
    SampleWriter,
    Winner,
    load_samples,
    sample_path,
    samples_of,
)
from komadori.records.formats import FORMATS

from .conftest import random_game

NAMES = ["hcpe", "hcpe2", "apery", "psv"]


@pytest.fixture(scope="module")
def samples(even_games: list[Game]) -> Samples:
    return samples_of(even_games)


def written(path: Path, samples: Samples, format: str | None = None) -> Path:
    with SampleWriter(path, format) as writer:
        writer.write(samples)
    return path


def same(a: Samples, b: Samples, *columns: str) -> None:
    for name in ("hcp", "move16", "score_cp", "result", *columns):
        assert np.array_equal(a.columns()[name], b.columns()[name]), name


@pytest.mark.parametrize("name", NAMES)
def test_records_survive(tmp_path: Path, samples: Samples, name: str) -> None:
    back = load_samples(written(tmp_path / f"a.{name}", samples))
    assert not back.skipped
    same(samples, back)
    if name in ("apery", "psv"):
        same(samples, back, "ply")
    if name == "apery":
        same(samples, back, "end_ply")


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_any_two_formats_convert(tmp_path: Path, samples: Samples, first: str, second: str) -> None:
    one = load_samples(written(tmp_path / f"a.{first}", samples))
    two = load_samples(written(tmp_path / f"b.{second}", one))
    same(samples, two)


@pytest.mark.parametrize("name", NAMES)
def test_games_are_made_out_of_adjacent_positions(
    tmp_path: Path, samples: Samples, name: str
) -> None:
    back = load_samples(written(tmp_path / f"a.{name}", samples))
    assert np.array_equal(back.game, samples.game)
    shuffled = samples.take(np.random.default_rng(0).permutation(len(samples)))
    apart = load_samples(written(tmp_path / f"b.{name}", shuffled))
    assert len(np.unique(apart.game)) > 0.9 * len(samples)


def test_games_continue_across_chunks(
    tmp_path: Path, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.records.samples.CHUNK_RECORDS", 7)
    for count in (len(samples), 7, 14, 15):
        some = samples.take(slice(0, count))
        chunks = list(SampleReader(written(tmp_path / "a.psv", some)))
        assert [len(chunk) for chunk in chunks[:-1]] == [7] * (len(chunks) - 1)
        back = Samples.concatenate(chunks)
        same(some, back, "game", "ply")


def test_hcpe2_keeps_how_games_ended(tmp_path: Path) -> None:
    games = [random_game(seed, plies=6) for seed in range(4)]
    for game, (winner, end) in zip(
        games,
        [
            (Winner.DRAW, End.SENNICHITE),
            (Winner.BLACK, End.DECLARATION),
            (Winner.DRAW, End.MAX_MOVES),
            (Winner.WHITE, End.UNKNOWN),
        ],
        strict=True,
    ):
        game.winner, game.end = winner, end
    samples = samples_of(games)
    same(samples, load_samples(written(tmp_path / "a.hcpe2", samples)), "end")


def test_hcpe_is_cshogis(tmp_path: Path, samples: Samples, even_games: list[Game]) -> None:
    cshogi = pytest.importorskip("cshogi")
    records = np.zeros(len(samples), cshogi.HuffmanCodedPosAndEval)
    row = 0
    for game in even_games:
        board = cshogi.Board()
        for usi, score in zip(game.usi_moves(), game.scores_cp, strict=True):
            move = board.move_from_usi(usi)
            board.to_hcp(records[row]["hcp"])
            records[row]["eval"] = 0 if score < -(10**6) else score
            records[row]["bestMove16"] = cshogi.move16(move)
            records[row]["gameResult"] = int(game.winner)
            board.push(move)
            row += 1
    path = written(tmp_path / "a.hcpe", samples)
    assert path.read_bytes() == records.tobytes()


def test_psv_is_cshogis(tmp_path: Path, samples: Samples, even_games: list[Game]) -> None:
    cshogi = pytest.importorskip("cshogi")
    records = np.zeros(len(samples), cshogi.PackedSfenValue)
    row = 0
    for game in even_games:
        board = cshogi.Board()
        for usi, score in zip(game.usi_moves(), game.scores_cp, strict=True):
            move = board.move_from_usi(usi)
            board.to_psfen(records[row : row + 1]["sfen"])
            records[row]["score"] = 0 if score < -(10**6) else score
            records[row]["move"] = cshogi.move16_to_psv(cshogi.move16(move))
            records[row]["gamePly"] = board.move_number
            won = (game.winner == Winner.BLACK) == (board.turn == cshogi.BLACK)
            records[row]["game_result"] = 1 if won else -1
            board.push(move)
            row += 1
    path = written(tmp_path / "a.psv", samples)
    assert path.read_bytes() == records.tobytes()


def test_psv_and_hcp_are_rsshogis(tmp_path: Path, samples: Samples, even_games: list[Game]) -> None:
    psv = np.fromfile(written(tmp_path / "a.psv", samples), LAYOUTS["psv"])
    row = 0
    for game in even_games:
        board = rsshogi.core.Board()
        for usi in game.usi_moves():
            assert bytes(board.to_packed_sfen()) == psv["sfen"][row].tobytes()
            assert bytes(board.to_hcp()) == samples.hcp[row].tobytes()
            board.push_usi(usi)
            row += 1


@pytest.mark.parametrize("name", NAMES)
def test_the_layout_for_numpy_has_the_fields_in_place(
    tmp_path: Path, samples: Samples, name: str
) -> None:
    reader = SampleReader(written(tmp_path / f"a.{name}", samples))
    records = reader.records
    assert isinstance(reader.records.base, np.ndarray)
    assert len(reader) == len(records) == len(samples)
    score = "score" if name == "psv" else "eval"
    assert np.array_equal(records[score], samples.score_cp)
    if name == "apery":
        assert np.array_equal(records["ply"], samples.ply)
        assert np.array_equal(records["endPly"], samples.end_ply)
    if name != "psv":
        assert np.array_equal(records["bestMove16"], samples.move16)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", [".hcpe", ".hcpe2", ".apery", ".psv"])
def test_formats_are_detected_by_their_records(
    tmp_path: Path, samples: Samples, name: str, suffix: str
) -> None:
    """798 bytes are 21 records of 38 and 19 of 42 bytes: the size is ambiguous."""
    count = 21 * 40 if name != "apery" else 19 * 40
    some = samples.take(np.arange(count) % len(samples))
    some.end[:] = End.UNKNOWN
    path = written(tmp_path / f"a{suffix}", some, name)
    reader = SampleReader(path)
    as_good = {"hcpe", "hcpe2"}  # without flags these two are the same bytes
    expected = {name} | (as_good if name in as_good else set())
    assert reader.format.name in expected
    same(some, load_samples(path))
    if suffix.removeprefix(".") not in expected:
        assert f"read as {reader.format.name}" in reader.note


def test_a_size_that_fits_two_layouts_is_reported(tmp_path: Path, samples: Samples) -> None:
    some = samples.take(slice(0, 21))
    reader = SampleReader(written(tmp_path / "a.hcpe", some))
    assert reader.size == 798
    assert reader.format.name == "hcpe"
    assert "100% as hcpe" in reader.note
    assert "0% as apery" in reader.note
    assert SampleReader(written(tmp_path / "b.hcpe", samples.take(slice(0, 19)))).note == ""


@pytest.mark.parametrize("name", NAMES)
def test_damaged_records_lose_only_themselves(tmp_path: Path, samples: Samples, name: str) -> None:
    path = written(tmp_path / f"a.{name}", samples)
    size = LAYOUTS[name].itemsize
    data = bytearray(path.read_bytes())
    for row in (5, 6, 100):
        data[row * size + 1] = 0xFF  # a king off the board
    path.write_bytes(data)
    back = load_samples(path)
    same(samples.take(np.delete(np.arange(len(samples)), [5, 6, 100])), back)
    assert [(skip.begin, skip.end, skip.count) for skip in back.skipped] == [
        (5 * size, 7 * size, 2),
        (100 * size, 101 * size, 1),
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shift", [-9, -1, 1, 3, 41])
def test_reading_resumes_after_missing_or_surplus_bytes(
    tmp_path: Path, samples: Samples, name: str, shift: int
) -> None:
    path = written(tmp_path / f"a.{name}", samples)
    data = path.read_bytes()
    at = 50 * LAYOUTS[name].itemsize + 10
    path.write_bytes(
        data[: at - shift] + data[at:] if shift < 0 else data[:at] + data[at + shift :]
    )
    if shift < 0:
        path.write_bytes(data[:at] + b"\x55" * -shift + data[at:])
    back = load_samples(path)
    assert len(samples) - len(back) <= 4
    assert back.skipped
    assert np.array_equal(back.hcp[-300:], samples.hcp[-300:])


def test_an_illegal_move_is_a_damaged_record_and_none_is_no_label(
    tmp_path: Path, samples: Samples
) -> None:
    changed = samples.take(slice(0, 10))
    changed.move16 = changed.move16.copy()
    changed.move16[3] = 0
    changed.move16[7] = changed.move16[7] ^ 1
    for name in NAMES:
        back = load_samples(written(tmp_path / f"a.{name}", changed))
        assert back.move16[3] == 0
        assert len(back) == 9
        assert "illegal move" in back.skipped[0].reason


def test_a_tail_is_reported(tmp_path: Path, samples: Samples) -> None:
    path = written(tmp_path / "a.psv", samples)
    path.write_bytes(path.read_bytes() + b"123")
    back = load_samples(path)
    same(samples, back)
    (skip,) = back.skipped
    assert skip.end - skip.begin == 3


def test_games_without_a_result_and_positions_as_games_are_refused(tmp_path: Path) -> None:
    game = random_game(1, plies=3)
    game.winner = Winner.UNKNOWN
    with SampleWriter(tmp_path / "a.hcpe") as writer, pytest.raises(RecordError, match="result"):
        writer.write_game(game)
    with pytest.raises(RecordError, match="games"):
        SampleWriter(tmp_path / "a.csa")
    with pytest.raises(RecordError, match="no record format"):
        SampleWriter(tmp_path / "a.xyz")


def test_a_compressed_file_reads_the_same(tmp_path: Path, samples: Samples) -> None:
    same(samples, load_samples(written(tmp_path / "a.psv.xz", samples)))
    same(samples, load_samples(written(tmp_path / "a.hcpe.gz", samples)))


def test_many_files_keep_their_games_apart(tmp_path: Path, samples: Samples) -> None:
    one = written(tmp_path / "a.hcpe", samples)
    two = written(tmp_path / "b.psv", samples)
    both = load_samples([one, two, sample_path()])
    first = len(samples)
    assert both.game[first] == both.game[first - 1] + 1
    assert both.game[2 * first] == both.game[2 * first - 1] + 1
    assert np.all(np.diff(both.game) >= 0)


def test_every_format_of_positions_has_a_layout() -> None:
    assert set(LAYOUTS) == {name for name, format in FORMATS.items() if not format.holds_games}


def test_a_score_that_is_no_number_is_not_stored():
    assert [records.score_to_record(cp) for cp in (None, 1e9, -1e9, 12.4)] == [0, 30000, -30000, 12]
    assert records.score_to_record(float("nan"), mate=3) == 30000
    with pytest.raises(ValueError, match="NaN"):
        records.score_to_record(float("nan"))
