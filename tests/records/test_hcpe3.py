"""hcpe3: damaged files, and reading on after the damage."""

from __future__ import annotations

import lzma
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from komadori.records import (
    Candidates,
    End,
    Game,
    RecordError,
    Winner,
    load_sample_moves,
    load_samples,
    read_games,
    sample_path,
    write_games,
)
from komadori.records.sample_moves import to_hcpe3
from komadori.rules import HANDICAPS, IllegalMoveError

from .conftest import random_game

HEADER = 36


@pytest.fixture
def path(tmp_path: Path, even_games: list[Game]) -> Path:
    write_games(tmp_path / "a.hcpe3", even_games)
    return tmp_path / "a.hcpe3"


def starts(data: bytes) -> list[int]:
    """Offsets of the games, from the counts of moves and candidates."""
    found, at = [], 0
    while at < len(data):
        found.append(at)
        (plies,) = struct.unpack_from("<H", data, at + 32)
        at += HEADER
        for _ in range(plies):
            (count,) = struct.unpack_from("<H", data, at + 4)
            at += 6 + 4 * count
    return found


def test_layout(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.WHITE, scores_cp=[-300, 45000])
    count = np.array([2, 0], np.uint16)
    moves = np.array([int(game.moves[0]), int(game.moves[0]) - 1], np.uint16)
    moves[1] = Game.from_usi(["2g2f"]).moves[0]
    game.candidates = Candidates(count, moves, np.array([700, 65000], np.uint16))
    game.opponent = 2
    write_games(tmp_path / "a.hcpe3", [game])
    data = (tmp_path / "a.hcpe3").read_bytes()
    assert data[:32] == game.board().hcp()
    assert struct.unpack_from("<HBB", data, 32) == (2, 2, 2)
    assert struct.unpack_from("<HhH", data, 36) == (int(game.moves[0]), -300, 2)
    assert struct.unpack_from("<HHHH", data, 42) == (int(moves[0]), 700, int(moves[1]), 65000)
    assert struct.unpack_from("<HhH", data, 50) == (int(game.moves[1]), 32767, 0)
    assert len(data) == 56
    (back,) = read_games(tmp_path / "a.hcpe3")
    assert back.candidates is not None
    assert back.candidates.of_ply(0) == [("7g7f", 700), ("2g2f", 65000)]
    assert back.candidates.of_ply(1) == []
    assert back.opponent == 2


def test_games_survive(path: Path, even_games: list[Game]) -> None:
    for before, after in zip(even_games, read_games(path), strict=True):
        assert np.array_equal(before.moves, after.moves)
        known = before.scores_cp > -(10**6)
        assert np.array_equal(before.scores_cp[known], after.scores_cp[known])
        assert after.winner == before.winner


def test_the_sample_is_rewritten_byte_for_byte(tmp_path: Path) -> None:
    write_games(tmp_path / "a.hcpe3", read_games(sample_path()))
    original = lzma.decompress(sample_path().read_bytes())
    assert (tmp_path / "a.hcpe3").read_bytes() == original


