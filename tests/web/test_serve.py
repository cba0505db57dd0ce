"""The real server as a process: starting, stopping, restarting after a kill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("uvicorn")
from websockets.sync.client import ClientConnection, connect

from komadori.cli._group import group
from komadori.rules import Board
from komadori.web.connections import HEADER_TIMEOUT_S, MAX_PER_ADDRESS, max_connections


def long_game(plies: int = 80) -> str:
    board = Board()
    for ply in range(plies):
        moves = list(board.legal_moves)
        board.push(moves[7 * ply % len(moves)])
    return "startpos moves " + " ".join(move.usi() for move in board.moves)


GAME = long_game()


class Process:
    """`komadori web` on a free port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "komadori", "web", str(folder), "--no-browser"),
                *("--port", "0", "--model", "random:3", "--library", str(folder / "library")),
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/(\?token=\S+)?", line)
        assert found, line + self.process.stdout.read()
        self.host, self.query = f"127.0.0.1:{found[1]}", found[2] or ""

        self.pages = contextlib.ExitStack()

    def page(self) -> ClientConnection:
        origin: Any = f"http://{self.host}"
        page = self.pages.enter_context(connect(f"ws://{self.host}/ws{self.query}", origin=origin))
        assert json.loads(page.recv())["type"] == "welcome"
        return page

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://{self.host}{path}{self.query}") as answer:
            return json.load(answer)


@contextlib.contextmanager
def running(folder: Path, *options: str) -> Iterator[Process]:
    server = Process(folder, *options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        server.pages.close()


def send(page: ClientConnection, **fields: Any) -> None:
    page.send(json.dumps(fields))


def until(page: ClientConnection, type: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = json.loads(page.recv(timeout=60))
        assert message["type"] != "error", message
        if message["type"] == type:
            return message


@pytest.mark.parametrize("model", ["random:3", "default"])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_shutdown_takes_a_second_whatever_is_running(
    tmp_path: Path, sig: signal.Signals, model: str
) -> None:
    with running(tmp_path, "--model", model) as server:
        page = server.page()
        send(page, type="analyse", id=1, position="startpos")
        send(page, type="study", id=2, games=[{"position": GAME}], nodes=100_000)
        until(page, "analysis")
        started = time.monotonic()
        server.process.send_signal(sig)
        assert server.process.wait(10) == 128 + sig
        assert time.monotonic() - started < 2.5  # a second, on an idle machine


def test_pages_that_vanish_print_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        for tenth_ms in range(0, 200, 20):
            page = server.page()
            for number in range(300):
                send(page, type="ping", id=number)
            time.sleep(tenth_ms / 10_000)
            page.socket.shutdown(socket.SHUT_RDWR)  # unread answers reset the connection
            page.socket.close()
        assert server.get("/api/games")["total"] == 0
        server.process.send_signal(signal.SIGINT)
        assert server.process.stdout is not None
        # Not `communicate`: it loses lines that `readline` has read ahead.
        output = server.process.stdout.read()
        server.process.wait(30)
    assert [line for line in output.splitlines() if line] == ["Ctrl-C ends it", "interrupted"]


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"\x16\x03\x01\x02\x00", b"400"),
        (b"GET / HTTP/1.1\r\nHost: \xff\r\nA\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"200"),
    ],
    ids=["TLS", "no HTTP", "HTTP/2"],
)
def test_clients_of_other_protocols_print_nothing(
    tmp_path: Path, request_text: bytes, status: bytes
) -> None:
    with running(tmp_path) as server:
        host, port = server.host.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(request_text.replace(b"HOST", server.host.encode()))
            assert client.recv(100).startswith(b"HTTP/1.1 %s " % status)
        server.process.terminate()
        server.process.wait(10)
        assert server.process.stdout is not None
        output = server.process.stdout.read()
    assert [line for line in output.splitlines() if line] == ["Ctrl-C ends it", "terminated"]


def test_a_server_killed_during_an_analysis_loses_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        page = server.page()
        human = {"kind": "human"}
        send(page, type="game_start", id=1, black=human, white=human)
        game = until(page, "game")["game"]["game"]
        for number, move in enumerate(["7g7f", "3c3d", "2g2f"], 2):
            send(page, type="game_move", id=number, game=game, move=move)
            until(page, "ok")
        assert server.get(f"/api/games/{game}")["result"] is None
        (listed,) = server.get("/api/games")["games"]
        assert listed["end"] == ""
        send(page, type="study", id=9, games=[{"position": GAME}], nodes=400)
        found: list[dict[str, Any]] = []
        while len(found) < 10:
            message = until(page, "study")
            assert message["state"] == "running"
            found += message["found"]
        studied = message["games"][0]["game"]
        server.process.kill()
        server.process.wait()
    with running(tmp_path) as server:
        restored = server.get(f"/api/games/{game}")
        assert restored["moves"] == ["7g7f", "3c3d", "2g2f"]
        assert restored["result"]["reason"] == "interrupted"
        assert restored["summary"]["end"] == "interrupted"
        stored = server.get(f"/api/games/{studied}/study")
        by_ply = {result["ply"]: result for result in stored["found"]}
        assert all(by_ply[result["ply"]]["lines"] == result["lines"] for result in found)
        page = server.page()
        send(page, type="study", id=1, games=[{"game": studied}], nodes=400)
        first = until(page, "study")
        while first["total"] == 0 or not first["found"]:
            first = until(page, "study")
        assert len(first["found"]) >= len(found)


def test_the_lan_requires_the_token(tmp_path: Path) -> None:
    with running(tmp_path, "--lan") as server:
        assert server.query.startswith("?token=")
        assert server.get("/api/models")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://{server.host}/api/models")


def test_a_missing_model_is_an_error_at_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "komadori", "web", "--model", "nothing.onnx", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "nothing.onnx" in done.stderr


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "websockets", "segno"])
def test_a_missing_package_is_named_before_the_address(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(group, ["web", "--no-browser", "--model", "nothing.onnx"])
    assert done.exit_code == 1
    assert f"need the package {package}: pip install 'fastapi>=" in done.output


def stalled(host: str, from_address: str = "127.0.0.1") -> socket.socket:
    """Open a connection with an incomplete request."""
    address, port = host.split(":")
    connection = socket.create_connection((address, int(port)), 20, (from_address, 0))
    connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
    return connection


def is_closed(connection: socket.socket, timeout_s: float) -> bool:
    connection.settimeout(timeout_s)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the address 127.0.0.2")
def test_stalled_connections_do_not_block_other_addresses(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        limit = min(MAX_PER_ADDRESS, max_connections() - 8)
        connections = [stalled(server.host) for _ in range(limit + 10)]
        try:
            assert is_closed(connections[-1], 5)
            other = stalled(server.host, "127.0.0.2")
            other.sendall(f"{server.host}\r\n\r\n".encode())
            assert other.recv(15) == b"HTTP/1.1 200 OK"
            other.close()
            assert is_closed(connections[0], HEADER_TIMEOUT_S + 5)
        finally:
            for connection in connections:
                connection.close()
        page = server.page()
        send(page, id=1, type="ping")
        until(page, "ok")
