"""Leaf counts of the legal move tree against perft.toml."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori.cli.perft import command
from komadori.rules import Board

POSITIONS = tomllib.loads((Path(__file__).parent / "perft.toml").read_text())["position"]
FAST = 60_000_000  # leaves counted within a second


def cases():
    for position in POSITIONS:
        for depth, count in enumerate(position["counts"], 1):
            marks = () if count <= FAST else pytest.mark.slow
            yield pytest.param(
                position["sfen"], depth, count, marks=marks, id=f"{position['name']}-{depth}"
            )


def slow_perft(board: Board, depth: int) -> int:
    """Without bulk counting, through the Python API."""
    if depth == 0:
        return 1
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += slow_perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize(("sfen", "depth", "count"), list(cases()))
def test_perft(sfen, depth, count):
    assert Board(sfen).perft(depth) == count


@pytest.mark.parametrize("position", POSITIONS, ids=lambda p: p["name"])
def test_counting_is_making(position):
    """The bulk counter, the generator and do/undo agree."""
    for depth, count in enumerate(position["counts"], 1):
        if count <= 30_000:
            board = Board(position["sfen"])
            assert slow_perft(board, depth) == count
            assert board.sfen() == position["sfen"]


def test_command_prints_count_and_divides():
    result = CliRunner().invoke(command, ["2", "--divide"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert sum(int(line.split()[1].replace(",", "")) for line in lines[:30]) == 900
    assert lines[30] == "perft(2) = 900"
    assert "nodes/s" in lines[31]


def test_command_refuses_a_bad_sfen():
    result = CliRunner().invoke(command, ["1", "--sfen", "nonsense"])
    assert result.exit_code == 2
    assert "character 2" in result.output


def test_a_negative_depth_is_an_error() -> None:
    with pytest.raises(ValueError, match="depth must be at least 0"):
        Board().perft(-1)
