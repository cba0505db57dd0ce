"""The library: add, find, change and remove games; records of all formats."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from web_pages import Server

from komadori.cli._group import group
from komadori.encoding.value import ELMO_COEF, win_rate_from_score
from komadori.records import FORMATS, End, Game, Winner
from komadori.rules import Board
from komadori.web.errors import RefusedError
from komadori.web.library import _CREATE, Entry, Library
from komadori.web.uploads import read_upload

MOVES = ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e"]


def game() -> Game:
    return Game.from_usi(
        MOVES,
        winner=Winner.BLACK,
        end=End.RESIGN,
        headers={"black": "先手の人", "white": "後手の人"},
    )


@pytest.mark.parametrize("format", ["csa", "kif", "ki2", "jkf", "usi"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
@pytest.mark.parametrize("named", [True, False])
def test_records_of_every_format_are_read(
    server: Server, format: str, encoding: str, named: bool
) -> None:
    write = FORMATS[format].write
    assert write is not None
    name = f"game.{format}" if named else ""
    answer = server.http.post(
        "/api/records", params={"name": name}, content=write(game(), encoding)
    ).json()
    assert answer["format"] == format
    assert answer["skipped"] == []
    assert answer["games"][0]["moves"] == MOVES
    if format != "usi":
        assert answer["games"][0]["black"] == "先手の人"


@pytest.mark.parametrize("format", ["csa", "kif", "ki2", "jkf"])
def test_characters_that_shift_jis_lacks_are_an_error(server: Server, format: str) -> None:
    content = {"position": "startpos moves 7g7f 3c3d", "black": "\U00020bb7野"}
    number = server.http.post("/api/games", json=content).json()["game"]
    address = f"/api/games/{number}/record?format={format}"
    assert "\U00020bb7野" in server.http.get(address).content.decode()
    refused = server.http.get(f"{address}&encoding=cp932")
    assert refused.status_code == 422
    assert "cp932 can't hold '\U00020bb7'; use utf-8" in refused.json()["detail"]


@pytest.mark.parametrize("format", ["kif", "ki2", "csa", "jkf"])
def test_whole_games_are_written_as_kif_if_asked_for(server: Server, format: str) -> None:
    game = Game.from_usi(MOVES, headers={"black": "甲", "備考": "x"})
    game.comments[1] = "好手"
    if format != "csa":
        board = Board()
        board.push_usi(MOVES[0])
        game.variations[1] = [Game.from_usi(["8c8d"], board.sfen())]
    data = FORMATS[format].write(game, "utf-8")
    (read,) = server.http.post("/api/records?as_kif=true", content=data).json()["games"]
    assert read_upload(read["kif"].encode(), "a.kif")[1] == read_upload(data, f"a.{format}")[1]
    (read,) = server.http.post("/api/records", content=data).json()["games"]
    assert read["kif"] == ""


def test_scores_of_records_are_converted_to_win_rates(server: Server) -> None:
    scored = game()
    scored.scores_cp = [600, *[0] * (len(MOVES) - 1)]
    answer = server.http.post("/api/records", content=FORMATS["csa"].write(scored, "utf-8")).json()
    found = answer["games"][0]
    assert found["scores_cp"][:2] == [600, 0]
    assert found["win_rates"][:2] == pytest.approx([win_rate_from_score(600, ELMO_COEF), 0.5])


def test_unreadable_records_are_reported(server: Server) -> None:
    answer = server.http.post("/api/records", params={"name": "x.kif"}, content=b"1 7g7f?\n")
    assert answer.status_code in (200, 422)
    answer = server.http.post("/api/records", content="   1 ９九歩(88)\n".encode())
    problem = answer.json()
    assert problem.get("skipped") or problem.get("detail")


def test_an_imported_game_keeps_its_variations(server: Server) -> None:
    text = "手合割：平手\n   1 ７六歩(77)\n   2 投了\n\n変化：1手\n   1 ２六歩(27)\n"
    for name, record in (("a.kif", text), ("b.kif", text.split("\n\n")[0])):
        address = f"/api/records?keep=true&name={name}"
        number = server.http.post(address, content=record.encode("cp932")).json()["games"][0][
            "game"
        ]
        stored = server.http.get(f"/api/games/{number}").json()
        assert (stored["moves"], stored["record"]) == (["7g7f"], text)  # stored once


_CSA = [f"N+{name}\nPI\n+\n+7776FU\n'** 3 -3334FU\n'*{name}\n%CHUDAN\n" for name in "あい"]
_KIF = [
    f"先手：{name}\n   1 ７六歩(77)\n   2 中断\n\n変化：1手\n   1 ２六歩(27)\n" for name in "あい"
]
_JKF = [
    f'{{"header":{{"先手":"{name}"}},"moves":[{{}},{{"special":"CHUDAN"}}]}}' for name in "あい"
]


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "utf-16"])
@pytest.mark.parametrize(
    ("name", "upload", "texts"),
    [
        ("a.csa", "/\n".join(_CSA), [_CSA[0] + "/\n", _CSA[1]]),
        ("a.kif", "".join(_KIF), _KIF),
        ("a.jkf", "\n".join(_JKF), _JKF),
        ("a.jkf", f"[{', '.join(_JKF)}]\n", _JKF),
        ("a.usi", "startpos moves 7g7f\nstartpos moves 2g2f interrupt\n", None),
    ],
)
def test_each_game_of_an_upload_keeps_its_text(
    server: Server, name: str, upload: str, texts: list[str] | None, encoding: str
) -> None:
    address = f"/api/records?keep=true&name={name}"
    read = server.http.post(address, content=upload.encode(encoding)).json()["games"]
    kept = [server.http.get(f"/api/games/{game['game']}").json()["record"] for game in read]
    assert kept == (texts or upload.splitlines(keepends=True))


def test_the_sound_games_of_a_damaged_upload_keep_their_lines(server: Server) -> None:
    text = f"{_CSA[0]}/\n{_CSA[1].replace('%CHUDAN', '+1111FU')}"
    address = "/api/records?keep=true&name=a.csa"
    answer = server.http.post(address, content=text.encode()).json()
    first, second = (
        server.http.get(f"/api/games/{read['game']}").json() for read in answer["games"]
    )
    assert first["record"] == f"{_CSA[0]}/\n"
    assert first["analysis"][0]["lines"][0]["pv"] == ["3c3d"]
    assert second["record"] == _CSA[1].partition("%CHUDAN")[0]
    assert "+1111FU" in answer["skipped"][0]


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "utf-16"])
def test_the_sound_games_of_a_damaged_upload_keep_their_variations(
    server: Server, encoding: str
) -> None:
    damaged = "先手：う\n   1 ７六歩(77)\n   2 ９九歩(98)\n"
    empty = "先手：え\n   1 ９九歩(98)\n"  # without a move before the damage
    address = "/api/records?keep=true&name=a.kif"
    upload = f"{empty}{_KIF[0]}{damaged}{_KIF[1]}{empty}".encode(encoding)
    read = server.http.post(address, content=upload).json()["games"]
    kept = [server.http.get(f"/api/games/{game['game']}").json()["record"] for game in read]
    assert [kept[0], kept[2]] == _KIF
    assert "９九歩" not in kept[1]


def test_an_imported_game_keeps_what_games_do_not_hold(server: Server) -> None:
    text = "PI\n+\n+7776FU\n'** 30 -3334FU +2726FU\n%TORYO\n"
    answer = server.http.post("/api/records?keep=true&name=a.csa", content=text.encode())
    stored = server.http.get(f"/api/games/{answer.json()['games'][0]['game']}").json()
    assert stored["record"] == text
    assert stored["analysis"][0]["lines"][0]["pv"] == ["3c3d", "2g2f"]


def test_a_stored_game_is_found_by_player_result_and_position(server: Server) -> None:
    write = FORMATS["kif"].write
    assert write is not None
    data = write(game(), "utf-8")
    first = server.http.post("/api/records?keep=true&name=a.kif", content=data).json()
    again = server.http.post("/api/records?keep=true&name=a.kif", content=data).json()
    number = first["games"][0]["game"]
    assert again["games"][0]["game"] == number  # stored once
    assert [answer["games"][0]["is_new"] for answer in (first, again)] == [True, False]
    other = {"position": "startpos moves 2g2f 3c3d 7g7f", "black": "100%", "winner": "draw"}
    transposed = server.http.post("/api/games", json=other).json()["game"]

    def found(**query: str) -> set[int]:
        answer = server.http.get("/api/games", params=query).json()
        assert answer["total"] == len(answer["games"])
        return {row["game"] for row in answer["games"]}

    assert found() == {number, transposed}
    assert found(player="先手") == {number}
    assert found(q="100%") == {transposed}
    assert found(q="%") == {transposed}  # not a wildcard
    assert found(winner="black") == {number}
    assert found(source="imported") == {number}
    # Also by a transposition.
    assert found(position="startpos moves 7g7f 3c3d 2g2f") == {number, transposed}
    assert found(position="startpos moves 7g7f 3c3d 2g2f 8c8d") == {number}
    assert found(position="startpos moves 9g9f") == set()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("O'Brien", "o'brien"),
        ("MÜLLER", "müller"),
        ("ＧＰＳ将棋", "gps将棋"),
        ("gps将棋", "ＧＰＳ"),
        ("ｱﾏﾁｭｱ ﾀﾞﾝ", "アマチュア ダン"),
        ("50%", "５０％"),
    ],
)
def test_names_are_found_whatever_their_case_and_width(
    server: Server, name: str, written: str
) -> None:
    for black in (name, "other"):
        server.http.post("/api/games", json={"position": "startpos moves 2g2f", "black": black})
    for key in ("q", "player"):
        for text in (name, written):
            answer = server.http.get("/api/games", params={key: text}).json()
            assert [row["black"] for row in answer["games"]] == [name]


def test_a_game_saved_with_its_record_is_exported_as_the_record_tells_it(server: Server) -> None:
    record = (
        "開始日時：2024/05/06 10:00:00\n棋戦：名人戦\n場所：羽田\n"
        "先手：甲\n後手：乙\n手合割：平手\n"
        "手数----指手---------消費時間--\n   1 ７六歩(77)   ( 0:07/00:00:07)\n*解説\n"
        "   2 ３四歩(33)   ( 0:09/00:00:09)\n   3 投了\n"
    )
    saved = {"position": "startpos moves 7g7f 3c3d", "black": "甲", "white": "乙", "end": "投了"}
    number = server.http.post("/api/games", json={**saved, "record": record}).json()["game"]
    exported = server.http.get(f"/api/games/{number}/record").content
    (read,) = server.http.post("/api/records", content=exported).json()["games"]
    assert read["headers"] == {
        "start_time": "2024/05/06 10:00:00",
        "event": "名人戦",
        "site": "羽田",
    }
    assert read["comments"] == {"1": "解説"}
    assert read["times_ms"] == [7000, 9000]
    assert server.http.get("/api/games").json()["games"][0]["started"] == "2024/05/06 10:00:00"
    dated = record.replace("開始日時：2024/05/06 10:00:00", "対局日：2010/03/04")
    server.http.post("/api/games", json={**saved, "record": dated})
    assert server.http.get("/api/games").json()["games"][0]["started"] == "2010/03/04"
    # The time of saving isn't the time of the game.
    number = server.http.post("/api/games", json=saved).json()["game"]
    assert "開始日時" not in server.http.get(f"/api/games/{number}/record").content.decode()


def test_an_exported_game_has_what_only_its_record_holds(server: Server) -> None:
    """Variations, bookmarks, the players' lines and the time of the resignation."""
    record = (
        "手合割：平手\n手数----指手---------消費時間--\n"
        "   1 ７六歩(77)   ( 0:07/00:00:07)\n**読み筋=△３四歩(33)▲２六歩(27)\n&定跡\n"
        "   2 ３四歩(33)   ( 0:09/00:00:09)\n"
        "   3 投了         ( 0:11/00:00:18)\nまで2手で後手の勝ち\n"
        "\n変化：2手\n   2 ８四歩(83)   ( 0:03/00:00:03)\n*こう指せば\n"
    )
    (told,) = read_upload(record.encode(), "a.kif")[1]
    assert told.variations[1][0].comments
    assert told.bookmarks
    assert told.pvs == {1: "3c3d 2g2f"}
    added = server.http.post("/api/records?keep=true", content=record.encode()).json()["games"]
    with server.page() as page:
        request = page.send("study", games=[{"game": added[0]["game"]}], nodes=1)
        page.until("study", id=request, state="done")
    for options in ("", "?studied=true"):
        path = f"/api/games/{added[0]['game']}/record{options}"
        exported = server.http.get(path).content
        assert ("評価値=" in exported.decode()) == bool(options)
        (read,) = read_upload(exported, "a.kif")[1]
        assert read.variations == told.variations
        assert (read.bookmarks, read.end_time_ms) == (told.bookmarks, told.end_time_ms), options
        assert read.pvs == told.pvs, options


