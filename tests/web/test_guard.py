"""Access control: hosts, origins, tokens, sizes, paths, hostile messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect
from web_pages import ORIGIN, Server, make_server

from komadori.web.guard import MAX_BODIES_BYTES, MAX_BODY_BYTES, Access, Guard
from komadori.web.session import MAX_MESSAGE_BYTES

TOKEN = "aTokenOfTheTests"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[TestClient]:
    with make_server(tmp_path, token=TOKEN) as client:
        yield client


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.9", ""])
def test_other_hosts_are_refused(server: Server, host: str) -> None:
    assert server.http.get("/api/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1.evil.example",
        "null",
        "http://127.0.0.1:9999",
        "http://[127.0.0.1",
        "http://a]b",
    ],
)
def test_foreign_origins_are_refused(server: Server, origin: str) -> None:
    assert server.http.get("/api/models", headers={"origin": origin}).status_code == 403
    refused = server.http.post("/api/games", json={}, headers={"origin": origin})
    assert refused.status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as caught,
        server.http.websocket_connect("ws://127.0.0.1/ws", headers={"origin": origin}),
    ):
        pass
    assert caught.value.code == 1008


def test_a_websocket_needs_an_origin(server: Server) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        server.http.websocket_connect("ws://127.0.0.1/ws"),
    ):
        pass


def test_requests_from_other_sites_without_an_origin_are_refused(server: Server) -> None:
    refused = server.http.get("/api/games", headers={"sec-fetch-site": "cross-site"})
    assert refused.status_code == 403


@pytest.mark.parametrize("given", ["", "?token=", "?token=wrong", f"?token={TOKEN}x"])
def test_wrong_tokens_are_refused(guarded: TestClient, given: str) -> None:
    for path in ("/", "/api/models", "/api/games", "/nothing"):
        assert guarded.get(path + given).status_code == 401
    with (
        pytest.raises(WebSocketDisconnect),
        guarded.websocket_connect(f"ws://127.0.0.1/ws{given}", headers={"origin": ORIGIN}),
    ):
        pass


def test_the_token_becomes_a_cookie(guarded: TestClient) -> None:
    first = guarded.get(f"/?token={TOKEN}", follow_redirects=False)
    assert first.status_code == 303
    assert first.headers["location"] == "/"
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert guarded.get("/api/models").status_code == 200
    with guarded.websocket_connect("ws://127.0.0.1/ws", headers={"origin": ORIGIN}) as socket:
        assert json.loads(socket.receive_text())["type"] == "welcome"


def test_responses_have_security_headers(server: Server) -> None:
    headers = server.http.get("/api/models").headers
    assert "frame-ancestors" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_oversized_uploads_are_refused(server: Server) -> None:
    data = b"x" * (MAX_BODY_BYTES + 1)
    assert server.http.post("/api/records", content=data).status_code == 413

    def parts() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * (MAX_BODY_BYTES // 8)

    assert server.http.post("/api/records", content=parts()).status_code == 413
    assert server.http.get("/api/models").status_code == 200


def test_unfinished_uploads_share_a_budget() -> None:
    """Two hundred of them held 1.6 GB until they timed out."""

    async def keep_body(scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        await PlainTextResponse(str(len(body)))(scope, receive, send)

    guard = Guard(keep_body, Access(frozenset({"testserver"})))

    async def upload(parts: list[bytes], end: asyncio.Event) -> int:
        """Send parts and, after `end`, the end of the body; return the status."""
        status = 0
        waiting = [*parts]

        async def receive() -> Message:
            if waiting:
                return {"type": "http.request", "body": waiting.pop(0), "more_body": True}
            started.release()
            await end.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)

        scope = {
            "type": "http", "method": "POST", "path": "/api/records", "query_string": b"",
            "headers": [(b"host", b"testserver")],
        }  # fmt: skip
        await guard(scope, receive, send)
        return status

    started = asyncio.Semaphore(0)

    async def attack() -> None:
        size, end, at_once = MAX_BODY_BYTES // 8, asyncio.Event(), asyncio.Event()
        at_once.set()
        fit = MAX_BODIES_BYTES // MAX_BODY_BYTES
        held = [asyncio.create_task(upload([b"x" * size] * 8, end)) for _ in range(fit)]
        for _ in held:
            await started.acquire()
        refused = [await upload([b"x" * size] * 8, at_once) for _ in range(200)]
        assert set(refused) == {503}
        assert await upload([b"x" * 1000], at_once) == 200  # the interface still works
        end.set()
        assert set(await asyncio.gather(*held)) == {200}
        assert await upload([b"x" * size] * 8, at_once) == 200  # released
        broken = asyncio.create_task(upload([b"x" * size] * 8, asyncio.Event()))
        await asyncio.sleep(0)
        broken.cancel()
        (ended,) = await asyncio.gather(broken, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)  # not after the time-out
        again = [await upload([b"x" * size] * 8, at_once) for _ in range(fit + 1)]
        assert set(again) == {200}

    asyncio.run(attack())


@pytest.mark.parametrize("name", ["a.exe", "a.zip", "a.hcpe3", "a.kif.gz", "../../x.sh"])
def test_uploads_of_other_types_are_refused(server: Server, name: str) -> None:
    refused = server.http.post("/api/records", params={"name": name}, content=b"MZ\x90")
    assert refused.status_code == 422
    # Not "bad_position": the page would say that a position is not valid.
    assert refused.json()["code"] == "bad_record"


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fetc/passwd",
        "/assets/..%2f..%2fapp.py",
        "/%2e%2e/%2e%2e/app.py",
        "/api/lab/..%2f..%2fetc%2fpasswd",
        "/api/lab//etc/passwd",
        "/api/runs/..%2f../log",
        "/api/runs/x/report/..%2f..%2flog.jsonl",
        "/api/matches/%2fetc/games",
        "/api/games/..%2f1",
        "/static/../app.py",
    ],
)
def test_path_traversal_is_refused(server: Server, path: str) -> None:
    answer = server.http.get(path)
    assert answer.status_code in (404, 422)
    assert "root:" not in answer.text
    assert "import" not in answer.text


HOSTILE = [
    "",
    "{",
    "[]",
    "null",
    "7",
    '"analyse"',
    "{}",
    '{"type": "analyse"}',
    '{"type": "analyse", "id": "x", "position": "startpos"}',
    '{"type": "analyse", "id": -1, "position": "startpos"}',
    '{"type": "analyse", "id": 1e400, "position": "startpos"}',
    '{"type": "analyse", "id": 1, "position": 5}',
    '{"type": "analyse", "id": 1, "position": "startpos", "extra": 1}',
    '{"type": "analyse", "id": 1, "position": "startpos", "multipv": 0}',
    '{"type": "analyse", "id": 1, "position": "startpos", "multipv": 999999999}',
    '{"type": "analyse", "id": 1, "position": "startpos", "nodes": true}',
    '{"type": "__class__", "id": 1}',
    '{"type": "tree", "id": 1, "path": ["7g7f; rm -rf /"]}',
    '{"type": "tree", "id": 1, "path": [' + '"7g7f",' * 5000 + '"7g7f"]}',
    '{"type": "study", "id": 1, "games": []}',
    '{"type": "study", "id": 1, "games": [{"comments": {"-1": "x"}}]}',
    '{"type": "study", "id": 1, "games": [{"comments": {"1000000000000000000000": "x"}}]}',
    '{"type": "game_move", "id": 1, "game": 1, "move": "0000"}',
    "[" * 100_000,
    '{"type": "analyse", "id": 1, "position": "' + "\\ud800" + '"}',
    "\x00\x01\x02",
]


def test_hostile_messages_are_refused_and_the_server_survives(server: Server) -> None:
    with server.page() as page:
        for text in HOSTILE:
            page.send_text(text)
            refused = page.receive()
            assert refused["type"] == "error", text[:80]
            assert len(refused["message"]) < 1000
            assert "Traceback" not in refused["message"]
        page.send_text("x" * (MAX_MESSAGE_BYTES + 1))
        assert page.receive()["code"] == "bad_message"
        assert page.ask("ping", "ok")
        done = page.ask("analyse", "analysis", position="startpos", nodes=10)
        assert done["id"]


def test_a_binary_message_ends_only_its_connection(server: Server) -> None:
    with server.http.websocket_connect("ws://127.0.0.1/ws", headers={"origin": ORIGIN}) as socket:
        socket.receive_text()
        socket.send_bytes(b"\x00\xff")
    with server.page() as page:
        assert page.ask("ping", "ok")


def test_a_flood_of_requests_is_limited(server: Server) -> None:
    with server.page() as page:
        request = {"type": "hint", "id": 1, "game": 1}
        for number in range(300):
            page.send_text(json.dumps({**request, "id": number}))
        codes = {page.receive()["code"] for _ in range(300)}
        assert codes <= {"unknown_name", "too_many"}
        assert page.ask("ping", "ok")


def test_html_in_records_is_served_as_json(server: Server) -> None:
    evil: dict[str, Any] = {
        "position": "startpos moves 7g7f",
        "black": "<script>alert(1)</script>",
        "comments": {"1": "<img src=x onerror=alert(1)>"},
    }
    number = server.http.post("/api/games", json=evil).json()["game"]
    stored = server.http.get(f"/api/games/{number}")
    assert stored.headers["content-type"].startswith("application/json")
    assert stored.json()["summary"]["black"] == evil["black"]
