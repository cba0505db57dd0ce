"""Games in the browser: turns, clocks, undo, endings."""

from __future__ import annotations

import asyncio
import re
import shlex
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from web_pages import Page, Server, make_server

from komadori.players import Decision
from komadori.rules import Board
from komadori.usi.protocol import GoCommand
from komadori.web import played, protocol, session
from komadori.web.errors import RefusedError
from komadori.web.library import Entry, Library
from komadori.web.opponents import Opponents, SeatedPlayer
from komadori.web.shapes import SeatState

HUMAN = {"kind": "human", "name": "me"}
RANDOM = {"kind": "engine", "player": "model:random:3", "playouts": 8}
MATE_IN_ONE = "sfen 4k4/9/4G4/9/9/9/9/9/4K4 b G 1"
REPEATING = ["5i5h", "5a5b", "5h5i", "5b5a"]
KINGS = "sfen 4k4/9/9/9/9/9/9/9/4K4 b P 1"
CAN_DECLARE = "sfen 4K4/+R+R+B+BGGSS1/LP7/9/9/9/9/9/4k4 b 2G2S4N3L17P 1"

#: Black may declare a win with 28 points, not by the rule of 24 points, which needs 31.
MANY_POINTS = "sfen 4K4/+R1GGSSSS1/PPP1+B4/9/9/9/9/9/k8 b 2G4N3Prb4l12p 1"


def start(page: Page, **fields: Any) -> tuple[int, dict[str, Any]]:
    request = page.send("game_start", **{"black": HUMAN, "white": HUMAN, **fields})
    return request, page.until("game", id=request)["game"]


def state(page: Page, request: int, **fields: Any) -> dict[str, Any]:
    while True:
        game: dict[str, Any] = page.until("game", id=request)["game"]
        if fields.items() <= game.items():
            return game


def test_an_engine_replies_and_the_game_is_stored(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, white=RANDOM)
        assert (game["turn"], game["phase"]) == ("black", "playing")
        page.ask("game_move", "ok", game=game["game"], move="7g7f")
        replied = state(page, request, turn="black", thinking=None)
        while len(replied["moves"]) < 2:
            replied = state(page, request, turn="black", thinking=None)
        assert replied["moves"][0] == "7g7f"
        assert replied["last_thought"]["color"] == "white"
        stored = server.http.get(f"/api/games/{game['game']}").json()
        assert stored["moves"] == replied["moves"]
        page.send("game_action", game=game["game"], action="resign")
        over = state(page, request, phase="over")
        assert over["result"] == {"winner": "white", "reason": "resignation", "detail": ""}
        stored = server.http.get(f"/api/games/{game['game']}").json()
        assert stored["result"]["reason"] == "resignation"
        assert stored["summary"]["source"] == "played"


def test_a_game_in_progress_is_not_saved_over(server: Server) -> None:
    with server.page() as page:
        request, game = start(page)
        page.ask("game_move", "ok", game=game["game"], move="7g7f")
        address = f"/api/games/{game['game']}"
        content = {"position": "startpos moves 7g7f", "record": "# KIF"}
        for phase, status in (("playing", 409), ("over", 200)):
            known = {"version": server.http.get(address).json()["version"]}
            assert server.http.put(address, json=content, params=known).status_code == status
            if phase == "playing":
                page.send("game_action", game=game["game"], action="resign")
                state(page, request, phase="over")


def test_the_record_of_a_played_game_has_its_date_and_clock(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, clock={"main_ms": 600_000, "byoyomi_ms": 30_000})
        page.ask("game_move", "ok", game=game["game"], move="7g7f")
        page.send("game_action", game=game["game"], action="resign")
        state(page, request, phase="over")
        address = f"/api/games/{game['game']}/record?format="
        record = server.http.get(address + "csa").text
        assert re.search(r"^\$START_TIME:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d$", record, re.MULTILINE)
        assert "\n$TIME:600+30+0\n" in record
        record = server.http.get(address + "kif").text
        assert re.search(r"^開始日時：\d{4}/\d\d/\d\d \d\d:\d\d:\d\d$", record, re.MULTILINE)


def test_taking_back_undoes_the_engines_move_too(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, white=RANDOM)
        page.send("game_move", game=game["game"], move="7g7f")
        while len(state(page, request)["moves"]) < 2:
            pass
        page.send("game_action", game=game["game"], action="take_back")
        assert state(page, request, moves=[])["turn"] == "black"
        refused = page.ask("game_action", "error", game=game["game"], action="take_back")
        assert refused["code"] == "not_possible"


