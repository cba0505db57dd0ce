"""Player specifications, and the players they build."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from komadori import inference
from komadori.inference import ModelError, default_model
from komadori.inference.fakes import UniformEvaluator
from komadori.inference.model_file import load_identified
from komadori.players import PlayerSpec, PlayerSpecError, check, evaluators, fingerprint, make
from komadori.players.player import Decision
from komadori.players.searching import SearchPlayer
from komadori.players.simple import PIECE_CP, gain_cp, material_cp
from komadori.rules import Board, Move
from komadori.usi.client import EngineError, UsiEngine
from komadori.usi.options import option_table
from komadori.usi.protocol import GoCommand

GO = GoCommand()

# ---------------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("material", PlayerSpec("material")),
        (" random?seed=3 ", PlayerSpec("random", "", {"seed": "3"})),
        (
            "model:a/b.onnx?nodes=100&UCT_Threads=1",
            PlayerSpec("model", "a/b.onnx", {"nodes": "100", "UCT_Threads": "1"}),
        ),
        ("model:random:5", PlayerSpec("model", "random:5")),
        (
            "usi:engine --what? -x?Skill%20Level=3&name=a%26b",
            PlayerSpec("usi", "engine --what? -x", {"Skill Level": "3", "name": "a&b"}),
        ),
        ("usi:engine --list?", PlayerSpec("usi", "engine --list")),
        ("gnushogi?depth=3", PlayerSpec("gnushogi", "", {"depth": "3"})),
        ("gpsusi:/opt/gpsusi", PlayerSpec("gpsusi", "/opt/gpsusi")),
    ],
)
def test_grammar(text: str, expected: PlayerSpec) -> None:
    assert PlayerSpec.parse(text) == expected


def test_a_path_alone_is_a_model_also_in_the_folders_of_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    folder = tmp_path / "komadori" / "models"
    folder.mkdir(parents=True)
    (folder / "own.onnx").write_bytes(b"")
    expected = PlayerSpec("model", "own.onnx", {"nodes": "5"})
    assert PlayerSpec.parse("own.onnx?nodes=5") == expected


@pytest.mark.skipif(sys.platform == "win32", reason="the rules of POSIX shells")
@pytest.mark.parametrize(
    "command", ["'/my engines/eng' -x", '"/my engines/eng"', "/my\\ engines/eng", "/bin/eng a b"]
)
def test_an_engine_is_named_by_its_program(command: str) -> None:
    assert PlayerSpec.parse(f"usi:{command}?nodes=5").name == "eng"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no player"),
        ("stockfish", "expected one of model, policy"),
        ("nosuch.onnx", r"nosuch\.onnx: no such model"),
        ("nets/best?nodes=5", "nets/best: no such model"),
        ("model", "needs the path of a network, or default"),
        ("usi:", "needs a command"),
        ("usi: ?nodes=5", "needs a command"),
        ("material:x", "takes no argument"),
        ("random?nodes=many", "nodes=many isn't an integer"),
        (f"alphabeta?nodes={10**18}", "nodes=1000000000000000000 is too large"),
        ("random?nodes=-1", "random: nodes=-1 is negative"),
        ("random?seed=1&name=a&seed=2", "random: seed is given twice"),
        ("alphabeta?hash=4&USI_Hash=8", "alphabeta: USI_Hash is given twice"),
        ("model:uniform?Threads=1&UCT_Threads=2", "model: UCT_Threads is given twice"),
        ("alphabeta?nodes=0", "alphabeta: nodes is 0, at least 1 is needed"),
        ("model:uniform?depth=0", "model: depth is 0, at least 1 is needed"),
        ("usi:engine?movetime=0", "usi: movetime is 0, at least 1 is needed"),
        ("material?style=wild", "no option style"),
        ("model:uniform?Fantasy=1", "no option 'Fantasy'"),
        ("alphabeta?EvalDir=eval", "no option 'EvalDir'; did you mean EvalFile\\?"),
        ("alphabeta?Hash=64", "no option 'Hash'; did you mean USI_Hash\\?"),
        ("alphabeta?SlowMove=64", "no option 'SlowMove'; did you mean SlowMover\\?"),
        ("model:uniform?C_init=much", "'much' isn't an integer"),
        ("policy:uniform?temperature=warm", "no number"),
        ("policy:uniform?temperature=-1", "isn't between"),
        (
            "alphabeta?BookFile=book.db",
            "Book_File has no effect on this player, only on the engine",
        ),
        ("model:uniform?Const_Playout=9", "Const_Playout has no effect on this player"),
        ("policy:uniform?OwnBook=true", "OwnBook has no effect on this player"),
        ("one-ply:uniform?temperature=1", "no option 'temperature'"),
    ],
)
def test_bad_specifications_are_named(text: str, message: str) -> None:
    for function in (check, make):
        with pytest.raises(PlayerSpecError, match=message):
            function(text)


@pytest.mark.parametrize(
    "text",
    [
        "model:no/such.onnx?threads=1&batch=8&C_init=150&name=x",
        "policy:no/such.onnx?temperature=0.5",
        "alphabeta?eval=nnue&weights=no-such&nodes=5",
        "usi:no-such?Threads=0",
        "gnushogi?depth=3",
    ],
)
def test_a_specification_is_checked_without_its_files(text: str) -> None:
    check(text)


def test_a_path_alone_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"")
    spec = PlayerSpec.parse(f"{path}?nodes=5")
    assert (spec.kind, spec.argument, spec.name) == ("model", str(path), "net")


@pytest.mark.parametrize(
    ("name", "kind"), [("mine", "usi"), ("fairy-stockfish", "fairy-stockfish")]
)
def test_a_path_of_a_program_is_no_model(name: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    with pytest.raises(PlayerSpecError, match=re.escape(f"is a program: {kind}:{path} plays")):
        PlayerSpec.parse(str(path))


@pytest.mark.parametrize("kind", ["model", "policy", "one-ply"])
def test_the_bundled_network_plays(kind: str) -> None:
    with pytest.raises(PlayerSpecError, match=f"{kind}:default"):
        make(kind)
    player = make(f"{kind}:default?nodes=1" if kind == "model" else f"{kind}:default")
    try:
        assert player.play(Board(), GO).move is not None
    finally:
        player.close()


def test_own_limits_keep_the_match_clock() -> None:
    from komadori.players.player import effective_limits

    own = PlayerSpec.parse("model:x?nodes=7").limits
    given = GoCommand(btime_ms=5, wtime_ms=6, byoyomi_ms=7, depth=9)
    assert effective_limits(own, given) == GoCommand(nodes=7, btime_ms=5, wtime_ms=6, byoyomi_ms=7)
    assert effective_limits(None, given) is given


@pytest.mark.parametrize("spec", ["random", "material", "policy:random:3", "one-ply:random:3"])
def test_players_declare_a_win(spec: str) -> None:
    """Random and material players did so under USI only, not over CSA."""
    entered = Board("KRRBBGGG1/SSSSPPP2/9/9/9/9/9/9/8k b G4P 1")
    player = make(spec)
    try:
        assert player.play(entered, GO).declares_win
        assert not player.play(Board(), GO).declares_win
    finally:
        player.close()


# ---------------------------------------------------------------------------- material


def test_material_of_known_positions() -> None:
    assert material_cp(Board()) == 0
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b RB2P 1")
    expected = PIECE_CP[6] + PIECE_CP[5] + 2 * PIECE_CP[1]
    assert material_cp(board) == expected
    board = Board("4k4/9/9/9/9/9/9/9/4K4 w RB2P 1")
    assert material_cp(board) == -expected
    assert material_cp(Board("4k4/9/9/9/9/9/3+R5/9/4K4 b - 1")) == PIECE_CP[14]


def test_gain_is_the_change_of_material() -> None:
    """The incremental count equals a count of the board after every move of random games."""
    player = make("random?seed=5")
    for _ in range(6):
        board = Board()
        for _ in range(120):
            if not board.legal_moves:
                break
            before = material_cp(board)
            for move in board.legal_moves:
                gain = gain_cp(board, move)
                board.push(move)
                after = -material_cp(board)
                board.pop()
                assert gain == after - before, (board.sfen(), move.usi())
            move = player.play(board, GO).move
            assert move is not None
            board.push(move)


def test_material_player_takes_the_most_and_mates() -> None:
    player = make("material?seed=1")
    board = Board("4k4/9/9/9/3r1b3/4G4/9/9/4K4 b - 1")  # rook 6e or bishop 4e
    assert player.play(board, GO).move == Move.from_usi("5f6e")
    mate = Board("4k4/9/4P4/9/9/9/3r5/2G6/4K4 b GL 1")
    move = player.play(mate, GO).move
    assert move is not None
    mate.push(move)
    assert mate.is_checkmate()


@pytest.mark.parametrize(
    "spec", ["random", "material", "model:uniform?nodes=5", "alphabeta?nodes=9"]
)
def test_a_mated_player_resigns(spec: str) -> None:
    player = make(spec)
    player.new_game(seed=1)
    assert player.play(Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"), GO).resigns
    player.close()


def test_ties_are_broken_at_random_by_seed() -> None:
    def moves(seed: int) -> list[str]:
        player = make("material")
        player.new_game(seed)
        return [str(player.play(Board(), GO).move) for _ in range(20)]

    assert moves(1) == moves(1)
    assert moves(1) != moves(2)
    assert len(set(moves(1))) > 5


# ---------------------------------------------------------------------------- networks


@pytest.mark.parametrize("kind", ["model", "policy", "one-ply"])
def test_network_players_play_legal_moves_and_leave_the_board(kind: str) -> None:
    player = make(f"{kind}:random:2" + ("?nodes=20" if kind == "model" else ""))
    try:
        player.new_game(1)
        board = Board()
        for _ in range(30):
            sfen = board.sfen()
            decision = player.play(board, GO)
            assert board.sfen() == sfen
            assert decision.move in board.legal_moves
            assert decision.pv[0] == decision.move.usi()
            board.push(decision.move)
    finally:
        player.close()
        player.close()


def test_model_player_keeps_its_nodes() -> None:
    player = make("model:uniform?nodes=50")
    assert player.play(Board(), GoCommand(nodes=9999)).nodes == 50
    player.close()
    player = make("model:uniform")
    assert player.play(Board(), GoCommand(nodes=30)).nodes == 30
    player.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("play", (Board(), GO)),
        ("set_options", ({"MultiPV": "2"},)),
        ("new_game", ()),
        ("close", ()),
    ],
)
def test_a_player_in_use_refuses_other_threads(name: str, arguments: tuple[Any, ...]) -> None:
    player = make("model:uniform")
    assert isinstance(player, SearchPlayer)
    stop, found = threading.Event(), list[Decision]()
    player.stop = stop
    board = Board()
    board.push_usi("7g7f")
    thread = threading.Thread(
        target=lambda: found.append(player.play(board, GoCommand(infinite=True)))
    )
    thread.start()
    time.sleep(0.2)
    try:
        with pytest.raises(RuntimeError, match="already playing; use one player per thread"):
            getattr(player, name)(*arguments)
    finally:
        stop.set()
        thread.join()
    assert found[0].move in board.legal_moves
    player.close()


def test_policy_with_temperature_varies_by_seed_only() -> None:
    player = make("policy:random:2?temperature=2")

    def moves(seed: int) -> list[str]:
        player.new_game(seed)
        return [str(player.play(Board(), GO).move) for _ in range(12)]

    assert moves(1) == moves(1)
    assert moves(1) != moves(2)
    player.close()


def test_one_ply_sees_mate() -> None:
    player = make("one-ply:uniform")
    board = Board("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1")
    move = player.play(board, GO).move
    assert move is not None
    board.push(move)
    assert board.is_checkmate()


def test_a_missing_model_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.onnx"):
        make("model:nowhere.onnx")


@pytest.mark.parametrize("value", ['"x"', "-1", "NaN", "[600]"])
def test_a_coefficient_that_is_no_positive_number_names_its_model(
    value: str, tmp_path: Path
) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(b"")  # its card is read first
    model.with_suffix(".json").write_text(f'{{"eval_coef": {value}}}')
    with pytest.raises(ValueError, match=rf"{re.escape(str(model))}: eval_coef of its card is "):
        make(f"model:{model}")


@pytest.mark.parametrize("as_seen", ["relative", "absolute"])
def test_a_match_divides_the_cpus(
    as_seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    from komadori.inference.synthetic import write_random_resnet

    path = write_random_resnet(tmp_path / "tiny.onnx", 1, 8)
    monkeypatch.chdir(tmp_path)
    # The path that find_model returns, which is relative if the user's folder is.
    monkeypatch.setattr(
        evaluators,
        "find_model",
        lambda _, **kwargs: "tiny.onnx" if as_seen == "relative" else str(path),
    )
    monkeypatch.setenv("KOMADORI_THREADS", "1")
    evaluator = evaluators.load_evaluator(option_table("model"))
    assert evaluator.slots == 3  # the threads of one stream
    evaluator.close()


@pytest.mark.parametrize("threads", ["abc", "-3", "513", "²", "9" * 30])
def test_a_wrong_number_of_threads_in_the_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    from komadori.inference.synthetic import write_random_resnet

    path = write_random_resnet(tmp_path / "tiny.onnx", 1, 8)
    monkeypatch.setattr(evaluators, "find_model", lambda _, **kwargs: str(path))
    monkeypatch.setenv("KOMADORI_THREADS", threads)
    with pytest.raises(ValueError, match=f"KOMADORI_THREADS is '{threads}', 0 to 512 is needed"):
        evaluators.load_evaluator(option_table("model"))


def test_fakes_take_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMADORI_THREADS", "1")
    player = make("model:uniform?nodes=10&threads=2")
    assert player.play(Board(), GO).move in Board().legal_moves


# ---------------------------------------------------------------------------- engines


def test_usi_player_is_another_process() -> None:
    player = make(f"usi:{sys.executable} -m komadori usi --player material?name=other")
    try:
        assert player.name == "other"
        player.new_game(1)
        board = Board("4k4/9/9/9/3r1b3/4G4/9/9/4K4 b - 1")
        assert player.play(board, GoCommand(byoyomi_ms=5000)).move == Move.from_usi("5f6e")
        board.push_usi("5f6e")
        assert player.play(board, GoCommand(byoyomi_ms=5000)).move in board.legal_moves
    finally:
        player.close()


def test_players_know_when_the_game_is_drawn() -> None:
    for text, own in (("model:uniform", 9), ("model:uniform?Draw_Ply=7", 7), ("alphabeta", 9)):
        player = make(text)
        assert isinstance(player, SearchPlayer)
        player.new_game(1, draw_ply=9)
        assert player._searcher.options.draw_ply == own  # type: ignore[attr-defined]
        player.close()


def test_an_engine_gets_the_ply_of_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(UsiEngine, "set_option", lambda self, n, v: sent.append((n, v)))
    command = f"usi:{sys.executable} -m komadori usi --player material"
    for text in (command, f"{command}?Draw_Ply=300"):
        player = make(text)
        sent.clear()
        player.new_game(1, draw_ply=256)
        player.new_game(2, draw_ply=256)
        player.new_game(3)
        player.close()
        expected = [("Draw_Ply", "256"), ("Draw_Ply", "0")] if text == command else []
        assert sent == expected


RESIGNS = """
import sys
for line in sys.stdin:
    if line == "usi\\n": print("usiok", flush=True)
    elif line == "isready\\n": print("readyok", flush=True)
    elif line.startswith("go"): print("info score cp -900 pv 7g7f\\nbestmove resign", flush=True)
    elif line == "quit\\n": break
