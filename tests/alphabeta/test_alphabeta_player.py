"""The alpha-beta search as a USI engine and as a player."""

import random
import sys

import pytest
from oracles import random_positions

from komadori import players
from komadori.arena import Conditions, play_match
from komadori.players.spec import PlayerSpecError
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions
from komadori.usi.client import UsiEngine
from komadori.usi.options import option_table
from komadori.usi.protocol import MAX_NUMBER, STARTPOS, GoCommand

#: A non-default value for each option, and the searcher setting that it maps to.
SETTINGS = {
    "Threads": ("3", {"threads": 3}),
    "USI_Hash": ("17", {"hash_mb": 17}),
    "MultiPV": ("4", {"multipv": 4}),
    "Draw_Value_Black": ("450", {"draw_value_black": 0.45}),
    "Draw_Value_White": ("550", {"draw_value_white": 0.55}),
    "ResignValue": ("3000", {"resign_value": 3000}),
    "Resign_Moves": ("5", {"resign_moves": 5}),
    "Resign_Ply": ("60", {"resign_ply": 60}),
    "Time_Margin": ("77", {"time_margin_ms": 77}),
    "MinimumThinkingTime": ("200", {"minimum_thinking_ms": 200}),
    "SlowMover": ("80", {"slow_mover": 80}),
    "Policy_Depth": ("9", {"policy_depth": 9}),
    "Policy_Nodes": ("100", {"policy_nodes": 100}),
    "EnteringKingRule": ("CSARule24", {"declaration": "24"}),
    "GenerateAllLegalMoves": ("true", {"all_moves": True}),
    "Draw_Ply": ("256", {"draw_ply": 256}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_options_are_the_settings_they_stand_for(name: str) -> None:
    table = option_table("alphabeta")
    assert AlphaBetaOptions(**table.settings()) == AlphaBetaOptions()
    value, settings = SETTINGS[name]
    assert not table.set(name, value)
    assert AlphaBetaOptions(**table.settings()) == AlphaBetaOptions(**settings)


def test_every_setting_of_a_searcher_is_tested() -> None:
    declared = {line.name for line in option_table("alphabeta").declared()}
    of_others = {line.name for line in option_table("random").declared()} - {"Draw_Ply"}
    assert declared - of_others - {"Eval", "EvalFile", "FV_SCALE", "PolicyModel"} == set(SETTINGS)


def start(*arguments: str) -> UsiEngine:
    command = [sys.executable, "-m", "komadori", "usi", "--player", "alphabeta", *arguments]
    return UsiEngine(command, {"USI_Hash": "8", "Threads": "2"})


def test_the_engine_plays_legal_moves() -> None:
    engine = start("--eval", "material")
    try:
        for board in random_positions(5, seed=21):
            engine.new_game()
            thought = engine.think(board.sfen(), [], GoCommand(nodes=3000), 20.0)
            assert board.parse_usi(thought.best.move) in board.legal_moves
            assert thought.infos[-1].nodes
    finally:
        engine.close()


def test_a_player_beats_chance_and_keeps_its_limits() -> None:
    result = play_match(
        "alphabeta?hash=8&nodes=400", "random", games=4, seed=3, conditions=Conditions()
    )
    assert result.wins == 4, result


def test_a_player_of_many_threads_plays_on() -> None:
    player = players.make("alphabeta?threads=2&hash=8&nodes=2000")
    try:
        board, chance = Board(), random.Random(4)
        for _ in range(6):
            decision = player.play(board, GoCommand())
            assert decision.move in board.legal_moves
            board.push(decision.move)
            board.push(chance.choice(list(board.legal_moves)))
    finally:
        player.close()


def test_wrong_specifications_are_named() -> None:
    for spec, reason in (
        ("alphabeta:x", "takes no argument"),
        ("alphabeta?eval=magic", "magic"),
        ("alphabeta?threads=0", "Threads"),
        ("alphabeta?sorcery=1", "sorcery"),
    ):
        with pytest.raises(PlayerSpecError, match=reason):
            players.make(spec)


def test_the_minimum_thinking_time_is_used() -> None:
    with start("--eval", "material", "--option", "MinimumThinkingTime=1500") as engine:
        thought = engine.think(STARTPOS, [], GoCommand(btime_ms=60_000, wtime_ms=60_000), 20.0)
    assert 1500 <= thought.time_ms < 5000


def test_an_only_move_is_played_before_the_byoyomi_ends() -> None:
    check = "sfen 1r4s2/n2g1g2l/lsnp2S1n/pp2p+Bk1p/1P7/4PPp1P/+b2P3PN/L5GRL/3GS1K2 w P5p 70"
    go = GoCommand(btime_ms=60_000, wtime_ms=60_000, byoyomi_ms=4_000)
    with start("--eval", "material") as engine:
        assert engine.think(check, [], go, 60.0).time_ms < 2000
        assert engine.think(STARTPOS, [], go, 60.0).time_ms > 3000


@pytest.mark.parametrize("depth", [2**31, MAX_NUMBER])
def test_no_depth_that_usi_can_name_is_too_large(depth: int) -> None:
    """The core counts plies in 32 bits."""
    player = players.make("alphabeta?hash=8")
    try:
        decision = player.play(Board(), GoCommand(depth=depth, nodes=200))
        assert decision.move in Board().legal_moves
    finally:
        player.close()