def test_taking_back_while_the_engine_thinks(server: Server) -> None:
    with server.page() as page:
        slow = {**RANDOM, "playouts": 1_000_000}
        request, game = start(page, white=slow)
        page.send("game_move", game=game["game"], move="7g7f")
        state(page, request, thinking="white")
        page.send("game_action", game=game["game"], action="take_back")
        assert state(page, request, moves=[])["thinking"] is None
        page.send("game_move", game=game["game"], move="2g2f")
        assert state(page, request, thinking="white")["moves"] == ["2g2f"]
        page.send("game_action", game=game["game"], action="stop")
        assert state(page, request, phase="over")["result"]["reason"] == "interrupted"


def test_checkmate_ends_the_game(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, position=MATE_IN_ONE)
        page.send("game_move", game=game["game"], move="G*5b")
        over = state(page, request, phase="over")
        assert over["result"]["reason"] == "checkmate"
        assert over["result"]["winner"] == "black"
        assert over["is_check"]


def test_sennichite_is_counted_and_ends_the_game(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, position=KINGS)
        seen = []
        for move in REPEATING * 3:
            page.send("game_move", game=game["game"], move=move)
            now = state(page, request)
            seen.append(now["occurrences"])
        assert seen[3::4] == [2, 3, 4]
        assert now["result"] == {"winner": "draw", "reason": "repetition", "detail": ""}


def test_a_win_is_declared(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, position=CAN_DECLARE)
        assert game["can_declare"]
        page.send("game_action", game=game["game"], action="declare")
        assert state(page, request, phase="over")["result"]["reason"] == "declaration"
        request, game = start(page)
        assert not game["can_declare"]
        page.send("game_action", game=game["game"], action="declare")
        over = state(page, request, phase="over")
        assert over["result"] == {"winner": "white", "reason": "false_declaration", "detail": ""}


DECLARING = (
    "alphabeta?nodes=100",
    "one-ply:random:3",
    "policy:random:3",
    "model:random:3?nodes=8",
    "material",
    "random?seed=2",
    f"usi:{shlex.join([sys.executable, '-m', 'komadori', 'usi'])}?nodes=100",
)


def test_additional_players_differ_in_name(tmp_path: Path) -> None:
    specs = ["alphabeta?nodes=9", "usi:sh -c a", "usi:sh -c b", "random?seed=1", "random?name=R"]
    with make_server(tmp_path, players=specs) as client:
        players = client.get("/api/players").json()["players"]
    names = [player["name"] for player in players if player["kind"] != "model"]
    assert names[-5:-2] == ["alphabeta?nodes=9", "usi:sh -c a", "usi:sh -c b"]
    assert names[-1] == "R"
    assert "alphabeta" in names


@pytest.mark.parametrize("player", DECLARING)
def test_engines_declare_by_the_rule_of_the_game(tmp_path: Path, player: str) -> None:
    """They lost by false declarations in games without declarations or with more points."""
    with make_server(tmp_path, players=[player]) as client, Server(client).page() as page:
        for rule, declares in (("none", False), ("24", False), ("27", True)):
            engine = {"kind": "engine", "player": "spec:1"}
            fields = {"black": engine, "position": MANY_POINTS, "declaration": rule}
            request, game = start(page, **fields)
            while game["phase"] == "playing" and not game["moves"]:
                game = state(page, request)
            if declares:
                assert game["result"]["winner"] == "black"
                assert game["result"]["reason"] == "declaration"
            else:
                assert (game["phase"], len(game["moves"])) == ("playing", 1)
                page.send("game_action", game=game["game"], action="stop")


def test_an_engine_keeps_the_rule_that_its_user_chose(tmp_path: Path) -> None:
    players = ["alphabeta?nodes=100&EnteringKingRule=NoEnteringKing"]
    with make_server(tmp_path, players=players) as client, Server(client).page() as page:
        engine = {"kind": "engine", "player": "spec:1"}
        request, game = start(page, black=engine, position=MANY_POINTS)
        while game["phase"] == "playing" and not game["moves"]:
            game = state(page, request)
        assert len(game["moves"]) == 1


