"""A page's analysis: lines, candidates, the tree, threats."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from web_pages import Server

from komadori.inference import InferenceError
from komadori.web import live

IN_CHECK = "sfen 4k4/9/9/9/4r4/9/9/9/4K4 b - 1"
MATED = "sfen 4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1"


def test_lines_are_sorted_and_the_last_update_is_done(server: Server) -> None:
    with server.page() as page:
        request = page.send("analyse", position="startpos", nodes=200, multipv=3, candidates=40)
        done = page.until("analysis", id=request, state="done")
    assert [line["multipv"] for line in done["lines"]] == [1, 2, 3]
    assert done["turn"] == "black"
    assert done["nodes"] >= 200
    assert len(done["candidates"]) == 30
    assert sum(row["visits"] for row in done["candidates"]) <= done["root_visits"]
    assert sum(row["prior"] for row in done["candidates"]) == pytest.approx(1, abs=0.01)
    assert done["lines"][0]["visits"] == max(row["visits"] for row in done["candidates"])


def test_a_new_request_replaces_the_running_one(server: Server) -> None:
    with server.page() as page:
        first = page.send("analyse", position="startpos")
        page.until("analysis", id=first, state="running")
        second = page.send("analyse", position="startpos moves 7g7f", nodes=50)
        assert page.until("analysis", id=second, state="done")["turn"] == "white"
        page.ask("stop", "ok")


def test_stop_ends_an_unlimited_search(server: Server) -> None:
    with server.page() as page:
        request = page.send("analyse", position="startpos")
        page.until("analysis", id=request, state="running")
        page.send("stop")
        page.until("analysis", id=request, state="done")


def test_a_page_closed_while_its_search_stops_frees_its_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def search(_: live.Analysis, request: Any, stop: threading.Event) -> Any:
        while not stop.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # a search takes a while to stop
        ended.set()
        raise InferenceError("stopped")

    def freed(analysis: live.Analysis) -> None:
        assert ended.is_set(), "the search still used the memory"
        release(analysis)
        is_free.set()

    ended, is_free, release = threading.Event(), threading.Event(), live.Analysis._release
    monkeypatch.setattr(live.Analysis, "_search", search)
    monkeypatch.setattr(live.Analysis, "_release", freed)
    with server.page() as page:
        page.send("analyse", position="startpos")
        page.ask("ping", "ok")
        page.send("stop")
        page.ask("ping", "ok")
        page._socket.close(1000)
        assert is_free.wait(5)


def test_the_tree_agrees_with_the_candidates(server: Server) -> None:
    with server.page() as page:
        request = page.send("analyse", position="startpos", nodes=300, candidates=600)
        done = page.until("analysis", id=request, state="done")
        root = page.ask("tree", "tree")
        assert root["visits"] == done["root_visits"]
        candidates = {row["move"]: row for row in done["candidates"]}
        for row in root["moves"]:
            assert row["visits"] == candidates[row["move"]]["visits"]
            if row["visits"]:
                assert row["value"] == pytest.approx(candidates[row["move"]]["value"], abs=1e-3)
        best = root["moves"][0]
        child = page.ask("tree", "tree", path=[best["move"]])
        assert child["turn"] == "white"
        assert child["found"]
        assert child["value"] == pytest.approx(1 - best["value"], abs=0.02)


def test_threats_are_the_opponents_moves(server: Server) -> None:
    with server.page() as page:
        found = page.ask("threats", "threats", position="startpos moves 7g7f 3c3d", nodes=50)
        assert found["available"]
        rank = found["lines"][0]["pv"][0][1]
        assert rank in "abc"  # White's pieces stand there
        in_check = page.ask("threats", "threats", position=IN_CHECK)
        assert (in_check["available"], in_check["reason"]) == (False, "check")


def test_a_finished_game_is_reported(server: Server) -> None:
    with server.page() as page:
        done = page.ask("analyse", "analysis", position=MATED)
        assert (done["state"], done["outcome"], done["win_rate"]) == ("done", "checkmate", 0.0)


@pytest.mark.parametrize(
    ("position", "code"),
    [
        ("startpos moves 7g7e", "bad_position"),
        ("startpos moves xyz", "bad_position"),
        ("nonsense", "bad_position"),
        ("sfen 9/9/9/9/9/9/9/9/8 b - 1", "bad_position"),
        ("startpos moves " + "7g7f " * 2500, "bad_position"),
    ],
)
def test_an_invalid_position_is_refused(server: Server, position: str, code: str) -> None:
    with server.page() as page:
        refused = page.ask("analyse", "error", position=position)
        assert refused["code"] == code
        assert refused["message"]


def test_an_unknown_model_is_refused(server: Server) -> None:
    with server.page() as page:
        refused = page.ask("analyse", "error", position="startpos", model="../../etc/passwd")
        assert refused["code"] == "unknown_model"
