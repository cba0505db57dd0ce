"""The CSA client against the server of `csa_server`."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from csa_server import POSITION, CsaServer

from komadori.arena import csa_client
from komadori.arena.csa_client import CsaAccount, CsaClient, CsaGame, CsaLoginError
from komadori.arena.csa_protocol import (
    CsaClock,
    CsaProtocolError,
    CsaTimes,
    ServerMove,
    comment,
    parse_play,
    parse_summary,
)
from komadori.cli._group import group
from komadori.players import Decision, make
from komadori.records import End, Winner, read_games
from komadori.rules import Board
from komadori.usi.protocol import STARTPOS, GoCommand

SUMMARY = f"""\
Protocol_Version:1.2
Protocol_Mode:Server
Format:Shogi 1.0
Declaration:Jishogi 1.1
Game_ID:wdoor+floodgate-300-10F+a+b+20260101
Name+:a
Name-:b
Your_Turn:-
Rematch_On_Draw:NO
To_Move:+
Max_Moves:256
BEGIN Time
Time_Unit:1sec
Total_Time:300
Byoyomi:0
Increment:10
Least_Time_Per_Move:0
END Time
BEGIN Position
{POSITION}
+7776FU,T12
-3334FU,T6
END Position"""


def test_summary_of_floodgate() -> None:
    summary = parse_summary(SUMMARY.splitlines())
    assert summary.game_id.startswith("wdoor+floodgate")
    assert (summary.names, summary.color, summary.max_moves) == (("a", "b"), 1, 256)
    assert summary.clocks == (CsaClock(300_000, 0, 10_000),) * 2
    assert summary.sfen == STARTPOS
    assert summary.moves == ("7g7f", "3c3d")
    assert CsaTimes(summary).left_ms == [298_000, 304_000]


def test_clocks_of_their_own_and_other_units() -> None:
    text = SUMMARY.replace(
        "Time_Unit:1sec\nTotal_Time:300\nByoyomi:0\nIncrement:10",
        "Time_Unit:100msec\nTotal_Time:50\nByoyomi:5",
    ).replace("END Time\n", "END Time\nBEGIN Time-\nTotal_Time:70\nEND Time-\n")
    black, white = parse_summary(text.splitlines()).clocks
    assert black == CsaClock(5000, 500, 0, 0, 100)
    assert white == CsaClock(7000, 500, 0, 0, 100)


@pytest.mark.parametrize(
    ("unit", "spent", "left"),
    [("1msec", (12, 6), [298, 304]), ("1min", (720_000, 360_000), [17_880_000, 18_240_000])],
)
def test_times_of_moves_before_the_game_are_in_the_clocks_unit(
    unit: str, spent: tuple[int, int], left: list[int]
) -> None:
    text = SUMMARY.replace("1sec", unit)
    summary = parse_summary(text.splitlines())
    assert summary.times_ms == spent
    assert CsaTimes(summary).left_ms == left
    for old, new in ((",T12\n", "\nT12\n'T9\n"), (",T12\n", ",T12,"), (",T6", ",T6,'* 3 T9")):
        assert old in text
        assert parse_summary(text.replace(old, new).splitlines()) == summary


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Name+:a\n", "", r"lacks Name\+"),
        ("Your_Turn:-", "Your_Turn:x", "Your_Turn is 'x'"),
        ("Total_Time:300", "Total_Time:much", "Total_Time is 'much'"),
        ("Total_Time:300", "Total_Time:inf", "Total_Time is 'inf'"),
        ("Total_Time:300", "Total_Time:-1", "Total_Time is '-1'"),
        ("Time_Unit:1sec", "Time_Unit:1year", "Time_Unit is '1year'"),
        ("Time_Unit:1sec", "Time_Unit:0sec", "Time_Unit is '0sec'"),
        ("Time_Unit:1sec", f"Time_Unit:1{' ' * 60_000}!", "Time_Unit is '1 !'"),
        ("Total_Time:300", "Total_Time:1e308", "Total_Time is '1e308'"),
        ("Max_Moves:256", "Max_Moves:1e300", "Max_Moves is '1e300'"),
        ("Time_Unit:1sec", f"Time_Unit:{'1' * 5000}sec", "Time_Unit is '1"),
        ("Total_Time:300", f"Total_Time:{'9' * 5000}", "Total_Time is '9"),
        ("Your_Turn:-", "Your_Turn:\x1b[2J", r"Your_Turn is '\?\[2J'"),
        ("+7776FU,T12", "+7775FU,T12", "position"),
    ],
)
def test_bad_summaries_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(CsaProtocolError, match=message):
        parse_summary(SUMMARY.replace(old, new).splitlines())


def test_lines_of_play() -> None:
    assert parse_play("+7776FU,T12") == ServerMove("+7776FU", 12)
    assert parse_play("-3334FU") == ServerMove("-3334FU", None)
    assert parse_play("%TORYO,T4") == ServerMove("%TORYO", 4)
    assert parse_play("#WIN") is None
    assert parse_play("+7776FU,T" + "9" * 5000) == ServerMove("+7776FU", None)


def test_comments_are_in_blacks_view() -> None:
    board = Board()
    pv = ("7g7f", "3c3d", "8h2b+", "9a9z")
    assert comment(board, 50, pv) == ",'* 50 -3334FU +8822UM"
    board.push_usi("7g7f")
    assert comment(board, 50, ("3c3d",)) == ",'* -50"
    assert comment(board, None, ("3c3d",)) == ""


@pytest.fixture(autouse=True)
def log_level(caplog: pytest.LogCaptureFixture) -> None:
    """Capture warnings whatever level the libraries of earlier tests have given the root logger."""
    caplog.set_level(logging.WARNING)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csa_client, "BACKOFF_S", (0.05, 0.1))


def play(server: CsaServer, games: int = 1, **first: Any) -> tuple[list[CsaGame], list[CsaGame]]:
    """Two clients play each other; `first` uses the caller's player."""
    player = first.pop("player", None) or make("material?seed=1")
    one = CsaClient(CsaAccount("127.0.0.1", "one", "x", server.port), player, **first)
    two = CsaClient(CsaAccount("127.0.0.1", "two", "x", server.port), make("random?seed=2"))
    results: dict[str, list[CsaGame]] = {}
    threads = [
        threading.Thread(target=lambda c=c, n=n: results.update({n: c.play(games)}), daemon=True)
        for n, c in (("one", one), ("two", two))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    server.close()
    return results["one"], results["two"]


@pytest.mark.usefixtures("quick")
def test_games_are_played_and_recorded(tmp_path: Path) -> None:
    server = CsaServer(max_moves=400)
    first, second = play(server, games=2, out=tmp_path)
    assert [game.summary.color for game in first] == [0, 1]
    for game, other in zip(first, second, strict=True):
        assert game.moves == other.moves
        assert {game.outcome, other.outcome} in ({"win", "lose"}, {"draw"})
    records = sorted(tmp_path.glob("*.csa"))
    assert len(records) == 2
    for path, game in zip(records, first, strict=True):
        (record,) = read_games(path)
        assert record.usi_moves() == game.moves
        assert record.black == game.summary.names[0]
        if game.outcome != "draw":
            black_won = (game.outcome == "win") == (game.summary.color == 0)
            assert record.winner == (Winner.BLACK if black_won else Winner.WHITE)
    # The material player's scores are sent from Black's viewpoint, with legal moves.
    assert all(
        re.fullmatch(r"[+-]\d{4}[A-Z]{2}(,'\* -?\d+( [+-]\d{4}[A-Z]{2})*)?|%[A-Z]+", line)
        for line in server.log
    )
    assert any(",'* " in line for line in server.log)


@pytest.mark.usefixtures("quick")
def test_a_game_handed_over_after_some_moves() -> None:
    first, _ = play(CsaServer(moves=("+7776FU", "-3334FU", "+2726FU"), max_moves=10))
    (game,) = first
    assert game.summary.moves == ("7g7f", "3c3d", "2g2f")
    assert len(game.moves) == 7
    assert (game.outcome, game.reason) == ("draw", "MAX_MOVES")
    board = Board()
    for move in (*game.summary.moves, *game.moves):
        board.push_usi(move)


@pytest.mark.usefixtures("quick")
def test_a_lost_connection_is_made_again() -> None:
    server = CsaServer(drops=3, max_moves=10)
    first, second = play(server)
    assert (len(first), len(second)) == (1, 1)
    assert server.logins == 5


SUMMARIZED = parse_summary(SUMMARY.splitlines())


class Waits(threading.Event):
    """Notes the client's waits instead of waiting; ends it after so many of them."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        if timeout:
            self.waits.append(timeout)
        return len(self.waits) == self._most


def test_games_that_end_at_once_are_begun_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [
        *[CsaGame(SUMMARIZED, seconds=0.1)] * 8,
        CsaGame(SUMMARIZED, seconds=600.0),  # waited for its opponent's first move
        CsaGame(SUMMARIZED, seconds=0.2),
        ConnectionError("cut"),
        CsaGame(SUMMARIZED, ["7g7f"] * 30, seconds=0.3),  # of fast players
        CsaGame(SUMMARIZED, ["7g7f"], seconds=0.3),
        CsaGame(SUMMARIZED),
    ]

    def session(_: CsaClient) -> CsaGame:
        found = sessions.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(CsaClient, "_session", session)
    stop = Waits(99)
    client = CsaClient(CsaAccount("127.0.0.1", "me", "pw", 1), make("random"))
    assert len(client.play(13, stop)) == 13
    assert stop.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 1.0, 5.0, 1.0]


def test_a_wait_after_a_short_game_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CsaClient, "_session", lambda _: CsaGame(SUMMARIZED))
    client = CsaClient(CsaAccount("127.0.0.1", "me", "pw", 1), make("random"))
    assert len(client.play(stop=Waits(3))) == 3


def test_a_server_that_is_not_there_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    client = CsaClient(CsaAccount("127.0.0.1", "me", "pw", port), make("random"))
    assert client.play(stop=Waits(1)) == []
    assert f"127.0.0.1:{port}: Connection refused; connecting again" in caplog.text


class Slow:
    """Thinks for a while, and stores the clocks that it was given."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.received: list[GoCommand] = []
        self._inner = make("random?seed=1")

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        self.draw_ply = draw_ply

    def play(self, board: Board, go: GoCommand) -> Decision:
        self.received.append(go)
        time.sleep(self.seconds)
        return self._inner.play(board, go)

    def close(self) -> None:
        pass


@pytest.mark.usefixtures("quick")
def test_clocks_are_passed_less_the_margin() -> None:
    slow = Slow(1.05)
    play(CsaServer(max_moves=4), player=slow, margin_ms=500)
    first, second = slow.received
    assert (first.btime_ms, first.wtime_ms) == (61_500, 61_500)
    assert first.binc_ms == 2000
    assert second.btime_ms == 61_500 + 2000 - 1000  # 1.05 s count as one second
    assert first.byoyomi_ms is None


@pytest.mark.usefixtures("quick")
def test_a_player_gets_ready_before_its_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(0.0)
    monkeypatch.setattr(slow, "new_game", lambda *_, **__: time.sleep(1.2))
    (game,), _ = play(CsaServer(max_moves=2), player=slow)
    assert game.times_ms == [0, 0]


@pytest.mark.usefixtures("quick")
def test_a_clock_within_the_margin_does_not_free_the_increment() -> None:
    slow = Slow(0.0)
    server = CsaServer(max_moves=7, times="Time_Unit:1sec\nTotal_Time:0\nIncrement:1")
    play(server, player=slow, margin_ms=1500)
    assert (slow.received[0].btime_ms, slow.received[0].binc_ms) == (1, 1000)
    assert slow.draw_ply == 7


@pytest.mark.usefixtures("quick")
def test_byoyomi_is_passed_less_the_margin_once_time_is_up() -> None:
    slow = Slow(0.0)
    server = CsaServer(max_moves=2, times="Time_Unit:1sec\nTotal_Time:0\nByoyomi:10")
    play(server, player=slow, margin_ms=500)
    assert (slow.received[0].btime_ms, slow.received[0].byoyomi_ms) == (0, 9500)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("times", ["Time_Unit:1sec", "Time_Unit:1sec\nTotal_Time:0\nByoyomi:0"])
def test_a_game_without_a_clock_is_not_played_in_an_instant(times: str) -> None:
    slow = Slow(0.0)
    play(CsaServer(max_moves=2, times=times), player=slow, margin_ms=500)
    assert slow.received[0].byoyomi_ms == csa_client.UNTIMED_MS


@pytest.mark.usefixtures("quick")
def test_silence_is_filled_while_thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csa_client, "KEEP_ALIVE_S", 0.1)
    server = CsaServer(max_moves=2)
    play(server, player=Slow(0.5))
    assert server.blank_lines >= 2


