"""Games, judgement, openings, matches and their files, with players that need no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from komadori import arena
from komadori.arena.game import Conditions, GameRecord, Reason, judge, play_game
from komadori.arena.openings import Opening, choose, is_quiet, parse_opening, read_openings
from komadori.arena.store import to_game
from komadori.arena.workers import WorkerError
from komadori.players import Decision, make
from komadori.records import read_games
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


def test_clock_is_told_charged_and_overstepped() -> None:
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
    with pytest.raises(ValueError, match="not both"):
        Conditions(byoyomi_ms=1, increment_ms=1)


# ---------------------------------------------------------------------------- openings


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


def test_opening_file_names_the_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "book.sfen"
    path.write_text("# a comment\n\nstartpos moves 7g7f\nstartpos moves 7g7f 7g7f\n")
    with pytest.raises(arena.OpeningError, match=r"book\.sfen, line 4"):
        read_openings(path)
    assert read_openings(path, plies=1) == [Opening(moves=("7g7f",))] * 2
    path.write_text("\n")
    with pytest.raises(arena.OpeningError, match="no opening"):
        read_openings(path)


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


def test_functions_play_in_threads() -> None:
    result = arena.play_match(
        lambda: make("material"), lambda: make("random"), games=6, concurrency=2
    )
    assert sorted(g.index for g in result.games) == list(range(6))
    assert result.names == ("A", "B")


def test_errors_of_workers_reach_the_caller() -> None:
    with pytest.raises(WorkerError, match="no program"):
        arena.play_match("usi:/no/such/engine", "random", games=4, concurrency=2)
    with pytest.raises(EngineError, match="no program"):
        arena.play_match("usi:/no/such/engine", "random", games=2)
    with pytest.raises(ValueError, match="even"):
        arena.play_match("random", "random", games=3)
    with pytest.raises(ValueError, match="concurrency"):
        arena.play_match("random", "random", concurrency=0)


def test_an_engine_that_fails_loses_and_the_match_goes_on() -> None:
    result = arena.play_match(lambda: Script("crash"), "random", games=4)
    assert (result.losses, result.reasons["engine_failure"]) == (4, 4)


def test_a_match_is_taken_up_where_it_was_cut_off(tmp_path: Path) -> None:
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
        file.write('{"index": 3, "ope')  # the power failed here
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
    with pytest.raises(arena.MatchStoreError, match="another match"):
        arena.play_match("material", "random", games=8, seed=6, out=tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{}", *lines[2:]]) + "\n")
    with pytest.raises(arena.MatchStoreError, match="line 2"):
        arena.play_match("material", "random", games=8, seed=5, out=tmp_path)


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
