"""Pages that use the alpha-beta search with the bundled NNUE."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from web_pages import Page, Server, make_server

from komadori.usi.models import ENVIRONMENT
from komadori.web.page_searchers import NICENESS, ThreadBudget

GAME = "startpos moves 7g7f 3c3d 8h2b+ 3a2b B*5e 2b3c"


def test_updates_are_sent_until_stop(server: Server) -> None:
    with server.page() as page:
        request = page.send("analyse", position="startpos", engine="alphabeta", interval_ms=50)
        updates: list[dict[str, Any]] = []
        while len(updates) < 4 or not updates[-1]["lines"]:
            updates.append(page.until("analysis", id=request, state="running"))
        page.send("stop")
        done = page.until("analysis", id=request, state="done")
    assert [line["multipv"] for line in done["lines"]] == [1, 2, 3]
    assert (done["engine"], done["model"], done["candidates"]) == ("alphabeta", "", [])
    assert done["depth"] >= updates[-1]["depth"] > 0
    nodes = [update["nodes"] for update in updates]
    assert nodes == sorted(set(nodes))  # every update has new nodes
    assert len({line["pv"][0] for line in done["lines"]}) == 3


def test_a_node_limit_ends_a_search_and_a_network_follows(server: Server) -> None:
    with server.page() as page:
        limits = {"position": GAME, "nodes": 30_000}
        request = page.send("analyse", engine="alphabeta", **limits)
        done = page.until("analysis", id=request, state="done")
        assert 30_000 <= done["nodes"] < 40_000
        request = page.send("analyse", position=GAME, engine="model", nodes=50, candidates=5)
        done = page.until("analysis", id=request, state="done")
        assert (done["engine"], len(done["candidates"])) == ("model", 5)
        assert page.ask("tree", "tree")["visits"] == done["root_visits"]


def test_mates_and_finished_games_are_reported(server: Server) -> None:
    with server.page() as page:
        mate = "sfen 4k4/9/4G4/9/9/9/9/9/4K4 b G 1"
        request = page.send("analyse", position=mate, engine="alphabeta", nodes=5000)
        done = page.until("analysis", id=request, state="done")
        assert done["lines"][0]["mate_plies"] == 1
        mated = "sfen 4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1"
        done = page.ask("analyse", "analysis", position=mated, engine="alphabeta")
        assert (done["state"], done["outcome"], done["win_rate"]) == ("done", "checkmate", 0.0)
        entered = "sfen 4K4/+R+R+B+BGGSS1/LP7/9/9/9/9/9/4k4 b 2G2S4N3L17P 1"
        request = page.send("analyse", position=entered, engine="alphabeta", nodes=1000)
        done = page.until("analysis", id=request, state="done")
        assert (done["outcome"], done["win_rate"]) == ("declaration", 1.0)


def test_threats(server: Server) -> None:
    with server.page() as page:
        found = page.ask(
            "threats", "threats", position="startpos moves 7g7f 3c3d", engine="alphabeta"
        )
        assert found["lines"][0]["pv"][0][1] in "abc"  # White's pieces stand there
        assert found["lines"][0]["visits"] >= 50_000


def found_of(page: Page, **fields: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    request = page.send("study", games=[{"position": GAME}], engine="alphabeta", **fields)
    found: list[dict[str, Any]] = []
    while True:
        message = page.until("study", id=request)
        found += message["found"]
        if message["state"] != "running":
            return sorted(found, key=lambda result: result["ply"]), message


def test_game_analyses_are_stored(tmp_path: Path) -> None:
    with make_server(tmp_path) as client, Server(client).page() as page:
        first, last = found_of(page, nodes=2000)
        assert last["state"] == "done"
        assert [result["ply"] for result in first] == list(range(7))
        report = client.get(f"/api/games/{last['games'][0]['game']}/report.html?lang=en").text
        assert "GPSfish" in report  # the statement of the engine's strength
    with make_server(tmp_path) as client, Server(client).page() as page:
        again, _ = found_of(page, nodes=2000)
        assert again == first


def test_a_long_analysis_is_stopped_at_once(server: Server) -> None:
    with server.page() as page:
        game = [{"position": GAME}]
        request = page.send("study", games=game, engine="alphabeta", seconds=600)
        running = page.until("study", id=request)
        while running["total"] == 0:
            running = page.until("study", id=request)
        started = time.monotonic()
        page.send("study_stop", study=running["study"])
        while (last := page.until("study", id=request))["state"] == "running":
            pass
        assert last["state"] == "stopped"
        assert time.monotonic() - started < 10


def test_alphabeta_is_the_default_unless_a_network_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with make_server(tmp_path, model="") as client, Server(client).page() as page:
        assert page.welcome["default_engine"] == "alphabeta"
        request = page.send("analyse", position="startpos", nodes=1000)
        assert page.until("analysis", id=request, state="done")["engine"] == "alphabeta"
    with make_server(tmp_path) as client, Server(client).page() as page:
        assert page.welcome["default_engine"] == "model"
        refused = page.ask(
            "analyse", "error", position="startpos", engine="alphabeta", model="random:3"
        )
        assert refused["code"] == "not_possible"


def test_a_searching_engine_is_interrupted(server: Server) -> None:
    with server.page() as page:
        engine = {"kind": "engine", "player": "alphabeta"}
        clock = {"main_ms": 3_600_000, "byoyomi_ms": 0, "increment_ms": 0}
        human = {"kind": "human"}
        request = page.send("game_start", black=human, white=engine, clock=clock)
        game = page.until("game", id=request)["game"]["game"]
        page.ask("game_move", "ok", game=game, move="7g7f")
        time.sleep(0.2)
        started = time.monotonic()
        page.ask("game_action", "ok", game=game, action="take_back")
        page.ask("game_move", "ok", game=game, move="2g2f")
        page.ask("game_action", "ok", game=game, action="resign")
        assert time.monotonic() - started < 5


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness here")
def test_only_search_threads_have_a_lower_priority(server: Server) -> None:
    """A thread with a low priority that holds the GIL would stop the server."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with server.page() as first, server.page() as second:
        for page in (first, second):
            request = page.send("analyse", position="startpos", engine="alphabeta")
            while not page.until("analysis", id=request, state="running")["nodes"]:
                pass
        with_gil = {thread.native_id for thread in threading.enumerate()}
        tasks = {int(path.name) for path in Path("/proc/self/task").iterdir()}
        priorities = {
            name: [os.getpriority(os.PRIO_PROCESS, task) for task in group]
            for name, group in (("python", tasks & with_gil), ("others", tasks - with_gil))
        }
        assert set(priorities["python"]) == {nice}
        assert priorities["others"].count(min(nice + NICENESS, 19)) >= 2


def test_the_thread_budget_is_divided() -> None:
    budget = ThreadBudget(4)
    with budget.share() as first, budget.share() as second:
        assert (first, second) == (4, 2)
        with budget.share(), budget.share(), budget.share() as fifth:
            assert fifth == 1
    with budget.share() as alone:
        assert alone == 4
