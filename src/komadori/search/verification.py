"""Verification of a PUCT search's moves by an alpha-beta search that runs beside it.

The alpha-beta search first searches the position as a whole. Then it searches the tree's most
visited moves one by one, each as deep. A move whose score is too far below the best is refuted: the
tree searches it no longer. What is played is the most visited move that was verified.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from komadori._core.tree import RootMove, Tree
from komadori.rules import Board, Move
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.search.options import PuctOptions
from komadori.search.protocol import Limits, SearchResult, StopEvent

#: Transposition table of the search, in MiB.
HASH_MB = 64
#: Part of a move's time for the first search of the whole position.
FIRST_FRACTION = 0.5
#: Part of a move's time for each further search.
FURTHER_FRACTION = 0.125
#: Nodes of the first search if there is no time limit; later ones have twice as many.
FIRST_NODES = 50_000
#: Maximum nodes of a search.
MAX_NODES = 1 << 40
#: Score of a mate, in centipawns.
_MATE_CP = 32_000


@dataclass
class Verdicts:
    """What the alpha-beta search found, from the view of the side to move."""

    margin: int
    """A move this many centipawns below the best is refuted."""
    best: int | None = None
    """The best move (move16); None before the first search ended."""
    scores: dict[int, int] = field(default_factory=dict)
    """Centipawns of verified moves by move16, the best one among them."""

    def add(self, move16: int, score: int) -> None:
        """Add the score of a move, which becomes the best one if it is."""
        self.scores[move16] = score
        self.best = max(self.scores, key=self.scores.__getitem__)

    def is_refuted(self, move16: int) -> bool:
        """Return whether a move scores more than the margin below the best."""
        score = self.scores.get(move16)
        return (
            score is not None
            and self.best is not None
            and score < self.scores[self.best] - self.margin
        )

    def choose(self, moves: Sequence[int]) -> int | None:
        """Return the first of `moves` that was verified and not refuted, else the best move."""
        for move16 in moves:
            if move16 in self.scores and not self.is_refuted(move16):
                return move16
        return self.best


class Verification:
    """Verifies the moves of one tree; a searcher keeps it for all its searches."""

    def __init__(self) -> None:
        self._searcher: AlphaBetaSearcher | None = None
        self._thread: threading.Thread | None = None
        self._stop = StopEvent()
        self._error: BaseException | None = None
        self.verdicts: Verdicts | None = None
        """Those of the last search; None if it wasn't verified."""

    def apply(self, options: PuctOptions) -> None:
        """Prepare for the options. Raises ValueError or OSError if the NNUE can't be read."""
        if options.verify_margin is None:
            self.close()
            self.verdicts = None
            return
        settings = AlphaBetaOptions(
            hash_mb=HASH_MB,
            draw_value_black=options.draw_value_black,
            draw_value_white=options.draw_value_white,
            draw_ply=options.draw_ply,
            declaration=options.declaration,
        )
        if self._searcher is None:
            self._searcher = AlphaBetaSearcher("nnue", None, settings)
        elif self._searcher.options != settings:
            self._searcher.options = settings

    def new_game(self) -> None:
        if self._searcher is not None:
            self._searcher.new_game()

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.close()
            self._searcher = None

    def start(
        self,
        board: Board,
        tree: Tree,
        root: int,
        searchmoves: Sequence[Move],
        margin: int,
        time_ms: float | None,
    ) -> None:
        """Start to verify the tree's moves at `root`, whose position is `board`.

        `time_ms` is the planned time of the move, None if there is no time limit.
        """
        assert self._searcher is not None
        self._stop = StopEvent()
        self._error = None
        self.verdicts = Verdicts(margin)
        self._searcher.set_position(board)
        task = _Task(self._searcher, board, tree, root, searchmoves, self.verdicts, self._stop)
        self._thread = threading.Thread(target=self._run, args=(task, time_ms), daemon=True)
        self._thread.start()

    def _run(self, task: _Task, time_ms: float | None) -> None:
        try:
            task.run(time_ms)
        except BaseException as error:
            self._error = error

    def end(self) -> None:
        """Stop and wait. Raises what the search raised."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def choose(self, moves: Sequence[RootMove]) -> int | None:
        """Return the move (move16) to play from the tree's moves, best first; None to leave the
        choice to the tree.
        """
        return self.verdicts.choose([move.move16 for move in moves]) if self.verdicts else None


@dataclass
class _Task:
    """The verification of one search, in its own thread."""

    searcher: AlphaBetaSearcher
    board: Board
    tree: Tree
    root: int
    searchmoves: Sequence[Move]
    verdicts: Verdicts
    stop: StopEvent

    def run(self, time_ms: float | None) -> None:
        nodes = FIRST_NODES
        depth = self._search_all(_limits(time_ms, FIRST_FRACTION, nodes))
        while not self.stop.is_set():
            nodes = min(2 * nodes, MAX_NODES)
            limits = _limits(time_ms, FURTHER_FRACTION, nodes)
            candidate = self._candidate()
            if candidate is None:
                depth = self._search_all(limits)
                continue
            limits = Limits(
                nodes=limits.nodes,
                movetime_ms=limits.movetime_ms,
                depth=depth,
                searchmoves=[candidate],
            )
            score, _ = self._score(self.searcher.search(limits, stop=self.stop))
            if score is None:
                return
            self.verdicts.add(candidate.move16, score)
            self._tell_tree()

    def _search_all(self, limits: Limits) -> int:
        """Search the whole position and return the depth reached."""
        started = time.monotonic()
        limits = Limits(
            nodes=limits.nodes, movetime_ms=limits.movetime_ms, searchmoves=self.searchmoves
        )
        result = self.searcher.search(limits, stop=self.stop)
        score, depth = self._score(result)
        if score is not None and result.best_move is not None:
            self.verdicts.add(result.best_move.move16, score)
            self._tell_tree()
        if time.monotonic() - started < 0.001:  # a mate, which needs no further search
            self.stop.wait(0.01)
        return depth

    def _score(self, result: SearchResult) -> tuple[int | None, int]:
        """Return score and depth; None before an iteration ended."""
        if not result.infos:
            return None, 1
        info = result.infos[0]
        if info.mate_plies is not None:
            sign = 1 if info.mate_plies > 0 else -1
            return sign * (_MATE_CP - abs(info.mate_plies)), max(info.depth, 1)
        return info.score_cp, max(info.depth, 1)

    def _candidate(self) -> Move | None:
        """Return the tree's most visited move if it hasn't been verified."""
        moves = self.tree.root_moves(self.root)
        if not moves or not moves[0].visits or moves[0].move16 in self.verdicts.scores:
            return None
        return Move.from_move16(moves[0].move16)

    def _tell_tree(self) -> None:
        """Let the tree search only moves that aren't refuted."""
        allowed = self.searchmoves or self.board.legal_moves
        kept = [move.move16 for move in allowed if not self.verdicts.is_refuted(move.move16)]
        if len(kept) == len(allowed):
            kept = [move.move16 for move in self.searchmoves]
        self.tree.set_search_moves(self.root, kept)


def _limits(time_ms: float | None, fraction: float, nodes: int) -> Limits:
    if time_ms is None:
        return Limits(nodes=nodes)
    return Limits(movetime_ms=max(1, round(fraction * time_ms)))