def test_openings_count_moves_and_results(server: Server) -> None:
    games = [
        ("7g7f 3c3d 2g2f", "投了"),  # White to move resigned
        ("7g7f 8c8d", "投了"),
        ("7g7f", "千日手"),
        ("2g2f 3c3d 7g7f", ""),
        ("2g2f", "no such word"),
    ]
    for moves, end in games:
        game = {"position": f"startpos moves {moves}", "end": end, "black": moves}
        assert server.http.post("/api/games", json=game).status_code == 201

    def openings(position: str) -> tuple[int, list[tuple[str, int, int, int, int]]]:
        found = server.http.get("/api/openings", params={"position": position}).json()
        rows = found["moves"]
        names = ("move", "games", "black", "draws", "white")
        return found["games"], [tuple(row[name] for name in names) for row in rows]  # type: ignore[misc]

    assert openings("startpos") == (5, [("7g7f", 3, 1, 1, 1), ("2g2f", 2, 0, 0, 0)])
    # Transpositions are counted.
    assert openings("startpos moves 7g7f 3c3d") == (1, [("2g2f", 1, 1, 0, 0)])
    assert openings("startpos moves 7g7f 3c3d 2g2f") == (2, [])
    assert openings("startpos moves 9g9f") == (0, [])
    assert server.http.get("/api/openings", params={"position": "x"}).status_code == 422
    rows = server.http.get("/api/games").json()["games"]
    assert [(row["winner"], row["end"]) for row in rows] == [
        ("none", "no such word"),
        ("none", ""),
        ("draw", "sennichite"),
        ("white", "resign"),
        ("black", "resign"),
    ]


