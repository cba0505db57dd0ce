"""The server against recorded dialogues and misbehaving GUIs, with a fake searcher."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from usi_fakes import FakeSearcher, FakeSource, Gui, Lateness, an_info, bestmoves

from komadori.inference import InferenceError
from komadori.rules import Board
from komadori.search.protocol import SearchResult
from komadori.usi import engine, loading, watch
from komadori.usi.job import Job
from komadori.usi.options import OptionTable, option_table
from komadori.usi.protocol import BestMove

FIRST_MOVES = {move.usi() for move in Board().legal_moves}


def test_a_line_break_in_a_name_or_a_path_begins_no_line() -> None:
    table = option_table("model")
    table.preset({"DNN_Model": "a\nbestmove 7g7f"})
    with Gui(options=table) as gui:
        gui.server._name = "a\nusiok"
        gui.send("usi")
        assert gui.expect("id name") == "id name a usiok"
        gui.expect("usiok")
        assert {line.split()[0] for line in gui.log} == {"id", "option", "usiok"}


def test_handshake_declares_what_clients_need() -> None:
    with Gui() as gui:
        gui.send("usi")
        assert gui.expect("id name") == "id name test"
        gui.expect("usiok")
        names = {line.split()[2] for line in gui.log if line.startswith("option name")}
        assert {"USI_Hash", "USI_Ponder", "MultiPV", "DNN_Model", "Draw_Ply"} <= names
        assert {"NodesLimit", "DepthLimit", "Byoyomi_Margin", "UCT_Threads"} <= names
        assert gui.source.built == []  # nothing is loaded for a handshake


def test_a_game_by_nodes() -> None:
    with Gui().ready() as gui:
        gui.send("usinewgame", "position startpos", "go nodes 100")
        assert gui.expect("bestmove").split()[1] in FIRST_MOVES
        gui.send("position startpos moves 7g7f 3c3d", "go nodes 100")
        gui.expect("bestmove")
        gui.send("gameover win", "quit")
        assert gui.join() == 0
    searcher = gui.source.searcher
    assert searcher.games == 1
    assert searcher.is_closed
    assert searcher.positions[1].split()[3] == "3"
    assert [limits.nodes for limits in searcher.seen] == [100, 100]


def test_last_info_stands_just_before_bestmove() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go nodes 1")
        gui.expect("bestmove")
        assert gui.log[-2].startswith(
            "info depth 1 seldepth 2 nodes 200 nps 1000 time 10 hashfull 5 multipv 1 score cp 30 pv"
        )


def test_clocks_reach_the_searcher() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name NetworkDelay value 100", "position startpos")
        gui.send("go btime 60000 wtime 50000 byoyomi 10000", "stop")
        gui.expect("bestmove")
        gui.send("go btime 60000 wtime 50000 binc 1000 winc 2000", "stop")
        gui.expect("bestmove")
        gui.send("go depth 5 nodes 10 searchmoves 7g7f 1a1b 2g2f")
        gui.expect("bestmove")
    first, second, third = gui.source.searcher.seen
    assert (first.btime_ms, first.wtime_ms, first.byoyomi_ms) == (59900, 49900, 9900)
    assert (second.binc_ms, second.winc_ms, second.byoyomi_ms) == (1000, 2000, None)
    assert (third.depth, third.nodes) == (5, 10)
    assert [m.usi() for m in third.searchmoves] == ["7g7f", "2g2f"]
    assert any("searchmoves" in line for line in gui.log)


def test_time_is_never_overstepped() -> None:
    """The searcher waits for `stop`; the server enforces the clock itself, as precisely as
    the system wakes threads.
    """
    with Gui().ready() as gui:
        gui.send("position startpos")
        for go, limit_ms in (
            ("btime 0 wtime 0 byoyomi 300", 300),
            ("btime 0 wtime 0 byoyomi 600", 600),
            ("movetime 80", 130),
        ):
            with Lateness() as late:
                gui.send(f"go {go}")
                gui.expect("bestmove")
            assert late.took_ms < limit_ms + 3 * late.most_ms, (go, late.took_ms, late.most_ms)


def test_limits_of_guis_that_send_none() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name NodesLimit value 77", "setoption name DepthLimit value 9")
        gui.send("position startpos", "go btime 1000000 wtime 1000000")
        gui.expect("bestmove")
        gui.send("go nodes 5")
        gui.expect("bestmove")
    assert [(s.nodes, s.depth) for s in gui.source.searcher.seen] == [(77, 9), (5, 9)]


def test_infinite_waits_for_stop_and_answers_at_once() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go infinite")
        assert bestmoves(gui.rest(0.2)) == []
        started = time.monotonic()
        gui.send("stop")
        gui.expect("bestmove")
        assert time.monotonic() - started < 0.1
        assert bestmoves(gui.rest()) == []


def test_infinite_waits_even_where_the_search_is_over() -> None:
    with Gui().ready() as gui:
        gui.source.searcher.result = lambda board: SearchResult(next(iter(board.legal_moves)))
        gui.send("position startpos", "go infinite")
        assert bestmoves(gui.rest(0.2)) == []
        gui.send("stop")
        gui.expect("bestmove")


def test_stop_without_a_search_says_nothing() -> None:
    with Gui().ready() as gui:
        gui.send("stop", "stop", "gameover draw", "ponderhit")
        assert gui.rest() == []


def test_stop_right_after_go_gives_one_bestmove() -> None:
    with Gui().ready() as gui:
        for _ in range(50):
            gui.send("position startpos", "go infinite", "stop")
            gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


def test_go_during_a_search_ends_it_with_its_own_answer() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go infinite", "go nodes 10")
        gui.expect("bestmove")
        gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


def test_a_searcher_that_sleeps_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "STOP_GRACE_S", 0.2)
    with Gui().ready() as gui:
        gui.source.searcher.heeds_stop = False
        gui.send("position startpos", "go infinite")
        gui.expect("info depth")
        started = time.monotonic()
        gui.send("stop")
        gui.expect("info string the searcher didn't stop")
        gui.expect("bestmove")
        assert time.monotonic() - started < 0.5
        gui.source.searcher.heeds_stop = True
        gui.send("go nodes 1")
        gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


# ---------------------------------------------------------------------------- pondering


def test_ponderhit_searches_on_under_the_clock() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos moves 7g7f 3c3d")
        gui.send("go ponder btime 0 wtime 0 byoyomi 200")
        assert bestmoves(gui.rest(0.3)) == []
        started = time.monotonic()
        gui.send("ponderhit")
        gui.expect("bestmove")
        assert 0.03 < time.monotonic() - started < 2  # including the system's delays
        assert bestmoves(gui.rest()) == []
    (pondering,), (real,) = gui.source.searcher.seen, gui.source.searcher.hits
    assert pondering.ponder  # one search, which continues
    assert not real.ponder
    assert real.byoyomi_ms == 200


_PLAYERS = {
    "model": {"DNN_Model": "uniform", "PV_Interval": "20", "USI_Hash": "64"},
    "alphabeta": {"USI_Hash": "16"},
}


def _gui(player: str, **options: str) -> Gui:
    from komadori.players.searchers import SearcherBuilder
    from komadori.usi.options import option_table

    table = option_table(player)
    for name, value in {**_PLAYERS[player], **options}.items():
        assert table.set(name, value) == ""
    return Gui(SearcherBuilder(player), table)


@pytest.mark.parametrize("player", _PLAYERS)
def test_a_search_continues_after_ponderhit(player: str) -> None:
    with _gui(player).ready() as gui:
        gui.send("position startpos moves 7g7f", "go ponder btime 0 wtime 0 byoyomi 400")
        gui.expect("info depth")
        pondered = int(gui.expect("info depth").split(" nodes ")[1].split()[0])
        time.sleep(1.0)
        hit = time.monotonic()
        gui.send("ponderhit")
        gui.expect("bestmove")
        since_hit_ms = (time.monotonic() - hit) * 1000
        last = next(line for line in reversed(gui.log) if line.startswith("info depth"))
        words = last.split()
        nodes, nps, time_ms = (int(words[words.index(w) + 1]) for w in ("nodes", "nps", "time"))
        assert pondered > 0
        assert time_ms <= since_hit_ms + 1  # like the nodes, not those of a second before
        assert nodes * 0.95 <= nps * time_ms / 1000 + nps / 1000
        assert nps * time_ms / 1000 <= nodes * 1.05
        assert bestmoves(gui.rest()) == []


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_node_limit_of_alpha_beta_counts_from_ponderhit(threads: str) -> None:
    with _gui("alphabeta", Threads=threads).ready() as gui:
        for _ in range(3):
            gui.send("position startpos moves 7g7f", "go ponder nodes 20000")
            gui.expect("info depth")
            assert bestmoves(gui.rest(0.3)) == []
            gui.send("ponderhit")
            gui.expect("bestmove")
            last = next(line for line in reversed(gui.log) if line.startswith("info depth"))
            # A thread counts its nodes when it next looks, at most 512 later.
            excess = int(last.split(" nodes ")[1].split()[0]) - 20_000
            assert 0 <= excess <= (0 if threads == "1" else 512)


def test_bare_ponder_gets_its_clocks_with_ponderhit() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go ponder", "ponderhit btime 0 wtime 0 byoyomi 60")
        gui.expect("bestmove")
    # The hit may come before the search has begun: then it begins with the clock.
    searcher = gui.source.searcher
    assert (searcher.hits or searcher.seen)[-1].byoyomi_ms == 60


def test_a_ponderhit_is_for_the_search_that_was_not_stopped() -> None:
    with Gui().ready() as gui:
        gui.source.searcher.heeds_stop = False  # the first search is still ending at the hit
        gui.send("position startpos", "go ponder", "stop")
        gui.send("position startpos moves 7g7f", "go ponder")
        gui.send("ponderhit btime 0 wtime 0 byoyomi 60")
        for _ in range(2):
            gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


def test_a_hit_before_the_search_begins_leads_to_one_search() -> None:
    with Gui().ready() as gui:
        gui.source.searcher.heeds_stop = False  # the second search waits for the first
        gui.send("position startpos", "go nodes 1", "position startpos moves 7g7f")
        gui.send("go ponder", "ponderhit btime 0 wtime 0 byoyomi 60")
        for _ in range(2):
            gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []
    assert [limits.byoyomi_ms for limits in gui.source.searcher.seen] == [None, 60]


def test_ponder_missed_is_stopped_and_answered() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go ponder btime 1000 wtime 1000", "stop")
        gui.expect("bestmove")
        gui.send("position startpos moves 2g2f", "go nodes 10")
        gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


def test_stochastic_ponder_thinks_before_the_reply() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name Stochastic_Ponder value true")
        gui.send("position startpos moves 7g7f 3c3d", "go ponder btime 0 wtime 0 byoyomi 200")
        gui.expect("info depth")
        gui.send("ponderhit")
        black = gui.expect("bestmove").split()[1]
        gui.send("go ponder", "stop")  # ponder miss: any legal answer is valid
        missed = gui.expect("bestmove").split()[1]
        board = Board()
        board.push_usi("7g7f")
        board.push_usi("3c3d")
        assert board.parse_usi(black)
        assert board.parse_usi(missed)
        assert bestmoves(gui.rest()) == []
    sides = [sfen.split()[1] for sfen in gui.source.searcher.positions]
    assert sides == ["w", "b", "w", "b"]


def test_stop_after_ponderhit_is_heard() -> None:
    with Gui().ready() as gui:
        for _ in range(20):
            gui.send("go ponder", "ponderhit btime 900000 wtime 900000", "stop")
            gui.expect("bestmove", within_s=2.0)
        assert bestmoves(gui.rest()) == []


# ---------------------------------------------------------------------------- loading


def test_loading_keeps_the_gui_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "KEEP_ALIVE_S", 0.05)
    with Gui(FakeSource(load_s=0.3)) as gui:
        gui.send("isready")
        gui.expect("readyok")
        assert gui.log.count("") >= 3


def test_second_isready_is_quick_and_a_new_model_is_loaded() -> None:
    with Gui().ready() as gui:
        gui.send("isready")
        gui.expect("readyok")
        assert len(gui.source.built) == 1
        gui.send("setoption name DNN_Model value other.onnx", "isready")
        gui.expect("readyok")
        assert len(gui.source.built) == 2
        assert gui.source.built[0].is_closed
        gui.send("position startpos", "go infinite", "isready")
        gui.expect("readyok")
        gui.send("stop")
        gui.expect("bestmove")


def test_options_before_usi_and_isready() -> None:
    with Gui() as gui:
        gui.send("setoption name C_init value 200", "setoption name MaxMovesToDraw value 256")
        gui.ready()
    assert gui.source.settings[0] == {"c_init": 2.0, "draw_ply": 256}


def test_go_without_isready_loads() -> None:
    with Gui() as gui:
        gui.send("go nodes 10")
        gui.expect("bestmove")


def test_a_model_that_cannot_be_loaded_ends_the_engine_with_its_reason() -> None:
    with Gui(FakeSource(error="no such file: x.onnx")) as gui:
        gui.send("isready")
        gui.expect("info string error: no such file: x.onnx")
        gui.close_input()
        assert gui.join() == 1


def test_a_missing_package_comes_with_the_line_that_installs_it() -> None:
    missing = ModuleNotFoundError("No module named 'openvino'", name="openvino")
    with Gui(FakeSource(error=missing)) as gui:
        gui.send("isready")
        gui.expect("info string error: this needs the package openvino: pip install 'openvino>=")
        gui.close_input()
        assert gui.join() == 1


def test_a_new_model_that_cannot_be_loaded_ends_the_engine_too() -> None:
    with Gui().ready() as gui:
        gui.source.error = "broken"
        gui.send("setoption name DNN_Model value b.onnx", "isready")
        gui.expect("info string error: broken")
        gui.close_input()
        assert gui.join() == 1
        assert "readyok" not in gui.rest()


def test_a_model_is_loaded_at_an_isready_right_after_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Gui().ready() as gui:
        answer = gui.server._answer

        def answer_late(job: Job, text: str | BestMove) -> None:
            answer(job, text)
            gui.server._options.set("DNN_Model", "b.onnx")
            gui.server._handle("isready")  # before the worker knows that the search is over

        monkeypatch.setattr(gui.server, "_answer", answer_late)
        gui.send("position startpos", "go nodes 10")
        gui.expect("bestmove")
        gui.expect("readyok")
        assert len(gui.source.built) == 2


def test_quit_while_loading() -> None:
    with Gui(FakeSource(load_s=1.0)) as gui:
        gui.send("isready", "quit")
        assert gui.join() == 0


def test_quit_in_a_search_still_gives_the_answer() -> None:
    """A client's thread may wait for the answer: cshogi's runner quits while an engine ponders."""
    with Gui().ready() as gui:
        gui.send("go ponder btime 1000 wtime 1000", "gameover", "quit")
        gui.expect("bestmove")
        assert gui.join() == 0


# ---------------------------------------------------------------------------- GUIs


def test_shogihome_changes_multipv_in_a_search() -> None:
    """As ShogiHome does: names undeclared, then stop, setoption, go in one breath."""
    with Gui() as gui:
        gui.send("usi")
        gui.expect("usiok")
        gui.send("setoption name USI_Hash value 1024", "setoption name USI_Ponder value true")
        gui.send("isready")
        gui.expect("readyok")
        gui.send("usinewgame", "position startpos moves 7g7f", "go infinite")
        gui.expect("info depth")
        gui.send("stop", "setoption name MultiPV value 3", "go infinite")
        gui.expect("bestmove")
        gui.expect("info depth 1 seldepth 2 nodes 100 nps 1000 time 10 hashfull 5 multipv 3")
        gui.send("setoption name MultiPV value 2")  # in the middle of the search
        assert bestmoves(gui.rest()) == []
        gui.send("stop")
        gui.expect("bestmove")
        gui.send("go nodes 1")
        gui.expect("bestmove")
        assert not any("multipv 3" in line for line in gui.log[-4:])
    assert gui.source.settings[-1] == {"memory_mb": 1024, "multipv": 2}


def test_undeclared_names_that_guis_always_send_are_no_mistake() -> None:
    with Gui(options=option_table("random")) as gui:
        gui.send("setoption name USI_Hash value 256", "setoption name USI_Ponder value false")
        gui.send("isready")
        gui.expect("readyok")
        assert gui.log == ["readyok"]


def test_resign_and_win() -> None:
    with Gui().ready() as gui:
        searcher = gui.source.searcher
        move = next(iter(Board().legal_moves))
        searcher.result = lambda board: SearchResult(move, resign=True)
        gui.send("position startpos", "go nodes 1")
        assert gui.expect("bestmove") == "bestmove resign"
        searcher.result = lambda board: SearchResult(None, declare_win=True)
        gui.send("go nodes 1")
        assert gui.expect("bestmove") == "bestmove win"
        searcher.result = None
        gui.send("position sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 2", "go nodes 1")
        assert gui.expect("bestmove") == "bestmove resign"


def test_mate_scores_and_ponder_moves() -> None:
    with Gui().ready() as gui:
        move, reply = list(Board().legal_moves)[:2]
        info = an_info(Board(), mate_plies=-4, score_cp=None)
        gui.source.searcher.result = lambda board: SearchResult(move, reply, infos=[info])
        gui.send("position startpos", "go nodes 1")
        assert gui.expect("bestmove") == f"bestmove {move.usi()} ponder {reply.usi()}"
        assert "score mate -4" in gui.log[-2]


MATE = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
#: Very long lines of checks: forty million nodes don't solve it.
OPEN = "9/9/9/9/4k4/9/9/9/4K4 b 2RB2N2Lb4g4s2n2l18p 1"


def test_go_mate_needs_no_model() -> None:
    with Gui(FakeSource(error="no model")) as gui:
        gui.send(f"position sfen {MATE}", "go mate infinite")
        moves = gui.expect("checkmate").split()[1:]
        board = Board(MATE)
        for move in moves:
            board.push_usi(move)
        assert board.is_checkmate()
        gui.send("position startpos", "go mate 1000")
        assert gui.expect("checkmate") == "checkmate nomate"
        assert gui.source.built == []


def test_go_mate_names_the_memory_it_lacks() -> None:
    with Gui() as gui:
        gui.send("setoption name DfPn_Hash value 1048576", f"position sfen {OPEN}", "go mate 1000")
        error = gui.expect("info string error")
        assert error.startswith(
            "info string error: not enough memory: the mate search: 1048576 MiB are more than"
        )
        assert gui.expect("checkmate") == "checkmate timeout"
        gui.send("setoption name DfPn_Hash value 16", "position startpos", "go mate 1000")
        assert gui.expect("checkmate") == "checkmate nomate"


def test_go_mate_is_stopped_and_ends_in_time() -> None:
    with Gui() as gui:
        gui.send("setoption name DfPn_Hash value 16", f"position sfen {OPEN}")
        for line in ("go mate infinite", "go mate 60000"):
            gui.send(line)
            assert gui.rest(0.05) == []
            gui.send("stop")
            assert gui.expect("checkmate", within_s=2.0) == "checkmate timeout"
        started = time.monotonic()
        gui.send("go mate 100")
        assert gui.expect("checkmate") == "checkmate timeout"
        assert time.monotonic() - started < 2.0
        assert gui.rest() == []


# ---------------------------------------------------------------------------- bad input


def test_moves_before_one_that_is_none_stand() -> None:
    for bad in ("1a1", "5e5d"):
        with Gui().ready() as gui:
            gui.send(f"position startpos moves 7g7f {bad} 3c3d", "go nodes 1")
            gui.expect("bestmove")
            assert gui.source.searcher.positions[-1].split()[1:] == ["w", "-", "2"]


def test_the_delay_is_taken_off_the_increment_where_there_is_nothing_else() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name NetworkDelay value 800", "position startpos")
        gui.send("go btime 0 wtime 300 binc 1000 winc 1000", "stop")
        gui.expect("bestmove")
    (limits,) = gui.source.searcher.seen
    assert (limits.btime_ms, limits.binc_ms) == (0, 200)
    assert (limits.wtime_ms, limits.winc_ms) == (1, 1000)  # not 0: that would free the increment


def test_nothing_is_played_by_an_older_model_where_the_new_one_cannot_be_loaded() -> None:
    with Gui().ready() as gui:
        first = gui.source.searcher
        gui.source.error = "no such network"
        gui.send("position startpos", "go infinite")
        gui.expect("info depth")
        gui.send("setoption name DNN_Model value x.onnx", "isready", "stop")
        assert gui.expect("bestmove") != "bestmove resign"
        for _ in range(2):
            gui.send("go nodes 1")
            assert "no such network; nothing is played" in gui.expect("info string error")
            assert gui.expect("bestmove") == "bestmove resign"
        gui.source.error = ""
        gui.send("go nodes 1")
        assert gui.expect("bestmove") != "bestmove resign"
        assert len(first.seen) == 1
        assert first.is_closed


class Stubborn(FakeSource):
    """Refuses large tables, before the first searcher or after it."""

    def build(self, options: OptionTable) -> FakeSearcher:
        self.check(options)
        return super().build(options)

    def configure(self, searcher: Any, options: OptionTable) -> FakeSearcher:
        self.check(options)
        return super().configure(searcher, options)

    def check(self, options: OptionTable) -> None:
        if int(options.values()["USI_Hash"]) > 10_000:
            raise MemoryError("too much")


def test_nothing_is_played_with_other_settings_than_the_gui_s() -> None:
    with Gui(Stubborn()).ready() as gui:
        gui.send("setoption name USI_Hash value 1000000", "position startpos")
        for _ in range(2):
            gui.send("go nodes 1")
            assert "too much; nothing is played" in gui.expect("info string error")
            assert gui.expect("bestmove") == "bestmove resign"
        gui.send("setoption name C_init value 200", "setoption name USI_Hash value 64")
        gui.send("go nodes 1")
        assert gui.expect("bestmove") != "bestmove resign"
        assert gui.source.settings[-1]["c_init"] == 2.0


@pytest.mark.parametrize("has_played", [False, True])
def test_settings_that_cannot_be_applied_end_the_engine_at_isready(has_played: bool) -> None:
    with Gui(Stubborn()) as gui:
        if has_played:
            gui.ready()
        gui.send("setoption name USI_Hash value 1000000", "isready")
        gui.expect("info string error: not enough memory: too much")
        gui.close_input()
        assert gui.join() == 1
        assert "readyok" not in gui.rest()


def test_after_an_invalid_position_nothing_is_played() -> None:
    with Gui().ready() as gui:
        for bad in ("sfen x y z", "sfen 4k4/9/9/9/9/9/9/9/9 b - 1 2 3", "", "startpos moov"):
            gui.send("position startpos", f"position {bad}", "go nodes 1")
            gui.expect("info string")
            gui.expect("info string error: the last position was invalid")
            assert gui.expect("bestmove") == "bestmove resign"
            gui.send("go mate 100")
            assert gui.expect("checkmate") == "checkmate notimplemented"
            gui.send("go infinite")
            assert bestmoves(gui.rest(0.05)) == []
            gui.send("stop")
            assert gui.expect("bestmove") == "bestmove resign"
        gui.send("position startpos", "go nodes 1")
        assert gui.expect("bestmove") != "bestmove resign"
        assert len(gui.source.searcher.seen) == 1


@pytest.mark.parametrize("go", ["go infinite", "go ponder"])
def test_isready_is_answered_while_an_invalid_position_waits_for_stop(go: str) -> None:
    with Gui() as gui:
        gui.send("position sfen garbage", go)
        gui.expect("info string error: the last position was invalid")
        gui.send("isready")
        gui.expect("readyok")
        gui.send("stop")
        gui.expect("bestmove resign")


def test_invalid_network_outputs_play_no_move() -> None:
    with Gui().ready() as gui:
        gui.source.searcher.error = InferenceError("m: the network's outputs aren't numbers")
        gui.send("position startpos", "go nodes 1")
        gui.expect("info string error: InferenceError: m: the network's outputs aren't numbers")
        assert gui.expect("bestmove") == "bestmove resign"


def test_the_same_line_is_printed_once() -> None:
    with Gui().ready() as gui:
        info = an_info(Board())
        later = replace(info, time_ms=info.time_ms + 7, nps=900)
        gui.source.searcher.infos = [info, later]
        gui.source.searcher.result = lambda board: SearchResult(info.pv[0], infos=[later])
        gui.send("position startpos", "go nodes 1")
        gui.expect("bestmove")
        assert sum(line.startswith("info depth") for line in gui.log) == 1


@pytest.mark.parametrize("name", ["USI_OwnBook", "USI_MultiPV"])
def test_usi_s_own_names_do_what_they_say_or_are_unknown(name: str) -> None:
    table = option_table("model")
    value, own = {"USI_OwnBook": ("true", "OwnBook"), "USI_MultiPV": ("3", "MultiPV")}[name]
    assert table.set(name, value) == ""
    assert table.values()[own] == value
    with Gui(options=option_table("random")).ready() as gui:
        gui.send("setoption name USI_MultiPV value 3")
        assert gui.expect("info string") == "info string no option 'USI_MultiPV'"


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "86400001"])
def test_a_clock_of_more_than_a_day_times_no_move(number: str) -> None:
    with Gui().ready() as gui:
        gui.send(f"go btime {number} wtime 60000 byoyomi 50")
        assert gui.expect("info string go btime").endswith("a clock of more than a day")
        gui.expect("bestmove", within_s=2.0)
        gui.send(f"go byoyomi {number}")
        assert gui.expect("info string go byoyomi").endswith("a day; searching for 1000 ms")
        gui.expect("bestmove", within_s=3.0)
        gui.send("go btime 86400000 wtime 86400000", "stop")
        gui.expect("bestmove")
    first, second, third = gui.source.searcher.seen
    assert (first.btime_ms, first.wtime_ms, first.byoyomi_ms) == (None, None, 50)
    assert (second.byoyomi_ms, second.movetime_ms) == (None, 1000)
    assert third.btime_ms == third.wtime_ms == 86400000


@pytest.mark.parametrize(
    "go",
    [
        *("byoyomi 0", "btime 0 wtime 0", "binc 0 winc 0", "btime 0 wtime 0 byoyomi 0"),
        *("btime 0 wtime 0 binc 0 winc 0", "byoyomi -5", "movetime 0", "movetime -1"),
        *("ponder\nponderhit byoyomi 0", "ponder byoyomi 99000\nponderhit byoyomi 0"),
        "ponder movetime 99000\nponderhit btime 0 wtime 0",
    ],
)
def test_an_empty_clock_is_answered_at_once(go: str) -> None:
    """Here by the watchdog, as the searcher waits for `stop`."""
    with Gui().ready() as gui:
        gui.send(*f"go {go}".splitlines())
        gui.expect("bestmove", within_s=2.0)
        assert bestmoves(gui.rest()) == []


@pytest.mark.parametrize(
    ("go", "seen"),
    [
        ("searchmoves 7g7f junk nodes 100", {"nodes": 100, "searchmoves": ["7g7f"]}),
        ("searchmoves junk nodes 100", {"nodes": 100, "searchmoves": []}),
        ("nodes 100 searchmoves 7g7f 7g7g+x 2g2f", {"searchmoves": ["7g7f", "2g2f"]}),
        ("searchmoves junk", {"movetime_ms": 1000, "searchmoves": []}),
        ("fly nodes 100", {"nodes": 100, "movetime_ms": None}),
        ("nodes x byoyomi 40", {"nodes": None, "byoyomi_ms": 40}),
        ("nodes byoyomi 40", {"nodes": None, "byoyomi_ms": 40}),
        ("byoyomi soon nodes 100", {"nodes": 100, "byoyomi_ms": None}),
        ("btime x wtime 9000 byoyomi 40", {"btime_ms": None, "wtime_ms": None, "byoyomi_ms": 40}),
        ("btime x wtime 9000", {"movetime_ms": 1000, "wtime_ms": None}),
        ("byoyomi 40 byoyomi", {"byoyomi_ms": 40}),
        ("nodes", {"nodes": None, "movetime_ms": 1000}),
        ("ponder byoyomi soon\nponderhit", {"movetime_ms": 1000}),
        ("ponder byoyomi 40\nponderhit btime soon", {"movetime_ms": None, "byoyomi_ms": 40}),
        ("ponder\nponderhit btime soon", {"movetime_ms": 1000}),
    ],
)
def test_of_a_go_everything_counts_that_can_be_read(go: str, seen: dict[str, Any]) -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", *f"go {go}".splitlines())
        gui.expect("info string go")
        gui.expect("bestmove", within_s=3.0)
        assert bestmoves(gui.rest()) == []
    searcher = gui.source.searcher
    limits = (searcher.hits or searcher.seen)[-1]
    moves = [move.usi() for move in limits.searchmoves]
    assert {**vars(limits), "searchmoves": moves}.items() >= seen.items()


@pytest.mark.parametrize(
    ("go", "problem"),
    [
        ("mate 0", ""),
        ("mate -5", ""),
        ("mate 50 nodes 5", ""),
        ("mate soon", "go mate: expected milliseconds, found 'soon'"),
        ("mate 50 soon", "go: unknown word 'soon'"),
        ("soon mate 50", "go: unknown word 'soon'"),
    ],
)
def test_every_go_mate_is_answered_with_checkmate(go: str, problem: str) -> None:
    with Gui() as gui:
        gui.send("setoption name DfPn_Hash value 16", f"position sfen {OPEN}", f"go {go}")
        assert gui.expect("checkmate") == "checkmate timeout"
        assert bestmoves(gui.log + gui.rest()) == []
    assert [line for line in gui.log if problem in line]


@pytest.mark.parametrize("go", ["infinite nodes 10", "infinite byoyomi 0", "ponder nodes 5", ""])
def test_what_waits_for_stop_gets_one_answer_then(go: str) -> None:
    with Gui().ready() as gui:
        gui.send(f"go {go}")
        assert bestmoves(gui.rest()) == []
        gui.send("stop")
        gui.expect("bestmove")
        assert bestmoves(gui.rest()) == []


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("fly", "info string unknown command 'fly'"),
        ("position", "info string position: expected startpos or sfen"),
        ("position startpos moves 7g7f xx", "info string position: move 2: 'xx' isn't a USI move"),
        ("position startpos moves 0g7f", "info string position: move 1: '0g7f' isn't a USI move"),
        ("position startpos moves K*5e", "info string position: move 1: 'K*5e' isn't a USI move"),
        ("position startpos moves 先7六歩", "info string position: move 1: "),
        ("position sfen x y z", "info string error: "),
        ("setoption name Nothing value 1", "info string no option 'Nothing'"),
        ("setoption name MultiPV value many", "info string option MultiPV: 'many'"),
        ("setoption name MultiPV value 0", "info string option MultiPV: 0 isn't between"),
        ("setoption MultiPV 3", "info string setoption: expected name"),
        ("ponderhit sideways", "info string go: unknown word 'sideways'"),
    ],
)
def test_unknown_and_broken_commands_are_answered(line: str, start: str) -> None:
    with Gui().ready() as gui:
        gui.send(line)
        assert gui.expect("info").startswith(start)
        gui.send("position startpos", "go nodes 1")
        assert gui.expect("bestmove").split()[1] in FIRST_MOVES


def test_tabs_and_blanks_separate_words() -> None:
    with Gui().ready() as gui:
        gui.send("  position\t startpos   moves  7g7f\t3c3d  ", "\tgo \t nodes 1\r")
        gui.expect("bestmove")
    assert gui.source.searcher.positions[-1] == Board("startpos moves 7g7f 3c3d").sfen()


def test_illegal_move_leaves_the_moves_before_it() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos moves 7g7f 7g7f 3c3d", "go nodes 1")
        assert "move 2" in gui.expect("info string position")
        gui.expect("bestmove")
    assert gui.source.searcher.positions[-1].split()[1] == "w"


def test_a_go_that_is_not_understood_is_searched_for_a_while() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go byoyomi soon")
        assert "soon" in gui.expect("info string go byoyomi")
        gui.expect("bestmove", within_s=2.0)


def test_oversized_and_binary_lines() -> None:
    with Gui().ready() as gui:
        gui.send(b"x" * (3 << 20))
        gui.expect("info string a line of more than")
        gui.send(b"\xff\xfe\x00\x01", b"position \x80\x81")
        gui.expect("info string unknown command")
        gui.expect("info string position")
        gui.send("position startpos moves " + "7g7f " * 150_000)
        gui.expect("info string position: move 2")
        gui.send("go nodes 1")
        assert gui.expect("bestmove") != "bestmove resign"
        gui.send("position startpos moves " + "7g7f " * 250_000, "go nodes 1")
        gui.expect("info string a line of more than")
        assert gui.expect("bestmove") == "bestmove resign"
        gui.send(b" " * (2 << 20), "position startpos", "go nodes 1")
        assert gui.expect("bestmove") != "bestmove resign"


def test_a_failing_searcher_is_reported_and_a_legal_move_given() -> None:
    with Gui().ready() as gui:
        gui.source.searcher.fails = True
        gui.send("position startpos", "go nodes 1")
        gui.expect("info string error: RuntimeError: the network melted")
        assert gui.expect("bestmove").split()[1] in FIRST_MOVES
        gui.source.searcher.fails = False
        gui.send("go nodes 1")
        gui.expect("bestmove")


def test_end_of_input_ends_the_engine_also_in_a_search() -> None:
    with Gui().ready() as gui:
        gui.send("position startpos", "go infinite")
        gui.expect("info depth")
        gui.close_input()
        assert gui.join() == 0
        assert gui.source.searcher.is_closed


def test_an_answer_that_is_being_written_as_the_engine_ends_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(self: Job) -> bool:
        if is_first := take_answer(self):
            time.sleep(0.3)  # the thread is preempted before it writes
        return is_first

    take_answer = Job.take_answer
    monkeypatch.setattr(Job, "take_answer", slow)
    monkeypatch.setattr(engine, "SHUTDOWN_S", 0.1)
    with Gui().ready() as gui:
        gui.send("position startpos", "go infinite")
        gui.expect("info depth")
        gui.send("quit")
        gui.join()
        assert len(bestmoves(gui.rest())) == 1


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["go nodes 5"], f"bestmove {next(iter(Board().legal_moves)).usi()}"),
        (["position sfen x", "go nodes 5"], "bestmove resign"),
        (["isready", "go mate 1000"], "checkmate timeout"),
    ],
)
def test_input_that_ends_while_the_model_loads_is_answered(
    lines: list[str], answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SHUTDOWN_S", 0.2)
    with Gui(FakeSource(load_s=2.0)) as gui:
        gui.send(*lines)
        gui.close_input()
        assert gui.expect(answer.split()[0]) == answer
