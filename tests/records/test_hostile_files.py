"""Damaged, hostile and foreign files: sound parts are read, the rest is reported."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from komadori import _core
from komadori.records import (
    FORMATS,
    Game,
    GameReader,
    RecordError,
    SampleReader,
    Winner,
    load_samples,
    read_games,
    sample_path,
    write_games,
)
from komadori.records.text import BLOCK_BYTES, lines_of
from komadori.rules import Board

PACKERS = {".xz": lzma, ".gz": gzip}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_the_games_before_the_damage_of_an_archive_are_read(
    suffix: str, damage: str, tmp_path: Path
) -> None:
    games = read_games(sample_path())[:400]
    whole, path = tmp_path / "whole.hcpe3", tmp_path / f"a.hcpe3{suffix}"
    write_games(whole, games)
    content = whole.read_bytes()
    packed = bytearray(PACKERS[suffix].compress(content))
    at = len(packed) // 2
    if damage == "cut":
        del packed[at:]
    else:
        packed[at : at + 8] = bytes(byte ^ 0xFF for byte in packed[at : at + 8])
    path.write_bytes(packed)
    found = read_games(path)
    assert len(found) >= 100
    # A damage that the compression's check sees late may spoil the last games before it.
    assert found[:100] == games[:100]
    assert any("damaged compression" in skip.reason for skip in found.skipped)
    samples = load_samples(path)
    assert len(samples) > 1000
    assert any("damaged compression" in skip.reason for skip in samples.skipped)


@pytest.mark.parametrize("suffix", PACKERS)
def test_archives_joined_in_one_file_are_all_read(suffix: str, tmp_path: Path) -> None:
    games = read_games(sample_path())[:6]
    whole, path = tmp_path / "whole.hcpe3", tmp_path / f"a.hcpe3{suffix}"
    write_games(whole, games)
    packed = PACKERS[suffix].compress(whole.read_bytes())
    path.write_bytes(packed + packed + bytes(8))
    found = read_games(path)
    assert found == games + games
    assert not found.skipped
    # The header of the second is damaged: what follows must not be lost without a word.
    path.write_bytes(packed + b"\xff" + packed[1:] + packed)
    found = read_games(path)
    assert found == games
    assert any("damaged compression" in skip.reason for skip in found.skipped)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_named_and_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.hcpe3"
    os.mkfifo(path)
    for read in (read_games, load_samples):
        with pytest.raises(RecordError, match=r"a\.hcpe3: a pipe"):
            read(path)


def test_the_positions_before_the_damage_are_read(tmp_path: Path) -> None:
    samples = load_samples(sample_path()).take(slice(0, 20_000))
    plain = tmp_path / "a.hcpe"
    from komadori.records import SampleWriter

    with SampleWriter(plain) as writer:
        writer.write(samples)
    path = tmp_path / "a.hcpe.gz"
    path.write_bytes(gzip.compress(plain.read_bytes())[:-50_000])
    reader = SampleReader(path)
    rows = sum(len(part) for part in reader)
    assert 1000 < rows < 20_000
    assert "damaged compression" in reader.skipped[0].reason


def test_an_archive_without_a_sound_byte_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csa.xz"
    path.write_bytes(b"junk" * 100)
    with pytest.raises(RecordError, match=r"a\.csa\.xz: damaged compression"):
        read_games(path)


_READ = """
import resource, sys
from komadori.records import GameReader, RecordError, SampleReader
import numpy, gzip, lzma, rsshogi.record
used = int(open("/proc/self/statm").read().split()[5]) * 4096
resource.setrlimit(resource.RLIMIT_DATA, (used + 150_000_000,) * 2)
reader = (SampleReader if "psv" in sys.argv[1] else GameReader)(sys.argv[1])
for number, _ in enumerate(reader):
    if len(reader.skipped) > 1000 or number > 3:
        break
"""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, Path]:
    """Archives of 300 MB in 1.3 MB."""
    found = {}
    for line in (b"\0", b"x\n"):
        path = tmp_path_factory.mktemp("bombs") / "a.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(300):
                file.write(line * (1_000_000 // len(line)))
        found[line] = path
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces this limit")
@pytest.mark.parametrize("name", ["csa", "kif", "usi", "jkf", "psv"])
@pytest.mark.parametrize("line", [b"\0", b"x\n"])
def test_a_small_archive_of_gigabytes_is_read_in_little_memory(
    name: str, line: bytes, bombs: dict[bytes, Path], tmp_path: Path
) -> None:
    """In a process that may have 150 MB more than it starts with."""
    path = tmp_path / f"a.{name}.gz"
    path.symlink_to(bombs[line])
    words = [sys.executable, "-c", _READ, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    is_text = name != "psv" and (line == b"\0" or name == "jkf")
    assert done.returncode == 0 or (is_text and "RecordError: " in done.stderr), done.stderr[-600:]


KIF = """手合割：平手
   1 ７六歩(77)
   2 ３四歩(33)
   3 ９九玉(59)
   4 ８四歩(83)
