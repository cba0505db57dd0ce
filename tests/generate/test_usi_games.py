"""Teacher games of other engines, including engines that misbehave."""

from __future__ import annotations

import contextlib
import sys
import textwrap
import threading
import time

import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.generate import command
from komadori.generate import (
    GameFolder,
    Lines,
    SearchBounds,
    TeacherSettings,
    folder_statistics,
    generate_games,
    segment_files,
)
from komadori.generate.usi_games import EngineSpec, UsiGames, check_engine, scored_lines
from komadori.usi import adapters
from komadori.usi.client import EngineError, UsiEngine
from komadori.usi.protocol import GoCommand, UsiSyntaxError, parse_info

SETTINGS = TeacherSettings(
    searches=(SearchBounds(nodes=100),), resign_cp=1200, max_plies=60, seed=3, play_on_fraction=0.0
)
#: An engine that plays a legal move, and misbehaves from a given ply on.
ENGINE = textwrap.dedent(
    """
    import os, sys, time
    from komadori.rules import Board
    kind, at = sys.argv[1], int(sys.argv[2])
    board = Board()
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "usi":
            print("id name fake\\noption name MultiPV type spin default 1 min 1 max 9\\nusiok")
        elif word == "isready":
            print("readyok")
        elif word == "position":
            board = Board.from_usi(rest)
        elif word == "go":
            moves = [move.usi() for move in board.legal_moves]
            moves = moves[board.key % len(moves) :] + moves[: board.key % len(moves)]
            once = os.environ.get("ONCE")
            if len(board.moves) == at and not (once and os.path.exists(once)):
                if once:
                    open(once, "w").close()
                if kind == "crash":
                    sys.exit(3)
                if kind == "hang":
                    time.sleep(100)
                if kind == "illegal":
                    moves = ["5e5d"]
                if kind == "silent":
                    print("bestmove", moves[0], flush=True)
                    continue
                if kind == "win":
                    moves = ["win"]
            print("info depth 1 nodes 7 multipv 1 score cp 10 pv", moves[0])
            print("info depth 1 nodes 9 multipv 2 score cp -20 pv", moves[-1])
            print("bestmove", moves[0])
        elif word == "quit":
            break
        sys.stdout.flush()
    """
)


@pytest.fixture
def engine(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    return lambda kind="well", at=-1, **more: EngineSpec(
        f"{sys.executable} {path} {kind} {at}", **more
    )


def play(folder, spec, games=4, settings=SETTINGS, processes=2):
    with GameFolder(folder, {}, games) as held:
        done = generate_games(
            held, UsiGames(settings, Lines(), spec, processes=processes), games, threads=processes
        )
        return done, held.counts()


def test_games_are_kept_with_scores(tmp_path, engine) -> None:
    done, counts = play(tmp_path / "games", engine())
    assert done
    assert (counts.games, counts.failed) == (4, 0)
    for path in segment_files(tmp_path / "games"):
        for game in records.read_games(path):
            assert set(game.scores_cp[-3:]) == {10}


def test_multipv_lines_become_candidates(tmp_path, engine) -> None:
    from dataclasses import replace

    settings = replace(SETTINGS, multipv=2, candidate_fraction=1.0, random_moves=0)
    _, counts = play(tmp_path / "games", engine(), games=1, settings=settings)
    assert counts.with_candidates == counts.scored > 20
    (game,) = records.read_games(segment_files(tmp_path / "games")[0])
    first, second = game.candidates.of_ply(0)
    assert (first[1], second[1]) == (64, 45)  # 30 cp apart at a temperature of 100


@pytest.mark.parametrize("kind", ["crash", "hang", "illegal", "silent", "win"])
def test_a_bad_engine_is_restarted_and_its_game_dropped(
    tmp_path, engine, kind, monkeypatch
) -> None:
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))
    if kind == "hang":
        monkeypatch.setattr("komadori.usi.client.STOP_GRACE_S", 0.2)
    # Long enough that a busy machine doesn't make a good engine a hung one.
    limit_s = 5 if kind == "hang" else 60
    spec = engine(kind, 20, limit_s=limit_s)
    done, counts = play(tmp_path / "games", spec, games=3, processes=1)
    assert done
    assert (counts.failed, counts.games) == (1, 2)
    lines = folder_statistics(tmp_path / "games").lines()
    assert any("failed     1 game dropped" in line for line in lines)
    assert not any("not yet in a segment" in line for line in lines)


def test_an_engine_that_always_fails_ends_the_run_with_its_reason(tmp_path, engine) -> None:
    with pytest.raises(EngineError, match=r"10 games in a row failed.*reported no score"):
        play(tmp_path / "games", engine("silent", 8), games=40)
    with pytest.raises(EngineError, match=r"2 games in a row failed.*reported no score"):
        play(tmp_path / "few", engine("silent", 8), games=2)


def test_a_failure_that_arrives_with_the_last_games_is_raised(
    tmp_path, engine, monkeypatch
) -> None:
    take = UsiGames.take

    def late(source, timeout_ms):
        while source.waiting:
            time.sleep(0.01)
        return take(source, timeout_ms)

    monkeypatch.setattr(UsiGames, "take", late)
    with pytest.raises(EngineError, match=r"2 games in a row failed"):
        play(tmp_path / "games", engine("silent", 8), games=2)


def test_stop_is_quick_while_an_engine_hangs(tmp_path, engine) -> None:
    source = UsiGames(SETTINGS, Lines(), engine("hang", 8), processes=2)
    source.add(range(5))
    time.sleep(1.0)
    started = time.monotonic()
    source.stop()
    assert time.monotonic() - started < 10  # the engine hangs for 100 s
    assert source.take(0) == []


