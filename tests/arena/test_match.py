"""Games, adjudication, openings, matches and their files, with players without a network."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pytest
from click.testing import CliRunner

import komadori
from komadori import arena
from komadori.arena.cluster import MatchWorker
from komadori.arena.game import Conditions, GameRecord, Reason, judge, play_game
from komadori.arena.limits import check_players
from komadori.arena.match import _names
from komadori.arena.openings import (
    Opening,
    choose,
    is_quiet,
    parse_opening,
    read_openings,
    source_text,
)
from komadori.arena.store import to_game
from komadori.arena.workers import Job, WorkerError
from komadori.cli._group import group
from komadori.generate.openings import Lines
from komadori.players import Decision, PlayerSpecError, fingerprint, make
from komadori.records import Skipped, Winner, read_games
from komadori.rules import Board
from komadori.run_lock import InUseError
from komadori.usi.client import EngineError
from komadori.usi.protocol import STARTPOS, GoCommand


class Script:
    """Plays the given USI words in turn; `resign` and `win` as in USI."""

    def __init__(self, *words: str, name: str = "script") -> None:
        self.name = name
        self.words = words
        self.next = 0

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        self.next = 0

    def play(self, board: Board, go: GoCommand) -> Decision:
        word = self.words[self.next % len(self.words)]
        self.next += 1
        if word == "crash":
            raise EngineError("script crashed")
        if word == "resign":
            return Decision(resigns=True)
        if word == "win":
            return Decision(declares_win=True)
        try:
            return Decision(move=board.parse_usi(word))
        except ValueError:
            return Decision(illegal=word)

    def close(self) -> None:
        pass


def play(black: Script, white: Script, sfen: str = STARTPOS, **conditions: int) -> tuple[str, str]:
    record = play_game(black, white, Opening(sfen), Conditions(**conditions))
    return record.winner, record.reason


def test_checkmate() -> None:
    black = Script("G*5b")
    assert play(black, Script("resign"), "4k4/9/4P4/9/9/9/9/9/4K4 b G 1") == ("black", "checkmate")


def test_resignation_illegal_move_and_failure_lose() -> None:
    move = Script("7g7f")
    assert play(Script("resign"), move) == ("white", "resignation")
    assert play(Script("7g7e"), move) == ("white", "illegal_move")
    assert play(move, Script("7g7f")) == ("black", "illegal_move")
    assert play(Script("crash"), move) == ("white", "engine_failure")


def test_fourfold_repetition_is_drawn() -> None:
    black, white = Script("2h3h", "3h2h"), Script("8b7b", "7b8b")
    record = play_game(black, white, Opening(), Conditions())
    assert (record.winner, record.reason, len(record.moves)) == ("draw", "repetition", 12)


def test_perpetual_check_loses() -> None:
    white = Script("3a2a", "2a3a")
    sfen = "6k2/9/9/9/9/9/9/6R2/K8 w - 1"
    black = Script("3h2h", "2h3h")
    assert play(black, white, sfen) == ("white", "perpetual_check")


def test_declaration_and_false_declaration() -> None:
    entered = "KRRBBGGG1/SSSSPPP2/9/9/9/9/9/9/8k b G4P 1"
    assert Board(entered).can_declare_win()
    assert play(Script("win"), Script("resign"), entered) == ("black", "declaration")
    assert play(Script("resign"), Script("resign"), entered, auto_declare=False) == (
        "white",
        "resignation",
    )
    assert play(Script("win"), Script("resign")) == ("white", "false_declaration")


@pytest.mark.parametrize("player", ["alphabeta?depth=1", "model:uniform?nodes=2"])
def test_any_ply_limit_is_one(player: str) -> None:
    """The searches' own limit is a 32-bit integer."""
    record = play_game(
        make(player), make("random"), Opening(moves=("7g7f",)), Conditions(max_plies=2**63 - 1)
    )
    assert record.reason != "max_plies"


def test_ply_limit_counts_the_opening() -> None:
    record = play_game(
        make("random"), make("random"), Opening(moves=("7g7f", "3c3d")), Conditions(max_plies=10)
    )
    assert (record.winner, record.reason, len(record.moves)) == ("draw", "max_plies", 10)
    assert record.opening_plies == 2
    assert len(record.times_ms) == len(record.scores_cp) == 8


def test_mate_on_the_last_ply_is_still_mate() -> None:
    board = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert judge(board, Conditions(max_plies=0)) == ("black", "checkmate", "")


class Sleeper(Script):
    def play(self, board: Board, go: GoCommand) -> Decision:
        import time

        self.seen = go
        time.sleep(0.03)
        return super().play(board, go)


def test_clock_is_passed_charged_and_overstepped() -> None:
    slow, fast = Sleeper("2h3h", "3h2h"), Script("8b7b", "7b8b")
    record = play_game(slow, fast, Opening(), Conditions(main_ms=100))
    assert (record.winner, record.reason) == ("white", "time")
    assert slow.seen.btime_ms < 100
    assert slow.seen.byoyomi_ms == 0
    record = play_game(slow, fast, Opening(), Conditions(byoyomi_ms=500))
    assert record.reason == "repetition"
    assert all(25 <= t < 500 for t in record.times_ms[::2])
    record = play_game(slow, fast, Opening(), Conditions(main_ms=10, increment_ms=200))
    assert record.reason == "repetition"
    assert slow.seen.btime_ms > 200
    assert slow.seen.binc_ms == 200


def test_conditions_are_checked() -> None:
    with pytest.raises(ValueError, match="nodes can't be negative"):
        Conditions(nodes=-1)
    for name in ("nodes", "depth", "movetime_ms"):
        with pytest.raises(ValueError, match=f"{name} is 0, at least 1 is needed"):
            Conditions(**{name: 0})
    with pytest.raises(ValueError, match="not both"):
        Conditions(byoyomi_ms=1, increment_ms=1)