def test_a_game_is_changed_and_removed(server: Server) -> None:
    created = {"position": "startpos moves 7g7f", "title": "a", "comments": {"1": "角道"}}
    number = server.http.post("/api/games", json=created).json()["game"]
    changed = {**created, "position": "startpos moves 7g7f 3c3d", "record": "# KIF"}
    assert server.http.put(f"/api/games/{number}", json=changed).status_code == 200
    stored = server.http.get(f"/api/games/{number}").json()
    assert stored["moves"] == ["7g7f", "3c3d"]
    assert stored["comments"] == {"1": "角道"}
    assert stored["record"] == "# KIF"
    query = {"position": "startpos moves 7g7f 3c3d"}
    assert server.http.get("/api/games", params=query).json()["total"] == 1
    assert server.http.delete(f"/api/games/{number}").status_code == 204
    assert server.http.get(f"/api/games/{number}").status_code == 404
    assert server.http.delete(f"/api/games/{number}").status_code == 404
    assert server.http.get("/api/games", params=query).json()["total"] == 0


def test_a_game_is_changed_only_in_the_version_that_the_page_knows(server: Server) -> None:
    created = {"position": "startpos moves 7g7f", "black": "A", "comments": {"1": "角道"}}
    saved = server.http.post("/api/games", json=created).json()
    game = f"/api/games/{saved['game']}"
    assert server.http.get(game).json()["version"] == saved["version"]
    first = {**created, "comments": {"1": "one"}}
    second = {**created, "comments": {"1": "two"}}
    changed = server.http.put(game, json=first, params={"version": saved["version"]})
    assert changed.status_code == 200
    refused = server.http.put(game, json=second, params={"version": saved["version"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "changed")
    stored = server.http.get(game).json()
    assert stored["comments"] == {"1": "one"}
    assert stored["version"] == changed.json()["version"] != saved["version"]
    repeated = server.http.put(game, json=first, params={"version": saved["version"]})
    assert repeated.json() == changed.json()  # its answer was lost, for example
    server.http.delete(game)
    assert server.http.put(game, json=second, params={"version": "x"}).status_code == 404


def test_of_two_changes_to_one_version_one_is_made(tmp_path: Path) -> None:
    first, second = Library(tmp_path), Library(tmp_path)  # as of two servers
    number = first.add(Entry(sfen=Board().sfen(), moves=MOVES))
    version = second.get(number).version
    done: list[str] = []

    def name(library: Library, title: str) -> None:
        def change(entry: Entry) -> None:
            time.sleep(0.1)
            entry.title = title

        with suppress(RefusedError):
            library.update(number, change, version)
            done.append(title)

    threads = [threading.Thread(target=name, args=pair) for pair in ((first, "a"), (second, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [first.get(number).title]
    first.close()
    second.close()


def test_a_changed_game_keeps_its_source_and_what_its_players_said(server: Server) -> None:
    csa = (
        "V2.2\nN+A\nN-B\n$EVENT:Cup\n$SITE:Tokyo\n$START_TIME:2024/05/06 10:00:00\nPI\n+\n"
        "+7776FU\nT5\n'** 120\n-3334FU\nT7\n%TORYO\n"
    )
    read = server.http.post("/api/records?name=a.csa&keep=true", content=csa.encode()).json()
    game = f"/api/games/{read['games'][0]['game']}"
    before = server.http.get(game).json()
    kif = "先手：A\n後手：B\n手数----指手--\n   1 ７六歩(77)\n*good\n   2 ３四歩(33)\n"
    content = {"position": "startpos moves 7g7f 3c3d", "black": "A", "white": "B", "end": "投了"}
    changed = {**content, "record": kif, "headers": before["headers"]}
    assert server.http.put(game, json=changed, params={"version": before["version"]}).is_success
    after = server.http.get(game).json()
    assert after["summary"] == {**before["summary"], "title": ""}
    assert after["comments"] == {"1": "good"}
    for name in ("moves", "times_ms", "scores_cp", "headers", "result"):
        assert after[name] == before[name], name


def test_a_saved_analysis_is_a_saved_game(server: Server) -> None:
    with server.page() as page:
        studied = {"position": "startpos moves 7g7f"}
        request = page.send("study", games=[studied], nodes=1)
        number = page.until("study", id=request, state="done")["games"][0]["game"]
    game = f"/api/games/{number}"
    before = server.http.get(game).json()
    assert before["summary"]["source"] == "studied"
    changed = {**studied, "comments": {"1": "good"}}
    assert server.http.put(game, json=changed, params={"version": before["version"]}).is_success
    assert server.http.get(game).json()["summary"]["source"] == "saved"


def test_a_game_named_after_its_analysis_is_stored_once(server: Server) -> None:
    with server.page() as page:
        studied = {"position": "startpos moves 7g7f 3c3d 8h2b+"}
        request = page.send("study", games=[studied], nodes=1)
        number = page.until("study", id=request, state="done")["games"][0]["game"]
    named = {**studied, "black": "Aoi", "white": "Ren"}
    longer = {**named, "position": studied["position"] + " 3a2b"}
    params = {"studied": number}
    other = server.http.post("/api/games", json=longer, params=params).json()["game"]
    assert other != number, "the analysis is of fewer moves"
    assert server.http.post("/api/games", json=named, params=params).json()["game"] == number
    game = f"/api/games/{number}"
    assert server.http.get(game).json()["summary"]["black"] == "Aoi"
    assert len(server.http.get(f"{game}/study").json()["found"]) == 4
    again = server.http.post("/api/games", json={**named, "black": "Yui"}, params=params)
    assert again.json()["game"] not in (number, other), "a saved game isn't replaced"


@pytest.mark.parametrize("ply", ["-1", "99999999999999999999"])
def test_comments_outside_any_game_are_refused(server: Server, ply: str) -> None:
    game = {"position": "startpos moves 7g7f", "comments": {ply: "x"}}
    assert server.http.post("/api/games", json=game).status_code == 422


@pytest.mark.parametrize(
    "fields",
    [
        {"headers": {"event": "\ud83d"}},
        {"headers": {"\ud83d": "x"}},
        {"comments": {"0": "\ud83d"}},
        {"title": "\ud83d"},
        {"\ud83d": "x"},
    ],
)
def test_text_that_cannot_be_stored_is_refused(server: Server, fields: dict[str, object]) -> None:
    content = json.dumps({"position": "startpos moves 7g7f", **fields}).encode()
    answer = server.http.post(
        "/api/games", content=content, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert server.http.get("/api/games").json()["total"] == 0


def test_an_index_with_other_keys_is_rebuilt(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.add(Entry("startpos", ["7g7f"]))
    with library._writing() as database:
        database.execute("UPDATE facts SET value='0'")
        database.execute("DELETE FROM positions")
    library.close()
    from komadori.rules import Board

    library = Library(tmp_path)
    assert library.search(position=Board.from_usi("startpos moves 7g7f"))[1] == 1
    library.close()


WRITER = """
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from komadori.web.errors import RefusedError
from komadori.web.library import Entry, Library
library = Library(Path(sys.argv[1]))
entry = Entry("startpos", [])
number = library.add(entry)
board_moves = ["4i4h", "6a6b", "4h4i", "6b6a"]
for ply in range(100_000):
    entry.moves.append(board_moves[ply % 4])
    library.replace(number, entry)
    print(len(entry.moves), flush=True)
"""


def test_a_killed_process_loses_no_move(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    reported = 0
    while reported < 30:
        reported = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    reported = max([reported, *(int(line) for line in writer.stdout)])
    writer.wait()
    library = Library(tmp_path)
    games, total = library.search()
    assert total == 1
    assert games[0].plies >= reported
    library.close()


STARTER = """
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from komadori.web.errors import RefusedError
from komadori.web.library import Entry, Library
sys.stdin.readline()
library = Library(Path(sys.argv[1]))
for ply in range(20):
    library.add(Entry("startpos", ["7g7f"]))
library.close()
"""


def test_servers_started_at_once_share_a_library(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path)]
    servers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(3)]
    for process in servers:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert [process.wait(60) for process in servers] == [0, 0, 0]
    library = Library(tmp_path)
    assert library.search()[1] == 60
    library.close()


def test_a_library_that_another_server_locks_is_waited_for(tmp_path: Path) -> None:
    """SQLite's own waiting doesn't cover the change to a write-ahead log."""
    other = sqlite3.connect(tmp_path / "library.sqlite", check_same_thread=False)
    other.execute("CREATE TABLE t(a)")
    other.execute("DROP TABLE t")
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, other.rollback)
    timer.start()
    Library(tmp_path).close()
    timer.join()
    other.close()


def test_the_analysis_of_a_record_is_read(server: Server) -> None:
    """As `analyse --from-comments` does; the lines of analyses are no text."""
    analysed = Game.from_usi(MOVES)
    analysed.comments = {
        1: "#評価値=50\n#読み筋=△３四歩(33)\n好手\nkomadori: mistake, 10.0 points lost, 60% -> 50%",
        2: "*評価値=-30",
        3: "*解析 0 ○ 候補1 時間 00:01.0 深さ 9 ノード数 12 評価値 -詰 読み筋 △８四歩(83)",
        4: "only a comment",
    }
    content = FORMATS["kif"].write(analysed, "utf-8")
    found = server.http.post("/api/records", content=content).json()["games"][0]
    assert {one["ply"]: one["lines"][0]["score_cp"] for one in found["analysis"]} == {
        1: -50, 2: -30, 3: None,
    }  # fmt: skip
    assert found["analysis"][0]["lines"][0]["pv"] == ["3c3d"]
    assert found["analysis"][2]["win_rate"] == 1.0
    assert found["texts"] == {"1": "好手", "2": "", "3": ""}
    saved = server.http.post(
        "/api/games",
        json={"position": f"startpos moves {' '.join(MOVES)}", "record": content.decode()},
    ).json()["game"]
    stored = server.http.get(f"/api/games/{saved}").json()
    assert stored["analysis"] == found["analysis"]
    assert stored["texts"] == found["texts"]


def test_the_analyses_of_variations_are_read(server: Server) -> None:
    record = (
        "1 ７六歩(77)\n2 ３四歩(33)\n3 ２六歩(27)\n変化：3手\n3 ６六歩(67)\n4 ８四歩(83)\n"
        "*#評価値=80\n*振り飛車\n変化：4手\n4 ４四歩(43)\n*#評価値=-40\n変化：2手\n2 ８四歩(83)\n"
    )
    post = {"position": "startpos moves 7g7f 3c3d 2g2f", "record": record}
    (read,) = server.http.post("/api/records", content=record.encode()).json()["games"]
    stored = server.http.get(
        f"/api/games/{server.http.post('/api/games', json=post).json()['game']}"
    )
    assert stored.json()["variations"] == read["variations"]
    found = {(one["parent"], one["ply"], *one["moves"]): one for one in read["variations"]}
    assert found.keys() == {(0, 1, "8c8d"), (0, 2, "6g6f", "8c8d"), (1, 1, "4c4d")}
    first, nested = found[0, 2, "6g6f", "8c8d"], found[1, 1, "4c4d"]
    assert first["texts"] == {"2": "振り飛車"}
    assert nested["texts"] == {"1": ""}
    assert [(one["ply"], one["lines"][0]["score_cp"]) for one in first["analysis"]] == [(2, 80)]
    assert [(one["ply"], one["lines"][0]["score_cp"]) for one in nested["analysis"]] == [(1, -40)]


@pytest.mark.parametrize(
    ("end", "winner", "stored"),
    [
        ("入玉", "none", ("black", "declaration")),  # tsshogi's words, Black to move
        ("トライ", "none", ("black", "declaration")),
        ("不戦勝", "none", ("black", "adjudication")),
        ("最大手数", "none", ("draw", "max_moves")),
        ("引き分け", "none", ("draw", "adjudication")),
        ("adjudication", "white", ("white", "adjudication")),
        ("engine_failure", "black", ("black", "engine_failure")),
    ],
)
def test_the_end_of_a_kept_game_is_stored(
    server: Server, end: str, winner: str, stored: tuple[str, str]
) -> None:
    game = {"position": f"startpos moves {' '.join(MOVES[:2])}", "end": end, "winner": winner}
    number = server.http.post("/api/games", json={**game, "title": end}).json()["game"]
    summary = server.http.get(f"/api/games/{number}").json()["summary"]
    assert (summary["winner"], summary["end"]) == stored


@pytest.mark.parametrize(
    ("word", "winner", "reason"),
    [
        ("投了", "black", "resignation"),
        ("詰み", "black", "checkmate"),
        ("千日手", "draw", "repetition"),
        ("切れ負け", "black", "time"),
        ("反則負け", "black", "illegal_move"),
        ("持将棋", "draw", "adjudication"),
        ("中断", "none", "interrupted"),
    ],
)
def test_the_result_of_a_record_has_the_reason_of_games_played_here(
    server: Server, word: str, winner: str, reason: str
) -> None:
    record = f"手合割：平手\n   1 ７六歩(77)\n   2 {word}\n".encode()
    (added,) = server.http.post("/api/records?keep=true", content=record).json()["games"]
    result = server.http.get(f"/api/games/{added['game']}").json()["result"]
    assert (result["winner"], result["reason"]) == (winner, reason)


def test_scores_and_results_of_floodgate_are_read(server: Server) -> None:
    content = (
        b"V2.2\nPI\n+\n+7776FU\n'** 50 -3334FU\n-3334FU\n%CHUDAN\n"
        b"'summary:adjudication:a win:b lose\n"
    )
    found = server.http.post("/api/records", params={"name": "a.csa"}, content=content).json()
    game = found["games"][0]
    assert game["texts"] == {"1": ""}
    assert [(one["ply"], one["lines"][0]["score_cp"]) for one in game["analysis"]] == [(1, -50)]
    assert game["analysis"][0]["lines"][0]["pv"] == ["3c3d"]
    assert (game["winner"], game["end"]) == ("black", "adjudication")


def test_a_library_that_can_no_longer_be_read_names_its_file(tmp_path: Path) -> None:
    library = Library(tmp_path)
    game = library.add(Entry(sfen="startpos", moves=MOVES))
    with sqlite3.connect(tmp_path / "library.sqlite") as other:
        other.execute("DROP TABLE studies")
        other.execute("ALTER TABLE games RENAME TO lost")
    for read in (library.search, lambda: library.get(game), lambda: library.best_study(game)):
        with pytest.raises(RefusedError, match=r"library\.sqlite: no such table"):
            read()
    library.close()


def test_a_full_disk_is_reported_and_loses_nothing_stored(tmp_path: Path) -> None:
    library = Library(tmp_path)
    kept = library.add(Entry(sfen="startpos", moves=MOVES))
    pages = library._database.execute("PRAGMA page_count").fetchone()[0]
    library._database.execute(f"PRAGMA max_page_count={pages}")  # SQLite's error of a full disk
    large = Entry(sfen="startpos", moves=MOVES, record="x" * 100_000)
    for _ in range(2):  # the first failure leaves no transaction open
        with pytest.raises(RefusedError, match=r"library\.sqlite: database or disk is full$"):
            library.add(large)
    assert library._database.execute("SELECT count(*) FROM games").fetchone()[0] == 1
    library._database.execute("PRAGMA max_page_count=100000")
    assert library.add(large) > kept
    assert library._database.execute("SELECT count(*) FROM games").fetchone()[0] == 2
    library.close()


def test_a_commit_that_fails_is_undone(tmp_path: Path) -> None:
    """A full disk may show at the end of a transaction."""

    class Full:
        def __init__(self, database: sqlite3.Connection) -> None:
            self._database, self.is_full = database, True

        def execute(self, statement: str, *values: object) -> object:
            if statement == "COMMIT" and self.is_full:
                raise sqlite3.OperationalError("database or disk is full")
            return self._database.execute(statement, *values)

        def __getattr__(self, name: str) -> object:
            return getattr(self._database, name)

    library = Library(tmp_path)
    library._database = full = Full(library._database)  # type: ignore[assignment]
    with pytest.raises(RefusedError, match="disk is full"):
        library.add(Entry(sfen="startpos", moves=MOVES))
    full.is_full = False
    library.add(Entry(sfen="startpos", moves=MOVES[:2]))
    assert library._database.execute("SELECT count(*) FROM games").fetchone()[0] == 1
    library.close()


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_written_is_told() -> None:
    program = (
        "import os, sys; from pathlib import Path; from komadori.web.library import Library\n"
        "os.getuid() or os.setuid(65534)\n"  # root may write everywhere
        "Library(Path(sys.argv[1]))"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        opened = subprocess.run(
            [sys.executable, "-c", program, folder], capture_output=True, text=True, check=False
        )
    assert opened.returncode == 1
    assert f"RefusedError: {folder}: the library's folder can't be written" in opened.stderr


def test_a_users_library_that_cannot_be_made_is_told_with_the_option_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocking = tmp_path / "file"
    blocking.touch()
    monkeypatch.setattr("komadori.web.library.user_folder", lambda: blocking / "komadori")
    done = CliRunner().invoke(group, ["web", "--no-browser"])
    assert done.exit_code == 2
    folder = blocking / "komadori" / "web"
    assert done.output.startswith(f"Error: the library's folder {folder} can't be created: ")
    assert done.output.endswith(
        f"{blocking} is a file, not a folder; --library names another folder\n"
    )


def test_a_damaged_library_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "library.sqlite").write_bytes(b"not a database" * 100)
    done = CliRunner().invoke(group, ["web", "--no-browser", "--library", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output == f"Error: {tmp_path / 'library.sqlite'}: file is not a database\n"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("CREATE TABLE games(x)", "not a library of games"),
        ("CREATE TABLE bookmarks(x); PRAGMA user_version=1", "not a library of games"),
        ("PRAGMA user_version=1", "not a library of games"),
        (
            _CREATE.replace(",\n    record TEXT NOT NULL", "") + "PRAGMA user_version=1",
            "not a library of games",
        ),
        (
            "CREATE TABLE games(x); PRAGMA user_version=2",
            "written by a newer version of komadori",
        ),
    ],
)
def test_another_database_is_named_and_left_alone(
    statements: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "library.sqlite"
    database = sqlite3.connect(path)
    database.executescript(statements)
    database.close()
    before = path.read_bytes()
    done = CliRunner().invoke(group, ["web", "--no-browser", "--library", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output == f"Error: {path}: {message}\n"
    assert path.read_bytes() == before


def test_games_are_not_written_to_a_deleted_library(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.add(Entry(sfen="startpos", moves=MOVES))
    (tmp_path / "library.sqlite").rename(tmp_path / "elsewhere.sqlite")
    with pytest.raises(RefusedError, match="deleted or replaced; start `komadori web` again"):
        library.add(Entry(sfen="startpos", moves=MOVES[:2]))
    library.close()


def test_a_date_that_the_system_cannot_convert_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Datetime:
        @staticmethod
        def fromisoformat(text: str) -> Datetime:
            return Datetime()

        def astimezone(self) -> None:
            raise OSError(22, "Invalid argument")  # on Windows, of dates before 1970

    monkeypatch.setattr("komadori.web.library.datetime", Datetime)
    entry = Entry(Board().sfen(), ["7g7f"], source="played", started="1950-01-01T00:00:00")
    assert entry.to_game().headers["start_time"] == "1950-01-01T00:00:00"


@pytest.mark.parametrize(
    "damage",
    [
        "details='not JSON'",
        "moves='7g7f xxxx'",
        "sfen='junk'",
        "winner='nobody'",
        "source='elsewhere'",
        "black=x'ff'",
        "plies='many'",
        "title=CAST(x'ff' AS TEXT)",
        "details='{\"times_ms\": [99999999999999]}'",
        'details=\'{"comments": {"x": 1}}\'',
        'details=\'{"comments": {"-1": "x"}}\'',
        'details=\'{"comments": {"1000000000000000000000": "x"}}\'',
    ],
)
def test_a_damaged_game_leaves_the_others(damage: str, tmp_path: Path) -> None:
    start = Board().sfen()
    library = Library(tmp_path)
    library.add(Entry(start, ["7g7f"], black="sound"))
    damaged = library.add(Entry(start, ["2g2f"], black="damaged"))
    library.close()
    database = sqlite3.connect(tmp_path / "library.sqlite")
    database.execute(f"UPDATE games SET {damage} WHERE id={damaged}")
    database.execute("UPDATE facts SET value='of another version'")
    database.commit()
    database.close()
    library = Library(tmp_path)
    found, total = library.search()
    assert total == len(found) == 2
    assert found[1].black == "sound"
    if "title" in damage:
        assert library.get(damaged).title == "\ufffd"
    elif "plies" not in damage:  # of lists only
        with pytest.raises(RefusedError, match=f"game {damaged} is damaged"):
            library.get(damaged)
    library.delete(damaged)
    assert library.search()[1] == 1
    library.close()


def test_a_library_names_no_files_outside_its_folder(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    number = library.add(Entry(Board().sfen(), ["7g7f"]))
    journal = library.register_study(
        number, {}, model="", effort="100 nodes", weight=1, done=0, total=2
    )
    journal.write_text("", encoding="utf-8")
    library.close()
    precious = tmp_path / "precious"
    precious.write_text("kept", encoding="utf-8")
    for name in ("../../precious", str(precious)):
        database = sqlite3.connect(tmp_path / "library/library.sqlite")
        database.execute("UPDATE studies SET file=?", (name,))
        database.commit()
        database.close()
        library = Library(tmp_path / "library")
        best = library.best_study(number)
        assert best is not None
        assert best[2] == journal
        library.close()
    library = Library(tmp_path / "library")
    library.delete(number)
    library.close()
    assert precious.exists()
    assert not journal.exists()
