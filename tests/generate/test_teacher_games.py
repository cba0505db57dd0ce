"""Teacher games: openings, endings, stored data, determinism."""

from __future__ import annotations

import contextlib
from dataclasses import fields, replace

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori._core import generate as core
from komadori.arena.openings import OpeningError
from komadori.cli.generate_teacher import command
from komadori.generate import (
    BuiltinGames,
    Evaluation,
    GameFolder,
    Lines,
    SearchBounds,
    TeacherSettings,
    folder_statistics,
    generate_games,
    segment_files,
    teacher_card,
)
from komadori.records import NO_SCORE, End, Winner
from komadori.rules import BLACK, Board, Repetition, RulesError

SETTINGS = TeacherSettings(
    searches=(SearchBounds(nodes=120),), hash_mb=1, play_on_fraction=0.2, resign_cp=1500
)
TWO_PIECE = Evaluation("two-piece")


def play(folder, settings=SETTINGS, games=12, *, threads=2, lines=None, opponent=None, segment=6):
    lines = lines or Lines()
    card = teacher_card(settings, lines, {"player": TWO_PIECE.card()})
    with GameFolder(folder, card, segment) as held:
        source = BuiltinGames(settings, lines, TWO_PIECE, opponent, threads)
        assert generate_games(held, source, games, threads=threads)
    return segment_files(folder)


def games_of(files) -> list[records.Game]:
    return [game for path in files for game in records.read_games(path)]


def single(settings, number=0, lines=None) -> core.FinishedGame:
    """One game of the core, with endings that hcpe3 can't store."""
    game = core.TeacherGame(settings.to_core(), (lines or Lines()).core, number)
    from komadori.search import Limits
    from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

    searcher = AlphaBetaSearcher("two-piece", options=AlphaBetaOptions(hash_mb=1))
    while not game.is_over:
        request = game.request()
        searcher.set_position(Board.from_usi(f"sfen {game.initial_sfen}"))
        board = Board(game.initial_sfen)
        board.push_all(game.moves)
        searcher.set_position(board)
        found = searcher.search(Limits(nodes=request.nodes or None, depth=request.depth or None))
        lines_ = [] if found.best_move is None else [(found.best_move.usi(), _score(found))]
        game.answer(lines_, searcher.nodes, found.declare_win)
    return game.finished()


def _score(found) -> int:
    info = found.infos[0]
    return info.score_cp if info.mate_plies is None else (30000 if info.mate_plies > 0 else -30000)


def test_a_game_is_what_its_moves_say(tmp_path) -> None:
    files = play(tmp_path, games=30, segment=30)
    random_moves = set()
    for game in games_of(files):
        assert game.candidates is not None
        drawn = int((game.candidates.count == 0).sum())
        random_moves.add(drawn)
        assert drawn <= SETTINGS.random_moves
        assert (game.candidates.count[drawn:] == 1).all()
        assert (game.candidates.move16 == game.moves[drawn:]).all()
        board = game.final_board()
        mated = Winner.WHITE if board.turn == BLACK else Winner.BLACK
        if game.end == End.SENNICHITE:
            assert board.repetition(2) == Repetition.DRAW
            assert game.winner == Winner.DRAW
        elif game.end == End.UNKNOWN and not board.legal_moves:
            assert game.winner == mated
        elif game.end == End.UNKNOWN:  # the loser was to move and saw it, as the winner did before
            assert game.winner == mated
            assert game.scores_cp[-1] >= SETTINGS.resign_cp
    assert len(random_moves) > 3
    counts = folder_statistics(tmp_path).counts
    assert set(counts.ends) <= {"resign", "mate", "sennichite", "perpetual_check", "max_moves"}
    assert counts.ends["resign"] > 10
    assert counts.ends["mate"] > 0, "some games are played on"
    assert counts.played_on > 0


