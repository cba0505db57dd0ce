"""Ladders and loops in the HTTP API, and ladder players as opponents."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from web_pages import Server, make_server

from komadori.arena import play_match
from komadori.arena.game import Conditions, GameRecord
from komadori.arena.ladder import Ladder, make_settings
from komadori.generate.folder import GameFolder, StoredFacts, StoredGame
from komadori.generate.loop import GamesConfig, GateConfig, Loop, LoopConfig, Verdict

MOVES = ["7g7f", "3c3d", "2g2f"]


def make_ladder(path: Path) -> None:
    """Create a ladder with three playable players, one other, and 24 results."""
    with Ladder.create(path, make_settings(Conditions(nodes=30))) as ladder:
        ladder.add("strong", "model:random:3?nodes=50")
        ladder.add("weak", "random", anchor_elo=0.0)
        ladder.add("middle", "material", note="one ply")
        ladder.add("program", "usi:/bin/true")
        for n in range(24):
            a, b = (("strong", "weak"), ("strong", "middle"), ("program", "weak"))[n % 3]
            black, white = (a, b) if n % 2 else (b, a)
            loser = n % 8 == 0
            winner = "black" if (black == a) != loser else "white"
            ladder.insert(record(n, (black, white), winner), "test")


def record(index: int, names: tuple[str, str], winner: str) -> GameRecord:
    return GameRecord(
        index=index,
        opening=0,
        first_is_black=True,
        names=names,
        sfen="startpos",
        moves=MOVES,
        scores_cp=[None] * 3,
        times_ms=[1] * 3,
        opening_plies=0,
        winner=winner,
        reason="resignation",
    )


@pytest.mark.parametrize(
    ("conditions", "nodes"),
    [(Conditions(), 100), (Conditions(nodes=30), None), (Conditions(byoyomi_ms=9), None)],
)
def test_matches_and_ladders_state_the_default_effort(
    conditions: Conditions, nodes: int | None, tmp_path: Path
) -> None:
    with Ladder.create(tmp_path / "a.db", make_settings(conditions)):
        pass
    play_match("random", "random", games=2, conditions=conditions, out=tmp_path / "match")
    with make_server(tmp_path) as client:
        for kind in ("ladders", "matches"):
            (found,) = client.get(f"/api/{kind}").json()
            assert found["terms"]["default_nodes"] == nodes


def test_a_ladder_states_no_conditions_if_imported_games_had_others(tmp_path: Path) -> None:
    play_match("random", "material", games=2, nodes=30, out=tmp_path / "match")
    for nodes in (30, 20):
        with Ladder.create(tmp_path / f"{nodes}.db", make_settings(Conditions(nodes=nodes))) as new:
            new.import_match(tmp_path / "match")
    with make_server(tmp_path) as client:
        found = {ladder["title"]: ladder["terms"] for ladder in client.get("/api/ladders").json()}
    assert found["20"] is None
    assert found["30"]["nodes"] == 30


def test_a_player_added_while_a_ladder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "strength.db"
    make_ladder(path)
    added = []
    execute = Ladder._execute

    def slowly(self: Ladder, query: str, *values: Any) -> sqlite3.Cursor:
        if "games" in query or "players" in query:
            added.append(f"new{len(added)}")
            with monkeypatch.context() as patch:
                patch.setattr(Ladder, "_execute", execute)
                with Ladder(path) as other:
                    other.add(added[-1], f"random?name={added[-1]}")
                    other.insert(record(99, (added[-1], "weak"), "draw"), "test")
        return execute(self, query, *values)

    monkeypatch.setattr(Ladder, "_execute", slowly)
    with make_server(tmp_path) as client:
        (found,) = client.get("/api/ladders").json()
    assert {player["name"] for player in found["players"]} >= {"strong", "weak", "new0"}
    assert len(added) > 3


def test_a_ladder_has_ratings_and_its_players_are_opponents(tmp_path: Path) -> None:
    make_ladder(tmp_path / "strength.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    (tmp_path / "text.db").write_text("no database")
    with make_server(tmp_path) as client:
        (ladder,) = client.get("/api/ladders").json()
        assert (ladder["name"], ladder["title"], ladder["games"]) == ("strength.db", "strength", 24)
        players = {player["name"]: player for player in ladder["players"]}
        elos = [player["elo"] for player in ladder["players"]]
        assert elos == sorted(elos, reverse=True)
        assert players["weak"]["is_anchor"]
        assert players["weak"]["elo"] == 0.0
        assert players["strong"]["elo"] > 0.0 < players["strong"]["elo_error"]
        pairing = next(
            p for p in ladder["pairings"] if {p["player"], p["against"]} == {"strong", "weak"}
        )
        assert pairing["wins"] + pairing["draws"] + pairing["losses"] == 8

        games = client.get("/api/ladders/strength.db/games", params={"player": "strong"}).json()
        assert len(games) == 16
        assert all("strong" in (game["black"], game["white"]) for game in games)
        params = {"player": "strong", "against": "weak", "offset": 6}
        last = client.get("/api/ladders/strength.db/games", params=params).json()
        assert len(last) == 2
        assert last[0]["index"] > last[1]["index"]
        for wrong in ("other.db/games", "nothing/games", "strength.db/games?player=nobody"):
            assert client.get(f"/api/ladders/{wrong}").status_code == 404

        offered = {p["id"]: p for p in client.get("/api/players").json()["players"]}
        levels = offered["ladder:strength.db"]["levels"]
        assert [level["label"] for level in levels] == sorted(
            ("strong", "middle", "weak"), key=lambda name: players[name]["elo"]
        )
        rated = {level["playouts"]: level["elo"] for level in offered["model:random:3"]["levels"]}
        assert rated[50] == players["strong"]["elo"]
        assert rated[800] is None


def test_a_rating_selects_the_player(tmp_path: Path) -> None:
    make_ladder(tmp_path / "strength.db")
    with make_server(tmp_path) as client, Server(client).page() as page:
        seats: list[Any] = []
        for opponent in (
            {"player": "ladder:strength.db", "elo": 0.0},
            {"player": "ladder:strength.db", "elo": 5000.0},
            {"player": "model:random:3", "elo": 3000.0, "name": "標準"},
        ):
            black = {"kind": "engine", **opponent}
            request = page.send("game_start", black=black, white={"kind": "human"})
            game = page.until("game", id=request)["game"]
            seats.append(game["black"]["name"])
            page.ask("game_action", "ok", game=game["game"], action="stop")
        assert seats == ["weak", "strong", "標準"]
        black = {"kind": "engine", "player": "ladder:nothing", "elo": 1.0}
        refused = page.ask("game_start", "error", black=black, white={"kind": "human"})
        assert refused["code"] == "unknown_name"


def make_loop(folder: Path) -> Loop:
    """Create a loop with two finished generations and a third in training."""
    config = LoopConfig(
        learner="two-piece",
        generations=4,
        games=GamesConfig(games=30, settings={"searches": ["nodes=60"], "hash_mb": 1}),
        train={"iterations": 2, "positions": 40, "updates": 2},
        gate=GateConfig(games=4, nodes=30, references=("material",)),
    )
    loop = Loop(config, folder)
    facts = {"by": 0, "games": 30, "positions": 900, "seconds": 1.0}
    for number, verdict in (
        (1, Verdict(True, 0, 4, 3, 0, 1, 191.0, 300.0, "H1")),
        (2, Verdict(False, 1, 4, 1, 0, 3, -191.0, 300.0, "H0")),
    ):
        loop.note(number, "games", facts)
        loop.note(number, "relabel", {})
        loop.note(number, "train", {"seconds": 1.0})
        loop.note_verdict(number, verdict)
        score = {"material": {"wins": 3, "draws": 0, "losses": 1}}
        loop.note(number, "references", score if verdict.promoted else {})
    loop.note(3, "games", facts)
    loop.note(3, "relabel", {})
    run = loop.generation(3) / "run"
    run.mkdir()
    (run / "config.json").write_text(json.dumps({"loop": {"max_steps": 300}}))
    (run / "log.jsonl").write_text('{"kind": "train", "step": 120}\n')
    return loop


def test_a_loop_lists_its_generations(tmp_path: Path) -> None:
    make_loop(tmp_path / "loop")
    with make_server(tmp_path) as client:
        (loop,) = client.get("/api/loops").json()
        assert (loop["learner"], loop["planned"], loop["problem"]) == ("two-piece", 4, "")
        assert loop["is_running"]
        first, second, third = loop["rounds"]
        assert (first["verdict"], first["rating"], first["games"]) == ("promoted", 191.0, 30)
        assert first["references"][0]["elo"] == pytest.approx(190.8, abs=0.1)
        assert (second["verdict"], second["rating"], second["state"]) == ("dropped", 0.0, "done")
        assert third["state"] == "running"
        assert third["stage"] == {"name": "train", "done": 120, "total": 300}
        assert third["run"] == "loop/003/run"


def test_progress_of_game_generation(tmp_path: Path) -> None:
    loop = make_loop(tmp_path / "loop")
    loop.generation(4).mkdir()
    loop.note_verdict(3, Verdict(False, 1, 4, 1, 0, 3, -191.0, 300.0, "H0"))
    loop.note(3, "train", {"seconds": 1.0})
    loop.note(3, "references", {})
    facts = StoredFacts(0, 1, 1, 0, 0, 9, 9, 0, 0, 0)
    with GameFolder(loop.generation(4) / "games", {"card": 1}, 100) as folder:
        folder.add([StoredGame(replace(facts, number=n, digest=n), b"", b"") for n in range(7)])
        with make_server(tmp_path) as client:
            (info,) = client.get("/api/loops").json()
    assert info["rounds"][3]["stage"] == {"name": "games", "done": 7, "total": 30}


def test_a_damaged_loop_is_listed_with_its_problem(tmp_path: Path) -> None:
    loop = make_loop(tmp_path / "loop")
    (loop.generation(2) / "verdict.json").write_text("{")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "loop.json").write_text('{"loop": {"rounds": 3}}')
    with make_server(tmp_path) as client:
        problems = {info["name"]: info["problem"] for info in client.get("/api/loops").json()}
    assert "verdict.json: damaged" in problems["loop"]
    assert problems["old"]


def test_deep_and_huge_values_of_one_file_leave_the_others_listed(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    make_loop(tmp_path / "sound")
    make_loop(tmp_path / "deep")
    path = tmp_path / "deep" / "loop.json"
    path.write_text(path.read_text().replace("{", f'{{"unknown": {deep}, ', 1))
    for name, entry in (
        ("huge", '{"step": 1' + "0" * 400 + "}"),
        ("nested", f'{{"kind": "test", "step": 2, "conditions": {{"nodes": {deep}}}}}'),
        ("run", '{"kind": "test", "step": 3, "x": NaN}'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_text(entry + "\n")
    (tmp_path / "nested" / "games.jsonl").write_text((tmp_path / "nested/log.jsonl").read_text())
    with make_server(tmp_path) as client:
        loops = {info["name"]: info["problem"] for info in client.get("/api/loops").json()}
        runs = {info["name"]: info["step"] for info in client.get("/api/runs").json()}
        matches = client.get("/api/matches").json()
    assert (set(loops), loops["sound"]) == ({"deep", "sound"}, "")
    assert loops["deep"]
    assert runs.items() >= {"huge": 0, "nested": 0, "run": 3}.items()
    assert matches == []


def test_an_unreadable_file_of_a_loop_is_named_with_the_reason(tmp_path: Path) -> None:
    path = make_loop(tmp_path / "loop").generation(2) / "verdict.json"
    path.unlink()
    path.mkdir()
    with make_server(tmp_path) as client:
        (info,) = client.get("/api/loops").json()
    assert info["problem"] == f"{path}: Is a directory"


def test_a_network_loop_is_listed_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LoopConfig(learner="network", generations=2, train={"model": {"net": "resnet1x8"}})
    Loop(config, tmp_path / "loop")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("komadori.generate.loop.learners.find_spec", lambda name: None)
    for name in [name for name in sys.modules if name.startswith("komadori.training")]:
        monkeypatch.delitem(sys.modules, name)
    with make_server(tmp_path) as client:
        (loop,) = client.get("/api/loops").json()
    assert (loop["problem"], loop["planned"]) == ("", 2)
