"""Parsing and formatting of USI lines."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komadori.usi import protocol
from komadori.usi.protocol import (
    STARTPOS,
    BestMove,
    GoCommand,
    InfoLine,
    OptionLine,
    PositionCommand,
    Score,
    UsiSyntaxError,
)

SFEN = "8k/9/9/9/9/9/9/9/K8 b 2G 5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("startpos", PositionCommand(STARTPOS)),
        ("startpos moves", PositionCommand(STARTPOS)),
        ("startpos moves 7g7f 8h2b+ B*5e", PositionCommand(STARTPOS, ("7g7f", "8h2b+", "B*5e"))),
        (f"sfen {SFEN}", PositionCommand(SFEN)),
        (f"  sfen  {SFEN}  moves  9i8i ", PositionCommand(SFEN, ("9i8i",))),
        ("sfen 8k/9/9/9/9/9/9/9/K8 b -", PositionCommand("8k/9/9/9/9/9/9/9/K8 b - 1")),
    ],
)
def test_position(text: str, expected: PositionCommand) -> None:
    assert protocol.parse_position(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found nothing"),
        ("endpos", "'endpos'"),
        ("startpos 7g7f", "expected moves, found '7g7f'"),
        ("sfen 8k/9 b", "expected 4 fields, found 2"),
        ("sfen a b c d e moves", "found 5"),
        ("sfen 玉8/9/9/9/9/9/9/9/9 b - 1", "isn't a valid SFEN"),
    ],
)
def test_bad_positions_are_named(text: str, message: str) -> None:
    with pytest.raises(UsiSyntaxError, match=message.replace("*", r"\*")):
        protocol.parse_position(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", GoCommand()),
        ("infinite", GoCommand(infinite=True)),
        ("btime 1 wtime 2 byoyomi 3", GoCommand(btime_ms=1, wtime_ms=2, byoyomi_ms=3)),
        (
            "btime 1 wtime 2 binc 3 winc 4",
            GoCommand(btime_ms=1, wtime_ms=2, binc_ms=3, winc_ms=4),
        ),
        ("btime -500 wtime 0", GoCommand(btime_ms=0, wtime_ms=0)),
        ("ponder", GoCommand(ponder=True)),
        ("ponder btime 9 wtime 8", GoCommand(ponder=True, btime_ms=9, wtime_ms=8)),
        ("mate infinite", GoCommand(mate=True)),
        ("mate 5000", GoCommand(mate=True, mate_ms=5000)),
        ("mate", GoCommand(mate=True)),
        ("nodes 5 depth 6 movetime 7", GoCommand(nodes=5, depth=6, movetime_ms=7)),
        ("nodes 5 searchmoves 7g7f B*5e", GoCommand(nodes=5, searchmoves=("7g7f", "B*5e"))),
        ("searchmoves 7g7f nodes 5", GoCommand(nodes=5, searchmoves=("7g7f",))),
        ("nodes 5 nodes 6", GoCommand(nodes=6)),
        ("byoyomi 99999999999999999999", GoCommand(byoyomi_ms=10**12)),
    ],
)
def test_go(text: str, expected: GoCommand) -> None:
    got = protocol.parse_go(text)
    assert got == expected
    assert protocol.parse_go(str(got).removeprefix("go")) == got


@pytest.mark.parametrize(
    "text",
    ["byoyomi", "byoyomi soon", "nodes 1e3", "fly", "searchmoves 7g7f nodes", "depth ٣", "mate x"],
)
def test_bad_go_is_named(text: str) -> None:
    with pytest.raises(UsiSyntaxError, match="go"):
        protocol.parse_go(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name MultiPV value 3", ("MultiPV", "3")),
        ("name DNN_Model value C:\\my models\\a.onnx", ("DNN_Model", "C:\\my models\\a.onnx")),
        ("name Clear Hash", ("Clear Hash", "")),
        ("name Skill Level value 20", ("Skill Level", "20")),
        ("name Book_File value ", ("Book_File", "")),
        ("name Book_File value", ("Book_File", "")),
        ("name value value  a value  b ", ("value", "a value  b")),
        (f"name a{' ' * 300_000}b value c", (f"a{' ' * 300_000}b", "c")),
    ],
)
def test_setoption(text: str, expected: tuple[str, str]) -> None:
    assert protocol.parse_setoption(text) == expected


@pytest.mark.parametrize("text", ["", "name", "MultiPV 3", "value 3"])
def test_bad_setoption_is_named(text: str) -> None:
    with pytest.raises(UsiSyntaxError, match="setoption"):
        protocol.parse_setoption(text)


@pytest.mark.parametrize(
    "line",
    [
        "info depth 3 seldepth 5 nodes 100 nps 2000 time 50 hashfull 7 multipv 2 score cp -31 "
        "pv 7g7f 3c3d",
        "info score mate 5 pv B*5e",
        "info score mate -4",
        "info score mate +",
        "info score mate -",
        "info score cp 12 lowerbound",
        "info string book 7g7f 50 %",
    ],
)
def test_info_round_trip(line: str) -> None:
    assert str(protocol.parse_info(line.removeprefix("info "))) == line


def test_invalid_info_fields_are_ignored() -> None:
    info = protocol.parse_info("depth x currmove 7g7f score cp bad nodes 12 score cp 5 pv 7g7f")
    assert info == InfoLine(nodes=12, score=Score(cp=5), pv=("7g7f",))


@pytest.mark.parametrize("number", ["-1", "9" * 18, "1e9", "２"])
def test_numbers_that_are_no_counts_are_ignored(number: str) -> None:
    info = protocol.parse_info(f"depth {number} nodes {number} time {number} score cp -5")
    assert info == InfoLine(score=Score(cp=-5))


def test_text_in_lines_is_one_printable_line() -> None:
    line = str(InfoLine(string="a\nb\x1b[31m " + "c" * 1000))
    assert line.startswith("info string a b?[31m ccc")
    assert len(line) < 450
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7g7f", BestMove("7g7f")),
        ("7g7f ponder 3c3d", BestMove("7g7f", "3c3d")),
        ("7g7f ponder (none)", BestMove("7g7f")),
        ("resign", BestMove("resign")),
    ],
)
def test_bestmove(text: str, expected: BestMove) -> None:
    assert protocol.parse_bestmove(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "option name Hash type spin default 16 min 1 max 1024",
        "option name Use Book type check default true",
        "option name Style type combo default Normal var Solid var Normal var Risky",
        "option name Clear Hash type button",
        "option name File type filename default <empty>",
    ],
)
def test_option_round_trip(line: str) -> None:
    assert str(protocol.parse_option(line.removeprefix("option "))) == line


def test_option_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(UsiSyntaxError, match="'slider'"):
        protocol.parse_option("name X type slider")


def test_option_defaults_may_hold_blanks() -> None:
    got = protocol.parse_option("name Model File type string default my file.bin")
    assert got == OptionLine("Model File", "string", "my file.bin")
    blanks = " " * 300_000
    assert protocol.parse_option(f"name a{blanks}b type string").name == f"a{blanks}b"


@pytest.mark.parametrize("value", ["--5", "+-5", "5-", "1_0", "٣", ""])
def test_what_is_no_integer_is_called_so(value: str) -> None:
    _, problem = OptionLine("Hash", "spin", "16", 1, 1024).check(value)
    assert "isn't an integer" in problem


@pytest.mark.parametrize("value", ["9" * 19, "-" + "9" * 5000])
def test_a_number_of_any_length_is_out_of_range(value: str) -> None:
    _, problem = OptionLine("Hash", "spin", "16", 1, 1024).check(value)
    assert "isn't between 1 and 1024" in problem
    assert len(problem) < 2_000


def test_a_path_with_a_nul_character_names_its_option() -> None:
    _, problem = OptionLine("EvalFile", "filename", "").check("a\0b")
    assert problem == "option EvalFile: 'a?b' contains a NUL character"


def test_long_lists_of_moves_are_read_at_once() -> None:
    moves = ["7g7f"] * 150_000
    start = time.monotonic()
    assert protocol.parse_go("searchmoves " + " ".join(moves)).searchmoves == tuple(moves)
    assert time.monotonic() - start < 5


@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for parse in (
        protocol.parse_position,
        protocol.parse_go,
        protocol.read_go,
        protocol.parse_setoption,
        protocol.parse_info,
        protocol.parse_option,
        protocol.parse_bestmove,
    ):
        with contextlib.suppress(UsiSyntaxError):
            parse(text)