def test_nothing_but_seed_number_and_settings_decides(tmp_path) -> None:
    settings = replace(
        SETTINGS, multipv=3, sampled_plies=10, candidate_fraction=0.3, inner_fraction=0.1, seed=5
    )
    one = play(tmp_path / "one", settings, threads=1)
    three = play(tmp_path / "three", settings, threads=3)
    assert [path.name for path in one] == ["000000.hcpe3.xz", "000001.hcpe3.xz"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in three]
    inner = [sorted((tmp_path / name).glob("inner-*")) for name in ("one", "three")]
    assert [path.read_bytes() for path in inner[0]] == [path.read_bytes() for path in inner[1]]
    other = play(tmp_path / "other", replace(settings, seed=6))
    assert {path.read_bytes() for path in one}.isdisjoint(path.read_bytes() for path in other)


def test_the_state_machine_and_the_threads_play_the_same(tmp_path) -> None:
    files = play(tmp_path, games=4, segment=4)
    ours = [single(SETTINGS, number).hcpe3 for number in range(4)]
    import lzma

    assert lzma.decompress(files[0].read_bytes()) == b"".join(ours)


def test_candidates_are_a_softmax_of_scores_and_the_best_is_learnt(tmp_path) -> None:
    settings = replace(SETTINGS, multipv=4, sampled_plies=30, candidate_fraction=0.5)
    games = games_of(play(tmp_path, settings, games=8))
    counts = np.concatenate([game.candidates.count for game in games])
    assert set(np.unique(counts)) <= {0, 1, 2, 3, 4}
    assert (counts > 1).mean() > 0.4
    differing = 0
    for game in games:
        first = np.concatenate(([0], np.cumsum(game.candidates.count, dtype=np.int64)))
        for ply in np.flatnonzero(game.candidates.count):
            visits = game.candidates.visits[first[ply] : first[ply + 1]].astype(int)
            assert (np.diff(visits) <= 0).all(), "the best comes first"
            assert visits[0] == (64 if len(visits) > 1 else visits[0])
            assert set(visits) <= {1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64}
            differing += game.candidates.move16[first[ply]] != game.moves[ply]
    assert differing > 10
    statistics = folder_statistics(tmp_path)
    assert statistics.counts.differing == differing
    assert any("several candidates" in line for line in statistics.lines())


def first_ply(lines: list[tuple[str, int]], **changes) -> tuple[list[tuple[str, int]], int]:
    """The candidates and the score stored for a search with these lines."""
    base = {"multipv": 6, "candidate_fraction": 1.0, "random_moves": 0, "play_on_fraction": 1}
    settings = replace(SETTINGS, **{**base, **changes})
    game = core.TeacherGame(settings.to_core(), Lines().core, 0)
    game.request()
    game.answer(lines, 10)
    while not game.is_over:
        game.request()
        game.answer([], 0)
    (read,) = _games_in(game.finished().hcpe3)
    return read.candidates.of_ply(0), int(read.scores_cp[0])


def test_visits_are_the_scores_softmax() -> None:
    lines = [("7g7f", 100), ("2g2f", 0), ("9g9f", -5000)]
    exact = first_ply(lines, candidate_steps=0, candidate_minimum=0.0)
    assert exact == ([("7g7f", 731), ("2g2f", 269)], 100)
    # 100 cp at a temperature of 100 cp are a factor of e, 2.9 half steps of a factor of two.
    assert first_ply(lines) == ([("7g7f", 64), ("2g2f", 23)], 100)


def test_unlikely_candidates_are_left_out_and_the_rest_is_rounded() -> None:
    lines = [("7g7f", 60), ("2g2f", 60), ("5g5f", 20), ("9g9f", -300), ("1g1f", -340)]
    probabilities = np.exp(np.array([0, 0, -40, -360, -400]) / 100)
    probabilities /= probabilities.sum()
    kept, _ = first_ply(lines, candidate_minimum=0.009)
    assert [move for move, _ in kept] == ["7g7f", "2g2f", "5g5f", "9g9f"]
    visits = np.array([count for _, count in kept])
    true = probabilities[:4] / probabilities[:4].sum()
    stored = visits / visits.sum()
    assert (true * np.log(true / stored)).sum() < 0.01
    assert np.abs(np.log(stored / true)).max() < 0.5 * np.log(2)