@pytest.mark.usefixtures("quick")
def test_a_result_that_comes_while_thinking_ends_the_game() -> None:
    """The server adjudicates a draw by a move limit that its game summary doesn't state."""
    server = CsaServer(max_moves=2, tells_max_moves=False)
    slow = Slow(0.3)
    first, _ = play(server, player=slow)
    assert (first[0].outcome, first[0].reason) == ("draw", "MAX_MOVES")
    assert len(slow.received) == 2  # it was thinking about its second move


@pytest.mark.usefixtures("quick")
def test_a_result_before_the_game_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csa_client, "READ_TIMEOUT_S", 5.0)
    summary = re.sub("Your_Turn:.", "Your_Turn:+", SUMMARY)
    summary = "\n".join(line for line in summary.splitlines() if line[:1] not in "+-")
    server = ScriptedServer(
        "LOGIN:one OK", "#WIN", "BEGIN Game_Summary", summary, "END Game_Summary", "START:",
        after_move="#CHUDAN",
    )  # fmt: skip
    account = CsaAccount("127.0.0.1", "one", "x", server.port)
    (game,) = CsaClient(account, make("random?seed=1")).play(1, StopAtFirstError())
    assert (game.outcome, game.reason) == ("unknown", "CHUDAN")


@pytest.mark.usefixtures("quick")
def test_the_mated_side_resigns() -> None:
    server = CsaServer(max_moves=400, ends_at_mate=False)
    first, second = play(server)
    assert {first[0].reason, second[0].reason} == {"RESIGN"}


