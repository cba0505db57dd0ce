"""Concurrent search of many positions: their leaves share the network's batches."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from komadori._core.tree import Tree
from komadori.inference import Evaluator
from komadori.inference.protocol import Floats, invalid_outputs
from komadori.mate import MateSolver
from komadori.rules import DECLARATION_POINTS, Board, Move, PositionError
from komadori.search.leaf_search import LeafSearch
from komadori.search.lines import RootLine, root_lines
from komadori.search.options import PuctOptions, batch_rows
from komadori.search.pipeline import Pipeline, slot_batches
from komadori.search.puct import tree_options
from komadori.search.stopping import Condition, Conditions, Hints, MateFound, Progress, VisitCount
from komadori.wording import check_type, counted, names_arguments

Key = TypeVar("Key")

#: Moves of the mate search per playout of the position's search, and the maximum.
MATE_MOVES_PER_PLAYOUT = 20
MAX_MATE_MOVES = 200_000
#: The same per second, if the effort is time.
MATE_MOVES_PER_SECOND = 100_000

#: Positions searched at once, by default and at most.
ROOTS, MAX_ROOTS = 16, 1 << 16


@names_arguments
@dataclass(frozen=True)
class Effort:
    """Search effort per position: playouts, or seconds."""

    nodes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.seconds is None):
            raise ValueError("an effort is either nodes or seconds")
        if self.nodes is not None and self.nodes < 1:
            raise ValueError(f"an effort's nodes must be at least 1, not {self.nodes}")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ValueError(f"an effort's seconds must be above 0 and finite, not {self.seconds}")

    @property
    def mate_moves(self) -> int:
        if self.nodes is not None:
            return min(self.nodes * MATE_MOVES_PER_PLAYOUT, MAX_MATE_MOVES)
        assert self.seconds is not None
        return min(int(self.seconds * MATE_MOVES_PER_SECOND) + 1, MAX_MATE_MOVES)

    @classmethod
    def parse(cls, text: str) -> Effort:
        """Return the effort that `str()` formats as `text`. Raises ValueError."""
        number, _, unit = text.partition(" ")
        return cls(nodes=int(number)) if unit in ("node", "nodes") else cls(seconds=float(number))

    def in_english(self) -> str:
        """Return the effort as English text."""
        return str(self) if self.nodes is None else counted(self.nodes, "node")

    def in_japanese(self) -> str:
        """Return the effort per position as Japanese text."""
        return (
            f"1局面あたり{self.nodes:,}ノード"
            if self.nodes is not None
            else f"1局面あたり{self.seconds:g}秒"
        )

    def __str__(self) -> str:
        if self.nodes is None:
            return f"{self.seconds:g} s"
        return f"{self.nodes} {'node' if self.nodes == 1 else 'nodes'}"


@dataclass(frozen=True)
class Searched:
    """Search result of a position, from the side to move's view."""

    win_rate: float
    visits: int
    lines: tuple[RootLine, ...] = ()
    """Best first; empty if the game is over or the side to move may declare a win."""
    declares: bool = False
    """The side to move may declare a win."""


class TimeShare:
    """The position has used its share of the time."""

    drains = True

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.used = 0.0

    def is_met(self, progress: Progress, hints: Hints) -> bool:
        hints.planned_ms = hints.deadline_ms = max(self._seconds - self.used, 0.0) * 1000
        return self.used >= self._seconds


class _Position(Generic[Key]):
    """A position under search."""

    def __init__(self, key: Key, tree: Tree, root: int, effort: Effort, mate: tuple[Move, ...]):
        self.key = key
        self.root = root
        self.mate = mate
        self.progress = Progress(tree, root)
        self.time_share = TimeShare(effort.seconds) if effort.seconds is not None else None
        conditions: list[Condition] = [MateFound(lambda: bool(mate))]
        if effort.nodes is not None:
            conditions.append(VisitCount(effort.nodes))
        if self.time_share is not None:
            conditions.append(self.time_share)
        self.conditions = Conditions(conditions)
        self.rows = 0  # in flight
        self.is_stuck = False

    def has_enough(self) -> bool:
        """Return whether the position has used its effort or is solved."""
        self.progress.update()
        is_met = self.conditions.first_met(self.progress) is not None
        tree = self.progress.tree
        return self.progress.visits > 0 and (is_met or tree.root_solved(self.root))

    def allowed_rows(self, options: PuctOptions) -> int:
        """Return the number of rows in the next batch; small while the search is small."""
        hints, visits = self.conditions.hints, self.progress.visits
        expected = float(visits + hints.playouts)
        if self.time_share is not None:
            used_ms = max(self.time_share.used * 1000, 1.0)
            # Nothing is planned before the conditions are first checked.
            planned_ms = hints.planned_ms if math.isfinite(hints.planned_ms) else 0.0
            expected = visits * (1 + planned_ms / used_ms)
        rows = batch_rows(options, visits, expected)
        return min(rows, hints.playouts - self.rows)