@pytest.mark.parametrize(
    ("score", "stored"),
    [(3, 0), (4, 8), (-100, -104), (1057, 1056), (1058, 1056), (-1590, -1600), (2480, 2432)],
)
def test_scores_can_be_rounded(score: int, stored: int) -> None:
    assert first_ply([("7g7f", score)], score_step_cp=8)[1] == stored
    assert first_ply([("7g7f", score)])[1] == score


def test_mates_are_not_rounded() -> None:
    assert first_ply([("7g7f", 30000)], score_step_cp=7)[1] == 30000
    assert first_ply([("7g7f", -29999)], score_step_cp=7)[1] > -30000


def _games_in(hcpe3: bytes) -> list[records.Game]:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.hcpe3"
        path.write_bytes(hcpe3)
        return list(records.read_games(path))


def test_more_lines_than_requested_are_not_stored() -> None:
    settings = replace(SETTINGS, random_moves=0, max_plies=1)
    game = core.TeacherGame(settings.to_core(), Lines().core, 0)
    assert game.request().multi_pv == 1
    game.answer([("7g7f", 20), ("2g2f", 10)], 1)
    (read,) = _games_in(game.finished().hcpe3)
    assert [move for move, _ in read.candidates.of_ply(0)] == ["7g7f"]


def test_sampling_stays_within_the_window() -> None:
    settings = replace(
        SETTINGS, multipv=3, sampled_plies=60, sample_window_cp=100, random_moves=0, max_plies=1
    )
    played = set()
    for number in range(300):
        game = core.TeacherGame(settings.to_core(), Lines().core, number)
        game.request()
        game.answer([("7g7f", 50), ("2g2f", -20), ("9g9f", -51)], 1)
        assert game.is_over
        played.add(game.moves[0])
    assert played == {"7g7f", "2g2f"}


def test_a_weaker_opponent_has_one_side_and_isnt_learnt_from(tmp_path) -> None:
    settings = replace(SETTINGS, opponent_fraction=1.0, opponent_searches=(SearchBounds(depth=1),))
    games = games_of(play(tmp_path, settings, games=16, opponent=Evaluation("material")))
    assert {game.opponent for game in games} == {1, 2}
    lost = 0
    for game in games:
        opponent = game.opponent - 1
        drawn = int(np.flatnonzero(game.candidates.count)[0])
        turns = (np.arange(len(game)) + game.first_turn) % 2
        assert (game.candidates.count[turns == opponent] == 0).all()
        assert (game.candidates.count[drawn:][turns[drawn:] != opponent] > 0).all()
        lost += game.winner == (Winner.WHITE if opponent == BLACK else Winner.BLACK)
    assert lost >= 12


def test_one_of_several_searches_is_drawn_per_game() -> None:
    searches = (SearchBounds(nodes=100, weight=3), SearchBounds(depth=2))
    settings = replace(SETTINGS, searches=searches)
    drawn = [
        core.TeacherGame(settings.to_core(), Lines().core, number).request()
        for number in range(400)
    ]
    deep = sum(request.depth == 2 and request.nodes == 0 for request in drawn)
    assert sum(request.nodes == 100 for request in drawn) == 400 - deep
    assert 70 <= deep <= 130


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("searches", []),
        ("opening_min_plies", -1),
        ("random_moves", -1),
        ("sampled_plies", -1),
        ("inner_depth", -1),
        ("multi_pv", 0),
        ("repetitions", 1),
    ],
)
def test_the_core_refuses_settings_that_no_game_can_have(name, value) -> None:
    settings = SETTINGS.to_core()
    setattr(settings, name, value)
    with pytest.raises(ValueError, match=r"searches|negative|multi_pv|repetitions"):
        core.TeacherGame(settings, Lines().core, 0)


