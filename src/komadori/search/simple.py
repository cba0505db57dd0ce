"""Searchers without a tree: policy only, and one-ply value."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from komadori.encoding import encode_boards, move_probabilities, softmax
from komadori.encoding.value import DLSHOGI_COEF
from komadori.inference import Evaluator, evaluate
from komadori.rules import DECLARATION_POINTS, Board, Move, Repetition
from komadori.search.lines import score_cp
from komadori.search.protocol import (
    Info,
    Limits,
    OneAtATime,
    SearchResult,
    check_searchmoves,
    one_at_a_time,
)
from komadori.wording import check_type, names_arguments


class _TreelessSearcher(OneAtATime):
    """Scores every legal move once and plays the best, or samples one.

    With `temperature` 0 the best move is played; ties go to the first move, or are broken at
    random if `seed` is given. Otherwise a move is drawn with probability proportional to
    score ** (1 / temperature).
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        temperature: float = 0.0,
        seed: int | None = None,
        eval_coef: float = DLSHOGI_COEF,
    ) -> None:
        super().__init__()
        self.evaluator = evaluator
        self.temperature = temperature
        self.eval_coef = eval_coef
        #: The rule of declarations, a key of `rules.DECLARATION_POINTS`.
        self.declaration = "27"
        self._seed = seed
        self._random = np.random.default_rng(seed)
        self._board = Board()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.evaluator!r}>"

    @one_at_a_time
    def set_position(self, board: Board) -> None:
        check_type("board", board, Board)
        self._board = board.copy()

    @one_at_a_time
    def new_game(self) -> None:
        self._random = np.random.default_rng(self._seed)

    def ponderhit(self, limits: Limits) -> None:
        check_type("limits", limits, Limits)  # the result doesn't depend on them

    def close(self) -> None:
        pass

    @one_at_a_time
    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        start = time.perf_counter()
        board = self._board
        check_searchmoves(limits, board)
        moves = [m for m in board.legal_moves if not limits.searchmoves or m in limits.searchmoves]
        if _declares(board, self.declaration):
            return SearchResult(None, declare_win=True)
        if not moves:
            return SearchResult(None, resign=True)
        scores, win_rate = self._score_moves(board, moves)
        chosen = self._choose(scores)
        elapsed = int((time.perf_counter() - start) * 1000)
        info = Info(
            depth=1,
            seldepth=1,
            nodes=self._nodes(moves),
            nps=round(self._nodes(moves) * 1000 / max(elapsed, 1)),
            time_ms=elapsed,
            hashfull=0,
            multipv=1,
            score_cp=score_cp(win_rate(chosen), self.eval_coef),
            mate_plies=None,
            win_rate=win_rate(chosen),
            pv=[moves[chosen]],
            visits=1,
        )
        if on_info:
            on_info(info)
        return SearchResult(moves[chosen], infos=[info])

    def _choose(self, scores: NDArray[np.float32]) -> int:
        if self.temperature > 0:
            p = softmax(np.log(np.maximum(scores, 1e-12)), self.temperature)
            return int(self._random.choice(len(scores), p=p))
        best = np.flatnonzero(scores == scores.max())
        return int(best[0] if self._seed is None else self._random.choice(best))

    def _score_moves(
        self, board: Board, moves: list[Move]
    ) -> tuple[NDArray[np.float32], Callable[[int], float]]:
        """Return the moves' scores, and a function from a move's index to its win rate."""
        raise NotImplementedError

    def _nodes(self, moves: list[Move]) -> int:
        raise NotImplementedError

    def _encode(self, boards: list[Board]) -> tuple[NDArray[np.float32], ...]:
        return encode_boards(boards, features=self.evaluator.features)


@names_arguments
class PolicySearcher(_TreelessSearcher):
    """Plays by the policy only, with one evaluation per move (a `search.Searcher`)."""

    def _score_moves(
        self, board: Board, moves: list[Move]
    ) -> tuple[NDArray[np.float32], Callable[[int], float]]:
        policy, value = evaluate(self.evaluator, *self._encode([board]))
        probability = dict(
            zip(
                board.legal_moves,
                move_probabilities(board, policy[0], self.evaluator.labels),
                strict=True,
            )
        )
        scores = np.array([probability[move] for move in moves], np.float32)
        total = scores.sum()
        if total == 0:  # all searchmoves have probability 0
            return np.full_like(scores, 1 / len(moves)), lambda chosen: float(value[0])
        return scores / total, lambda chosen: float(value[0])

    def _nodes(self, moves: list[Move]) -> int:
        return 1


@names_arguments
class OnePlySearcher(_TreelessSearcher):
    """Plays the move with the best network value after it (a `search.Searcher`).

    Mates, repetitions and declarations one ply ahead are scored by the rules.
    """

    def _score_moves(
        self, board: Board, moves: list[Move]
    ) -> tuple[NDArray[np.float32], Callable[[int], float]]:
        scores = np.zeros(len(moves), np.float32)
        unknown: list[int] = []
        after: list[Board] = []
        for number, move in enumerate(moves):
            board.push(move)
            known = _known_value(board, self.declaration)
            if known is None:
                unknown.append(number)
                after.append(board.copy())
            else:
                scores[number] = known
            board.pop()
        if unknown:
            _, value = evaluate(self.evaluator, *self._encode(after))
            scores[unknown] = 1.0 - value
        return scores, lambda chosen: float(scores[chosen])

    def _nodes(self, moves: list[Move]) -> int:
        return len(moves)


def _declares(board: Board, rule: str) -> bool:
    """Return whether the side to move may declare a win by a key of DECLARATION_POINTS."""
    points = DECLARATION_POINTS[rule]
    return points[0] > 0 and board.can_declare_win(*points)


def _known_value(board: Board, rule: str) -> float | None:
    """Return the value by the rules for the side that just moved; None if the game continues."""
    if not board.legal_moves:
        return 1.0
    if _declares(board, rule):
        return 0.0
    repetition = board.repetition(2)
    if repetition == Repetition.DRAW:
        return 0.5
    if repetition in (Repetition.WIN, Repetition.SUPERIOR):
        return 0.0
    if repetition in (Repetition.LOSS, Repetition.INFERIOR):
        return 1.0
    return None