def test_a_human_loses_on_time(server: Server) -> None:
    with server.page() as page:
        started = time.monotonic()
        request, _ = start(page, clock={"main_ms": 200})
        over = state(page, request, phase="over")
        assert over["result"]["reason"] == "time"
        assert over["result"]["winner"] == "white"
        assert time.monotonic() - started < 3
        assert over["clock"]["black_ms"] == 0


def test_the_final_clocks_include_the_unfinished_turn(server: Server) -> None:
    with server.page() as page:
        request, _ = start(page, clock={"main_ms": 0, "byoyomi_ms": 100})
        assert state(page, request, phase="over")["clock"]["black_ms"] == -100
        request, game = start(page, clock={"main_ms": 60_000, "increment_ms": 5_000})
        time.sleep(0.1)
        page.send("game_action", game=game["game"], action="resign")
        left = state(page, request, phase="over")["clock"]
        assert 64_000 < left["black_ms"] <= 64_900
        assert left["white_ms"] == 60_000


def test_only_the_clock_of_the_side_to_move_runs(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, clock={"main_ms": 60_000, "increment_ms": 5_000})
        assert game["clock"]["running"] == "black"
        page.send("game_move", game=game["game"], move="7g7f")
        after = state(page, request, turn="white")["clock"]
        assert 60_000 < after["black_ms"] <= 65_000
        assert after["running"] == "white"
        page.send("game_action", game=game["game"], action="pause")
        assert state(page, request, phase="paused")["clock"]["running"] is None
        page.send("game_action", game=game["game"], action="resume")
        assert state(page, request, phase="playing")["clock"]["running"] == "white"


def test_two_engines_play_each_other(server: Server) -> None:
    with server.page() as page:
        request, game = start(page, black=RANDOM, white=RANDOM, max_plies=6, pace_ms=0)
        over = state(page, request, phase="over")
        assert over["result"]["reason"] == "max_plies"
        assert len(over["moves"]) == 6
        refused = page.ask("game_action", "error", game=game["game"], action="resign")
        assert refused["code"] == "not_possible"


def test_a_handicap_game_is_not_resigned_at_the_start(server: Server) -> None:
    players = server.http.get("/api/players").json()
    ten = next(h["position"] for h in players["handicaps"] if h["name"] == "ten-piece")
    with server.page() as page:
        request, game = start(page, position=ten, white=RANDOM)
        assert game["turn"] == "white"
        while not (now := state(page, request))["moves"]:
            pass
        assert now["phase"] == "playing"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"white": {"kind": "engine", "player": "usi:/bin/sh"}}, "unknown_name"),
        ({"white": {"kind": "engine", "player": "model:../../x"}}, "unknown_model"),
        ({"white": {**RANDOM, "elo": 1500.0}}, "not_possible"),
        ({"position": "startpos moves 1a1b"}, "bad_position"),
        ({"white": {"kind": "engine", "player": "gnushogi"}, "position": KINGS}, "not_possible"),
        ({"clock": {"main_ms": 1, "byoyomi_ms": 1, "increment_ms": 1}}, "not_possible"),
    ],
)
def test_a_wrong_start_is_refused(server: Server, fields: dict[str, Any], code: str) -> None:
    with server.page() as page:
        given = {"black": HUMAN, "white": HUMAN, **fields}
        assert page.ask("game_start", "error", **given)["code"] == code


#: An engine that ends when it is to be ready for a second time: at the start of a game.
ENGINE = """
import sys

ready = 0
for line in sys.stdin:
    if line.strip() == "usi":
        print("id name E", "usiok", sep="\\n", flush=True)
    elif line.strip() == "isready" and not ready:
        ready += 1
        print("readyok", flush=True)
    elif line.strip() in ("isready", "quit"):
        break
"""