def test_openings_of_every_kind(tmp_path) -> None:
    text = tmp_path / "lines.sfen"
    text.write_text(
        "startpos moves 7g7f 3c3d 2g2f\n"
        "sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1 moves 2g2f\n"
        "4k4/9/4P4/9/9/9/9/9/4K4 b RB2G2SN2L9Prb2g2s3n2l8p 1\n"
    )
    games = tmp_path / "games.hcpe3"
    records.write_games(
        games, [records.Game.from_usi(["7g7f", "8c8d", "2g2f"], winner=Winner.DRAW)]
    )
    lines = Lines([text, games])
    assert len(lines) == 4
    settings = replace(SETTINGS, random_moves=0, opening_plies=(0, 9))
    starts = set()
    for number in range(200):
        game = core.TeacherGame(settings.to_core(), lines.core, number)
        starts.add((game.initial_sfen.split()[0], *game.moves))
    start = Board().sfen().split()[0]
    assert (start,) in starts
    assert (start, "7g7f", "3c3d", "2g2f") in starts
    assert (start, "7g7f", "8c8d", "2g2f") in starts
    assert ("4k4/9/4P4/9/9/9/9/9/4K4",) in starts
    assert len(starts) == 8
    half = replace(settings, opening_fraction=0.0, opening_plies=(1, 9))
    game = core.TeacherGame(half.to_core(), lines.core, 1)
    assert game.moves == []
    assert lines.fingerprint != Lines([text]).fingerprint


def test_bad_openings_are_named(tmp_path) -> None:
    path = tmp_path / "bad.sfen"
    path.write_text("startpos moves 7g7f\nstartpos moves 7g7f 7g7f\n")
    with pytest.raises(OpeningError, match=r"bad\.sfen, line 2"):
        Lines([path])
    path.write_text("sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1\n")
    with pytest.raises(OpeningError, match=r"bad\.sfen, opening 1: .*box"):
        Lines([path])
    with pytest.raises(OpeningError, match=r"none\.sfen"):
        Lines([tmp_path / "none.sfen"])
    mated = tmp_path / "mated.sfen"
    mated.write_text("sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w RB3G4S4N4L17Prb 1\n")
    with pytest.raises(ValueError, match="every opening ends the game"):
        core.TeacherGame(replace(SETTINGS).to_core(), Lines([mated]).core, 0)


def test_positions_inside_the_search(tmp_path) -> None:
    files = play(tmp_path, replace(SETTINGS, inner_fraction=0.5), games=6)
    inner = games_of(sorted(tmp_path.glob("inner-*")))
    scored = records.load_samples(files)
    assert 0.2 * len(scored) < len(inner) < 0.6 * len(scored)
    in_games = {bytes(row) for row in scored.hcp}
    outside = sum(game.board().hcp() not in in_games for game in inner)
    assert outside > 0.8 * len(inner)
    assert all(len(game) == 1 for game in inner)
    winners = {game.winner for game in inner}
    assert winners <= {game.winner for game in games_of(files)}
    assert winners & {Winner.BLACK, Winner.WHITE}


def test_duplicates_are_dropped_and_counted(tmp_path) -> None:
    files = play(tmp_path, replace(SETTINGS, random_moves=0, max_plies=30), games=9, segment=4)
    assert len(games_of(files)) == 1
    statistics = folder_statistics(tmp_path)
    assert (statistics.counts.games, statistics.counts.duplicates) == (1, 8)
    assert statistics.distinct == statistics.positions == 30


def test_the_limit_of_moves_is_a_draw() -> None:
    finished = single(replace(SETTINGS, max_plies=9, random_moves=2))
    assert (finished.facts.plies, finished.facts.winner) == (9, Winner.DRAW)
    assert finished.facts.end == End.MAX_MOVES


@pytest.mark.parametrize(
    ("rook", "cycle", "end", "winner"),
    [
        ("1i1a", ["5a5b", "1a1b", "5b5a", "1b1a"], End.PERPETUAL_CHECK, Winner.WHITE),
        ("1i1h", ["5a5b", "1h1i", "5b5a"], End.SENNICHITE, Winner.DRAW),
    ],
)
def test_a_repetition_ends_the_game(tmp_path, rook, cycle, end, winner) -> None:
    path = tmp_path / "rook.sfen"
    path.write_text("sfen 4k4/9/9/9/9/9/9/9/4K3R b r2b4g4s4n4l18p 1\n")
    settings = replace(SETTINGS, random_moves=0, repetitions=2)
    game = core.TeacherGame(settings.to_core(), Lines([path]).core, 0)
    for move in [rook, *cycle]:
        assert not game.is_over
        game.request()
        game.answer([(move, 0)], 1)
    facts = game.finished().facts
    assert (facts.end, facts.winner, facts.plies) == (end, winner, 1 + len(cycle))