手合割：平手
先手：A
   1 ２六歩(27)
"""


def test_a_kif_keeps_its_moves_up_to_an_illegal_one(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_text(KIF)
    games = read_games(path)
    assert [game.usi_moves() for game in games] == [["7g7f", "3c3d"], ["2g2f"]]
    assert games[0].winner == Winner.UNKNOWN
    (skipped,) = games.skipped
    assert skipped.offset == KIF.encode().index("   3 ９九玉".encode())
    assert skipped.reason.startswith("line 4: ply 3: ")
    assert skipped.reason.endswith("; the moves before it are kept")


#: Texts after the number of a move in KIF, and the number of games that they leave of two.
STRANGE_MOVES = {
    "digits": (f"７六歩(77)   ( {'9' * 5000}:00/00:00:01)", 2),
    "after": (f"７六歩(77)   ( 0:01/00:00:01){' ' * 300_000}x", 2),
    "open": (f"７六歩(77) {'(0:0/' * 60_000}", 2),
    "within": (f"７六歩{' ' * 300_000}(77)", 0),
}


@pytest.mark.parametrize("name", STRANGE_MOVES)
def test_strange_times_and_blanks_of_kif_cost_their_game_and_little_time(
    name: str, tmp_path: Path
) -> None:
    text, games = STRANGE_MOVES[name]
    path = tmp_path / "a.kif"
    path.write_text(2 * f"手合割：平手\n   1 {text}\n   2 投了\n\n", encoding="utf-8")
    start = time.monotonic()
    assert [len(game) for game in GameReader(path)] == games * [1]
    assert time.monotonic() - start < 10


def test_a_jkf_number_of_thousands_of_digits_costs_its_game_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    game = '{"header":{},"moves":[{},{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":6}}}]}'
    path.write_text(game.replace("6}", "9" * 5000 + "}") + "\n" + game + "\n")
    games = read_games(path)
    assert [game.usi_moves() for game in games] == [["7g7f"]]
    (skipped,) = games.skipped
    assert "a number with too many digits" in skipped.reason


def test_half_a_surrogate_pair_in_a_comment_of_jkf_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    move = '{"comments":["x\\ud83d"],"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":6}}}'
    path.write_text('{"header":{"\\ud83d":"\\uDE00"},"moves":[{},' + move + "]}")
    games = read_games(path)
    assert not games.skipped
    assert [(game.comments, game.headers) for game in games] == [({1: "x?"}, {"?": "?"})]
    write_games(tmp_path / "a.csa", games)
    assert read_games(tmp_path / "a.csa")[0].comments == {1: "x?"}


@pytest.mark.parametrize("blank", ["\u3000", "\u2028", "\xa0", "\ufeff ", "\x1f"])
def test_lines_of_any_blanks_in_usi_are_blank(blank: str, tmp_path: Path) -> None:
    path = tmp_path / "a.usi"
    path.write_text(f"{blank}\nstartpos moves 7g7f\n{blank}\n", "utf-8")
    games = read_games(path)
    assert [game.usi_moves() for game in games] == [["7g7f"]]
    assert not games.skipped


@pytest.mark.parametrize(
    ("name", "text"),
    [("kif", KIF.replace("   3 ９九玉(59)\n   4 ８四歩(83)\n", "")),
     ("usi", "startpos moves 7g7f 3c3d\nstartpos moves 2g2f\n")],
)  # fmt: skip
def test_the_games_before_a_line_too_long_for_text_are_read(
    name: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{name}"
    path.write_bytes(text.encode() + b"x" * (1 << 24) + b"\n" + text.encode())
    games = read_games(path)
    assert [len(game) for game in games] == [2, 1]
    begin, number = len(text.encode()), text.count("\n") + 1
    (skipped,) = games.skipped
    assert (skipped.begin, skipped.offset) == (begin, begin)
    assert str(skipped) == (
        f"{path}: byte {begin}: line {number}: a line of more than 16 MB; not a text file; "
        "the rest isn't read"
    )


@pytest.mark.parametrize("name", [n for n, f in FORMATS.items() if f.holds_games])
def test_junk_is_an_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    for junk in (b"", b"\0" * 1000, b"junk\n" * 100, np.random.default_rng(1).bytes(5000)):
        path.write_bytes(junk)
        with pytest.raises(RecordError):
            read_games(path, name)


def test_a_csa_key_that_is_not_utf8_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_bytes(b"$\x93\xc1\x95\xca:x\n$\xff\xff:y\nPI\n+\n+7776FU\n%TORYO\n")
    (game,) = read_games(path)
    assert set(game.headers.values()) >= {"x", "y"}
    for name in ("csa", "kif", "ki2", "jkf"):
        copy = tmp_path / f"b.{name}"
        write_games(copy, [game])
        assert {"x", "y"} <= set(read_games(copy)[0].headers.values())


HOSTILE_KEYS = [
    "TIME LIMIT",
    "a\nb",
    "a\r\n   1 ７六歩(77)",
    "：",
    "手合割",
    "先手の持駒",
    "まで3手で",
    "変化：3手",
    "▲７六歩",
    "*comment",
    "#KIF",
    "&bookmark",
    "x" * 200,
    "a\x1b[31mb",
    "1 ７六歩",
]


@pytest.mark.parametrize("name", ["csa", "kif", "ki2", "jkf"])
@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_no_header_name_breaks_a_record(name: str, key: str, tmp_path: Path) -> None:
    headers = {"black": "A", key: "one\ntwo\r\n%TORYO", "white": "B\n+7776FU"}
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.BLACK, headers=headers)
    path = tmp_path / f"a.{name}"
    write_games(path, [game, game])
    found = read_games(path)
    assert not found.skipped
    assert len(found) == 2
    for copy in found:
        assert copy.usi_moves() == ["7g7f", "3c3d"]
        assert copy.winner == Winner.BLACK
        assert copy.black == "A"
        assert any("one" in value for value in copy.headers.values())


def test_lines_are_the_same_in_blocks() -> None:
    rows = [f"line {i} " + "あ" * (i % 70) for i in range(60_000)]
    for encoding in ("utf-8", "cp932"):
        data = "\r\n".join(rows).encode(encoding)
        assert len(data) > BLOCK_BYTES
        lines = list(lines_of(np.frombuffer(data, np.uint8)))
        assert [line.text for line in lines] == rows
        assert [line.number for line in lines] == list(range(1, len(rows) + 1))
        for line in lines[:: len(lines) // 7]:
            assert data[line.offset : line.end].decode(encoding).rstrip("\r") == line.text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces this limit")
def test_memory_limits_are_enforced_here() -> None:
    """Otherwise the test of archives above proves nothing."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_DATA, (10**8, 10**8));"
        "bytearray(3 * 10**8)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"MemoryError" in done.stderr


