"""Many positions searched at once: their leaves share the network's batches."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from komadori._core.tree import Proof, RootMove, Tree
from komadori.inference import Evaluator
from komadori.mate import MateSolver
from komadori.rules import Board, Move
from komadori.search.options import DECLARATION_POINTS, PuctOptions, batch_rows
from komadori.search.puct import MAX_PV, make_batch, score_cp, tree_options

Key = TypeVar("Key")

#: Moves of the mate search for each playout of the position's search, and at most.
MATE_MOVES_PER_PLAYOUT = 20
MATE_MOVES_MOST = 200_000
#: The same where the effort is time: for each second.
MATE_MOVES_PER_SECOND = 100_000

#: Positions searched at once.
ROOTS = 16


@dataclass(frozen=True)
class Effort:
    """What a position gets: playouts, or its share of the time, in seconds."""

    nodes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.seconds is None):
            raise ValueError("an effort is either nodes or seconds")
        if (self.nodes is not None and self.nodes < 1) or (
            self.seconds is not None and not 0 < self.seconds < math.inf
        ):
            raise ValueError("an effort is more than nothing")

    @property
    def mate_moves(self) -> int:
        if self.nodes is not None:
            return min(self.nodes * MATE_MOVES_PER_PLAYOUT, MATE_MOVES_MOST)
        assert self.seconds is not None
        return min(int(self.seconds * MATE_MOVES_PER_SECOND) + 1, MATE_MOVES_MOST)

    def __str__(self) -> str:
        return f"{self.nodes} nodes" if self.nodes is not None else f"{self.seconds:g} s"


@dataclass(frozen=True)
class Line:
    """A move and what is expected after it, in the view of the side that makes it."""

    win_rate: float
    mate_plies: int | None
    """Plies to a mate: positive where the side to move wins, negative where it loses."""
    score_cp: int | None
    """None where `mate_plies` says it."""
    visits: int
    pv: tuple[str, ...]
    """USI moves, the line's own first."""


@dataclass(frozen=True)
class Found:
    """What was found in a position, best line first; in the view of the side to move."""

    win_rate: float
    visits: int
    lines: tuple[Line, ...]
    declares: bool = False
    """The side to move may declare a win."""

    @property
    def best(self) -> Line | None:
        """None where the game is over."""
        return self.lines[0] if self.lines else None