CHECKS = "1i1a 5a5b 1a1b 5b5a 1b1a 5a5b"


@pytest.mark.parametrize(
    ("moves", "plies", "changes"),
    [
        (CHECKS, 6, {}),  # the side to move loses by its perpetual check
        (CHECKS, 5, {}),  # the side to move wins by the other side's
        ("1i1h 5a5b 1h1i 5b5a", 4, {}),
        ("1i1h 5a5b 1h1i", 3, {"max_plies": 3}),
    ],
)
def test_no_game_starts_where_it_would_be_over(tmp_path, moves, plies, changes) -> None:
    path = tmp_path / "rook.sfen"
    path.write_text(f"sfen 4k4/9/9/9/9/9/9/9/4K3R b r2b4g4s4n4l18p 1 moves {moves}\n")
    settings = replace(SETTINGS, random_moves=0, repetitions=2, **changes)
    whole = replace(settings, opening_plies=(plies, plies)).to_core()
    with pytest.raises(ValueError, match="every opening ends the game"):
        core.TeacherGame(whole, Lines([path]).core, 0)
    shorter = replace(settings, opening_plies=(plies - 1, plies - 1)).to_core()
    if plies != 6:  # whose first five moves end the game, too
        assert len(core.TeacherGame(shorter, Lines([path]).core, 0).moves) == plies - 1


def test_the_checked_side_wins_a_perpetual_check_that_it_completes(tmp_path) -> None:
    path = tmp_path / "rook.sfen"
    path.write_text("sfen 4k4/8R/9/9/9/9/9/9/4K4 b r2b4g4s4n4l18p 1\n")
    settings = replace(SETTINGS, random_moves=0, repetitions=2)
    game = core.TeacherGame(settings.to_core(), Lines([path]).core, 0)
    for move in ("1b1a", "5a5b", "1a1b", "5b5a"):
        assert not game.is_over
        game.request()
        game.answer([(move, 0)], 1)
    facts = game.finished().facts  # with Black, who gave the checks, to move
    assert (facts.end, facts.winner, facts.plies) == (End.PERPETUAL_CHECK, Winner.WHITE, 4)


def lengths(settings, count=300, lines=None) -> set[int]:
    made = lines or Lines()
    return {
        len(core.TeacherGame(settings.to_core(), made.core, number).moves)
        for number in range(count)
    }


def test_drawn_lengths_reach_both_ends(tmp_path) -> None:
    path = tmp_path / "line.sfen"
    path.write_text("startpos moves 7g7f 3c3d 2g2f 8c8d\n")
    still = replace(SETTINGS, random_moves=0)
    assert lengths(replace(SETTINGS, random_moves=3)) == {2, 3}
    opened = replace(SETTINGS, random_moves=3, opening_plies=(0, 0))
    assert lengths(opened, lines=Lines([path])) == {0, 1, 2, 3}
    assert lengths(replace(still, opening_plies=(2, 3)), lines=Lines([path])) == {2, 3}
    sampled = set()
    for number in range(100):
        settings = replace(still, multipv=2, sampled_plies=2, max_plies=5)
        game = core.TeacherGame(settings.to_core(), Lines().core, number)
        wide = []
        for move in ("7g7f", "3c3d", "2g2f"):
            wide.append(game.request().multi_pv == 2)
            game.answer([(move, 0)], 1)
        assert wide == sorted(wide, reverse=True), "at the start"
        sampled.add(sum(wide))
    assert sampled == {0, 1, 2}