@pytest.mark.parametrize("name", ["usi", "kif"])
def test_junk_without_an_end_is_not_read_to_its_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.records.formats.MAX_JUNK_LINES", 100)
    monkeypatch.setattr("komadori.records.kif.MAX_LINES", 100)
    path = tmp_path / f"a.{name}"
    write_games(path, [Game.from_usi(["7g7f", "3c3d"])])
    sound = path.read_bytes()
    path.write_bytes(sound + b"x\n" * 5000 + sound)
    found = read_games(path)
    assert [game.usi_moves() for game in found] == [["7g7f", "3c3d"]]
    assert "the rest isn't read" in str(found.skipped[-1])
    assert len(found.skipped) <= 102


_CSA = b"V2.2\nPI\n+\n+7776FU\n"


@pytest.mark.parametrize(
    ("suffix", "begin", "more", "times"),
    [
        ("csa", b"V2.2\n", b"N+a\n", 250_000),
        ("csa", b"V2.2\n", b"$A:b\n", 250_000),
        ("csa", _CSA, b"'*a\n", 250_000),
        ("csa", _CSA, b"Tx," * 100_000 + b"\n", 3),
        ("csa", _CSA, b"'*" + b"x" * 999_997 + b"\n", 18),
        ("csa", _CSA, b"+7968GI,-3122OU,+6879GI,-2231OU," * 40_000, 16),
        ("kif", "   1 ７六歩(77)\n".encode(), b"*" + b"x" * 999_998 + b"\n", 18),
    ],
)
def test_a_game_that_would_take_the_memory_is_cut(
    suffix: str, begin: bytes, more: bytes, times: int, tmp_path: Path
) -> None:
    """Half a megabyte of .gz with such lines took ten gigabytes."""
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(begin + more * times + b"\n" + _CSA.replace(b"+7776", b"+2726"))
    found = read_games(path)
    assert "a game of more than " in str(found.skipped[0])
    moves = [game.usi_moves()[:1] for game in found]
    if suffix == "kif":  # the rest isn't read
        assert moves == [["7g7f"]]
    else:
        assert moves == [["7g7f"]] * (begin == _CSA) + [["2g2f"]]
    assert sum(map(len, found[0].comments.values())) <= 1 << 24