class _Root(Generic[Key]):
    """A position under search."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.key: Key | None = None
        self.board = Board()
        self.mate: tuple[Move, ...] = ()
        self.flying = 0
        self.seconds = 0.0
        self.is_stuck = False


class PositionAnalyser:
    """Searches positions, several at once, on one evaluator and one tree."""

    def __init__(
        self,
        evaluator: Evaluator,
        effort: Effort,
        options: PuctOptions | None = None,
        roots: int = ROOTS,
    ) -> None:
        """`options.multipv` is how many lines are kept of each position."""
        self._evaluator = evaluator
        self._effort = effort
        self._options = options or PuctOptions()
        self._tree = Tree(self._options.memory_mb << 20, tree_options(self._options))
        self._batches = [make_batch(evaluator, slot) for slot in range(evaluator.slots)]
        self._free_roots = [self._tree.add_root() for _ in range(roots)]
        self._mates = MateSolver(self._options.mate_memory_mb)
        self._in_flight = 0

    def analyse(self, positions: Iterable[tuple[Key, Board]]) -> Iterator[tuple[Key, Found]]:
        """What is found of each position, in the order in which they are finished.

        A board's path counts for repetitions. The iteration may be left at any time.
        """
        source = iter(positions)
        active: deque[_Root[Key]] = deque()
        free = deque(range(self._evaluator.slots))
        flying: deque[tuple[int, list[tuple[_Root[Key], int]]]] = deque()
        try:
            while True:
                while self._free_roots and (task := next(source, None)) is not None:
                    key, board = task
                    over = self._without_search(board)
                    if over is not None:
                        yield key, over
                        continue
                    active.append(self._begin(key, board))
                began = time.perf_counter()
                while free and active:
                    slot = free[0]
                    shares = self._fill(active, slot)
                    if not shares:
                        break
                    self._evaluator.start(slot, self._batches[slot].rows)
                    flying.append((free.popleft(), shares))
                if flying:
                    slot, shares = flying.popleft()
                    policy, value = self._evaluator.wait(slot)
                    self._tree.expand(self._batches[slot], policy, value)
                    for root, rows in shares:
                        root.flying -= rows
                        self._in_flight -= rows
                    free.append(slot)
                elif not active:
                    return
                share = (time.perf_counter() - began) / max(len(active), 1)
                for root in active:
                    root.seconds += share
                for root in [r for r in active if self._is_done(r)]:
                    active.remove(root)
                    assert root.key is not None
                    yield root.key, self._found(root)
                    self._free_roots.append(root.number)
        finally:
            for slot, _ in flying:
                self._evaluator.wait(slot)
                self._tree.cancel(self._batches[slot])
            self._in_flight = 0
            self._free_roots += [root.number for root in active]

    def _without_search(self, board: Board) -> Found | None:
        """The answer where the rules give it."""
        if not board.legal_moves:
            return Found(0.0, 0, ())
        points = DECLARATION_POINTS[self._options.declaration]
        if points[0] and board.can_declare_win(*points):
            return Found(1.0, 0, (), declares=True)
        return None

    def _begin(self, key: Key, board: Board) -> _Root[Key]:
        root: _Root[Key] = _Root(self._free_roots.pop())
        root.key, root.board = key, board.copy()
        self._tree.set_root(root.number, root.board)
        if self._options.root_mate_plies:
            root.mate = self._mates.solve(root.board, self._effort.mate_moves).moves
        return root

    def _fill(self, active: deque[_Root[Key]], slot: int) -> list[tuple[_Root[Key], int]]:
        """Collect leaves of the positions in turn, each a part of the batch."""
        batch, limit = self._batches[slot], self._evaluator.max_batch
        shares: list[tuple[_Root[Key], int]] = []
        for _ in range(len(active)):
            root = active[0]
            active.rotate(-1)
            visits = self._tree.root_visits(root.number)
            if self._has_enough(root, visits):
                continue
            # As in a search of one position: young searches aren't spoiled by many rows.
            rows = min(limit - batch.rows, self._allowed(root, visits))
            if self._effort.nodes is not None:
                rows = min(rows, self._effort.nodes - visits - root.flying)
            if rows <= 0:
                continue
            added = self._tree.collect(root.number, batch, rows)
            # Its leaves may be in flight for another position; with none in flight it is stuck.
            root.is_stuck = not (added or batch.rows or self._in_flight)
            if added:
                root.flying += added
                self._in_flight += added
                shares.append((root, added))
            if batch.rows >= limit:
                break
        return shares

    def _allowed(self, root: _Root[Key], visits: int) -> int:
        effort = self._effort
        if effort.nodes is not None:
            return batch_rows(self._options, visits, effort.nodes, is_timed=False)
        assert effort.seconds is not None
        expected = visits * max(effort.seconds / max(root.seconds, 1e-3), 1.0)
        return batch_rows(self._options, visits, expected, is_timed=True)

    def _is_done(self, root: _Root[Key]) -> bool:
        if root.flying:
            return False
        visits = self._tree.root_visits(root.number)
        return root.is_stuck or self._has_enough(root, visits)

    def _has_enough(self, root: _Root[Key], visits: int) -> bool:
        """Whether a position, so often visited, has had its effort or needs no more."""
        if not visits:
            return False
        if root.mate or self._tree.root_solved(root.number):
            return True
        if self._effort.nodes is not None:
            return visits >= self._effort.nodes
        assert self._effort.seconds is not None
        return root.seconds >= self._effort.seconds

    def _found(self, root: _Root[Key]) -> Found:
        moves = self._tree.root_moves(root.number)
        mate = root.mate
        if mate and moves[0].proof == Proof.WIN and moves[0].proof_plies <= len(mate):
            mate = ()
        lines = []
        if mate:
            pv = tuple(move.usi() for move in mate)
            lines.append(Line(1.0, len(mate), None, 0, pv))
            moves = [m for m in moves if m.move16 != mate[0].move16]
        shown = [m for m in moves if m.visits or m.proof != Proof.NONE]
        if not lines and not shown:
            shown = moves[:1]
        count = self._options.multipv - len(lines)
        lines += [self._line(root, m) for m in shown[:count]]
        return Found(lines[0].win_rate, self._tree.root_visits(root.number), tuple(lines))

    def _line(self, root: _Root[Key], move: RootMove) -> Line:
        pv = self._tree.variation(root.number, move.move16, MAX_PV)
        mate = None
        if move.proof in (Proof.WIN, Proof.LOSS):
            mate = move.proof_plies if move.proof == Proof.WIN else -move.proof_plies
        known = move.visits or mate is not None
        win_rate = move.value if known else self._tree.root_value(root.number)
        return Line(
            win_rate=win_rate,
            mate_plies=mate,
            score_cp=None if mate else score_cp(win_rate, self._options.eval_coef),
            visits=move.visits,
            pv=tuple(Move.from_move16(m).usi() for m in pv),
        )