def test_the_opponent_searches_by_its_own_bounds() -> None:
    settings = replace(
        SETTINGS, random_moves=0, opponent_fraction=1.0, opponent_searches=(SearchBounds(depth=1),)
    )
    sides = set()
    for number in range(20):
        game = core.TeacherGame(settings.to_core(), Lines().core, number)
        for ply, move in enumerate(("7g7f", "3c3d")):
            request = game.request()
            assert (request.depth, request.nodes) == ((1, 0) if request.by_opponent else (0, 120))
            if request.by_opponent:
                sides.add(ply)
            game.answer([(move, 0)], 1)
    assert sides == {0, 1}


SHUFFLE = ("2h3h", "8b7b", "3h2h", "7b8b")


def played_out(scores_for_black, **changes):
    """A game of rook moves with these scores from Black's view; None where it isn't over."""
    settings = replace(
        SETTINGS, random_moves=0, resign_cp=500, repetitions=9, **{"play_on_fraction": 0, **changes}
    )
    game = core.TeacherGame(settings.to_core(), Lines().core, 0)
    for ply, score in enumerate(scores_for_black):
        assert not game.is_over, f"over after {ply} plies"
        game.request()
        game.answer([(SHUFFLE[ply % 4], score if ply % 2 == 0 else -score)], 1)
    return game.finished().facts if game.is_over else None


def test_the_loser_resigns_when_both_sides_agree_for_long_enough() -> None:
    plies = SETTINGS.resign_plies
    whole = [500] * plies + [500] * (plies % 2)  # White, to move at odd plies, resigns
    facts = played_out(whole)
    assert (facts.winner, facts.end) == (Winner.BLACK, End.RESIGN)
    assert facts.plies == len(whole) - 1, "the loser's last move isn't played"
    assert played_out(whole[:-1]) is None
    assert played_out([499] * len(whole)) is None
    assert played_out([-500, *whole[1:]]) is None, "the sides must agree"
    # A score for the other side starts the count anew.
    facts = played_out([0, -500, *whole])
    assert (facts.winner, facts.plies) == (Winner.BLACK, len(whole) + 1)
    facts = played_out([0] + [-500] * (plies + plies % 2))
    assert (facts.winner, facts.end) == (Winner.WHITE, End.RESIGN)


def test_a_game_that_is_played_on_keeps_the_first_winner_foreseen() -> None:
    plies = SETTINGS.resign_plies + 2
    scores = [500] * plies + [-500] * plies
    facts = played_out(scores + [0] * (20 - len(scores)), play_on_fraction=1, max_plies=20)
    assert (facts.end, facts.winner) == (End.MAX_MOVES, Winner.DRAW)
    assert facts.foreseen == Winner.BLACK


def test_no_move_is_a_resignation() -> None:
    game = core.TeacherGame(replace(SETTINGS, random_moves=0).to_core(), Lines().core, 0)
    game.request()
    game.answer([("7g7f", 0)], 1)
    game.request()
    game.answer([], 1)
    facts = game.finished().facts
    assert (facts.winner, facts.end, facts.plies) == (Winner.BLACK, End.RESIGN, 1)


def test_sampling_follows_the_softmax_up_to_the_window() -> None:
    settings = replace(
        SETTINGS,
        multipv=3,
        sampled_plies=60,
        sample_window_cp=100,
        sample_temperature_cp=50.0,
        random_moves=0,
        max_plies=1,
    )
    played: dict[str, int] = {}
    for number in range(2000):
        game = core.TeacherGame(settings.to_core(), Lines().core, number)
        if game.request().multi_pv == 1:
            continue
        game.answer([("7g7f", 100), ("2g2f", 50), ("9g9f", 0), ("1g1f", -1)], 1)
        played[game.moves[0]] = played.get(game.moves[0], 0) + 1
    assert set(played) == {"7g7f", "2g2f", "9g9f"}, "a move as far behind as the window is drawn"
    total = sum(played.values())
    expected = np.exp([0, -1, -2]) / np.exp([0, -1, -2]).sum()
    for move, p in zip(("7g7f", "2g2f", "9g9f"), expected, strict=True):
        assert played[move] / total == pytest.approx(p, abs=0.04)