class ManySearch(Generic[Key]):
    """Searches several positions at once with one evaluator and one tree (a `Source`)."""

    def __init__(
        self,
        evaluator: Evaluator,
        effort: Effort,
        options: PuctOptions | None = None,
        roots: int = ROOTS,
    ) -> None:
        """`options.multipv` is the number of lines per position.

        roots: the most positions searched at once, 1 to MAX_ROOTS. Raises ValueError for another
        number, ValueError or OSError if the NNUE of `options.leaf_weight` can't be read.
        """
        if not 1 <= roots <= MAX_ROOTS:
            raise ValueError(f"roots is {roots}, 1 to {MAX_ROOTS:,} is needed")
        self._evaluator = evaluator
        self._effort = effort
        self._options = options or PuctOptions()
        self._tree = Tree(self._options.memory_mb << 20, tree_options(self._options))
        self._leaf_search = LeafSearch()
        self._leaf_search.apply(self._tree, self._options)
        self._batches = slot_batches(evaluator)
        self._roots = [self._tree.add_root() for _ in range(roots)]
        self._free_roots = list(self._roots)
        self._mates = MateSolver(self._options.mate_memory_mb)
        self._pipeline: Pipeline | None = None
        self._active: deque[_Position[Key]] = deque()
        self._parts: dict[int, list[tuple[_Position[Key], int]]] = {}  # by slot: rows per position

    def search(self, positions: Iterable[tuple[Key, Board]]) -> Iterator[tuple[Key, Searched]]:
        """Yield the result of each position, in the order in which they finish.

        The moves on a board count for repetitions. The iteration may be abandoned at any time.
        The tree is empty at the start, so results depend only on these positions; with an effort
        in nodes and a single device they are deterministic. Raises InferenceError if the network
        fails or its outputs are invalid.
        """
        self._abandon()
        self._tree.clear()
        self._leaf_search.new_game()
        source = iter(positions)
        pipeline = self._pipeline = Pipeline(self._evaluator, self)
        try:
            while True:
                while self._free_roots and (task := next(source, None)) is not None:
                    key, board = task
                    check_type("positions", board, Board)
                    over = self._by_rules(board)
                    if over is not None:
                        yield key, over
                        self._check_current(pipeline)
                        continue
                    self._active.append(self._begin(key, board))
                started = time.perf_counter()
                pipeline.fill()
                if not pipeline.take() and not self._active:
                    return
                seconds = (time.perf_counter() - started) / max(len(self._active), 1)
                for position in self._active:
                    if position.time_share is not None:
                        position.time_share.used += seconds
                for position in [p for p in self._active if not p.rows]:
                    if position.is_stuck or position.has_enough():
                        self._active.remove(position)
                        yield position.key, self._result(position)
                        self._check_current(pipeline)
                        self._free_roots.append(position.root)
        finally:
            if self._pipeline is pipeline:
                self._abandon()

    def _abandon(self) -> None:
        """End the iteration that has begun, if any."""
        if self._pipeline is None:
            return
        self._pipeline.abandon()
        self._pipeline = None
        self._active.clear()
        self._free_roots = list(self._roots)

    def _check_current(self, pipeline: Pipeline) -> None:
        """Raise RuntimeError if another iteration has taken the tree since this one's began."""
        if self._pipeline is not pipeline:
            raise RuntimeError("a later iteration has begun; one at a time can be continued")

    def _by_rules(self, board: Board) -> Searched | None:
        """Return the result if the rules decide it."""
        if not board.legal_moves:
            return Searched(0.0, 0)
        points = DECLARATION_POINTS[self._options.declaration]
        if points[0] and board.can_declare_win(*points):
            return Searched(1.0, 0, declares=True)
        return None

    def _begin(self, key: Key, board: Board) -> _Position[Key]:
        root = self._free_roots.pop()
        self._tree.set_root(root, board)
        mate: tuple[Move, ...] = ()
        if self._options.root_mate_plies:
            with contextlib.suppress(PositionError):  # the opponent has no king
                mate = self._mates.solve(board, self._effort.mate_moves).moves
        return _Position(key, self._tree, root, self._effort, mate)

    def _result(self, position: _Position[Key]) -> Searched:
        options, root = self._options, position.root
        lines = root_lines(self._tree, root, options.multipv, options.eval_coef, position.mate)
        return Searched(lines[0].win_rate, self._tree.root_visits(root), tuple(lines))

    # -- the source of the pipeline

    def collect(self, slot: int) -> int:
        """Fill the batch with leaves of the positions in turn."""
        batch, limit = self._batches[slot], self._evaluator.max_batch
        parts = self._parts[slot] = []
        in_flight = sum(position.rows for position in self._active)
        for _ in range(len(self._active)):
            position = self._active[0]
            self._active.rotate(-1)
            if position.has_enough():
                continue
            rows = min(limit - batch.rows, position.allowed_rows(self._options))
            if rows <= 0:
                continue
            added = self._tree.collect(position.root, batch, rows)
            # Its leaves may be in flight for another position; if none are in flight it is stuck.
            position.is_stuck = not (added or batch.rows or in_flight)
            if added:
                position.rows += added
                parts.append((position, added))
            if batch.rows >= limit:
                break
        return batch.rows

    def expand(self, slot: int, policy: Floats, value: Floats) -> None:
        invalid = self._tree.expand(self._batches[slot], policy, value)
        self._return_rows(slot)
        if invalid:
            raise invalid_outputs(self._evaluator)

    def cancel(self, slot: int) -> None:
        self._tree.cancel(self._batches[slot])
        self._return_rows(slot)

    def _return_rows(self, slot: int) -> None:
        for position, rows in self._parts.pop(slot):
            position.rows -= rows