class Once:
    """Always returns the same decision."""

    name = "once"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        pass

    def play(self, board: Board, go: GoCommand) -> Decision:
        return self.decision

    def close(self) -> None:
        pass


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("decision", "reason", "end"),
    [
        (Decision(resigns=True), "RESIGN", End.RESIGN),
        (Decision(declares_win=True), "ILLEGAL_MOVE", End.ILLEGAL_MOVE),
    ],
)
def test_resignation_and_a_false_declaration(
    decision: Decision, reason: str, end: End, tmp_path: Path
) -> None:
    first, second = play(CsaServer(), player=Once(decision), out=tmp_path)
    assert (first[0].outcome, first[0].reason) == ("lose", reason)
    assert second[0].outcome == "win"
    (path,) = tmp_path.glob("*.csa")
    (record,) = read_games(path)
    assert (record.end, record.winner) == (end, Winner.WHITE)
    assert record.end_time_ms == 0


@pytest.mark.parametrize(
    ("reason", "outcome", "end", "winner"),
    [
        ("RESIGN", "win", End.RESIGN, Winner.BLACK),
        ("TIME_UP", "lose", End.TIME_UP, Winner.WHITE),
        ("ILLEGAL_MOVE", "win", End.ILLEGAL_MOVE, Winner.BLACK),
        ("ILLEGAL_ACTION", "win", End.ILLEGAL_MOVE, Winner.BLACK),
        ("ILLEGAL_ACTION", "lose", End.ILLEGAL_MOVE, Winner.WHITE),
        ("JISHOGI", "win", End.DECLARATION, Winner.BLACK),
        ("SENNICHITE", "draw", End.SENNICHITE, Winner.DRAW),
        ("OUTE_SENNICHITE", "win", End.PERPETUAL_CHECK, Winner.BLACK),
        ("MAX_MOVES", "draw", End.MAX_MOVES, Winner.DRAW),
        ("CHUDAN", "unknown", End.INTERRUPTED, Winner.UNKNOWN),
    ],
)
def test_the_record_has_the_end_that_the_server_names(
    reason: str, outcome: csa_client.Outcome, end: End, winner: Winner, tmp_path: Path
) -> None:
    """Each reason of the protocol, 1.2.1."""
    summary = parse_summary(SUMMARY.replace("Your_Turn:-", "Your_Turn:+").splitlines())
    game = CsaGame(summary, outcome=outcome, reason=reason)
    (record,) = read_games(csa_client.write_game(game, tmp_path))
    assert (record.end, record.winner) == (end, winner)