# ---------------------------------------------------------------------------- openings


@pytest.mark.parametrize(("count", "plies", "name"), [(-1, 8, "count"), (2, -1, "plies")])
def test_random_openings_name_the_negative_argument(count: int, plies: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is -1, at least 0 is needed$"):
        arena.random_openings(count, plies)


@pytest.mark.parametrize(("count", "plies", "name"), [(math.inf, 4, "count"), (2, 4.5, "plies")])
def test_openings_are_counted_in_whole_numbers(count: Any, plies: Any, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: expected int, got float$"):
        arena.random_openings(count, plies)


def test_random_openings_are_quiet_different_and_repeatable() -> None:
    openings = arena.random_openings(30, 8, seed=4)
    assert openings == arena.random_openings(30, 8, seed=4)
    assert openings != arena.random_openings(30, 8, seed=5)
    boards = [opening.board() for opening in openings]
    assert len({board.key for board in boards}) == 30
    assert all(is_quiet(board) and len(board.moves) == 8 for board in boards)


def test_impossible_openings_are_refused() -> None:
    with pytest.raises(arena.OpeningError, match="only 30 of 31"):
        arena.random_openings(31, 1)
    attempts = []
    with pytest.raises(arena.OpeningError, match="only 0 of 500"):
        arena.random_openings(500, 2, is_fair=lambda board: bool(attempts.append(board)))
    assert len(attempts) == 1000  # not that many for each of the 500


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("startpos", Opening()),
        ("position startpos moves 7g7f 3c3d", Opening(moves=("7g7f", "3c3d"))),
        ("7g7f 3c3d 2g2f", Opening(moves=("7g7f", "3c3d"))),
        ("8k/9/9/9/9/9/9/9/K8 b - 1", Opening("8k/9/9/9/9/9/9/9/K8 b - 1")),
        ("sfen 8k/9/9/9/9/9/9/9/K8 w G 5 moves 1a1b", None),
    ],
)
def test_lines_of_an_opening_file(line: str, expected: Opening | None) -> None:
    got = parse_opening(line, plies=2)
    assert got == (expected or Opening("8k/9/9/9/9/9/9/9/K8 w G 5", ("1a1b",)))


def test_an_opening_has_one_value() -> None:
    assert Opening("startpos", ["7g7f"]) == Opening(moves=("7g7f",))  # type: ignore[arg-type]


def test_a_match_of_listed_opening_moves_resumes(tmp_path: Path) -> None:
    openings = [Opening("startpos", ["7g7f", "3c3d"])]  # type: ignore[arg-type]
    for games in (2, 4):
        conditions = Conditions(max_plies=4)
        result = arena.play_match(
            *("random", "random"),
            games=games,
            openings=openings,
            conditions=conditions,
            out=tmp_path,
        )
        assert len(result.games) == games


def test_opening_file_names_the_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "book.sfen"
    path.write_text("# a comment\n\nstartpos moves 7g7f\nstartpos moves 7g7f 7g7f\n")
    with pytest.raises(arena.OpeningError, match=r"book\.sfen, line 4"):
        read_openings(path)
    assert read_openings(path, plies=1) == [Opening(moves=("7g7f",))] * 2
    path.write_text("\n")
    with pytest.raises(arena.OpeningError, match="no opening"):
        read_openings(path)


