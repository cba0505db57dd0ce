"""The search's constants: options that `komadori tune` sets, and a search that works with any."""

from __future__ import annotations

import random

import pytest

from komadori.players import make
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import CONSTANTS, AlphaBetaOptions, AlphaBetaSearcher
from komadori.usi.options import option_table
from komadori.usi.protocol import GoCommand

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"
POSITIONS = ("startpos", MATSURI)


def nodes_and_move(board: Board, nodes: int = 3000, **options: object) -> tuple[int, str]:
    searcher = AlphaBetaSearcher("nnue", options=AlphaBetaOptions(hash_mb=1, **options))  # type: ignore[arg-type]
    searcher.set_position(board)
    found = searcher.search(Limits(nodes=nodes))
    assert found.best_move in board.legal_moves
    return searcher.nodes, str(found.best_move)


def extremes() -> list[dict[str, int]]:
    lowest = {name: low for name, (_, low, _) in CONSTANTS.items()}
    highest = {name: high for name, (_, _, high) in CONSTANTS.items()}
    single = [{name: bounds[name]} for name in CONSTANTS for bounds in (lowest, highest)]
    return [lowest, highest, *single]


def test_the_search_works_with_every_constant_at_its_bounds() -> None:
    for text in POSITIONS:
        board = Board(text)
        for constants in extremes():
            assert nodes_and_move(board, 2000, constants=constants)[0] == 2000, constants


def test_the_search_works_with_any_constants() -> None:
    """Drawn from the bounds and all between: some faults need several constants at once."""
    chance = random.Random(5)
    for _ in range(150):
        constants = {
            name: chance.choice((low, high, chance.randint(low, high), value))
            for name, (value, low, high) in CONSTANTS.items()
        }
        for text in POSITIONS:
            assert nodes_and_move(Board(text), 3000, constants=constants)[0] == 3000, constants


def test_most_constants_change_the_search() -> None:
    """Its depth at the end of a search of equal nodes, the moves or the scores."""

    def report(constants: dict[str, int]) -> list[object]:
        options = AlphaBetaOptions(hash_mb=1, constants=constants)
        searcher = AlphaBetaSearcher("nnue", options=options)
        lines: list[object] = []
        for text in POSITIONS:
            searcher.new_game()
            searcher.set_position(Board(text))
            searcher.search(
                Limits(nodes=20_000),
                lambda info: lines.append((info.depth, info.nodes, info.score_cp)),
            )
        return lines

    usual = report({})
    changed = 0
    for name, (value, low, high) in CONSTANTS.items():
        changed += any(report({name: bound}) != usual for bound in {low, high} - {value})
    assert changed >= len(CONSTANTS) - 4
    assert report({name: value for name, (value, _, _) in CONSTANTS.items()}) == usual


def test_constants_are_options_that_guis_are_not_shown() -> None:
    table = option_table("alphabeta")
    assert not any(line.name.startswith("Search.") for line in table.declared())
    assert table.set("Search.razor_base", "123") == ""
    assert table.settings() == {"constants.razor_base": 123}
    _, low, high = CONSTANTS["razor_base"]
    assert f"{low} and {high}" in table.set("Search.razor_base", str(high + 1))
    assert "did you mean Search.razor_base" in table.set("Search.razor_bas", "1")


def test_negative_constants_reach_the_search() -> None:
    table = option_table("alphabeta")
    assert table.set("Search.null_base", "-200") == ""
    assert table.settings() == {"constants.null_base": -200}
    player = make("alphabeta?Search.null_base=-200&nodes=500&Eval=material")
    try:
        assert player.play(Board(), GoCommand()).move in Board().legal_moves
    finally:
        player.close()


def test_unknown_constants_and_values_are_errors() -> None:
    with pytest.raises(ValueError, match="the search has no constant 'margin'"):
        AlphaBetaOptions(constants={"margin": 1})
    with pytest.raises(ValueError, match=r"razor_base is -1, 0 to \d+ is needed"):
        AlphaBetaOptions(constants={"razor_base": -1})


def test_a_search_that_ends_anywhere_counts_no_node_too_many() -> None:
    """Also below null moves, whose interrupted searches return no bound."""
    board = Board(MATSURI)
    for nodes in range(200, 4200, 97):
        assert nodes_and_move(board, nodes)[0] == nodes
    for nodes in (10_007, 50_021, 90_001):
        assert nodes_and_move(board, nodes)[0] == nodes
