"""Reconnecting pages: sessions that continue, messages that are repeated."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from web_pages import Page, Server, make_server

from komadori.web import live, session
from komadori.web.errors import RefusedError
from komadori.web.shapes import Shape


def _session(page: Page) -> str:
    return str(page.welcome["session"])


def test_a_reconnecting_page_resumes_its_search(server: Server) -> None:
    context = server.page()
    with context as page:
        request = page.send("analyse", position="startpos")
        page.until("analysis", id=request)
        key = _session(page)
        with server.page(key) as resumed:
            assert resumed.welcome["resumed"]
            assert resumed.welcome["session"] == key
            assert resumed.until("analysis", id=request)["state"] == "running"
            resumed.ask("stop", "ok")


def _lose(page: Page) -> None:
    """Lose the connection; the page hasn't been closed."""
    page._socket.close(1006)


def test_a_lost_connection_keeps_the_search_for_a_minute_and_frees_it_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SESSION_TTL_S", 3.0)
    freed = threading.Event()
    release = live.Analysis._release
    monkeypatch.setattr(live.Analysis, "_release", lambda a: (release(a), freed.set()))
    with make_server(tmp_path) as client:
        server = Server(client)
        with server.page() as page:
            request = page.send("analyse", position="startpos")
            nodes = page.until("analysis", id=request)["nodes"]
            key = _session(page)
            _lose(page)
        time.sleep(1)
        with server.page(key) as page:
            assert page.welcome["resumed"]
            assert page.until("analysis", id=request)["nodes"] > nodes
            _lose(page)
        assert not freed.wait(1)
        assert freed.wait(20)
        with server.page(key) as page:
            assert not page.welcome["resumed"]


def test_a_session_that_ends_during_a_short_search_frees_its_searchers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SESSION_TTL_S", 1.0)
    freed = threading.Event()
    release = live.Analysis._release
    monkeypatch.setattr(live.Analysis, "_release", lambda a: (release(a), freed.set()))
    with make_server(tmp_path) as client:
        with Server(client).page() as page:
            page.send("threats", position="startpos", nodes=10_000_000)
            page.ask("ping", "ok")
            time.sleep(0.5)
            _lose(page)
        assert freed.wait(20)


def test_a_short_search_that_fails_after_its_page_has_gone_logs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(session, "SESSION_TTL_S", 0.5)
    begun, stopped = threading.Event(), threading.Event()

    def fail(*_arguments: Any, **_options: Any) -> None:
        begun.set()
        stopped.wait(20)
        raise RefusedError("failed", "a damaged model")

    monkeypatch.setattr(live.PageSearcher, "prepare", fail)
    release = live.Analysis._release
    freed = threading.Event()
    monkeypatch.setattr(live.Analysis, "_release", lambda a: (release(a), freed.set()))
    with make_server(tmp_path) as client:
        with Server(client).page() as page:
            page.send("threats", position="startpos", engine="model")
            assert begun.wait(20)
            _lose(page)
        time.sleep(1.5)  # its request is cancelled
        stopped.set()
        assert freed.wait(20)
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_messages_that_a_lost_connection_swallowed_are_repeated(server: Server) -> None:
    with server.page() as page:
        key = _session(page)
        first = page.ask("network", "network", position="startpos")
        second = page.ask("network", "network", position="startpos moves 7g7f")
        with server.page(key, received=1) as again:  # the page hasn't received the second answer
            assert again.welcome["resumed"]
            assert again.welcome["received"] == second["id"]
            assert again.receive() == second
            assert first != second
            again.send_text(json.dumps({"type": "ping", "id": 9}))
            assert again.receive() == {"type": "ok", "id": 9}
            with server.page(key, received=3) as third:
                assert third.welcome["resumed"]
                assert third.welcome["received"] == 9