def test_an_engine_that_ends_before_the_game_is_refused(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    command = shlex.join([sys.executable, str(tmp_path / "engine.py")])
    with make_server(tmp_path, players=[f"usi:{command}"]) as client:
        with Server(client).page() as page:
            engine = {"kind": "engine", "player": "spec:1"}
            refused = page.ask("game_start", "error", black=HUMAN, white=engine)
            assert refused["code"] == "failed"
            assert "ended" in refused["message"]
        assert client.get("/api/games").json()["total"] == 0


#: An engine with a long name that is no plain text and a long move that is none.
VERBOSE_ENGINE = """
import sys

for line in sys.stdin:
    if line.strip() == "usi":
        print("id name E\\0\\x1b[31m" + 100_000 * "e", "usiok", sep="\\n", flush=True)
    elif line.strip() == "isready":
        print("readyok", flush=True)
    elif line.startswith("go"):
        print("bestmove 7\\0" + 100_000 * "7", flush=True)
    elif line.strip() == "quit":
        break
"""


def test_what_an_engine_says_is_short_and_printable(tmp_path: Path) -> None:
    """Names and moves of a megabyte went into the library and each message to the page."""
    (tmp_path / "engine.py").write_text(VERBOSE_ENGINE)
    command = shlex.join([sys.executable, str(tmp_path / "engine.py")])
    players = [f"usi:{command}"]
    with make_server(tmp_path, players=players) as client, Server(client).page() as page:
        engine = {"kind": "engine", "player": "spec:1"}
        request, game = start(page, black=engine)
        if game["phase"] != "over":
            game = state(page, request, phase="over")
        assert game["black"]["name"] == "E??[31m" + 190 * "e" + "..."
        assert game["result"]["reason"] == "illegal_move"
        assert game["result"]["detail"] == "7?" + 75 * "7" + "..."
        assert len(client.get(f"/api/games/{game['game']}/record?format=kif").text) < 1000


def test_a_player_that_is_ready_after_its_page_has_gone_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SESSION_TTL_S", 1.0)
    is_gone, is_closed = threading.Event(), threading.Event()
    seat, close = Opponents.seat, SeatedPlayer.close
    drop = session.Session.close

    async def ended(page: session.Session) -> None:
        await drop(page)
        is_gone.set()

    def slow(opponents: Opponents, opponent: Any) -> SeatedPlayer:
        assert is_gone.wait(20)
        return seat(opponents, opponent)

    monkeypatch.setattr(session.Session, "close", ended)
    monkeypatch.setattr(Opponents, "seat", slow)
    monkeypatch.setattr(SeatedPlayer, "close", lambda player: (close(player), is_closed.set()))
    with make_server(tmp_path) as client:
        with Server(client).page() as page:
            page.send("game_start", black=HUMAN, white={"kind": "engine", "player": "random"})
            page.ask("ping", "ok")
            page._socket.close(1006)
        assert is_closed.wait(20)


def test_illegal_moves_and_unknown_games_are_refused(server: Server) -> None:
    with server.page() as page:
        _, game = start(page)
        number = game["game"]
        assert page.ask("game_move", "error", game=number, move="7g7e")["code"] == "illegal_move"
        assert page.ask("game_move", "error", game=999, move="7g7f")["code"] == "unknown_name"
        hint = page.ask("hint", "hint", game=number, nodes=20)
        assert hint["lines"]


def test_another_page_joins_a_game(server: Server) -> None:
    with server.page() as page:
        _, game = start(page)
        with server.page() as other:
            joined = other.ask("game_join", "game", game=game["game"])
            assert joined["game"]["game"] == game["game"]


def test_a_page_that_starts_another_game_leaves_its_finished_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their engines hold memory, and only so many games may be played at a time."""
    monkeypatch.setattr(session, "SESSION_TTL_S", 1.2)  # the sweep's interval is a part of it
    monkeypatch.setattr(played, "ABANDONED_S", 0.1)
    monkeypatch.setattr(played, "MAX_GAMES", 2)
    closed: list[SeatedPlayer] = []
    monkeypatch.setattr(SeatedPlayer, "close", lambda player: closed.append(player))
    with make_server(tmp_path) as client, Server(client).page() as page:
        _, running = start(page)
        request, over = start(page, white={"kind": "engine", "player": "random"})
        assert page.ask("game_start", "error", black=HUMAN, white=HUMAN)["code"] == "too_many"
        page.send("game_action", game=over["game"], action="resign")
        state(page, request, phase="over")
        time.sleep(0.5)
        assert not closed  # the page may still take a move back
        page.ask("game_action", "ok", game=running["game"], action="stop")
        monkeypatch.setattr(played, "MAX_GAMES", 3)
        start(page)
        deadline = time.monotonic() + 20
        while not closed and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(closed) == 1
        start(page)  # as the others have made room
        start(page)


def test_a_game_that_cannot_be_saved_says_so_and_is_saved_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_full = False
    replace = Library._replace

    def replace_or_fail(self: Library, old: sqlite3.Row, entry: Entry) -> None:
        if is_full:
            raise RefusedError("failed", "database or disk is full")
        replace(self, old, entry)

    monkeypatch.setattr(Library, "_replace", replace_or_fail)
    with make_server(tmp_path) as client, Server(client).page() as page:
        request, game = start(page)
        number = game["game"]
        is_full = True
        page.send("game_move", game=number, move="7g7f")
        problem = page.until("error", id=request)
        assert problem["message"] == "the game isn't saved: database or disk is full"
        assert problem["code"] == "failed"
        page.send("game_move", game=number, move="3c3d")  # no second message
        state(page, request, moves=["7g7f", "3c3d"])
        with Server(client).page() as other:
            joined = other.send("game_join", game=number)
            assert other.until("game", id=joined)["game"]["moves"] == ["7g7f", "3c3d"]
            assert other.until("error", id=joined)["code"] == "failed"
        page.send("game_action", game=number, action="resign")
        state(page, request, phase="over")
        is_full = False
    with make_server(tmp_path) as client:
        stored = client.get(f"/api/games/{number}").json()
        assert stored["moves"] == ["7g7f", "3c3d"]
        assert stored["result"]["reason"] == "resignation"


def test_what_a_page_writes_about_a_running_game_is_kept(server: Server) -> None:
    with server.page() as page:
        request, game = start(page)
        page.ask("game_move", "ok", game=game["game"], move="7g7f")
        written = {
            "position": "startpos moves 7g7f",
            "black": "Sente",
            "title": "Final",
            "comments": {"1": "a good move"},
        }
        assert server.http.put(f"/api/games/{game['game']}", json=written).status_code == 200
        page.send("game_move", game=game["game"], move="3c3d")
        state(page, request, moves=["7g7f", "3c3d"])
        stored = server.http.get(f"/api/games/{game['game']}").json()
        assert stored["moves"] == ["7g7f", "3c3d"]
        assert stored["comments"] == {"1": "a good move"}
        assert (stored["summary"]["title"], stored["summary"]["black"]) == ("Final", "Sente")


def test_an_abandoned_game_without_a_move_leaves_the_library(tmp_path: Path) -> None:
    human = {"kind": "human"}
    with make_server(tmp_path) as client, Server(client).page() as page:
        games = []
        for _ in range(2):
            request = page.send("game_start", black=human, white=human)
            games.append(page.until("game", id=request)["game"]["game"])
        page.ask("game_move", "ok", game=games[0], move="7g7f")
        assert client.get("/api/games").json()["total"] == 2
    with make_server(tmp_path) as client:  # the first server interrupted its games
        found = client.get("/api/games").json()["games"]
        assert [game["game"] for game in found] == games[:1]


def test_every_game_is_stored_before_a_slow_engine_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C leaves a server a second: it mustn't wait for the engine of one game to end before it
    stores the next game."""
    close = SeatedPlayer.close
    stored: list[list[str]] = []

    def slow(player: SeatedPlayer) -> None:
        with sqlite3.connect(tmp_path / "library" / "library.sqlite") as database:
            stored.append([end for (end,) in database.execute("SELECT end FROM games")])
        close(player)

    monkeypatch.setattr(SeatedPlayer, "close", slow)
    with make_server(tmp_path) as client, Server(client).page() as page:
        for _ in range(3):
            _, game = start(page, white={"kind": "engine", "player": "random"})
            page.ask("game_move", "ok", game=game["game"], move="7g7f")
        start(page)  # without a move: it leaves the library
    assert stored == [["interrupted"] * 3] * 3


def test_closing_the_engine_of_a_refused_game_blocks_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = SeatedPlayer.close
    is_closing, is_answered = threading.Event(), threading.Event()
    waited: list[bool] = []

    def slow(player: SeatedPlayer) -> None:
        is_closing.set()
        waited.append(is_answered.wait(5))
        close(player)

    monkeypatch.setattr(SeatedPlayer, "close", slow)
    with make_server(tmp_path, players=["usi:false"]) as client, Server(client).page() as page:
        ready, broken = ({"kind": "engine", "player": name} for name in ("random", "spec:1"))
        request = page.send("game_start", black=ready, white=broken)
        assert is_closing.wait(20)
        with Server(client).page() as other:
            other.ask("ping", "ok")
        is_answered.set()
        assert page.until("error", id=request)["code"] == "failed"
    assert waited == [True]


def test_a_player_that_does_not_start_is_named_as_its_user_did(tmp_path: Path) -> None:
    players = ["usi:/none", "alphabeta?EvalFile=/none.bin"]
    with make_server(tmp_path, players=players) as client, Server(client).page() as page:
        for player, reason in (
            ("spec:1", "no program '/none' found"),
            ("spec:2", "no weights /none.bin: looked for /none.bin"),
        ):
            white = {"kind": "engine", "player": player}
            error = page.ask("game_start", "error", black=HUMAN, white=white)
            assert (error["code"], error["message"]) == ("failed", reason)


def test_games_that_are_starting_count_towards_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise requests sent at once start as many engines as they like."""
    monkeypatch.setattr(played, "MAX_GAMES", 2)
    may_start, seat = threading.Event(), Opponents.seat
    monkeypatch.setattr(
        Opponents, "seat", lambda *arguments: may_start.wait(20) and seat(*arguments)
    )
    with make_server(tmp_path) as client, Server(client).page() as page:
        engine = {"kind": "engine", "player": "random"}
        requests = [page.send("game_start", black=HUMAN, white=engine) for _ in range(3)]
        ping = page.send("ping")
        answers = [page.receive()]
        while answers[-1]["id"] != ping:
            answers.append(page.receive())
        may_start.set()
        assert [(a["id"], a["code"]) for a in answers[:-1]] == [(requests[2], "too_many")]
        started = set()
        while len(started) < 2:
            answer = page.receive()
            if answer["type"] == "game" and answer["id"] is not None:
                started.add(answer["id"])
        assert started == set(requests[:2])
        may_start.clear()
        refused = page.ask("game_start", "error", black=HUMAN, white=engine)
        assert refused["code"] == "too_many"


class Instant:
    """An engine that answers after a number of seconds, or at once when it is stopped."""

    name = "instant"
    limits = None

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.seen: list[GoCommand] = []

    def new_game(self, *_: object) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...

    def play(self, board: Board, go: GoCommand, cancelled: threading.Event) -> Decision:
        self.seen.append(go)
        cancelled.wait(self.seconds)
        return Decision(move=next(iter(board.legal_moves)))


def engines_game(
    library: Library, engine: Instant, pace_ms: int, **clock: int
) -> played.PlayedGame:
    engine_seat = {"kind": "engine", "player": "random"}
    request = protocol.CLIENT_MESSAGE.validate_python(
        {
            "type": "game_start", "id": 1, "black": engine_seat, "white": engine_seat,
            "pace_ms": pace_ms,
            "clock": {"main_ms": 0, "byoyomi_ms": 0, "increment_ms": 0, **clock},
        }
    )  # fmt: skip
    seat = played._Seat(SeatState(kind="engine", name="x"), engine)  # type: ignore[arg-type]
    return played.PlayedGame(request, (seat, seat), library, ThreadPoolExecutor(2))


def test_the_pace_of_engines_takes_no_time_of_their_clocks(tmp_path: Path) -> None:
    states = []

    async def game() -> None:
        with closing(Library(tmp_path)) as library:
            game = engines_game(library, Instant(), 600, byoyomi_ms=500)
            game.watch(game, 1, lambda shape, _: states.append(shape.game))
            await game.begin()
            await asyncio.sleep(0.3)
            assert game.state().moves == []
            assert game.state().clock.running is None
            game.act("pause")
            game.act("resume")  # the answer is kept
            await asyncio.sleep(0.9)
            state = game.state()
            assert len(state.moves) == 1
            assert max(state.times_ms) < 300
            assert state.phase == "playing"
            game.act("stop")

    asyncio.run(game())
    assert any(state.moves == [] and state.clock.running is None for state in states)


def test_a_pause_gives_an_engine_no_time_back(tmp_path: Path) -> None:
    async def game() -> None:
        with closing(Library(tmp_path)) as library:
            engine = Instant(0.8)
            game = engines_game(library, engine, 0, main_ms=300, byoyomi_ms=5000)
            await game.begin()
            await asyncio.sleep(0.5)
            game.act("pause")
            await asyncio.sleep(0.3)
            game.act("resume")
            await asyncio.sleep(1.0)
            state = game.state()
            assert 1200 <= state.times_ms[0] <= 1700
            first, second = engine.seen[:2]
            assert (first.btime_ms, first.byoyomi_ms) == (300, 5000)
            assert second.btime_ms == 0
            assert 4500 <= second.byoyomi_ms <= 4850  # 200 of the 500 ms were byoyomi
            game.act("stop")

    asyncio.run(game())