def test_a_refused_account_is_an_error_at_once() -> None:
    server = CsaServer()
    client = CsaClient(CsaAccount("127.0.0.1", "one", "wrong", server.port), make("random"))
    with pytest.raises(CsaLoginError, match="refused the login of one"):
        client.play(1)
    server.close()


def test_accounts_are_checked() -> None:
    for name, password in (
        ("", "x"),
        ("a b", "x"),
        ("a", "x\nLOGOUT"),
        ("a\x1b", "x"),
        ("a", "\udcff"),
    ):
        with pytest.raises(ValueError, match="CSA account"):
            CsaAccount("h", name, password)
    for host in ("", "a..b", "a" * 70, "\udcff"):
        with pytest.raises(ValueError, match="can't be the name of a server"):
            CsaAccount(host, "a", "x")
    arguments = [
        "csa",
        "random",
        "--host",
        "h",
        "--name",
        "a",
        "--password",
        "x",
        "--port",
        "70000",
    ]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 2
    assert "70000 is not in the range" in result.output


def server_with_an_opponent(games: int = 2) -> tuple[CsaServer, threading.Thread]:
    server = CsaServer(max_moves=2)
    other = CsaClient(CsaAccount("127.0.0.1", "two", "x", server.port), make("random?seed=2"))
    thread = threading.Thread(target=other.play, args=(games,), daemon=True)
    thread.start()
    return server, thread


