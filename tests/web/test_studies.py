"""Analyses of whole games: stored and resumed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from web_pages import Page, Server, make_server

GAME = "startpos moves 7g7f 3c3d 8h2b+ 3a2b B*5e 2b3c"


def study(page: Page, **fields: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Any]:
    """Run a study; return its results, mistakes and last message."""
    request = page.send("study", **{"games": [{"position": GAME}], "nodes": 30, **fields})
    found, mistakes = [], []
    while True:
        message = page.until("study", id=request)
        found += message["found"]
        mistakes += message["mistakes"]
        if message["state"] != "running":
            return found, mistakes, message


def test_every_position_is_analysed_once(server: Server) -> None:
    with server.page() as page:
        found, mistakes, last = study(page)
    assert last["state"] == "done"
    assert sorted(result["ply"] for result in found) == list(range(7))
    assert (last["done"], last["total"]) == (7, 7)
    assert all(result["visits"] >= 30 or result["lines"][0]["mate_plies"] for result in found)
    assert all(mistake["loss"] >= 0.05 for mistake in mistakes)
    number = last["games"][0]["game"]
    stored = server.http.get(f"/api/games/{number}/study").json()
    assert sorted(stored["found"], key=lambda f: f["ply"]) == sorted(found, key=lambda f: f["ply"])
    assert stored["mistakes"] == mistakes


def test_several_games_share_a_study(server: Server) -> None:
    with server.page() as page:
        games = [{"position": GAME}, {"position": "startpos moves 2g2f 8c8d"}]
        found, _, last = study(page, games=games)
    assert {result["game"] for result in found} == {game["game"] for game in last["games"]}
    assert last["total"] == 10


def test_duplicate_games_are_searched_once_and_reported_in_order(server: Server) -> None:
    with server.page() as page:
        other = {"position": "startpos moves 2g2f 8c8d"}
        found, _, last = study(page, games=[{"position": GAME}, {"position": GAME}, other])
    first, again, third = last["games"]
    assert first == again
    assert (first["plies"], third["plies"]) == (6, 2)
    assert last["total"] == len(found) == 10
    assert sum(result["game"] == third["game"] for result in found) == 3


def test_each_of_two_equal_games_of_the_library_gets_its_analysis(server: Server) -> None:
    game = {"position": GAME, "black": "a", "white": "b"}
    copies = [server.http.post("/api/games", json=game).json()["game"] for _ in range(2)]
    with server.page() as page:
        for number in reversed(copies):
            _, _, last = study(page, games=[{**game, "game": number}])
            assert last["games"][0]["game"] == number
        # Other moves than those stored are another game.
        _, _, last = study(page, games=[{**game, "position": GAME + " 5e3c+", "game": copies[0]}])
        assert last["games"][0]["game"] not in copies
    for number in copies:
        stored = server.http.get(f"/api/games/{number}/study").json()
        assert {result["game"] for result in stored["found"]} == {number}
        assert stored["done"] == 7


def test_another_server_reuses_stored_results(tmp_path: Path) -> None:
    with make_server(tmp_path) as client, Server(client).page() as page:
        first, _, _ = study(page)
    with make_server(tmp_path) as client, Server(client).page() as page:
        again = page.ask("study", "study", games=[{"position": GAME}], nodes=30)
        while again["state"] == "running" and not again["found"]:
            again = page.until("study")
        assert len(again["found"]) == 7  # all at once: nothing was searched
        assert [f["lines"] for f in sorted(again["found"], key=lambda f: f["ply"])] == [
            f["lines"] for f in sorted(first, key=lambda f: f["ply"])
        ]


def test_a_report_tells_what_the_record_of_the_page_does(server: Server) -> None:
    headers = {"event": "名人戦", "site": "羽田", "start_time": "2010/05/05 10:00"}
    told = {"headers": headers, "comments": {"1": "ここで長考"}}
    with server.page() as page:
        _, _, last = study(page, games=[{"position": GAME, **told}])
    number = last["games"][0]["game"]
    report = server.http.get(f"/api/games/{number}/report.html").text
    assert all(text in report for text in ("名人戦", "羽田", "ここで長考"))
    record = server.http.get(f"/api/games/{number}/record?studied=true").content.decode()
    assert "棋戦：名人戦" in record
    assert "*ここで長考" in record
    (row,) = server.http.get("/api/games").json()["games"]
    assert (row["title"], row["started"]) == ("名人戦", "2010/05/05 10:00")
    for text, total in (("名人", 1), ("王将", 0)):
        assert server.http.get("/api/games", params={"q": text}).json()["total"] == total


def test_an_analysed_game_that_is_saved_keeps_its_analysis(server: Server) -> None:
    with server.page() as page:
        _, _, last = study(page, games=[{"position": GAME, "black": "甲"}])
    number = last["games"][0]["game"]
    saved = {"position": GAME, "black": "甲", "title": "x.kif"}
    assert server.http.post("/api/games", json=saved).json()["game"] == number
    (row,) = server.http.get("/api/games").json()["games"]
    assert (row["source"], row["title"], row["is_studied"]) == ("saved", "x.kif", True)
    # Another saved game of these moves is a game of its own.
    assert server.http.post("/api/games", json=saved).json()["game"] != number


def test_an_analysed_game_that_is_imported_gets_its_record_and_keeps_its_analysis(
    server: Server,
) -> None:
    with server.page() as page:
        _, _, last = study(page, games=[{"position": "startpos moves 7g7f", "black": "甲"}])
    number = last["games"][0]["game"]
    text = "先手：甲\n   1 ７六歩(77) ( 0:12/00:00:12)\n   2 投了\n\n変化：1手\n   1 ２六歩(27)\n"
    address = "/api/records?keep=true&name=a.kif"
    answers = [server.http.post(address, content=text.encode()).json() for _ in range(2)]
    found = [(game["game"], game["is_new"]) for answer in answers for game in answer["games"]]
    assert found == [(number, True), (number, False)]
    stored = server.http.get(f"/api/games/{number}").json()
    assert (stored["record"], stored["times_ms"]) == (text, [12_000])
    (row,) = server.http.get("/api/games").json()["games"]
    assert (row["source"], row["is_studied"]) == ("imported", True)


def test_a_study_is_stopped(server: Server) -> None:
    moves = " ".join(["4i4h", "6a6b", "4h4i", "6b6a"] * 20)
    with server.page() as page:
        games = [{"position": f"startpos moves 2g2f 8c8d {moves}"}]
        request = page.send("study", games=games, nodes=100_000)
        running = page.until("study", id=request)
        page.send("study_stop", study=running["study"])
        while (last := page.until("study", id=request))["state"] == "running":
            pass
        assert last["state"] == "stopped"
        assert last["done"] < last["total"]


def test_a_game_of_the_page_keeps_its_record(server: Server) -> None:
    """Its times and variations, which a page opened again would lack."""
    record = (
        "手合割：平手\n   1 ７六歩(77)   ( 0:07/00:00:07)\n   2 ３四歩(33)   ( 0:05/00:00:05)\n"
    )
    record += "\n変化：2手\n   2 ８四歩(83)   ( 0:03/00:00:03)\n"
    lean = {"position": "startpos moves 7g7f 3c3d"}
    with server.page() as page:
        numbers = [
            study(page, games=[{**lean, "record": text}])[2]["games"][0]["game"]
            for text in ("", "junk", record.replace("33", "43").replace("３四", "４四"), record)
        ]
        known = study(page, games=[lean])[2]["games"][0]["game"]
    assert numbers == [known] * 4
    stored = server.http.get(f"/api/games/{known}").json()
    assert (stored["record"], stored["times_ms"]) == (record, [7000, 5000])


def test_records_and_reports_contain_the_analysis(server: Server) -> None:
    with server.page() as page:
        _, _, last = study(page)
    number = last["games"][0]["game"]
    kif = server.http.get(f"/api/games/{number}/record?format=kif&studied=true")
    assert "評価値=" in kif.content.decode()
    assert "attachment" in kif.headers["content-disposition"]
    csa = server.http.get(f"/api/games/{number}/record?format=csa&studied=true").content.decode()
    assert "'** " in csa
    shift_jis = server.http.get(f"/api/games/{number}/record?encoding=cp932").content
    assert "手数" in shift_jis.decode("cp932")
    report = server.http.get(f"/api/games/{number}/report.html")
    assert report.status_code == 200
    assert "sandbox" in report.headers["content-security-policy"]
    assert re.search(r"komadori web, [^\"]+, \d+ nodes per position", report.text)
    assert re.search(r"komadori web、[^\"]+、1局面あたり[\d,]+ノード", report.text)


def test_a_report_says_how_it_was_made_as_pages_of_analyse_do(server: Server) -> None:
    with server.page() as page:
        _, _, last = study(page, nodes=1_000, games=[{"position": "startpos moves 7g7f"}])
    number = last["games"][0]["game"]
    report = server.http.get(f"/api/games/{number}/report.html").text
    assert "1,000 nodes per position" in report
    assert '"engine":""' in report  # the record names no engine of an analysis in its comments


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"nodes": 5, "seconds": 1.0}, "not_possible"),
        ({"model": "nothing"}, "unknown_model"),
    ],
)
def test_a_wrong_study_is_refused(server: Server, fields: dict[str, Any], code: str) -> None:
    with server.page() as page:
        given = {"games": [{"position": GAME}], "nodes": 5, **fields}
        assert page.ask("study", "error", **given)["code"] == code


def test_a_study_of_an_unknown_game_fails_with_a_message(server: Server) -> None:
    with server.page() as page:
        _, _, last = study(page, games=[{"game": 4711}])
    assert (last["state"], last["message"]) == ("failed", "no game 4711")


def test_a_game_that_is_deleted_during_a_study_leaves_the_others_their_results(
    server: Server,
) -> None:
    games = [{"position": "startpos moves 7g7f"}, {"position": GAME}]
    with server.page() as page:
        request = page.send("study", games=games, nodes=20_000)
        while not (message := page.until("study", id=request))["found"]:
            pass
        deleted, other = (game["game"] for game in message["games"])
        assert server.http.delete(f"/api/games/{deleted}").status_code == 204
        while message["state"] == "running":
            message = page.until("study", id=request)
        assert (message["state"], message["message"]) == ("done", "")
        # The study is complete, so one of more nodes that has only begun doesn't replace it.
        request = page.send("study", games=[{"game": other}], nodes=1_000_000)
        page.send("study_stop", study=page.until("study", id=request)["study"])
        while page.until("study", id=request)["state"] == "running":
            pass
    stored = server.http.get(f"/api/games/{other}/study").json()
    assert (stored["done"], stored["effort"]) == (7, "20000 nodes")


def test_two_studies_of_a_game_take_turns(server: Server) -> None:
    """As those of two pages, or one that begins while a stopped one ends."""
    game = {"position": GAME}
    with server.page() as page:
        requests = [page.send("study", games=[game, game], nodes=1000) for _ in range(2)]
        last: dict[int, dict[str, Any]] = {}
        while len(last) < 2:
            message = page.until("study")
            if message["state"] != "running":
                last[message["id"]] = message
        assert [last[request]["state"] for request in requests] == ["done", "done"], last
        # One that is stopped while it waits ends at once.
        requests = [page.send("study", games=[game], nodes=10_000_000) for _ in range(2)]
        names: dict[int, str] = {}
        while len(names) < 2:
            message = page.until("study")
            names[message["id"]] = message["study"]
        for request in reversed(requests):
            page.send("study_stop", study=names[request])
            while page.until("study", id=request)["state"] == "running":
                pass
