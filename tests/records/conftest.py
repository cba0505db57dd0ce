"""Random games for the tests of records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from komadori.records import NO_SCORE, NO_TIME, End, Game, Winner
from komadori.rules import BLACK, HANDICAPS, Board


def random_game(seed: int, *, sfen: str | None = None, plies: int = 60, notes: bool = True) -> Game:
    """A game of random legal moves with scores, times, comments and lines of play.

    It ends by resignation of the side to move, or by mate.
    """
    chance = random.Random(seed)
    board = Board(sfen)
    start = board.sfen()
    moves = []
    for _ in range(plies):
        legal = list(board.legal_moves)
        if not legal:
            break
        move = chance.choice(legal)
        board.push(move)
        moves.append(move.move16)
    n = len(moves)
    scores = [chance.choice([NO_SCORE, chance.randint(-3000, 3000)]) for _ in range(n)]
    game = Game(
        initial_sfen=start,
        moves=np.array(moves, np.uint16),
        scores_cp=np.array(scores if notes else [NO_SCORE] * n, np.int32),
        times_ms=np.array(
            [1000 * chance.randint(0, 400) if notes else NO_TIME for _ in range(n)], np.int32
        ),
        winner=Winner.WHITE if board.turn == BLACK else Winner.BLACK,
        end=End.MATE if board.is_checkmate() else End.RESIGN,
        headers={"black": f"黒{seed}", "white": "White", "event": "試験"} if notes else {},
    )
    if notes:
        game.comments = {
            ply: f"comment {ply}\n二行目" for ply in chance.sample(range(n + 1), min(3, n))
        }
        game.pvs = _lines_of_play(game, chance)
    return game


def with_variations(game: Game, seed: int, depth: int = 2, first: int = 0) -> Game:
    """The game with variations of random moves after `first` moves, within it and at its end."""
    chance = random.Random(seed)
    positions = [*(board.sfen() for board, _ in game.moving_board()), game.final_board().sfen()]
    for ply in {first, chance.randint(first, len(game)), len(game)}:
        lines = [
            random_game(chance.randrange(10**6), sfen=positions[ply], plies=chance.randint(1, 9))
            for _ in range(chance.randint(1, 2))
        ]
        for line in lines:
            line.headers = {}
            line.comments.pop(0, None)  # JKF has no place for it
            if depth == 1 and chance.random() < 0.5 and line.end != End.MATE:
                line.winner, line.end = Winner.UNKNOWN, End.UNKNOWN
            if depth > 1 and len(line):  # a variation of its first move is another one beside it
                with_variations(line, chance.randrange(10**6), depth - 1, first=1)
        game.variations[ply] = [line for line in lines if len(line)]
    game.variations = {ply: lines for ply, lines in game.variations.items() if lines}
    return game


def _lines_of_play(game: Game, chance: random.Random) -> dict[int, str]:
    lines = {}
    board = game.board()
    for ply, move16 in enumerate(game.moves, 1):
        board.push(board.move_from_move16(int(move16)))
        if game.scores_cp[ply - 1] == NO_SCORE or chance.random() < 0.7:
            continue
        ahead, line = board.copy(), []
        for _ in range(3):
            legal = list(ahead.legal_moves)
            if not legal:
                break
            line.append(chance.choice(legal))
            ahead.push(line[-1])
        if line:
            lines[ply] = " ".join(move.usi() for move in line)
    return lines


@pytest.fixture(scope="session")
def games() -> list[Game]:
    """Twelve even games and a handicap game."""
    even = [random_game(seed) for seed in range(12)]
    return [*even, random_game(99, sfen=HANDICAPS["two-piece"].sfen)]


@pytest.fixture(scope="session")
def even_games() -> list[Game]:
    """Games from the standard start position, which every format can store."""
    return [random_game(seed, plies=40 + 10 * seed) for seed in range(8)]