def command_against(server: CsaServer) -> list[str]:
    account = ["--host", "127.0.0.1", "--port", str(server.port), "--name", "one"]
    return ["csa", "random", *account, "--password", "x", "--games", "2"]


@pytest.mark.usefixtures("quick")
def test_the_command_counts_the_outcomes() -> None:
    server, thread = server_with_an_opponent()
    result = CliRunner().invoke(group, command_against(server))
    thread.join(60.0)
    server.close()
    totals = [line.rpartition("; ")[2] for line in result.output.splitlines()]
    assert totals == ["so far 1 drawn", "so far 2 drawn"]


@pytest.mark.usefixtures("quick")
def test_what_a_hostile_server_sends_loses_no_game(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A long id, escape sequences, absurd times, an echoed password."""
    caplog.set_level(logging.DEBUG)
    game_id = "x/../" + "\x1b]0;pwned\x07" + "y" * 3000
    server = ScriptedServer(
        "LOGIN:one OK",
        SUMMARY.replace("wdoor+floodgate-300-10F+a+b+20260101", game_id)
        .replace("Name+:a", "Name+:\x1b[31mevil")
        .join(("BEGIN Game_Summary\n", "\nEND Game_Summary")),
        f"START:{game_id}",
        "hello hunter2, LOGIN one game,hunter2",
        "+2726FU,T3000000",
        "+" + "9" * 60000,
        "#ILLEGAL_MOVE\x1b[2J",
        "#WIN",
    )
    account = CsaAccount("127.0.0.1", "one", "game,hunter2", server.port)
    (game,) = CsaClient(account, make("random?seed=1"), out=tmp_path).play(1)
    assert (game.outcome, game.times_ms) == ("win", [3_000_000_000])
    (path,) = tmp_path.glob("*.csa")
    assert len(path.name) < 140
    (record,) = read_games(path)
    assert record.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert record.winner == Winner.WHITE
    assert "\x1b" not in path.read_text() + caplog.text
    assert "hunter2" not in caplog.text
    assert "evil" in record.black


@pytest.mark.usefixtures("quick")
def test_an_opponents_illegal_move_is_a_win_if_the_server_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise, whether the server continues the game or falls silent, the move is an error."""
    monkeypatch.setattr(csa_client, "RESULT_TIMEOUT_S", 0.2)
    start = SUMMARY.join(("BEGIN Game_Summary\n", "\nEND Game_Summary"))
    for after, expected in (
        (("", "#ILLEGAL_MOVE", "#WIN"), [("win", "ILLEGAL_MOVE")]),
        (("+2625FU,T1", "#ILLEGAL_MOVE", "#WIN"), []),
        ((), []),
    ):
        caplog.clear()
        lines = ["LOGIN:one OK", start, "START:x", "+2726FU,T1", "+5515KI,T2", *after]
        account = CsaAccount("127.0.0.1", "one", "x", ScriptedServer(*lines).port)
        games = CsaClient(account, make("random")).play(1, Waits(1))
        assert [(game.outcome, game.reason) for game in games] == expected
        assert ("the server's move +5515KI: " in caplog.text) == (not expected)


class FloodingServer:
    """Accepts a login, then sends one line for ever."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.account = CsaAccount("127.0.0.1", "one", "x", self._socket.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        *first, last = self._lines
        with contextlib.suppress(OSError):
            connection, _ = self._socket.accept()
            connection.sendall("".join(f"{line}\n" for line in first).encode())
            while True:
                connection.sendall(f"{last}\n".encode() * 1000)


@pytest.mark.parametrize(
    ("line", "limit"), [("P1", "10,000 lines"), ("P1" + 10_000 * "*", "1,048,576 characters")]
)
def test_an_endless_summary_is_an_error(
    line: str, limit: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = FloodingServer("LOGIN:one OK", "BEGIN Game_Summary", "BEGIN Position", line)
    assert CsaClient(server.account, make("random")).play(1, Waits(1)) == []
    assert f"the game's summary has more than {limit}" in caplog.text


def test_few_lines_of_a_flood_are_stored_and_its_threads_end() -> None:
    connection = csa_client._Connection(FloodingServer("x").account)
    time.sleep(0.5)
    assert connection._lines.qsize() <= csa_client.MAX_WAITING
    connection.close()
    end = time.monotonic() + 20.0
    while any(thread.name.startswith("csa _receive") for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.usefixtures("quick")
def test_a_password_in_names_reasons_and_errors_is_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    summary = SUMMARY.replace("Name+:a", "Name+:hunter2").replace(
        "Game_ID:wdoor", "Game_ID:hunter2"
    )
    server = ScriptedServer(
        "LOGIN:one OK",
        f"BEGIN Game_Summary\n{summary}\nEND Game_Summary",
        "START:x",
        "#hunter2",
        "#WIN",
    )
    account = CsaAccount("127.0.0.1", "one", "game,hunter2", server.port)
    (game,) = CsaClient(account, make("random?seed=1"), out=tmp_path).play(1)
    assert game.summary.names == ("***", "b")
    assert game.reason == "***"
    (path,) = tmp_path.glob("*.csa")
    assert "hunter2" not in str(path) + path.read_text() + caplog.text

    hostile = SUMMARY.replace("Your_Turn:-", "Your_Turn:hunter2")
    server = ScriptedServer("LOGIN:one OK", f"BEGIN Game_Summary\n{hostile}\nEND Game_Summary")
    account = CsaAccount("127.0.0.1", "one", "game,hunter2", server.port)
    CsaClient(account, make("random")).play(1, StopAtFirstError())
    assert "Your_Turn is '***'" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("key", ["Your_Turn:-", "Time_Unit:1sec", "Total_Time:300"])
def test_no_part_of_a_password_is_shown_where_a_quotation_is_cut(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = key.partition(":")[0]
    assert key in SUMMARY
    for length in range(40, 60):
        hostile = SUMMARY.replace(key, f"{name}:{'x' * length}hunter2andmore")
        server = ScriptedServer("LOGIN:one OK", f"BEGIN Game_Summary\n{hostile}\nEND Game_Summary")
        account = CsaAccount("127.0.0.1", "one", "game,hunter2andmore", server.port)
        CsaClient(account, make("random")).play(1, StopAtFirstError())
    assert f"{name} is 'xxx" in caplog.text
    assert "xh" not in caplog.text


def test_a_password_within_a_word_is_hidden_unless_it_is_short() -> None:
    account = CsaAccount("h", "one", "game,hunter2")
    assert account.hidden("xhunter2x game,hunter2x") == "x***x ***x"
    assert CsaAccount("h", "one", "abc").hidden("abc abcd") == "*** abcd"


def test_what_is_no_secret_is_not_hidden() -> None:
    assert CsaAccount("h", "one", "game,").hidden("one, two, (game)") == "one, two, (game)"
    assert CsaAccount("h", "one", "one").hidden("one - two") == "one - two"
    assert CsaAccount("h", "komadori_1", "game,komadori").hidden("komadori_1") == "komadori_1"


def test_both_players_of_a_game_write_to_one_folder(tmp_path: Path) -> None:
    """Neither replaces the other's record, in which the scores are its own."""
    games = [CsaGame(parse_summary(SUMMARY.splitlines()), outcome="win") for _ in range(8)]
    barrier = threading.Barrier(len(games))
    paths: list[Path] = []

    def write(game: CsaGame) -> None:
        barrier.wait()
        paths.append(csa_client.write_game(game, tmp_path))

    threads = [threading.Thread(target=write, args=(game,)) for game in games]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert len(set(paths)) == len(games)


@pytest.mark.usefixtures("quick")
def test_a_record_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    first, _ = play(CsaServer(max_moves=4), out=place)
    assert len(first[0].moves) == 4
    assert " ".join(first[0].moves) in caplog.text
    assert f"{place}: " in caplog.text
    assert "[Errno" not in caplog.text


def test_every_line_of_the_protocol_is_shown_and_no_log_of_a_library(tmp_path: Path) -> None:
    server, thread = server_with_an_opponent()
    command = [sys.executable, "-m", "komadori", "csa", *command_against(server)[1:]]
    command += ["--verbose", "--out", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    thread.join(60.0)
    server.close()
    lines = result.stderr.splitlines()
    assert any(line.endswith("> LOGOUT") for line in lines)
    assert [line for line in lines if "lock" in line.lower()] == []


@pytest.mark.usefixtures("quick")
def test_the_command_fails_if_records_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It continues with the next game, and says at the end how many are missing."""

    def full(_game: CsaGame, folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder / "g.csa"))

    monkeypatch.setattr(csa_client, "write_game", full)
    server, thread = server_with_an_opponent()
    result = CliRunner().invoke(group, [*command_against(server), "--out", str(tmp_path)])
    thread.join(60.0)
    server.close()
    assert "so far 2 drawn" in result.output
    error = f"Error: {tmp_path}: 2 games couldn't be written; the moves are above"
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, error)


@pytest.mark.usefixtures("quick")
def test_an_error_of_the_output_is_none_of_the_connection() -> None:
    """A full disk behind standard output ended no game and began ever more of them."""

    def full(_game: CsaGame) -> None:
        raise OSError(28, "No space left on device", "standard output")

    server, thread = server_with_an_opponent(1)
    account = CsaAccount("127.0.0.1", "one", "x", server.port)
    with pytest.raises(OSError, match="standard output"):
        CsaClient(account, make("random"), on_game=full).play(None, StopAtFirstError())
    thread.join(60.0)
    server.close()


class StopAtFirstError(threading.Event):
    """Ends the client instead of its wait before it connects again."""

    def wait(self, timeout: float | None = None) -> bool:
        return True


class ScriptedServer:
    """Sends its lines to a client, and one more after the client's first move if there is one."""

    def __init__(self, *lines: str, after_move: str = "") -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._lines, self._after_move = lines, after_move
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        connection.sendall("".join(f"{line}\n" for line in self._lines).encode())
        with contextlib.suppress(OSError):
            received = b""
            while data := connection.recv(1 << 12):
                received += data
                if self._after_move and re.search(rb"^[+-]\d{4}\w{2}", received, re.MULTILINE):
                    connection.sendall(f"{self._after_move}\n".encode())
                    self._after_move = ""


@pytest.mark.usefixtures("quick")
def test_a_rejected_game_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(csa_client, "ANSWER_TIMEOUT_S", 0.2)
    stop = threading.Event()
    monkeypatch.setattr(stop, "wait", lambda _: stop.set() or True)  # instead of reconnecting
    # A second summary that stops ends the wait.
    summary = ("BEGIN Game_Summary", *SUMMARY.splitlines(), "END Game_Summary")
    refusal = ("REJECT:game-1 by \x1b[31mtwo", "BEGIN Game_Summary")
    server = ScriptedServer("LOGIN:one OK", *summary, *refusal)
    account = CsaAccount("127.0.0.1", "one", "x", server.port)
    with caplog.at_level(logging.INFO):
        CsaClient(account, make("random")).play(1, stop)
    assert "REJECT:game-1 by " in caplog.text
    assert "no game is played; waiting for a game" in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("lines", [(), ("LOGIN:one OK", "BEGIN Game_Summary", "Name+:one")])
def test_a_server_that_falls_silent_where_it_must_answer_is_reported(
    lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(csa_client, "ANSWER_TIMEOUT_S", 0.2)
    stop = threading.Event()
    monkeypatch.setattr(stop, "wait", lambda _: stop.set() or True)  # instead of reconnecting
    account = CsaAccount("127.0.0.1", "one", "x", ScriptedServer(*lines).port)
    with caplog.at_level(logging.INFO):
        thread = threading.Thread(
            target=CsaClient(account, make("random")).play, args=(1, stop), daemon=True
        )
        thread.start()
        thread.join(20.0)
    assert not thread.is_alive()
    assert "no line from the server" in caplog.text
    assert ("waiting for a game" in caplog.text) == bool(lines)