def test_digests_tell_games_with_the_same_moves_apart(tmp_path) -> None:
    digests = set()
    for name, sfen in (("a", Board().sfen()), ("b", HANDICAP)):
        path = tmp_path / f"{name}.sfen"
        path.write_text(f"sfen {sfen}\n")
        settings = replace(SETTINGS, random_moves=0, max_plies=1)
        game = core.TeacherGame(settings.to_core(), Lines([path]).core, 0)
        game.request()
        game.answer([("7g7f", 0)], 1)
        digests.add(game.finished().facts.digest)
    assert len(digests) == 2


HANDICAP = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b l 1"


def test_a_declaration_wins(tmp_path) -> None:
    path = tmp_path / "entered.sfen"
    path.write_text("sfen 4K4/+P+P+P+P+P+P+P+P+P/+P8/9/9/9/9/9/4k4 b 2R2B4g4s4n4l8p 1\n")
    finished = single(replace(SETTINGS, random_moves=0), lines=Lines([path]))
    assert (finished.facts.winner, finished.facts.end) == (Winner.BLACK, End.DECLARATION)
    assert finished.hcpe3 == b""


def test_an_illegal_answer_is_refused_and_changes_nothing() -> None:
    game = core.TeacherGame(replace(SETTINGS, random_moves=0).to_core(), Lines().core, 0)
    game.request()
    with pytest.raises(RulesError):
        game.answer([("5e5d", 0)], 1)
    game.answer([("7g7f", 0)], 1)
    assert game.moves == ["7g7f"]


def test_scores_are_those_of_the_side_to_move(tmp_path) -> None:
    (game, *_) = games_of(play(tmp_path, games=3))
    last = game.scores_cp[-2:]
    known = last[last != NO_SCORE]
    winner_moves_last = (len(game) - 1 + game.first_turn) % 2 == (game.winner == Winner.WHITE)
    assert known[-1] > 1000 if winner_moves_last else known[-1] < -1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"searches": ()}, "searches: at least one"),
        ({"random_moves": -1}, "random_moves is -1"),
        ({"max_plies": 514}, "hcpe3 holds at most 513"),
        ({"candidate_fraction": 0.5}, "multipv is 1"),
        ({"opening_plies": (5, 3)}, "opening_plies is 5 to 3"),
        ({"inner_fraction": 1.5}, "inner_fraction is 1.5"),
        ({"declaration": "23"}, "declaration is '23'"),
        ({"hash_mb": 10**14}, "hash_mb is 100000000000000, at most 1048576"),
    ],
)
def test_settings_are_checked(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        TeacherSettings(**change)


@pytest.mark.parametrize(
    "name", [one.name for one in fields(TeacherSettings) if type(one.default) is int]
)
def test_no_integer_is_too_large_for_the_core(name: str) -> None:
    with contextlib.suppress(ValueError):
        TeacherSettings(**{"multipv": 2, name: 10**14}).to_core()


def test_a_depth_beyond_the_core_is_a_usage_error(tmp_path) -> None:
    done = CliRunner().invoke(command, ["-o", str(tmp_path / "out"), "--depth", str(10**14)])
    assert (done.exit_code, "depth below 2^31" in done.output) == (2, True)


def test_settings_from_a_table() -> None:
    read = TeacherSettings.from_mapping(
        {"searches": ["nodes=1500,weight=3", {"depth": 8}], "opening_plies": [2, 5], "seed": 3}
    )
    assert read.searches == (SearchBounds(nodes=1500, weight=3), SearchBounds(depth=8))
    assert read.opening_plies == (2, 5)
    with pytest.raises(ValueError, match="unknown key 'sed'"):
        TeacherSettings.from_mapping({"sed": 1})
    with pytest.raises(ValueError, match="seed must be int, not '1'"):
        TeacherSettings.from_mapping({"seed": "1"})
    older = TeacherSettings.from_mapping({"opening_share": 0.5, "inner_share": 0.25})
    assert (older.opening_fraction, older.inner_fraction) == (0.5, 0.25)
    with pytest.raises(ValueError, match="nodes=N"):
        SearchBounds.parse("node=3")
