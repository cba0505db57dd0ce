"""Teacher games: how they begin and end, that they can be repeated and gone on with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from komadori import records
from komadori.generate import TeacherSettings, play_teacher_game, teacher, teacher_games
from komadori.records import NO_SCORE, End, Winner
from komadori.rules import BLACK, Repetition
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

SETTINGS = TeacherSettings(games=12, nodes=120, hash_mb=1)


def searcher() -> AlphaBetaSearcher:
    return AlphaBetaSearcher("two-piece", options=AlphaBetaOptions(hash_mb=1))


def test_games_end_by_the_rules_of_teacher_games() -> None:
    engine = searcher()
    random_moves = set()
    for number in range(SETTINGS.games):
        game = play_teacher_game(engine, SETTINGS, number)
        assert game.candidates is not None
        drawn = int((game.candidates.count == 0).sum())
        random_moves.add(drawn)
        assert drawn <= 6
        assert np.all(game.scores_cp[:drawn] == NO_SCORE)
        assert np.all(np.abs(game.scores_cp[drawn:]) <= 3000)
        assert len(game) <= 400
        board = game.final_board()
        if game.end == End.SENNICHITE:
            assert board.repetition(2) == Repetition.DRAW
            assert game.winner == Winner.DRAW
        elif game.end == End.ADJUDICATION:
            engine.set_position(board)
            assert board.legal_moves
            assert game.winner in (Winner.BLACK, Winner.WHITE)
        elif game.end == End.MATE:
            assert not board.legal_moves
            assert game.winner == (Winner.WHITE if board.turn == BLACK else Winner.BLACK)
    assert len(random_moves) > 2


def test_a_game_can_be_repeated() -> None:
    first, second = play_teacher_game(searcher(), SETTINGS, 3), None
    engine = searcher()
    play_teacher_game(engine, SETTINGS, 4)
    second = play_teacher_game(engine, SETTINGS, 3)
    assert first == second
    assert play_teacher_game(engine, replace(SETTINGS, seed=2), 3) != first


def test_the_limit_of_moves_is_a_draw() -> None:
    game = play_teacher_game(searcher(), replace(SETTINGS, max_plies=9), 0)
    assert (len(game), game.winner, game.end) == (9, Winner.DRAW, End.MAX_MOVES)


def test_files_are_kept_and_gone_on_with(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(teacher, "PART_GAMES", 4)
    counts: list[int] = []
    begun = teacher_games(
        searcher, SETTINGS, tmp_path, progress=counts.append, stop=lambda: max(counts) >= 6
    )
    assert [path.name for path in begun] == ["00000.hcpe3"]
    before = begun[0].read_bytes()
    counts.clear()
    whole = teacher_games(searcher, SETTINGS, tmp_path, concurrency=2, progress=counts.append)
    assert (counts[0], counts[-1]) == (4, 12)
    assert [path.name for path in whole] == ["00000.hcpe3", "00001.hcpe3", "00002.hcpe3"]
    assert begun[0].read_bytes() == before
    again = teacher_games(searcher, SETTINGS, tmp_path / "again", concurrency=1)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in whole]

    samples = records.load_samples(whole)
    assert samples.ply.min() >= 1
    assert np.abs(samples.score_cp).max() <= 3000
    starts = samples.ply[np.r_[True, np.diff(samples.game) > 0]]
    assert starts.max() > 1, "random moves are nothing to learn from"
    for game in records.read_games(whole[0]):
        assert game.winner != Winner.UNKNOWN


@pytest.mark.parametrize("change", [{"nodes": 0}, {"games": 0}, {"random_moves": -1}])
def test_settings_are_checked(change) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        TeacherSettings(**change)
