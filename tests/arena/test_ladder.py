"""Ladders: players and games in one file, and the command."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from komadori import arena
from komadori.arena import Conditions
from komadori.arena.ladder import Ladder, LadderError, make_settings
from komadori.cli._group import BUG, group
from komadori.records import read_games
from komadori.rules import Board
from komadori.search.alphabeta import EVALUATIONS

START = Board().sfen()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["ladder", *map(str, arguments)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ladder.db"
    result = run("new", path, "--max-plies", 120, "--opening-plies", 4)
    assert result.exit_code == 0, result.output
    for name, spec in (("mat", "material"), ("rnd", "random?name=x"), ("rnd[/] 2", "random")):
        assert run("add", path, name, spec).exit_code == 0
    return path


def test_games_are_played_rated_and_kept(path: Path, tmp_path: Path) -> None:
    result = run("play", path, "--games", 24, "--block", 4, "-j", 2)
    assert result.exit_code == 0, result.output
    assert "rnd[/] 2" in result.output
    with Ladder(path) as ladder:
        fitted = ladder.fit()
        assert fitted.ratings[0].name == "mat"
        assert sum(rating.games for rating in fitted.ratings) == 48
        assert min(rating.games for rating in fitted.ratings) >= 8  # everybody gets games
        games = list(ladder.games())
        openings = {(g.names, tuple(g.moves[: g.opening_plies])) for g in games}
        assert len(openings) == 24
        assert {g.names for g in ladder.games("mat")} <= {g.names for g in games}
    again = run("show", path, "--markdown")
    assert again.output.startswith("|  | player | Elo | ± |")
    assert "| 1 | mat |" in again.output
    assert "A won" in run("show", path, "--pairs").output
    out = tmp_path / "games.kif"
    assert run("games", path, "-p", "mat", "-o", out).exit_code == 0
    assert len(read_games(out)) == fitted.of("mat").games
    assert run("games", path, "-o", out).exit_code == 0  # a record is replaced by one
    assert len(read_games(out)) == 24


def test_why_an_engine_failed_is_printed(path: Path, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import sys\nfor line in sys.stdin:\n"
        "    print({'usi\\n': 'usiok', 'isready\\n': 'readyok'}.get(line, ''), flush=True)\n"
        "    if line.startswith('go'): sys.exit('no weights')\n"
    )
    assert run("add", path, "broken", f"usi:{sys.executable} {engine}").exit_code == 0
    done = run("play", path, "--games", 2, "-p", "broken")
    assert done.exit_code == 0, done.output
    assert "broken failed in 2 games: " in done.output
    assert "no weights" in done.output


def test_an_engine_is_added_only_with_options_that_it_has(path: Path, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "for line in iter(input, 'quit'):\n"
        "    print('option name Mode type combo default a var a var b')\n"
        "    print('usiok\\nreadyok', flush=True)\n"
    )
    for option, problem in (("Mode=c", "'c' isn't one of a, b"), ("Level=3", "no option Level")):
        refused = run("add", path, "x", f"usi:{sys.executable} {engine}?{option}")
        assert refused.exit_code == 2
        assert problem in refused.output
    assert run("add", path, "y", f"usi:{sys.executable} {engine}?Mode=b").exit_code == 0
    with Ladder(path) as ladder:
        assert "x" not in [player.name for player in ladder.players()]


def test_only_the_players_named_play(path: Path) -> None:
    result = run("play", path, "--games", 4, "-p", "mat", "-a", "rnd[/] 2")
    assert result.exit_code == 0, result.output
    with Ladder(path) as ladder:
        assert {name for game in ladder.games() for name in game.names} == {"mat", "rnd[/] 2"}
    assert "no player 'nobody'" in run("play", path, "-p", "nobody").output


def test_a_match_is_taken_over_once(path: Path, tmp_path: Path) -> None:
    match = tmp_path / "match"
    arena.play_match("material?name=mat", "random?name=new one", games=6, out=match)
    assert "6 new games, 0 known" in run("import", path, match).output
    assert "0 new games, 6 known" in run("import", path, match).output
    arena.play_match("material?name=mat", "random?name=new one", games=8, out=match)
    with Ladder(path) as ladder:
        assert ladder.player("new one").spec == "random?name=new one"
        assert ladder.player("mat").spec == "material"
        before = len(list(ladder.games()))
        ladder.import_match(match)
        assert len(list(ladder.games())) == before + 2
        black = sum(t.black_wins for t in ladder.tallies())
        assert black == sum(game.winner == "black" for game in ladder.games())
    assert (
        "not a match" in run("import", path, write(tmp_path / "x" / "games.jsonl", "[]\n")).output
    )


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (0, {"players": [1, 2]}),
        (0, {"players": {"a": 1, "b": 2}}),
        (0, {"files": [[], [1]]}),
        (0, {"files": "ab"}),
        (0, {"conditions": {"max_plies": "x"}}),
        (1, {"names": ["a", "a"]}),
        (2, {"names": ["someone", "else"]}),
        (2, {"moves": ["7g7f", "7g7f"]}),
    ],
)
def test_a_damaged_match_leaves_the_ladder_as_it_was(path: Path, tmp_path, line, change) -> None:
    match = tmp_path / "match"
    arena.play_match("material?name=new", "random?name=newer", games=2, out=match)
    rows = [json.loads(row) for row in (match / "games.jsonl").read_text().splitlines()]
    rows[line] |= change
    (match / "games.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = run("show", path).output
    result = run("import", path, match)
    assert result.exit_code == 1
    assert "games.jsonl: not a match" in result.output
    assert BUG not in result.output
    assert run("show", path).output == before


def test_the_games_of_a_killed_match_are_taken_over(path: Path, tmp_path: Path) -> None:
    match = tmp_path / "match"
    arena.play_match("material?name=a\u2028b", "random?name=c", games=4, out=match)
    games = match / "games.jsonl"
    games.write_bytes(games.read_bytes()[:-20])
    result = run("import", path, match)
    assert "3 new games, 0 known" in result.output


def test_processes_that_play_at_once_repeat_no_game(tmp_path: Path) -> None:
    """Nor do they after a kill, which leaves gaps: deterministic players would repeat a game."""
    path = tmp_path / "ladder.db"
    assert run("new", path, "--max-plies", 20, "--nodes", 1).exit_code == 0
    for name in ("a", "b"):
        assert run("add", path, name, f"material?name={name}").exit_code == 0
    with Ladder(path) as one, Ladder(path) as other:
        for game in one._play_block(("a", "b"), 4, 1):
            if not other.tallies():
                assert other.play(2) == 2
            one.insert(game, "")
        other._execute("DELETE FROM games WHERE id = 2")
        one.play(2)
        games = [(game.names, tuple(game.moves)) for game in one.games()]
    assert len(games) == len(set(games)) == 7


@pytest.mark.parametrize("method", ["fit", "next_pairing", "games"])
def test_a_player_added_between_two_queries(path: Path, method: str) -> None:
    """`play` of another process ended in a KeyError, and games were called damaged."""
    assert run("play", path, "--games", 4, "--block", 2).exit_code == 0
    steps = 0
    with Ladder(path) as other:  # sees what the first process does between any two queries
        execute = other._execute

        def slowly(query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
            nonlocal steps
            steps += 1
            if method != "games" or steps <= 2:  # nobody writes while its rows are being read
                name = f"new{steps}"
                with Ladder(path) as one:
                    one.add(name, f"random?name={name}")
                    one.play(2, among=[name])
            return execute(query, values)

        other._execute = slowly  # type: ignore[method-assign]
        found = getattr(other, method)()
        if method == "games":
            assert len(list(found)) >= 4
    assert steps >= 2


def write(path: Path, text: str) -> Path:
    path.parent.mkdir()
    path.write_text(text)
    return path.parent


def test_bad_input_is_one_line(path: Path, tmp_path: Path) -> None:
    for result, message in (
        (run("new", path), "exists already"),
        (run("add", path, "mat", "random"), "has a player 'mat' already"),
        (run("add", path, "", "random"), "no name"),
        (run("add", path, "x", "nonsense:"), "is no player"),
        (run("add", path, "x", "alphabeta?Thread=1"), "no option 'Thread'"),
        (run("add", path, "x", "alphabeta?Threads=0"), "0 isn't between 1 and 512"),
        (run("add", path, "x", "model:no.onnx"), "no model no.onnx"),
        (run("add", path, "x", "policy:no.onnx"), "no model no.onnx"),
        (run("add", path, "x", "alphabeta?weights=no.bin"), "no weights no.bin"),
        (run("add", path, "x", "alphabeta?evalfile=no.bin"), "no weights no.bin"),
        (run("add", path, "x", "alphabeta?eval=kpp"), "kpp needs a file of weights"),
        (run("add", path, "x", "alphabeta?PolicyModel=no.onnx"), "no model no.onnx"),
        (run("add", path, "x", "usi:/no/engine --fast"), "no program '/no/engine' found"),
        (run("add", path, "x", "random", "--elo", "nan"), "finite"),
        (run("add", path, "x", "random", "--elo", "1e308"), "not in the range"),
        (run("show", tmp_path / "none.db"), "no such ladder"),
        (run("show", write(tmp_path / "y" / "z.db", "junk" * 999) / "z.db"), "not a ladder"),
        (run("play", path, "--games", 3), "3 is odd"),
    ):
        assert result.exit_code != 0
        assert message in result.output
        assert "Traceback" not in result.output
    with Ladder(path) as ladder:
        assert "x" not in [player.name for player in ladder.players()]


@pytest.fixture(scope="module")
def played_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("ladder") / "ladder.db"
    with Ladder.create(path, make_settings(arena.Conditions(), opening_plies=0)) as ladder:
        for name in ("mat", "rnd"):
            ladder.add(name, "random")
        for index in range(100):
            names = ("mat", "rnd") if index % 2 else ("rnd", "mat")
            ladder.insert(
                arena.GameRecord(
                    index, 0, names, True, START, ["7g7f", "3c3d"], 0, "black", "resignation"
                ),
                "1 s",
            )
    return path.read_bytes()


@pytest.fixture
def played(played_content: bytes, tmp_path: Path) -> Path:
    """A ladder with a hundred games."""
    path = tmp_path / "ladder.db"
    path.write_bytes(played_content)
    return path


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_ladder_is_reported_in_one_line(played: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(played.read_bytes())
    for _ in range(6):
        at = chance.randrange(100, len(content) - 400)
        content[at : at + 400] = chance.randbytes(400)
    played.write_bytes(content)
    for words in (
        ("show", played),
        ("show", played, "--pairs"),
        ("add", played, "x", "random"),
        ("games", played, "-o", tmp_path / "a.csa"),
        ("play", played, "-g", 2),
    ):
        result = run(*words)
        assert BUG not in result.output
        assert result.output.count("Error") == (1 if result.exit_code else 0), result.output


def test_what_the_ladder_cannot_do_is_a_usage_error(played: Path) -> None:
    for words in (
        ("add", played, "", "random"),
        ("add", played, "x\ny", "random"),
        ("play", played, "-p", "nobody"),
        ("play", played, "-a", "nobody"),
        ("show", played, "-p", "nobody"),
    ):
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert BUG not in result.output


@pytest.mark.parametrize("kind", ["model:{}", "policy:{}", "alphabeta:?EvalFile={}"])
def test_a_player_whose_file_is_no_network_is_refused(
    kind: str, path: Path, tmp_path: Path
) -> None:
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"junk")
    result = run("add", path, "ours", kind.format(junk))
    assert result.exit_code == 2, result.output
    assert str(junk) in result.output.replace("\n", "")
    with Ladder(path) as ladder:
        assert "ours" not in [player.name for player in ladder.players()]


def test_a_damaged_game_is_reported(played: Path, tmp_path: Path) -> None:
    with Ladder(played) as ladder:
        game = json.dumps(list(ladder.games())[6].to_json())
    for record in ("junk", "{}", "[1]", game.replace("7g7f", "7g7e"), game.replace("sfen", "x")):
        with sqlite3.connect(played) as database:
            database.execute("UPDATE games SET record = ? WHERE id = 7", (record,))
        result = run("games", played, "-o", tmp_path / "a.csa")
        assert result.exit_code == 1
        assert f"{played}: game 7 " in result.output.replace("\n", "")
        assert not (tmp_path / "a.csa").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE players SET name = x'fffe' WHERE id = 1", "a damaged player (name: expected"),
        ("UPDATE players SET files = 'null' WHERE id = 1", "a damaged player (a JSON object"),
        ("UPDATE players SET files = 1e308 WHERE id = 1", "a damaged player ("),
        ("UPDATE players SET anchor_elo = 'x' WHERE id = 1", "a damaged player (anchor_elo:"),
        ("ALTER TABLE players DROP COLUMN note", "a damaged player ('note' is missing)"),
        ("UPDATE games SET white = 99 WHERE id = 7", "game 7 is damaged ("),
        ("UPDATE games SET winner = 'nobody' WHERE id = 7", "game 7 is damaged (unknown winner)"),
        (
            "INSERT OR REPLACE INTO settings SELECT 'openings of ' || a.id || ' ' || b.id, 'null' "
            "FROM players a JOIN players b ON a.id < b.id",
            "a damaged number of openings",
        ),
        ("UPDATE settings SET value = '[]' WHERE key = 'openings'", "has no openings"),
    ],
)
def test_damaged_rows_are_one_error(
    played: Path, tmp_path: Path, change: str, message: str
) -> None:
    with sqlite3.connect(played) as database:
        database.execute(change)
    results = [run("games", played, "-o", tmp_path / "a.csa"), run("play", played, "-g", 2)]
    for result in results:
        assert BUG not in result.output
        assert result.output.count("Error") == (1 if result.exit_code else 0), result.output
    errors = "".join(result.output for result in results if result.exit_code == 1)
    assert message in errors.replace("\n", " ")


@pytest.mark.parametrize(
    "opening",
    [[True, []], [START.replace("/", ".", 1), []], [START, ["7g7e"]], [START, [7]], [START, "x"]],
)
def test_a_damaged_opening_is_named(played: Path, opening: list[Any]) -> None:
    with sqlite3.connect(played) as database:
        query = "SELECT value FROM settings WHERE key = 'openings'"
        openings = json.loads(database.execute(query).fetchone()[0])
        openings[6] = opening
        value = json.dumps(openings)
        database.execute("UPDATE settings SET value = ? WHERE key = 'openings'", (value,))
    for words in (("play", played, "-g", 2), ("add", played, "new", "random")):
        result = run(*words)
        assert result.exit_code == 1, result.output
        assert result.output.replace("\n", " ").startswith(f"Error: {played}: opening 7 is damaged")


def test_a_full_disk_loses_no_game(played: Path) -> None:
    size = played.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        results = [run("add", played, f"x{i}", "random", "--note", "y" * 3000) for i in range(4)]
        new = []
        for limit in (10, 3000, 20_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            new.append(run("new", played.parent / "new.db"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    for result in new:
        assert result.exit_code == 1
        assert result.output.startswith("Error: ")
        assert BUG not in result.output
    assert results[-1].exit_code == 1
    assert results[-1].output.startswith(f"Error: {played}: ")
    with Ladder(played) as ladder:
        assert len(list(ladder.games())) == 100
    assert [path.name for path in played.parent.iterdir() if path.name.startswith(".")] == []


def test_a_ladder_of_a_later_format_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE settings SET value = '99' WHERE key = 'format'")
    with pytest.raises(LadderError, match="format 99"):
        Ladder(path)


@pytest.mark.parametrize(("table", "command"), [("players", "add"), ("settings", "play")])
def test_a_constraint_of_a_foreign_database_is_reported(
    table: str, command: str, path: Path
) -> None:
    with sqlite3.connect(path) as database:
        database.execute(
            f"CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    result = run("add", path, "new", "random") if command == "add" else run("play", path, "-g", 2)
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == f"Error: {path}: no"


def test_a_player_whose_files_change_plays_no_more(path: Path, tmp_path: Path) -> None:
    bundled = EVALUATIONS["nnue"]
    assert bundled is not None
    weights = tmp_path / "w.nnue"
    shutil.copy(str(resources.files("komadori") / "data" / bundled), weights)
    with Ladder(path) as ladder:
        ladder.add("w", f"alphabeta?weights={weights}")
        weights.write_bytes(b"2")
        with pytest.raises(LadderError, match=r"w\.nnue has changed since 'w'"):
            ladder.play(2, among=["w"])
        weights.unlink()
        with pytest.raises(LadderError, match=r"w\.nnue of 'w' is missing; relative paths"):
            ladder.play(2, among=["w"])


def test_an_imported_player_without_the_ladders_limits_plays_no_more(tmp_path: Path) -> None:
    path = tmp_path / "ladder.db"
    assert run("new", path, "--nodes", 100).exit_code == 0
    match = tmp_path / "match"
    arena.play_match("material?name=mat", "random?name=gps", games=2, out=match)
    with Ladder(path) as ladder:
        ladder.import_match(match)
    with sqlite3.connect(path) as database:  # as of a match in which it set its own limit
        database.execute("UPDATE players SET spec = 'gpsusi?LimitDepth=2' WHERE name = 'gps'")
    database.close()
    result = run("play", path, "--games", 2)
    assert result.exit_code == 2, result.output
    assert "'gps' can't play: gpsusi takes no nodes or depth" in " ".join(result.output.split())
    with Ladder(path) as ladder:
        assert len(list(ladder.games())) == 2  # no game is lost by it


def test_anchors_far_apart_have_a_next_pairing(tmp_path: Path) -> None:
    settings = make_settings(arena.Conditions(), opening_plies=0)
    with Ladder.create(tmp_path / "l.db", settings) as ladder:
        for name, elo in (("a", 0.0), ("b", 200_000.0), ("c", None)):
            ladder.add(name, "random", anchor_elo=elo)
        assert ladder.next_pairing() == ("a", "c")


def test_the_next_pairing_is_where_most_is_learned(tmp_path: Path) -> None:
    settings = make_settings(arena.Conditions(), opening_plies=0)
    with Ladder.create(tmp_path / "l.db", settings) as ladder:
        for name in "abc":
            ladder.add(name, "random")
        seen = set()
        for index in range(3):
            pair = ladder.next_pairing()
            seen.add(pair)
            for half in range(2):
                names = pair if half == 0 else pair[::-1]
                record = arena.GameRecord(
                    2 * index + half, index, names, half == 0, "", [], 0, "black", "resignation"
                )
                ladder.insert(record, "")
        assert {name for pair in seen for name in pair} == set("abc")


@pytest.mark.parametrize(("elo", "shown"), [(-0.4, "+0"), (0.0, "+0"), (-0.6, "-1"), (12.5, "+12")])
def test_nothing_is_worth_minus_nothing(
    elo: float, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ladder.db"
    with Ladder.create(path, make_settings(Conditions(nodes=1))) as ladder:
        ladder.add("a", "random")
        ladder.add("b", "material")
        ladder.play(2)
    fit = Ladder.fit
    monkeypatch.setattr(Ladder, "fit", lambda self: replace(fit(self), first_move_elo=elo))
    done = CliRunner().invoke(group, ["ladder", "show", str(path)])
    assert f"Black is worth {shown} Elo;" in done.output


def test_a_ladder_that_a_killed_process_left_half_written_is_read(
    played: Path, tmp_path: Path
) -> None:
    """As the browser reads it: without changing the file."""
    database = sqlite3.connect(played, isolation_level=None)
    database.execute("PRAGMA cache_size = 5")  # so that pages are written before the commit
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE games SET winner = 'draw', record = record || ' '")
    left, journal = tmp_path / "left.db", tmp_path / "left.db-journal"
    shutil.copyfile(played, left)
    shutil.copyfile(f"{played}-journal", journal)
    database.execute("ROLLBACK")
    database.close()
    before = left.read_bytes(), journal.read_bytes()
    with Ladder(played) as ladder, Ladder(left, reads_only=True) as found:
        assert found.tallies() == ladder.tallies()
        assert [game.moves for game in found.games()] == [game.moves for game in ladder.games()]
    assert (left.read_bytes(), journal.read_bytes()) == before
    victim = tmp_path / "victim"
    victim.write_text("x")
    name = os.fsencode(victim)
    journal.write_bytes(
        before[1]
        + bytes(4)
        + name
        + len(name).to_bytes(4, "big")
        + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big")
        + bytes.fromhex("d9d505f920a163d7")
    )
    with pytest.raises(LadderError, match="several databases"):
        Ladder(left, reads_only=True)
    assert victim.exists()
