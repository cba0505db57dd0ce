"""Teacher games as elmo made them (diary 000): the start position, a few random moves, then the
engine against itself at a fixed depth or number of nodes, with the score of every move.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from komadori.records import Candidates, End, Game, Winner, write_games
from komadori.rules import BLACK, Board, Repetition
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaSearcher

#: Games a file.
PART_GAMES = 50


@dataclass(frozen=True)
class TeacherSettings:
    """How teacher games are played."""

    games: int = 1000
    random_moves: int = 6
    """At most so many at the start, drawn evenly from 0 on."""
    depth: int = 0
    """Of a search; 0: no limit."""
    nodes: int = 5000
    """Of a search; 0: no limit."""
    stop_cp: int = 3000
    """A game is won when a score is beyond this."""
    max_plies: int = 400
    """A game is drawn after so many moves."""
    hash_mb: int = 16
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in (
            ("games", 1),
            ("random_moves", 0),
            ("depth", 0),
            ("nodes", 0),
            ("stop_cp", 1),
            ("max_plies", 1),
            ("hash_mb", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, at least {least} is needed")
        if not self.depth and not self.nodes:
            raise ValueError("depth or nodes is needed: nothing else ends a search")


def play_teacher_game(searcher: AlphaBetaSearcher, settings: TeacherSettings, number: int) -> Game:
    """The game of that number: the same for the same settings and weights.

    Ends: mate; a score beyond the limit (adjudicated); the second occurrence of a position (a
    draw, perpetual check lost); a declaration; the limit of moves. Random moves have no score
    and are marked as nothing to learn from.
    """
    rng = np.random.default_rng([settings.seed, number])
    board = _opening(rng, settings.random_moves)
    random_moves = len(board.moves)
    scores: list[int | None] = [None] * random_moves
    limits = Limits(depth=settings.depth or None, nodes=settings.nodes or None)
    searcher.new_game()
    while True:
        end = _end(board, settings)
        if end:
            break
        searcher.set_position(board)
        found = searcher.search(limits)
        if found.declare_win:
            end = _won(board.turn), End.DECLARATION
            break
        if found.best_move is None:
            end = _won(1 - board.turn), End.RESIGN
            break
        info = found.infos[0]
        mate = info.mate_plies
        score = info.score_cp if mate is None else (30_000 if mate > 0 else -30_000)
        assert score is not None
        if abs(score) > settings.stop_cp:
            end = _won(board.turn if score > 0 else 1 - board.turn), End.ADJUDICATION
            break
        scores.append(score)
        board.push(found.best_move)
    return _game(board, scores, random_moves, *end)


def teacher_games(
    searcher: Callable[[], AlphaBetaSearcher],
    settings: TeacherSettings,
    folder: Path,
    *,
    concurrency: int = 1,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] = bool,
) -> list[Path]:
    """Play all games into `folder`, PART_GAMES a file (hcpe3), each file whole or not at all;
    files that are there already are kept. Each of the concurrent games has a searcher of its
    own. `progress` is told how many games there are so far. Returns the files written so far
    when `stop` says so, else all.
    """
    parts = [
        (folder / f"{number:05}.hcpe3", range(first, min(first + PART_GAMES, settings.games)))
        for number, first in enumerate(range(0, settings.games, PART_GAMES))
    ]
    missing = [part for part in parts if not part[0].exists()]
    done = settings.games - sum(len(numbers) for _, numbers in missing)
    if progress:
        progress(done)
    with contextlib.ExitStack() as stack:
        free: SimpleQueue[AlphaBetaSearcher] = SimpleQueue()
        for _ in range(concurrency if missing else 0):
            made = searcher()
            stack.callback(made.close)
            free.put(made)

        def play(number: int) -> Game | None:
            if stop():
                return None
            mine = free.get()
            try:
                return play_teacher_game(mine, settings, number)
            finally:
                free.put(mine)

        pool = stack.enter_context(ThreadPoolExecutor(concurrency))
        for path, numbers in missing:
            games: list[Game] = []
            for game in pool.map(play, numbers):
                if game is None:
                    return [path for path, _ in parts if path.exists()]
                games.append(game)
                done += 1
                if progress:
                    progress(done)
            write_games(path, games)
    return [path for path, _ in parts]


def file_count(settings: TeacherSettings) -> int:
    """How many files `teacher_games` writes."""
    return -(-settings.games // PART_GAMES)


def _opening(rng: np.random.Generator, most: int) -> Board:
    """Up to `most` random moves that leave something to play."""
    while True:
        board = Board()
        for _ in range(int(rng.integers(0, most + 1))):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(moves[int(rng.integers(len(moves)))])
        if board.legal_moves:
            return board


def _end(board: Board, settings: TeacherSettings) -> tuple[Winner, End] | None:
    if not board.legal_moves:
        return _won(1 - board.turn), End.MATE
    match board.repetition(2):
        case Repetition.DRAW:
            return Winner.DRAW, End.SENNICHITE
        case Repetition.WIN:
            return _won(board.turn), End.PERPETUAL_CHECK
        case Repetition.LOSS:
            return _won(1 - board.turn), End.PERPETUAL_CHECK
    if len(board.moves) >= settings.max_plies:
        return Winner.DRAW, End.MAX_MOVES
    return None


def _won(side: int) -> Winner:
    return Winner.BLACK if side == BLACK else Winner.WHITE


def _game(
    board: Board, scores: list[int | None], random_moves: int, winner: Winner, end: End
) -> Game:
    moves = list(board.moves)
    game = Game.from_usi(
        [move.usi() for move in moves],
        winner=winner,
        end=end,
        scores_cp=scores,
        headers={"black": "komadori", "white": "komadori"},
    )
    count = np.ones(len(moves), np.uint16)
    count[:random_moves] = 0
    chosen = game.moves[random_moves:]
    game.candidates = Candidates(count, chosen.copy(), np.ones(len(chosen), np.uint16))
    return game