DAMAGE = {
    "a king off the board": (1, 0xFF),
    "too many plies": (33, 0x7F),
    "an unknown result": (34, 0x43),
    "an unknown opponent": (35, 9),
    "an illegal move": (HEADER, 0),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_game_loses_only_itself(path: Path, even_games: list[Game], what: str) -> None:
    data = bytearray(path.read_bytes())
    begin = starts(bytes(data))[3]
    at, value = DAMAGE[what]
    data[begin + at] = value
    path.write_bytes(data)
    games = read_games(path)
    assert len(games) == len(even_games) - 1
    (skip,) = games.skipped
    assert (skip.begin, skip.end) == (begin, starts(path_of(even_games, path))[4])
    assert begin <= skip.offset <= begin + HEADER


def path_of(games: list[Game], near: Path) -> bytes:
    """The undamaged file's bytes."""
    whole = near.with_name("whole.hcpe3")
    write_games(whole, games)
    return whole.read_bytes()


@pytest.mark.parametrize("count", [1, 2, 7, 40, 500])
@pytest.mark.parametrize("insert", [False, True])
def test_missing_or_surplus_bytes_lose_one_game(
    path: Path, even_games: list[Game], count: int, insert: bool
) -> None:
    data = path.read_bytes()
    at = starts(data)[2] + HEADER + 6
    broken = data[:at] + (b"\xa5" * count + data[at:] if insert else data[at + count :])
    path.write_bytes(broken)
    games = read_games(path)
    lost = len(even_games) - len(games)
    assert 1 <= lost <= 2
    assert games.skipped
    assert np.array_equal(games[-1].moves, even_games[-1].moves)


def test_a_gap_of_zeros_is_skipped_fast(path: Path, even_games: list[Game]) -> None:
    """As a full disk or a power failure leaves it in a large file."""
    data, gap = path.read_bytes(), 16 << 20
    at = starts(data)[2]
    path.write_bytes(data[:at] + bytes(gap) + data[at:])
    begin = time.monotonic()
    games = read_games(path)
    assert time.monotonic() - begin < 15  # a hundredth of it, on an idle machine
    assert len(games) == len(even_games)
    assert [(skip.begin, skip.end) for skip in games.skipped] == [(at, at + gap)]


def test_a_file_cut_short_keeps_the_games_before(path: Path, even_games: list[Game]) -> None:
    data = path.read_bytes()
    last = starts(data)[-1]
    for end in (last + 1, last + HEADER, len(data) - 1):
        path.write_bytes(data[:end])
        games = read_games(path)
        assert len(games) == len(even_games) - 1
        (skip,) = games.skipped
        assert (skip.begin, skip.end) == (last, end)
        assert "ends within" in skip.reason


def test_rubbish_is_no_game(tmp_path: Path) -> None:
    path = tmp_path / "a.hcpe3"
    path.write_bytes(np.random.default_rng(0).bytes(200_000))
    for read in (read_games, load_samples):
        with pytest.raises(RecordError, match=r"a\.hcpe3"):
            read(path)


def test_what_hcpe3_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.hcpe3"
    handicap = random_game(1, sfen=HANDICAPS["rook"].sfen, plies=5)
    no_result = random_game(1, plies=5)
    no_result.winner = Winner.UNKNOWN
    illegal = random_game(1, plies=5)
    illegal.moves[2] = illegal.moves[0]
    for game, reason in ((handicap, "box"), (no_result, "result"), (illegal, "legal")):
        with pytest.raises(RecordError, match=reason):
            write_games(path, [random_game(2, plies=3), game])
        assert not list(tmp_path.iterdir())  # neither the file nor a temporary one


def test_long_games_are_refused(tmp_path: Path) -> None:
    shuffle = ["5i5h", "5a5b", "5h5i", "5b5a"]
    game = Game.from_usi(shuffle * 128 + ["5i5h"], winner=Winner.DRAW)
    assert write_games(tmp_path / "a.hcpe3", [game]) == 1
    longer = Game.from_usi(shuffle * 128 + ["5i5h", "5a5b"], winner=Winner.DRAW)
    with pytest.raises(RecordError, match="513"):
        write_games(tmp_path / "a.hcpe3", [longer])
    assert len(read_games(tmp_path / "a.hcpe3")[0]) == 513


def test_result_flags(tmp_path: Path) -> None:
    cases = [
        (Winner.DRAW, End.SENNICHITE, 4),
        (Winner.BLACK, End.PERPETUAL_CHECK, 1 | 4),
        (Winner.WHITE, End.DECLARATION, 2 | 8),
        (Winner.DRAW, End.MAX_MOVES, 16),
        (Winner.BLACK, End.UNKNOWN, 1),
    ]
    for winner, end, byte in cases:
        game = random_game(4, plies=4)
        game.winner, game.end = winner, end
        write_games(tmp_path / "a.hcpe3", [game])
        assert (tmp_path / "a.hcpe3").read_bytes()[34] == byte
        (back,) = read_games(tmp_path / "a.hcpe3")
        assert (back.winner, back.end) == (winner, end)


def test_samples_take_the_most_visited_candidate_and_skip_untrained_plies(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d", "2g2f"], winner=Winner.BLACK, scores_cp=[1, 2, 3])
    options = Game.from_usi(["2g2f", "8c8d", "2f2e"])
    game.candidates = Candidates(
        np.array([2, 0, 1], np.uint16),
        np.array([game.moves[0], options.moves[0], game.moves[2]], np.uint16),
        np.array([3, 9, 1], np.uint16),
    )
    write_games(tmp_path / "a.hcpe3", [game])
    samples = load_samples(tmp_path / "a.hcpe3")
    assert samples.move16.tolist() == [options.moves[0], game.moves[2]]
    assert samples.ply.tolist() == [1, 3]
    assert samples.score_cp.tolist() == [1, 3]
    assert samples.result.tolist() == [1, 1]


def test_an_illegal_move_is_named() -> None:
    with pytest.raises(IllegalMoveError, match="7g7f"):
        Game.from_usi(["7g7f", "7g7f"])


def test_samples_are_written_as_their_games(tmp_path: Path) -> None:
    """Samples of every ply with their candidates become the file that they were read from."""
    with lzma.open(sample_path()) as file:
        data = file.read()
    (tmp_path / "all.hcpe3").write_bytes(data)
    whole = [
        game
        for game in read_games(tmp_path / "all.hcpe3")[:40]
        if game.candidates is not None and (game.candidates.count > 0).all()
    ]
    assert len(whole) > 3
    write_games(tmp_path / "whole.hcpe3", whole)
    samples, moves = load_sample_moves(tmp_path / "whole.hcpe3")
    assert to_hcpe3(samples, moves) == (tmp_path / "whole.hcpe3").read_bytes()
    samples.game[:] = 0  # one game of too many plies
    with pytest.raises(RecordError, match="at most 513 plies"):
        to_hcpe3(samples, moves)
    with pytest.raises(RecordError, match="differ in length"):
        to_hcpe3(samples.take(slice(0, 5)), moves)