def test_an_engine_that_starts_after_the_stop_plays_nothing(tmp_path, engine, monkeypatch) -> None:
    starting, go_on = threading.Event(), threading.Event()
    start = EngineSpec.start

    def slow(spec):
        starting.set()
        go_on.wait()
        return start(spec)

    monkeypatch.setattr(EngineSpec, "start", slow)
    source = UsiGames(SETTINGS, Lines(), engine("hang", 8))
    (thread,) = source._threads
    source.add(range(1))
    starting.wait()
    source.stop()
    go_on.set()
    thread.join(60)
    assert not thread.is_alive()  # it would hang for 100 s
    assert source.take(0) == []


def test_bad_engines_are_refused_before_anything_is_played(tmp_path, engine) -> None:
    for command_line, message in (
        ("no-such-engine", "no program 'no-such-engine'"),
        (f"{sys.executable} -c pass", "ended"),
    ):
        arguments = ["teacher", "-o", str(tmp_path / "x"), "--engine", command_line]
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 1
        assert message in result.output
        assert not (tmp_path / "x").exists()
    with pytest.raises(EngineError, match="has no option Hash"):
        check_engine(engine(options={"Hash": "1"}), 1)
    with pytest.raises(UsiSyntaxError):
        EngineSpec("x", go="depth")
    with pytest.raises(ValueError, match="don't expose"):
        UsiGames(TeacherSettings(inner_fraction=0.1), Lines(), engine())


def test_the_command_with_an_engine(tmp_path, engine) -> None:
    spec = engine()
    arguments = ["teacher", "-o", str(tmp_path / "games"), "--engine", spec.command]
    arguments += ["--games", "2", "--threads", "1", "--nodes", "10", "--max-plies", "30"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert "games      2 with" in result.output
    other = CliRunner().invoke(command, [*arguments, "--option", "MultiPV=2"])
    assert "options.MultiPV" in other.output


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (
            "fairy-stockfish",
            ["--threads", "2", "--nodes", "200", "--multipv", "3", "--candidates", "0.5"],
        ),
        # It takes four seconds of CPU time to start.
        ("gpsusi", ["--threads", "1", "--go", "", "--option", "LimitDepth=2"]),
    ],
)
def test_real_engines(tmp_path, name, arguments) -> None:
    if adapters.program(name) is None:
        pytest.skip(f"{name} isn't installed")
    folder = tmp_path / "games"
    base = ["teacher", "-o", str(folder), "--engine", name, "--games", "2"]
    result = CliRunner().invoke(command, [*base, "--max-plies", "40", *arguments])
    assert result.exit_code == 0, result.output
    samples = records.load_samples(segment_files(folder))
    assert len(samples) > 20
    assert len(set(samples.score_cp.tolist())) > 5


def scored(*lines: str) -> dict[str, int]:
    return scored_lines([parse_info(line) for line in lines], 3)


def test_a_bound_gives_way_to_no_other_move() -> None:
    whole = (
        "depth 3 multipv 1 score cp 500 pv 2g2f",
        "depth 3 multipv 2 score cp 60 pv 7g7f",
        "depth 3 multipv 3 score cp 50 pv 6i7h",
    )
    cut = (
        "depth 4 multipv 1 score cp 80 pv 7g7f",
        "depth 3 multipv 2 score cp 80 lowerbound pv 2g2f",
        "depth 3 multipv 3 score cp 50 pv 6i7h",
    )
    assert scored(*whole, *cut) == {"7g7f": 80, "2g2f": 80, "6i7h": 50}


def test_a_line_of_an_earlier_depth_counts_no_higher_than_the_rank_above() -> None:
    whole = ("depth 3 multipv 1 score cp 500 pv 7g7f", "depth 3 multipv 2 score cp 400 pv 2g2f")
    cut = "depth 4 multipv 1 score cp 80 pv 7g7f"
    for last in ("depth 3 multipv 2 score cp 80 lowerbound pv 2g2f", whole[1]):
        found = scored(*whole, cut, last)
        assert list(found.items()) == [("7g7f", 80), ("2g2f", 80)]


def test_the_newest_of_several_bounds_counts_unless_a_score_is_exact() -> None:
    bounds = (
        "depth 5 score cp 50 lowerbound pv 2g2f",
        "depth 5 score cp 90 lowerbound pv 2g2f",
    )
    assert scored("depth 4 score cp 10 pv 2g2f", *bounds) == {"2g2f": 90}
    assert scored("depth 5 score cp 70 pv 2g2f", *bounds) == {"2g2f": 70}
    assert scored("depth 5 score cp 70 pv 7g7f", *bounds) == {"2g2f": 90}


def test_an_interrupted_search_loses_no_line() -> None:
    bounds = 0
    engine = UsiEngine(f"{sys.executable} -m komadori usi", {"MultiPV": "5"})
    with contextlib.closing(engine):
        for game in records.read_games(records.sample_path())[:40]:
            moves = game.usi_moves()[:24]
            thought = engine.think(game.initial_sfen, moves, GoCommand(nodes=1500), 20)
            last = {info.multipv: info for info in thought.infos if info.pv}
            bounds += any("lowerbound" in str(info.score) for info in last.values())
            found = scored_lines(thought.infos, 5)
            assert list(found) == [last[rank].pv[0] for rank in sorted(last)]
            assert list(found.values()) == sorted(found.values(), reverse=True)
    assert bounds