"""


def test_an_engines_resignation_is_the_players(tmp_path: Path) -> None:
    engine = tmp_path / "resigns.py"
    engine.write_text(RESIGNS)
    player = make(f"usi:{sys.executable} {engine}")
    try:
        decision = player.play(Board(), GoCommand(nodes=1))
    finally:
        player.close()
    assert decision.resigns
    assert decision.move is None
    assert decision.score_cp == -900


def test_a_usi_player_is_refused_options_that_it_has_not() -> None:
    command = f"usi:{sys.executable} -m komadori usi --player material"
    with pytest.raises(EngineError, match="no option Threads"):
        make(f"{command}?Threads=2")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("random", "<RandomPlayer 'random'>"),
        ("material?name=[a]", "<MaterialPlayer '[a]'>"),
        ("policy:random:2", "<LookPlayer 'policy random:2'>"),
        ("alphabeta", "<SearchPlayer 'alphabeta'>"),
    ],
)
def test_players_say_who_they_are(spec: str, text: str) -> None:
    player = make(spec)
    assert repr(player) == text
    player.close()


# ---------------------------------------------------------------------------- fingerprints


@pytest.mark.parametrize(
    ("player", "files"),
    [
        ("alphabeta", ["nnue-k-p.bin"]),
        ("alphabeta?Eval=two-piece", ["two-piece.npz"]),
        ("alphabeta?eval=material", []),
        ("material", []),
    ],
)
def test_a_fingerprint_names_the_weights_that_play(player: str, files: list[str]) -> None:
    assert [Path(path).name for path in fingerprint(player)] == files


def test_a_fingerprint_leaves_out_what_only_shares_the_model_s_name(tmp_path: Path) -> None:
    parts = {"m.onnx", "m.json", "m-int8.xml", "m-int8.bin", "m.onnx.ini"}
    for name in (*parts, "m.kif", "m.html", "m.log", "m"):
        (tmp_path / name).write_text("x")
    found = fingerprint(f"model:{tmp_path / 'm.onnx'}")
    assert {Path(path).name for path in found} == parts


def test_a_model_that_changes_while_it_is_loaded_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(default_model().read_bytes())
    evaluator, digest = load_identified(path, UniformEvaluator)
    assert digest == inference.digest(path)
    evaluator.close()

    def load_and_change() -> UniformEvaluator:
        path.write_bytes(b"another")
        return UniformEvaluator()

    with pytest.raises(ModelError, match=r"m\.onnx: changed while it was in use"):
        load_identified(path, load_and_change)
    with pytest.raises(ModelError, match="no such"):
        load_identified(tmp_path / "none", lambda: inference.load(tmp_path / "none.onnx"))
