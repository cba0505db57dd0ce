"""Conveniences of boards at the Python prompt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import komadori
from komadori import search
from komadori.records import Game
from komadori.rules import Board, IllegalMoveError, Move, MoveError, SfenError


@pytest.mark.parametrize(
    "text",
    [
        "startpos moves 7g7f 3c3d",
        "position startpos moves 7g7f 3c3d",
        f"sfen {Board().sfen()} moves 7g7f 3c3d",
        f"{Board().sfen()} moves 7g7f 3c3d",
    ],
)
def test_a_board_is_made_from_what_usi_says(text: str) -> None:
    board = Board(text)
    assert [move.usi() for move in board.moves] == ["7g7f", "3c3d"]
    if "sfen" in text or "startpos" in text:
        assert Board.from_usi(text) == board


def test_moves_are_pushed_in_usi_notation() -> None:
    board = Board()
    board.push("7g7f")
    board.push(board.parse_usi("3c3d"))
    assert board == Board("startpos moves 7g7f 3c3d")
    with pytest.raises(IllegalMoveError):
        board.push("7f7d")
    with pytest.raises(MoveError):
        board.push("nonsense")
    assert len(board.moves) == 2


def test_every_method_takes_a_move_in_usi_notation() -> None:
    board = Board()
    for move in ("7g7f", board.parse_usi("7g7f")):
        assert board.is_legal(move)
        assert not board.gives_check(move)
        assert (board.csa(move), board.kif(move), board.ki2(move), board.western(move)) == (
            "+7776FU",
            "７六歩(77)",
            "７六歩",
            "P-7f",
        )
    assert not board.is_legal("7g7e")
    for call in (board.gives_check, board.csa, board.kif, board.ki2, board.western):
        with pytest.raises(IllegalMoveError, match="7g7e is not legal"):
            call("7g7e")
    for call in (board.is_legal, board.csa, board.kif):
        with pytest.raises(MoveError, match="USI move 'nonsense', character 1"):
            call("nonsense")


def test_no_move_is_not_legal() -> None:
    assert search.search("startpos", "uniform", nodes=1).best_move in Board().legal_moves
    assert None not in Board().legal_moves  # the ponder move of a search that has none


def test_wrong_texts_are_reported() -> None:
    with pytest.raises(IllegalMoveError, match="move 2"):
        Board("startpos moves 7g7f 7f7e")
    for text in ("startpos moves".replace("startpos", "start"), "sfen", "position"):
        with pytest.raises(SfenError):
            Board(text)
    with pytest.raises(SfenError, match="expected 'moves' after 'startpos', found 'mvs'"):
        Board("startpos mvs 7g7f")


def test_the_boards_of_a_game_are_independent() -> None:
    game = Game.from_usi(["7g7f", "3c3d", "2g2f"])
    boards = [board for board, _ in list(game.positions())]
    assert [len(board.moves) for board in boards] == [0, 1, 2]
    boards[0].push("2g2f")
    assert len(boards[1].moves) == 1
    assert len({id(board) for board, _ in list(game.moving_board())}) == 1


def test_subpackages_are_attributes() -> None:
    code = "import sys, komadori; komadori.rules.Board(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_documented_package_is_an_attribute() -> None:
    index = Path(__file__).parents[2] / "docs" / "api" / "index.md"
    documented = re.findall(r"^\| \[komadori\.(\w+)\]", index.read_text("utf-8"), re.M)
    assert len(documented) > 15
    assert set(documented) <= set(dir(komadori))


def test_notebooks_complete_names_that_are_imported_on_demand() -> None:
    assert set(search.__all__) <= set(dir(search))


def test_a_move_equals_nothing_but_moves() -> None:
    move = Board().parse_usi("7g7f")
    assert move == Move("7g7f")
    for other in (None, 3, "7g7f", [move]):
        assert move != other