@pytest.mark.parametrize("received", ["x", "-1", "1e9", "9" * 5000, "٣"])
def test_a_wrong_number_of_received_messages_repeats_nothing(server: Server, received: str) -> None:
    with server.page() as page:
        key = _session(page)
        page.ask("ping", "ok")
        with server.page(key, received=received) as again:
            assert again.welcome["resumed"]
            assert again.ask("ping", "ok")["type"] == "ok"


def test_a_session_with_a_gap_is_not_resumed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_KEPT", 2)
    with server.page() as page:
        key = _session(page)
        for _ in range(4):
            page.ask("ping", "ok")
        with server.page(key, received=1) as again:  # the second answer is no longer known
            assert not again.welcome["resumed"]
    with server.page() as page:
        key = _session(page)
        with server.page(key, received=7) as again:  # more than were sent
            assert not again.welcome["resumed"]


def test_further_pages_get_less_memory(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    make = live.Analysis

    def analysis(*args: Any) -> live.Analysis:
        given.append(args[-1])
        return make(*args)

    monkeypatch.setattr(session, "Analysis", analysis)
    monkeypatch.setattr(session, "FULL_MEMORY_PAGES", 1)
    with server.page(), server.page() as second:
        request = second.send("analyse", position="startpos")
        assert second.until("analysis", id=request)["state"] == "running"
    assert given == [live.MEMORY_MB, live.SMALL_MEMORY_MB]


class Text(Shape):
    text: str


def test_repeated_messages_come_first_and_give_way_to_newer_ones() -> None:
    async def check() -> None:
        box = session.Outbox()

        def put(text: str, key: str | None = None) -> None:
            box.put(Text(text=text), key)

        async def texts(number: int) -> list[str]:
            return [json.loads(await box.get())["text"] for _ in range(number)]

        for number in range(3):
            put(f"progress {number}", "progress")
            assert await texts(1) == [f"progress {number}"]
            put(f"answer {number}")
            assert await texts(1) == [f"answer {number}"]
        put("later")
        assert box.repeat(1)
        assert await texts(4) == ["answer 0", "answer 1", "progress 2", "answer 2"]
        assert await texts(1) == ["later"]
        assert box.repeat(5)
        assert await texts(1) == ["later"]
        put("progress 3", "progress")
        assert box.repeat(1)
        assert await texts(5) == ["answer 0", "answer 1", "answer 2", "later", "progress 3"]

    asyncio.run(check())


def test_a_page_that_does_not_read_is_disconnected_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "MAX_QUEUED_CHARS", 10_000)
    monkeypatch.setattr(session, "BUSY_CHARS", 2_000)

    async def check() -> None:
        box = session.Outbox()
        for _ in range(100):  # newer messages replace the older ones
            box.put(Text(text="x" * 5000), "progress")
        assert not box.has_overflowed
        waiting = asyncio.ensure_future(box.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        await box.get()
        await asyncio.wait_for(waiting, 5)
        for _ in range(2):
            box.put(Text(text="x" * 5000), None)
            assert not box.has_overflowed
        box.put(Text(text="x"), None)
        assert box.has_overflowed

    asyncio.run(check())


def test_sessions_that_wait_for_their_page_are_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each holds the memory of its search for a minute."""
    monkeypatch.setattr(session, "MAX_WAITING", 3)
    keys = []
    for _ in range(6):
        with server.page() as page:
            page.ask("ping", "ok")
            keys.append(_session(page))
            _lose(page)
    resumed = []
    for key in keys:
        with server.page(key) as page:
            resumed.append(page.welcome["resumed"])
    assert resumed == [False, False, False, True, True, True]


def test_closing_a_page_ends_its_session(server: Server) -> None:
    with server.page() as page:
        request = page.send("analyse", position="startpos")
        page.until("analysis", id=request)
        key = _session(page)
    with server.page(key) as resumed:
        assert not resumed.welcome["resumed"]


def test_an_unknown_session_is_not_resumed(server: Server) -> None:
    with server.page("../../x") as page:
        assert not page.welcome["resumed"]
        assert page.welcome["session"] != "../../x"