def test_a_jkf_game_too_long_for_its_reader_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jkf"
    write_games(path, [Game.from_usi(["7g7f", "3c3d"])])
    sound = path.read_text(encoding="utf-8")
    moves = json.loads(sound)["moves"]
    longer = json.dumps({"header": {}, "moves": [{}, *moves[1:] * 8000]})
    path.write_text(f"{longer}\n{sound}", encoding="utf-8")
    found = read_games(path)
    assert [game.usi_moves() for game in found] == [["7g7f", "3c3d"]]
    assert "a game of more than 10,000 moves" in str(found.skipped[0])


@pytest.mark.parametrize("number", [65_534, 65_535, 65_536, 999_990])
def test_jkf_is_written_whatever_the_move_number(number: int, tmp_path: Path) -> None:
    """The library that writes it would end the process at a move number of more than 16 bits."""
    start = f"{Board().sfen().rpartition(' ')[0]} {number}"
    game = Game.from_usi(["7g7f", "3c3d"], start)
    board = game.board()
    board.push_usi("7g7f")
    game.variations[1] = [Game.from_usi(["8c8d"], board.sfen())]
    write_games(tmp_path / "a.jkf", [game])
    found = read_games(tmp_path / "a.jkf")[0]
    assert (found.initial_sfen, found.usi_moves()) == (Board().sfen(), game.usi_moves())
    assert found.variations[1][0].usi_moves() == ["8c8d"]


def test_jkf_is_written_from_a_position_without_a_move_number(tmp_path: Path) -> None:
    write_games(tmp_path / "a.jkf", [Game("4k4/9/9/9/9/9/9/9/4K4 b 2G")])
    assert read_games(tmp_path / "a.jkf")[0].initial_sfen == "4k4/9/9/9/9/9/9/9/4K4 b 2G 1"


def test_a_game_too_long_for_jkf_is_refused(tmp_path: Path) -> None:
    game = Game.from_usi(["7i6h", "7a6b", "6h7i", "6b7a"] * 17_000)
    with pytest.raises(RecordError, match="a line of 68,000 moves; JKF holds 10,000"):
        write_games(tmp_path / "a.jkf", [game])


_CUT_WHILE_READ = """
import sys
from pathlib import Path
from komadori.records.files import content

data = content(Path(sys.argv[1]))
open(sys.argv[1], "r+b").truncate(4096)
print("cut", flush=True)
print(data[:4096].sum() >= 0, flush=True)
print(data.sum())
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody cut a mapped file")
def test_a_file_that_is_cut_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a b\x1b[31m.psv"
    path.write_bytes(bytes(1 << 20))
    command = [sys.executable, "-c", _CUT_WHILE_READ, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "cut\nTrue\n"
    shown = str(path).replace("\x1b", "?") if sys.platform == "linux" else "a file"
    assert done.stderr == (
        f"Error: {shown}: was cut, or can't be read any more, while it was in use\n"
    )


def psv_record(move: int) -> bytes:
    """The start position with a move in PSV's bits: to, from or piece (7), drop (14), promotion."""
    record = bytearray(40)
    record[:32] = Board().packed_sfen()
    record[34:36] = move.to_bytes(2, "little")
    record[36] = 1
    return bytes(record)


@pytest.mark.parametrize(
    "move",
    [
        1 << 14 | 79,  # a drop of no piece
        1 << 14 | 8 << 7 | 40,  # of a piece after gold
        # 80 + piece would run into the bits above, and become 7g7f.
        1 << 14 | (128 + 60 - 80) << 7 | 59,
        1 << 15 | 1 << 14 | 1 << 7 | 40,  # a promoted drop
    ],
)
def test_a_drop_of_psv_without_a_piece_is_illegal(move: int, tmp_path: Path) -> None:
    path = tmp_path / "a.psv"
    path.write_bytes(psv_record(60 << 7 | 59) + psv_record(move) + psv_record(60 << 7 | 59))
    samples = load_samples(path)
    assert samples.move16.tolist() == [60 << 7 | 59] * 2
    assert [skip.reason for skip in samples.skipped] == ["illegal move"]


def test_reading_from_beyond_the_end_gives_nothing() -> None:
    data = np.frombuffer(psv_record(0), np.uint8)
    for begin in (40, 41, 2**64 - 16):
        columns, faults, end = _core.records.fixed_samples("psv", data, begin)
        assert (len(columns["move16"]), faults, end) == (0, [], 40)