def test_lines_of_openings_are_those_of_an_editor(tmp_path: Path) -> None:
    """U+2028 and a form feed break no line, and a comment may be in Shift-JIS."""
    path = tmp_path / "book.sfen"
    path.write_bytes("# 定跡\n7g7f\n".encode("cp932"))
    assert read_openings(path) == [Opening(moves=("7g7f",))]
    path.write_bytes("# a\u2028b\n7g7f\f\r\n7g7e\n".encode())
    with pytest.raises(arena.OpeningError, match=r"book\.sfen, line 3: "):
        read_openings(path)
    path.write_bytes(b"7g7f\n" + b"x" * ((1 << 24) + 1))
    with pytest.raises(arena.OpeningError, match=r"book\.sfen, line 2: .* not a text file"):
        read_openings(path)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_text_file_holds_the_same_openings(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    """Not games, of which only the first 24 plies would be played, and none of shorter ones."""
    path, packed = tmp_path / "book.sfen", tmp_path / f"book.sfen{suffix}"
    path.write_text("# short and long\n7g7f 3c3d\n" + "2h3h 8b7b 3h2h 7b8b " * 7)
    packed.write_bytes(compress(path.read_bytes()))
    assert [len(opening.moves) for opening in read_openings(path)] == [2, 28]
    assert read_openings(packed) == read_openings(path)
    assert Lines([packed]).fingerprint == Lines([path]).fingerprint
    assert source_text(packed, None) == packed.name
    packed.write_bytes(compress(b"7g7f\n7g7e\n"))
    for read in (read_openings, lambda path: Lines([path])):
        with pytest.raises(arena.OpeningError, match=rf"book\.sfen\{suffix}, line 2: "):
            read(packed)
    packed.write_bytes(compress(path.read_bytes())[:-9])
    with pytest.raises(arena.OpeningError, match=rf"book\.sfen\{suffix}: damaged compression"):
        read_openings(packed)


def test_damaged_games_among_openings_are_reported(tmp_path: Path) -> None:
    """The readable ones are used; a line names each damage, in every command."""
    path = tmp_path / "games.csa"
    game = "PI\n+\n+7776FU\n-3334FU\n%TORYO\n/\n"
    path.write_text(game + "PI\n+\n+7776FU\n-3333FU\n/\n" + game.replace("7776", "2726"))
    skipped: list[Skipped] = []
    openings = read_openings(path, 2, skipped.append)
    assert [opening.moves for opening in openings] == [("7g7f", "3c3d"), ("2g2f", "3c3d")]
    assert [one.path for one in skipped] == [path]
    assert len(Lines([path], skipped.append)) == 3
    assert skipped[1:] == skipped[:1]
    parameters = tmp_path / "p.toml"
    parameters.write_text(
        f"pairs = 1\nopenings = {json.dumps(str(path))}\nopening_plies = 2\n"
        "[conditions]\nnodes = 1\nmax_plies = 4\n"
        '[parameters."Search.null_base"]\nstart = 90\nmin = 50\nmax = 150\n'
    )
    given = ["--openings", str(path), "--opening-plies", "2"]
    for words in (
        ["match", "random", "material", "--games", "2", "--max-plies", "4", *given],
        ["ladder", "new", str(tmp_path / "a.ladder"), *given],
        ["tune", "alphabeta?Eval=material", str(parameters), "-o", str(tmp_path / "tuned")],
    ):
        result = CliRunner().invoke(group, words)
        assert result.exit_code == 0, result.output
        assert result.stderr.count(f"skipped: {path}: byte ") == 1, result.stderr


def test_openings_of_one_position_are_played_once(tmp_path: Path) -> None:
    path = tmp_path / "book.sfen"
    lines = ["7g7f 3c3d 2g2f", "2g2f 3c3d 7g7f", "7g7f 3c3d 2g2f", "7g7f 8c8d", "2g2f 8c8d 7g7f"]
    path.write_text("\n".join(f"startpos moves {line}" for line in lines))
    openings = read_openings(path)
    assert [len(opening.moves) for opening in openings] == [3, 3, 3, 2, 3]
    chosen = choose(openings, 9, seed=1)
    assert len({opening.board().key for opening in chosen[:3]}) == 3
    assert sorted(map(str, chosen[:3])) == sorted(map(str, chosen[3:6]))
    words = ["match", "random", "material", "--games", "8", "--max-plies", "6", "--openings"]
    result = CliRunner().invoke(group, [*words, str(path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "3 different openings for 4 pairs of games" in result.output
    assert "openings: book.sfen, seed 0" in result.output
    played = [json.loads(line) for line in (tmp_path / "out/games.jsonl").read_text().splitlines()]
    assert {game["opening_plies"] for game in played[1:]} == {2, 3}


@pytest.mark.parametrize(("plies", "is_said"), [("8", True), ("9", False)])
def test_a_limit_within_the_openings_is_said(plies: str, is_said: bool) -> None:
    words = ["match", "random", "material", "--games", "2", "--max-plies", plies]
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 0
    assert (f"games end at ply {plies}, no later than the openings" in result.stderr) == is_said


@pytest.mark.parametrize(
    ("source", "plies", "text"),
    [
        ("", None, "8 random plies"),
        ("", 1, "1 random ply"),
        ("sample", None, "sample, 24 plies"),
        ("books/book.sfen", None, "book.sfen"),
        ("books/book.sfen", 12, "book.sfen, 12 plies"),
        ("games.csa", 12, "games.csa, 12 plies"),
    ],
)
def test_the_source_of_openings_in_words(source: str, plies: int | None, text: str) -> None:
    assert source_text(source, plies) == text


def test_openings_from_game_records(tmp_path: Path) -> None:
    openings = read_openings("sample", plies=10)
    assert len(openings) > 50
    assert len(set(openings)) == len(openings)
    for opening in openings[:20]:
        assert len(opening.board().moves) == 10
    with pytest.raises(arena.OpeningError, match="no game of at least 5000"):
        read_openings("sample", plies=5000)
    with pytest.raises(arena.OpeningError, match="none"):
        read_openings(tmp_path / "none.kif")


def test_choice_uses_all_openings_before_one_returns() -> None:
    openings = arena.random_openings(5, 4)
    chosen = choose(openings, 12, seed=1)
    assert set(chosen[:5]) == set(openings) == set(chosen[5:10])
    assert chosen == choose(openings, 12, seed=1)


def test_openings_may_come_from_an_iterator() -> None:
    openings = arena.random_openings(2, 4)
    assert choose(iter(openings), 5, seed=1) == choose(openings, 5, seed=1)
    result = arena.play_match("random", "random", games=6, openings=iter(openings))
    assert len(result.games) == 6
    with pytest.raises(arena.OpeningError, match="no openings"):
        choose(iter(()), 5, seed=1)


# ---------------------------------------------------------------------------- matches


def test_colours_are_swapped_and_points_counted_for_a() -> None:
    result = arena.play_match("material", "random", games=12, seed=3)
    assert result.played == 12
    for first, second in zip(result.games[::2], result.games[1::2], strict=True):
        assert first.first_is_black
        assert not second.first_is_black
        assert first.names == second.names[::-1] == ("material", "random")
        n = first.opening_plies
        assert first.moves[:n] == second.moves[:n]
    assert result.wins == sum(
        g.names[("black", "white").index(g.winner)] == "material"
        for g in result.games
        if g.winner != "draw"
    )
    assert sum(result.pairs) == 6
    assert result.p_value < 0.05


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_match_depends_on_its_seed_alone(concurrency: int) -> None:
    def games(seed: int) -> dict[int, list[str]]:
        result = arena.play_match("material", "random", games=6, seed=seed, concurrency=concurrency)
        return {g.index: g.moves for g in result.games}

    expected = arena.play_match("material", "random", games=6, seed=1)
    assert games(1) == {g.index: g.moves for g in expected.games}
    assert games(1) != games(2)


def test_a_match_starts_no_more_workers_than_it_has_games(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []

    class Thread(threading.Thread):
        def __init__(self, **options: Any) -> None:
            names.append(options["name"])
            super().__init__(**options)

    monkeypatch.setattr("komadori.arena.workers.threading.Thread", Thread)
    result = arena.play_match(
        lambda: make("random"), lambda: make("random"), games=2, concurrency=20
    )
    assert len(result.games) == 2
    assert names == ["game runner 0", "game runner 1"]


def test_functions_play_in_threads() -> None:
    result = arena.play_match(
        lambda: make("material"), lambda: make("random"), games=6, concurrency=2
    )
    assert sorted(g.index for g in result.games) == list(range(6))
    assert result.names == ("A", "B")


def test_errors_of_workers_reach_the_caller() -> None:
    with pytest.raises(WorkerError, match=r"^no program"):
        arena.play_match("usi:/no/such/engine", "random", games=4, concurrency=2)
    with pytest.raises(EngineError, match="no program"):
        arena.play_match("usi:/no/such/engine", "random", games=2)
    with pytest.raises(ValueError, match="even"):
        arena.play_match("random", "random", games=3)
    with pytest.raises(ValueError, match="concurrency"):
        arena.play_match("random", "random", concurrency=0)


def test_a_failing_engine_loses_and_the_match_continues() -> None:
    result = arena.play_match(lambda: Script("crash"), "random", games=4)
    assert (result.losses, result.reasons["engine_failure"]) == (4, 4)


def test_an_interrupted_match_resumes(tmp_path: Path) -> None:
    whole = arena.play_match("material", "random", games=8, seed=5)
    played: list[int] = []

    def cut(record: arena.GameRecord, result: arena.MatchResult) -> None:
        played.append(record.index)
        if len(played) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arena.play_match("material", "random", games=8, seed=5, out=tmp_path, on_game=cut)
    path = tmp_path / "games.jsonl"
    with path.open("a") as file:
        file.write('{"index": 3, "ope')  # as after a power failure
    again: list[int] = []
    result = arena.play_match(
        "material",
        "random",
        games=8,
        seed=5,
        out=tmp_path,
        on_game=lambda g, r: again.append(g.index),
    )
    assert again == [3, 4, 5, 6, 7]
    assert [g.moves for g in result.games] == [g.moves for g in whole.games]
    assert (result.wins, result.draws, result.pairs) == (whole.wins, whole.draws, whole.pairs)
    assert len(path.read_text().splitlines()) == 9
    figures = json.loads((tmp_path / "result.json").read_text())
    assert figures["wins"] == whole.wins
    folder = tmp_path / "failed"
    with pytest.raises(EngineError):
        arena.play_match("material", f"usi:{sys.executable} -c pass", games=2, out=folder)
    # A match that failed before its first game doesn't hold the folder.
    assert len(arena.play_match("material", "random", games=2, out=folder).games) == 2
    with pytest.raises(arena.MatchStoreError, match="another match: seed: 5 there, 6 here"):
        arena.play_match("material", "random", games=8, seed=6, out=tmp_path)
    other = arena.Conditions(max_plies=40, nodes=9)
    with pytest.raises(arena.MatchStoreError) as caught:
        arena.play_match("material", "random", games=8, seed=5, conditions=other, out=tmp_path)
    changed = "conditions, nodes: none there, 9 here; conditions, max_plies: 320 there, 40 here"
    assert f"another match: {changed}; choose" in str(caught.value)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{}", *lines[2:]]) + "\n")
    with pytest.raises(arena.MatchStoreError, match="line 2"):
        arena.play_match("material", "random", games=8, seed=5, out=tmp_path)


def play_two_games(out: Path) -> None:
    """Play a short match, or resume it."""
    arena.play_match("random", "random", conditions=Conditions(max_plies=12), games=2, out=out)


@pytest.mark.parametrize(
    "change",
    [
        {"index": None},
        {"index": 1e999},
        {"opening": "a"},
        {"names": 3},
        {"moves": 3},
        {"moves": ["zz"]},
        {"moves": ["5a5a"]},
        {"sfen": "x"},
        {"winner": 3},
        {"winner": ["draw"]},
        {"reason": ["time"]},
        {"scores_cp": {"a": 1}},
        {"times_ms": [1e999]},
        {"opening_plies": 1e9},
    ],
    ids=str,
)
def test_a_damaged_game_is_named_and_kept(change: dict[str, Any], tmp_path: Path) -> None:
    play_two_games(tmp_path)
    path = tmp_path / "games.jsonl"
    terms, first, second = path.read_text().splitlines()
    path.write_text("\n".join((terms, json.dumps({**json.loads(first), **change}), second, "")))
    before = path.read_bytes()
    with pytest.raises(arena.MatchStoreError, match=r"games\.jsonl, line 2: "):
        play_two_games(tmp_path)
    assert path.read_bytes() == before


def test_a_game_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    play_two_games(tmp_path)
    path = tmp_path / "games.jsonl"
    terms, first, second = path.read_text().splitlines()
    path.write_text("\n".join((terms, first, second, first, "")))
    with pytest.raises(arena.MatchStoreError, match=r"line 4: game 1 is there already"):
        play_two_games(tmp_path)


@pytest.mark.parametrize("content", ['{"mine": 1}', '{"mine": 1}\n', "[]\n", "text", "\n"])
def test_a_file_of_something_else_is_no_truncated_match(content: str, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(content)
    with pytest.raises(arena.MatchStoreError, match=r"games\.jsonl, line 1: no terms of a match"):
        arena.play_match("random", "random", games=2, out=tmp_path)
    assert path.read_text() == content


@pytest.mark.parametrize("length", [0, 1, 8, 30])
def test_a_match_that_was_killed_at_its_first_line_begins_anew(length: int, tmp_path: Path) -> None:
    conditions = Conditions(max_plies=12)
    whole = arena.play_match("random", "random", conditions=conditions, games=2, out=tmp_path)
    path = tmp_path / "games.jsonl"
    path.write_bytes(path.read_bytes()[:length])
    again = arena.play_match("random", "random", conditions=conditions, games=2, out=tmp_path)
    assert [game.moves for game in again.games] == [game.moves for game in whole.games]


def test_a_match_that_is_being_played_is_left_alone(tmp_path: Path) -> None:
    def intrude(record: arena.GameRecord, result: arena.MatchResult) -> None:
        with pytest.raises(InUseError, match="in use by process"):
            arena.play_match("material", "random", games=2, out=tmp_path)

    arena.play_match("material", "random", games=2, out=tmp_path, on_game=intrude)
    assert arena.play_match("material", "random", games=2, out=tmp_path).games


@pytest.mark.parametrize("suffix", ["kif", "csa", "usi"])
def test_games_are_written_as_records(suffix: str, tmp_path: Path) -> None:
    result = arena.play_match("material", "random", games=2, out=tmp_path, records=suffix)
    for record in result.games:
        path = tmp_path / "games" / f"{record.index + 1:05}.{suffix}"
        (game,) = read_games(path)
        assert game.usi_moves() == record.moves
        assert game.winner.name.lower() == record.winner


def test_records_that_cannot_be_written_are_refused_first(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give out"):
        arena.play_match("material", "random", games=2, records="kif")
    with pytest.raises(ValueError, match="xyz"):
        arena.play_match("material", "random", games=2, records="xyz", out=tmp_path)


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_ending_has_its_name_in_records(reason: Reason) -> None:
    record = GameRecord(0, 0, ("a", "b"), True, STARTPOS, ["7g7f"], 0, "white", reason)
    assert to_game(record).end.name != "UNKNOWN"


def test_sprt_ends_a_match_early() -> None:
    result = arena.play_match(
        "material", "random", games=1000, sprt=arena.Sprt(0, 100), concurrency=1
    )
    assert result.decision == "H1"
    assert result.played < 200


# ---------------------------------------------------------------------------- adjudication


class Careless(Script):
    """Answers with a move where a decision is needed, or leaves its move on the board."""

    def __init__(self, *, answers_move: bool) -> None:
        super().__init__("7g7f")
        self.answers_move = answers_move

    def play(self, board: Board, go: GoCommand) -> Decision:
        decision = super().play(board, go)
        if self.answers_move:
            return decision.move  # type: ignore[return-value]
        board.push(decision.move)
        return decision


class Worded(Script):
    """Answers with the text of a move."""

    def play(self, board: Board, go: GoCommand) -> Decision:
        return Decision(move="7g7f")  # type: ignore[arg-type]


@pytest.mark.parametrize("names", ["ab", ("a",), ("a", "b", "c")])
def test_names_are_two(names: Any) -> None:
    with pytest.raises(TypeError, match=r"^names: expected two names, A's and B's, got "):
        arena.play_match("random", "random", games=2, names=names)


def test_what_a_player_of_ones_own_does_wrong_is_named() -> None:
    def played(player: Script) -> None:
        play_game(player, Script("3c3d"), Opening(), Conditions())

    with pytest.raises(TypeError, match=r"Careless\.play: expected Decision, got Move"):
        played(Careless(answers_move=True))
    with pytest.raises(ValueError, match=r"Careless\.play changed the board"):
        played(Careless(answers_move=False))
    with pytest.raises(TypeError, match="function that builds a player, got Scr"):
        arena.play_match(Script("7g7f"), "random", games=2)
    with pytest.raises(TypeError, match=r"^Worded\.play: move: expected Move, got str$"):
        played(Worded())
    with pytest.raises(TypeError, match=r"^int is no player: name, new_game, play, close missing$"):
        arena.play_match(lambda: 3, "random", games=2)  # type: ignore[arg-type, return-value]


class Scored(Script):
    """Reports a score with each move."""

    def __init__(self, *words: str, score_cp: int | None) -> None:
        super().__init__(*words)
        self.score_cp = score_cp

    def play(self, board: Board, go: GoCommand) -> Decision:
        return replace(super().play(board, go), score_cp=self.score_cp)


@pytest.mark.parametrize(
    ("black_cp", "white_cp", "expected", "plies"),
    [
        (900, -800, ("black", "adjudication"), 6),
        (-900, 800, ("white", "adjudication"), 6),
        (900, -700, ("draw", "repetition"), 12),  # White's scores stay below the threshold
        (900, 900, ("draw", "repetition"), 12),  # the scores disagree on the winner
        (900, None, ("draw", "repetition"), 12),
        (20, -30, ("draw", "adjudication"), 8),
    ],
)
def test_adjudication_needs_both_scores(
    black_cp: int | None, white_cp: int | None, expected: tuple[str, str], plies: int
) -> None:
    black = Scored("2h3h", "3h2h", score_cp=black_cp)
    white = Scored("8b7b", "7b8b", score_cp=white_cp)
    terms = Conditions(
        adjudicate_cp=800,
        adjudicate_moves=3,
        adjudicate_draw_cp=30,
        adjudicate_draw_moves=4,
        adjudicate_draw_ply=8,
    )
    record = play_game(black, white, Opening(), terms)
    assert (record.winner, record.reason) == expected
    assert len(record.moves) == plies
    without = play_game(black, white, Opening(), Conditions())
    assert (without.winner, without.reason) == ("draw", "repetition")


def test_why_a_player_lost_is_kept_in_records(tmp_path: Path) -> None:
    arena.play_match(
        lambda: Script("7g7e"),
        lambda: Script("crash"),
        games=2,
        opening_plies=0,
        out=tmp_path,
        records=("kif", "csa"),
    )
    for suffix in ("kif", "csa"):
        (first,) = read_games(tmp_path / "games" / f"00001.{suffix}")
        (second,) = read_games(tmp_path / "games" / f"00002.{suffix}")
        assert first.comments[0] == "illegal move: 7g7e"
        assert second.comments[0] == "engine failure: script crashed"
        assert (first.winner, second.winner) == (Winner.WHITE, Winner.WHITE)


# ---------------------------------------------------------------------------- resuming


def test_changed_weights_under_one_path_are_noticed(tmp_path: Path) -> None:
    weights = tmp_path / "w.npz"
    shipped = Path(komadori.__file__).parent / "data" / "two-piece.npz"
    weights.write_bytes(shipped.read_bytes())
    player = f"alphabeta?Eval=two-piece&EvalFile={weights}&nodes=50"
    out = tmp_path / "out"
    arena.play_match(player, "random", games=2, out=out)
    assert arena.play_match(player, "random", games=2, out=out).played == 2
    with weights.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(arena.MatchStoreError, match=r"w\.npz \(player A\) has changed"):
        arena.play_match(player, "random", games=4, out=out)


@pytest.mark.parametrize("option", ["--option Book_File={}", "--option=Book_File={}"])
def test_files_that_an_engines_arguments_name_are_compared(tmp_path: Path, option: str) -> None:
    weights = tmp_path / "w.bin"
    weights.write_bytes(b"weights")
    engine = f"usi:{sys.executable} -m komadori usi --player material"
    players = f"{engine} {option.format(weights)}", "random"
    conditions = arena.Conditions(max_plies=4)
    arena.play_match(*players, games=2, conditions=conditions, out=tmp_path / "out")
    weights.write_bytes(b"others")
    with pytest.raises(arena.MatchStoreError, match=r"w\.bin \(player A\) has changed since"):
        arena.play_match(*players, games=4, conditions=conditions, out=tmp_path / "out")
    weights.unlink()
    with pytest.raises(arena.MatchStoreError, match=r"w\.bin \(player A\) is missing now;"):
        arena.play_match(*players, games=4, conditions=conditions, out=tmp_path / "out")


def test_logs_are_no_files_of_an_engine(tmp_path: Path) -> None:
    weights, log = tmp_path / "w.bin", tmp_path / "engine.log"
    for path in (weights, log):
        path.touch()
    files = fingerprint(f"usi:{sys.executable} --log={log} --log {log} --weights={weights}")
    assert str(weights) in files
    assert str(log) not in files


def test_a_match_resumes_where_its_files_have_moved(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "here/net").mkdir(parents=True)
    weights = tmp_path / "here/net/w.npz"
    shipped = Path(komadori.__file__).parent / "data" / "two-piece.npz"
    other = tmp_path / "here/v.npz"
    for path in (weights, other):
        path.write_bytes(shipped.read_bytes())

    def match(a: str, b: str, games: int) -> arena.MatchResult:
        players = [f"alphabeta?Eval=two-piece&EvalFile={path}&nodes=5" for path in (a, b)]
        return arena.play_match(
            *players, games=games, out=tmp_path / "match", conditions=Conditions(max_plies=12)
        )

    match(str(weights), str(other), 2)
    monkeypatch.chdir(tmp_path / "here")
    for a, b in (("net/w.npz", "v.npz"), ("./net/w.npz", "../here/v.npz")):
        assert match(a, b, 2).played == 2
    (tmp_path / "here").rename(tmp_path / "there")
    assert match(str(tmp_path / "there/net/w.npz"), str(tmp_path / "there/v.npz"), 4).played == 4
    with (tmp_path / "there/v.npz").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(arena.MatchStoreError, match="another match"):
        match(str(tmp_path / "there/net/w.npz"), str(tmp_path / "there/v.npz"), 4)


def test_every_opening_is_compared_and_the_number_of_games_may_grow(tmp_path: Path) -> None:
    openings = arena.random_openings(4, 6)
    terms: dict[str, Any] = {"out": tmp_path}
    arena.play_match("material", "random", games=4, openings=openings[:2], **terms)
    store = json.loads((tmp_path / "games.jsonl").read_text().splitlines()[0])
    assert len(store["openings"]) == 2
    more = arena.play_match("material", "random", games=4, openings=openings[:2], **terms)
    assert more.played == 4
    changed = [openings[0], openings[3]]
    with pytest.raises(arena.MatchStoreError, match=r"opening \d differs"):
        arena.play_match("material", "random", games=4, openings=changed, **terms)
    grown = tmp_path / "grown"
    arena.play_match("material", "random", games=2, out=grown)
    assert arena.play_match("material", "random", games=6, out=grown).played == 6
    arena.play_match("material", "random", games=2, out=tmp_path / "more", openings=openings[:3])
    opened = {"out": tmp_path / "more", "games": 6}
    arena.play_match("material", "random", openings=openings[:3], **opened)
    journal = tmp_path / "more" / "games.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    last = {int(json.loads(line)["opening"]) for line in journal.read_text().splitlines()[1:]}
    assert last == {0, 1, 2}  # half of the last pair is played
    for number in (1, 2):
        changed = [*openings[:3]]
        changed[number] = openings[3]
        with pytest.raises(arena.MatchStoreError, match=r"opening \d differs"):
            arena.play_match("material", "random", openings=changed, **opened)
    assert arena.play_match("material", "random", openings=openings[:3], **opened).played == 6


def test_a_missing_or_empty_record_is_restored(tmp_path: Path) -> None:
    arena.play_match("material", "random", games=4, out=tmp_path, records="kif")
    lost = tmp_path / "games" / "00002.kif"
    text = lost.read_bytes()
    for lose in (lost.unlink, lambda: lost.write_bytes(b"")):
        lose()
        arena.play_match("material", "random", games=4, out=tmp_path, records="kif")
        assert lost.read_bytes() == text


def test_a_file_in_the_place_of_a_record_is_named_before_the_games(tmp_path: Path) -> None:
    foreign = tmp_path / "games" / "00002.kif"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    with pytest.raises(arena.MatchStoreError, match=r"00002\.kif isn't of this match"):
        arena.play_match("material", "random", games=4, out=tmp_path, records="kif")
    assert foreign.read_text() == "mine"
    foreign.unlink()
    assert arena.play_match("material", "random", games=4, out=tmp_path, records="kif").played == 4


def test_a_page_shows_the_match_and_no_name_is_markup(tmp_path: Path) -> None:
    name = "</script><b>[/]"
    arena.play_match(f"random?name={quote(name)}", "material", games=4, out=tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert name not in page
    text = page.split('id="data">')[1].split("</script>")[0]
    data = json.loads(text)
    assert data["title"] == f"{name} – material"
    assert [game["index"] for game in data["games"]] == [0, 1, 2, 3]
    assert all(len(g["scores"]) == len(g["moves"]) - g["opening"] for g in data["games"])


def test_the_command_survives_markup_in_names(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        group, ["match", "random?name=[/]", "random?name=[red]x", "-g", "2", "--out", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert "[/] - [red]x:" in result.output


# ---------------------------------------------------------------------------- faults

#: Answers only `usi` and `isready`; ignores the end of its input and SIGTERM.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
for line in sys.stdin:
    if line.startswith("usi"): print("usiok", flush=True)
    if line.startswith("isready"): print("readyok", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("concurrency", [1, 2])
def test_workers_and_engines_die_with_the_match(
    number: signal.Signals, concurrency: int, tmp_path: Path
) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN)
    pids = tmp_path / "pids"
    pids.mkdir()
    engine = f"usi:{sys.executable} {script} {pids}"
    arguments = [engine, "random", "--movetime", "60000", "-j", str(concurrency), "-g", "4"]
    match = subprocess.Popen(
        [sys.executable, "-m", "komadori", "match", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(list(pids.iterdir())) == concurrency, 60)
    started = [int(path.name) for path in pids.iterdir()]
    start_s = time.monotonic()
    match.send_signal(number)
    _, error = match.communicate(timeout=20)
    if number == signal.SIGINT:
        assert match.returncode == 130
        assert time.monotonic() - start_s < 5
        assert "can be resumed" in error
    wait_for(lambda: not any(is_running(pid) for pid in started), 10)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().split(")")[-1].split()[0] != "Z"


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("a", "b", "limits", "expected"),
    [
        ("alphabeta", "random", {}, "100 nodes per move (default), draw"),
        ("model:random:1", "alphabeta", {"nodes": 7}, "7 nodes per move, draw"),
        ("alphabeta?movetime=30", "random", {"movetime_ms": 100}, "30 ms per move, draw"),
        (
            "alphabeta?movetime=30",
            "alphabeta",
            {},
            "alphabeta?movetime=30: 30 ms per move, alphabeta: 100 nodes per move (default), draw",
        ),
        ("alphabeta", "random", {"main_ms": 1000}, "1 s, draw"),
        ("random", "material", {}, "draw"),
    ],
)
def test_conditions_are_those_of_the_players(
    a: str, b: str, limits: dict[str, Any], expected: str
) -> None:
    conditions = Conditions(max_plies=1, **limits)
    result = arena.play_match(a, b, games=2, conditions=conditions)
    assert result.terms == f"{expected} after 1 ply"


def test_without_a_limit_the_default_is_named() -> None:
    assert str(Conditions()).startswith("100 nodes per move unless a player sets a limit, draw")
    assert str(Conditions(main_ms=1000)).startswith("1 s, draw")
    tolerant = Conditions(main_ms=1000, margin_ms=500, nodes=7)
    assert str(tolerant).startswith("1 s, 0.5 s of overtime tolerated, 7 nodes per move, draw")
    printed = CliRunner().invoke(group, ["match", "--help"]).output
    assert "[default without any limit: 100]" in " ".join(printed.split())
    assert "Without any limit other engines get a plain `go`" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        ("alphabeta", "alphabeta?eval=two-piece", ("alphabeta", "alphabeta?eval=two-piece")),
        (
            "alphabeta?eval=nnue&hash=8",
            "alphabeta?eval=two-piece&hash=8",
            ("alphabeta?eval=nnue", "alphabeta?eval=two-piece"),
        ),
        ("random?name=x", "random?name=x", ("x (A)", "x (B)")),
        ("alphabeta?name=one", "alphabeta", ("one", "alphabeta")),
        ("random", "random?seed=1", ("random (A)", "random (B)")),
        ("policy:random:1", "policy:random:2", ("policy random:1", "policy random:2")),
        ("model:a/m.onnx", "model:b/m.onnx", ("a/m.onnx", "b/m.onnx")),
    ],
)
def test_players_of_one_name_are_named_by_what_differs(
    a: str, b: str, names: tuple[str, str]
) -> None:
    assert _names((a, b)) == names


def test_why_an_engine_failed_is_printed(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import sys\nfor line in sys.stdin:\n"
        "    print({'usi\\n': 'usiok', 'isready\\n': 'readyok'}.get(line, ''), flush=True)\n"
        "    if line.startswith('go'): sys.exit('no weights')\n"
    )
    broken = f"usi:{sys.executable} {engine}?name=broken"
    done = CliRunner().invoke(group, ["match", broken, "random", "--games", "2", "--nodes", "1"])
    assert done.exit_code == 0, done.output
    assert "broken failed in 2 games: " in done.output
    assert "no weights" in done.output


@pytest.mark.parametrize("player", ["gpsusi", "gnushogi", "sjaakii"])
def test_limits_that_an_engine_does_not_support_are_refused_first(
    player: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"{player} .*nodes"):
        arena.play_match(player, "random", games=2, nodes=100, out=tmp_path / "match")
    assert not (tmp_path / "match").exists()
    check_players(Conditions(nodes=100), [f"{player}?movetime=10"])
    done = CliRunner().invoke(group, ["match", player, "random", "--nodes", "100"])
    assert done.exit_code == 2, done.output


def test_openings_that_an_engine_does_not_play_are_refused_first(tmp_path: Path) -> None:
    openings = tmp_path / "openings.sfen"
    openings.write_text("sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1\n")
    line = ["match", "gnushogi", "random", "--openings", str(openings), "--games", "2"]
    done = CliRunner().invoke(group, [*line, "--out", str(tmp_path / "match")])
    assert done.exit_code == 2, done.output
    assert "gnushogi plays from the start position only" in done.output
    assert not (tmp_path / "match" / "games.jsonl").exists()
    check_players(Conditions(), ["gnushogi"], [STARTPOS, STARTPOS.removesuffix(" 1")])


def test_a_worker_of_a_cluster_returns_games_that_the_head_can_read() -> None:
    conditions = Conditions(nodes=1, max_plies=20)
    job = {
        "players": ["material", "random"],
        "files": [{}, {}],
        "conditions": asdict(conditions),
    }
    worker = MatchWorker(job, "one", 1)
    worker.add([asdict(Job(3, 0, Opening(STARTPOS, ("7g7f",)), False, 5))])
    ends = time.monotonic() + 60
    found: list[Any] = []
    while not found and time.monotonic() < ends:
        found = worker.take()
    worker.stop()
    record = GameRecord.from_json(found[0][1])
    assert (record.index, record.names, record.moves[0]) == (3, ("random", "material"), "7g7f")
    assert GameRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_player_is_not_loaded_from_files_that_changed_in_the_match(
    tmp_path: Path, concurrency: int
) -> None:
    """After the failure of an engine both players are loaded again."""
    weights = tmp_path / "nn.bin"
    shipped = Path(komadori.__file__).parent / "data" / "nnue-k-p.bin"
    weights.write_bytes(shipped.read_bytes())

    def change(*_: object) -> None:
        content = bytearray(shipped.read_bytes())
        content[-1] ^= 1
        changed = tmp_path / "changed.bin"
        changed.write_bytes(content)
        changed.replace(weights)  # at once, since another process may be reading it

    a = f"alphabeta?EvalFile={weights}"
    broken = f"usi:{shlex.quote(sys.executable)} {shlex.quote(str(failing_engine(tmp_path)))}"
    with pytest.raises((PlayerSpecError, WorkerError), match=r"nn\.bin changed while it was in"):
        arena.play_match(a, broken, games=10, nodes=1, concurrency=concurrency, on_game=change)


def failing_engine(folder: Path) -> Path:
    """An engine that ends instead of answering `go`."""
    path = folder / "failing.py"
    path.write_text(
        "for line in iter(input, 'quit'):\n"
        "    answer = {'usi': 'usiok', 'isready': 'readyok'}.get(line)\n"
        "    if line.startswith('go'):\n"
        "        break\n"
        "    if answer:\n"
        "        print(answer, flush=True)\n"
    )
    return path


#: Keeps a log of what it is told of its games in its own file; never moves.
TOLD = """
import sys
with open(sys.argv[1], "a") as log:
    for line in sys.stdin:
        if line == "usi\\n": print("usiok", flush=True)
        elif line == "isready\\n": print("readyok", flush=True)
        elif line.startswith("go"): print("bestmove", sys.argv[2], flush=True)
        elif line.startswith(("usinewgame", "gameover")): print(line, end="", file=log, flush=True)
        elif line == "quit\\n": break
"""


@pytest.mark.parametrize(
    ("answer", "plies", "told"), [("resign", 320, "lose win"), ("7g7f", 1, "draw draw")]
)
def test_engines_are_told_the_result(answer: str, plies: int, told: str, tmp_path: Path) -> None:
    """As GUIs do at the end of a game."""
    engine = tmp_path / "told.py"
    engine.write_text(TOLD)
    black, white = (
        make(f"usi:{sys.executable} {engine} {tmp_path / name} {answer}")
        for name in ("black", "white")
    )
    for seed in (1, 2):
        play_game(black, white, Opening(), Conditions(max_plies=plies), seed=seed)
    black.close()
    white.close()
    for name, result in zip(("black", "white"), told.split(), strict=True):
        assert (tmp_path / name).read_text() == f"usinewgame\ngameover {result}\n" * 2


def test_a_game_without_its_partner_keeps_the_error_of_the_pairs() -> None:
    def played(index: int, a_wins: bool) -> GameRecord:
        first_is_black = index % 2 == 0
        winner = "black" if a_wins == first_is_black else "white"
        return GameRecord(
            index=index, opening=index // 2, names=("A", "B"), first_is_black=first_is_black,
            sfen=STARTPOS, moves=[], opening_plies=0, winner=winner, reason="checkmate",
        )  # fmt: skip

    result = arena.MatchResult(("A", "B"), Conditions())
    for pair in range(40):
        result.add(played(2 * pair, True))
        result.add(played(2 * pair + 1, pair % 10 == 0))
    whole = result.estimate
    assert whole == arena.elo.pentanomial(result.pairs)
    assert whole.error < arena.elo.trinomial(result.wins, 0, result.losses).error / 2
    result.add(played(80, True))
    assert result.estimate == whole
    for pair in range(41, 90):  # more games without a partner than pairs
        result.add(played(2 * pair, True))
    assert result.estimate == arena.elo.trinomial(result.wins, 0, result.losses)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_no_game_is_played_after_an_error_of_on_game(concurrency: int) -> None:
    def on_game(record: GameRecord, result: arena.MatchResult) -> None:
        raise ValueError("stop here")

    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="stop here") as raised:
        arena.play_match("random", "random", games=20_000, concurrency=concurrency, on_game=on_game)
    assert set(threading.enumerate()) <= before  # while the error, with its frames, is kept
    assert raised.value.__traceback__ is not None


@pytest.mark.parametrize(
    "player", ["model:random:1?Random_Ply=20", "policy:random:1?temperature=1"]
)
def test_the_seed_of_a_match_gives_its_games(player: str) -> None:
    def moves(seed: int) -> list[list[str]]:
        conditions = Conditions(nodes=4, max_plies=20)
        played = arena.play_match(
            player, player, games=4, opening_plies=2, seed=seed, conditions=conditions
        )
        return [game.moves for game in played.games]

    first = moves(7)
    assert first == moves(7)
    assert first != moves(8)
    assert first[0][2:] != first[1][2:]  # each game has a seed of its own
