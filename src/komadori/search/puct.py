"""PUCT search with a network: collects batches while others are in the network."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from komadori._core.tree import Tree, TreeOptions
from komadori.inference import Evaluator, available_threads
from komadori.inference.protocol import used_alone
from komadori.rules import DECLARATION_POINTS, Board, Move
from komadori.search.clock import TimeBudget, budget
from komadori.search.drawing import draw_move
from komadori.search.leaf_search import LeafSearch
from komadori.search.lines import root_lines
from komadori.search.memory import check_memory
from komadori.search.options import TREE_SETTINGS, PuctOptions
from komadori.search.pipeline import Pipeline, RootSource, slot_batches
from komadori.search.protocol import (
    Info,
    Limits,
    OneAtATime,
    SearchResult,
    check_searchmoves,
    one_at_a_time,
    stopped_at_exit,
)
from komadori.search.reclaiming import Reclaimer
from komadori.search.resigning import Resigning, ResignRule
from komadori.search.root_mate import (
    CROWDED_FRACTION,
    MATE_MOVES_PER_NODE,
    MAX_MATE_MOVES,
    RootMate,
)
from komadori.search.stopping import Condition, Conditions, Depth, Progress, conditions_of
from komadori.search.verification import Verdicts, Verification
from komadori.wording import check_type, names_arguments

#: Maximum interval between checks of `stop` while waiting for the network.
POLL_S = 0.01


def _seed(options: PuctOptions) -> int | None:
    """The seed as Python's random numbers take it, which don't know NumPy's integers."""
    return None if options.random_seed is None else int(options.random_seed)


@names_arguments
class PuctSearcher(OneAtATime):
    """Tree search with a policy and value network (a `search.Searcher`).

    With a fixed number of nodes the result depends only on the evaluator's outputs, the options
    and the searches before it, never on timing, unless `verify_margin` is set. A new searcher, or
    one after `new_game`, is reproducible. Several searchers may use the evaluator one after
    another, not concurrently.
    """

    def __init__(self, evaluator: Evaluator, options: PuctOptions | None = None) -> None:
        super().__init__()
        self.evaluator = evaluator
        self.batches = slot_batches(evaluator)
        self.mate_fraction = mate_fraction(evaluator)
        self.usual_speed = 0.0
        """Playouts per millisecond of the last search under a clock."""
        self.reclaimer = Reclaimer()
        self._options = options or PuctOptions()
        check_memory("the tree", self._options.memory_mb)
        self._tree = Tree(self._options.memory_mb << 20, tree_options(self._options))
        self._root = self._tree.add_root()
        self._leaf_search = LeafSearch()
        self._leaf_search.apply(self._tree, self._options)
        self._verification = Verification()
        self._verification.apply(self._options)
        self._mate = RootMate(self._options.mate_memory_mb)
        self._random = random.Random(_seed(self._options))
        self._resigning = Resigning()
        self._board = Board()
        self._is_placed = False
        self._ponderhit: Limits | None = None

    def __repr__(self) -> str:
        return f"<PuctSearcher on {self.evaluator!r}>"

    @property
    def options(self) -> PuctOptions:
        """The settings; assign to change them between searches."""
        return self._options

    @options.setter
    @one_at_a_time
    def options(self, options: PuctOptions) -> None:
        self.reclaimer.wait()
        if options.memory_mb != self._options.memory_mb:
            check_memory("the tree", options.memory_mb)
            self._tree = Tree(options.memory_mb << 20, tree_options(options))
            self._root = self._tree.add_root()
        else:
            self._tree.options = tree_options(options)
        self._leaf_search.apply(self._tree, options)
        self._verification.apply(options)
        if options.mate_memory_mb != self._options.mate_memory_mb:
            mate = RootMate(options.mate_memory_mb)
            self._mate.forget()
            self._mate = mate
        if options.random_seed != self._options.random_seed:
            self._random.seed(_seed(options))
        self._options = options
        self._is_placed = False

    def set_option(self, **changes: Any) -> None:
        """Change some settings by name."""
        self.options = replace(self._options, **changes)

    @property
    def tree(self) -> Tree:
        """The search graph, for inspection."""
        return self._tree

    @property
    def verdicts(self) -> Verdicts | None:
        """What the last search's moves scored in alpha-beta; None if they weren't verified."""
        return self._verification.verdicts

    @property
    def mate_nodes(self) -> int:
        """Moves made by the mate search of the last search."""
        return self._mate.nodes

    @one_at_a_time
    def set_position(self, board: Board) -> None:
        check_type("board", board, Board)
        self._board = board.copy()
        self._is_placed = False
        self._ponderhit = None  # it came after the end of the last search

    @one_at_a_time
    def new_game(self) -> None:
        self.reclaimer.wait()
        self._tree.clear()
        self._leaf_search.new_game()
        self._verification.new_game()
        self._random.seed(_seed(self._options))
        self._resigning.new_game()
        self._is_placed = False

    def ponderhit(self, limits: Limits) -> None:
        check_type("limits", limits, Limits)
        self._ponderhit = limits

    def take_ponderhit(self) -> Limits | None:
        """Return and clear the limits of a pending ponderhit."""
        limits, self._ponderhit = self._ponderhit, None
        return limits

    @one_at_a_time
    def close(self) -> None:
        self.reclaimer.wait()
        self._mate.forget()
        self._leaf_search.close()
        self._verification.close()
        self._tree = Tree(1 << 20)
        self._root = self._tree.add_root()
        self._is_placed = False

    @one_at_a_time
    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Search the position (see `Searcher.search`).

        Raises ValueError if `searchmoves` contains no legal move, InferenceError if the network
        fails or its outputs are NaN or out of range.
        """
        check_searchmoves(limits, self._board)
        with stopped_at_exit(stop) as stop:
            return self._search(limits, on_info, stop)

    def _search(
        self, limits: Limits, on_info: Callable[[Info], None] | None, stop: threading.Event
    ) -> SearchResult:
        self.reclaimer.wait()
        self._place(limits)
        run = _Run(self, self._tree, self._root, self._board, self._mate, limits, on_info, stop)
        try:
            result = self._by_rules(run) or self._by_search(run)
            if not run.limits.waits:
                self._reclaim_after(result.best_move)
            return result
        finally:
            # The thread must have ended before the interpreter exits.
            self._mate.stop()
            self._mate.wait()
            run.end()
            # Not cleared at the start: ponderhit may arrive before this thread gets there.
            self._ponderhit = None

    def _place(self, limits: Limits) -> None:
        if not self._is_placed:
            if not self._options.reuse_subtree:
                self._tree.clear()
            self._tree.set_root(self._root, self._board)
            self._is_placed = True
        self._tree.set_search_moves(self._root, [move.move16 for move in limits.searchmoves])

    def _by_rules(self, run: _Run) -> SearchResult | None:
        """Return the result if the rules decide it: no move, a declaration, a mate in one."""
        board, mate = self._board, None
        if not board.legal_moves:
            run.wait()
            return SearchResult(None, resign=True)
        points = DECLARATION_POINTS[self._options.declaration]
        declares = points[0] > 0 and board.can_declare_win(*points)
        if not declares:
            if self._options.mate_in_one and not board.is_check():
                mate = board.mate_in_one()
            if mate is None or (run.limits.searchmoves and mate not in run.limits.searchmoves):
                return None
        infos = run.report_win([mate] if mate else [])
        run.wait()
        return SearchResult(mate, declare_win=declares, infos=infos)

    def _by_search(self, run: _Run) -> SearchResult:
        with used_alone(self.evaluator, by_search=True), self._verified(run):
            run.search()
            run.wait(run.report)
        if run.is_timed:
            self.usual_speed = run.progress.speed()
        moves = self._tree.root_moves(self._root)
        first = None
        if not run.mate:
            first = draw_move(moves, self._board.ply, self._options, self._random)
            if first is None:
                first = self._verification.choose(moves)
        infos = run.report(first)
        best = infos[0]
        return SearchResult(
            best_move=best.pv[0],
            ponder=best.pv[1] if len(best.pv) > 1 else None,
            resign=self._resigning.resigns(
                self._board,
                ResignRule(self._options.resign_moves, self._options.resign_ply),
                is_low=best.visits > 0 and best.win_rate < self._options.resign_threshold,
                is_mated=best.mate_plies is not None
                and best.mate_plies < 0
                and self._options.resign_threshold > 0,
            ),
            infos=infos,
        )

    @contextmanager
    def _verified(self, run: _Run) -> Iterator[None]:
        """Verify the tree's moves during the block, if the options say so."""
        margin = self._options.verify_margin
        if margin is None:
            yield
            return
        self._verification.start(
            self._board, self._tree, self._root, run.limits.searchmoves, margin, run.planned_ms
        )
        try:
            yield
        finally:
            self._verification.end()

    def _reclaim_after(self, best: Move | None) -> None:
        """Free positions that can't be reached once the move is played."""
        if best is None:
            return
        after = self._board.copy()
        after.push(best)
        if self.reclaimer.start(self._tree, self._root, after):
            self._is_placed = False


class _Run:
    """A running search."""

    def __init__(
        self,
        searcher: PuctSearcher,
        tree: Tree,
        root: int,
        board: Board,
        mate: RootMate,
        limits: Limits,
        on_info: Callable[[Info], None] | None,
        stop: threading.Event | None,
    ) -> None:
        self.limits = limits
        self.stop = stop or threading.Event()
        self.mate: tuple[Move, ...] = ()
        self._searcher, self._options = searcher, searcher.options
        self._tree, self._root, self._board = tree, root, board
        self._mate = mate
        self._on_info = on_info
        self.progress = Progress(tree, root)
        self._source = RootSource(
            tree,
            root,
            searcher.evaluator,
            searcher.batches,
            self._options,
            self.progress,
            searcher.usual_speed,
        )
        self._pipeline = Pipeline(searcher.evaluator, self._source)
        self._infos: list[Info] = []
        self._reported: tuple[int, tuple[Move, ...], int | None] | None = None
        self._interval_s = self._options.pv_interval_ms / 1000
        if not self._interval_s or not on_info:
            self._interval_s = math.inf
        self._next_info = time.perf_counter() + self._interval_s
        self._conditions = self._make_conditions()

    def search(self) -> None:
        """Search until a condition is met; a depth must still be reached after pending batches."""
        self._start_mate()
        while True:
            try:
                met = self._loop()
            except BaseException:
                self._pipeline.abandon()
                raise
            if not isinstance(met, Depth) or met.holds(self.progress):
                return

    def end(self) -> None:
        """Release the conditions, which refer to this run; the cycle would keep the searcher's tree
        and buffers until the next full garbage collection.
        """
        self._conditions.clear()

    def _loop(self) -> Condition | None:
        """Run until a condition is met and return it; None if nothing is left to search."""
        pipeline, progress = self._pipeline, self.progress
        seen = -1
        met: Condition | None = None
        while True:
            if self.limits.ponder:
                self._apply_ponderhit()
            progress.update()
            met = self._conditions.first_met(progress) or met
            # Even without time the root is evaluated, so that the policy chooses the move.
            if met and progress.visits == 0 and not self.mate:
                pipeline.fill()
                pipeline.take()
                progress.update()
            if met and not met.drains and pipeline.can_drop:
                break
            # Start no batch that can't return in time, except the first.
            is_late = self._conditions.hints.deadline_ms < pipeline.batch_ms
            if not met and not (is_late and (progress.has_started or pipeline.in_flight)):
                pipeline.fill()
            if not pipeline.in_flight:
                playouts = self._tree.playouts()
                if met or self._tree.root_solved(self._root) or playouts == seen:
                    break
                seen = playouts
            else:
                pipeline.take(self._poll_s() if pipeline.can_drop else None)
            if progress.now >= self._next_info:
                self._next_info = progress.now + self._interval_s
                self.report()
        pipeline.drop()
        progress.update()
        return met

    def wait(self, report: Callable[[], Any] | None = None) -> None:
        """Wait for `stop` or `ponderhit` if the limits require it. Reports the final lines at
        once, and a mate if one is found meanwhile.
        """
        if not self.limits.waits or self.stop.is_set():
            return
        self._find_mate()
        if report:
            report()
        while not self.stop.wait(0.005):
            if report and not self.mate and self._find_mate():
                report()
            if self.limits.ponder and self._searcher.take_ponderhit() is not None:
                return

    @property
    def is_timed(self) -> bool:
        return self._conditions.hints.is_timed

    @property
    def planned_ms(self) -> float | None:
        """The planned time of the search; None if it isn't limited by time."""
        return self._times().optimum_ms

    def report(self, first: int | None = None) -> list[Info]:
        """Report the current lines. `first`: the move (move16) that will be played."""
        self.progress.update()
        self._find_mate()
        state = (self.progress.playouts, self.mate, first)
        if state == self._reported:
            return self._infos  # nothing has changed
        self._reported = state
        coef, count = self._options.eval_coef, self._options.multipv
        lines = root_lines(self._tree, self._root, count, coef, self.mate, first)
        return self._publish(
            Info(
                depth=len(line.pv),
                seldepth=max(self._tree.stats.depth, len(line.pv)),
                multipv=rank,
                score_cp=line.score_cp,
                mate_plies=line.mate_plies,
                win_rate=line.win_rate,
                pv=list(line.pv),
                visits=line.visits,
                bound="",
                **self._counts(),
            )
            for rank, line in enumerate(lines, 1)
        )

    def report_win(self, pv: list[Move]) -> list[Info]:
        """Report that the position is won without a search."""
        return self._publish(
            [
                Info(
                    depth=1,
                    seldepth=1,
                    multipv=1,
                    score_cp=None,
                    mate_plies=1,
                    win_rate=1.0,
                    pv=pv,
                    visits=0,
                    bound="",
                    **self._counts(),
                )
            ]
        )

    def _publish(self, infos: Any) -> list[Info]:
        self._infos = list(infos)
        if self._on_info:
            for info in self._infos:
                self._on_info(info)
        return self._infos

    def _counts(self) -> dict[str, int]:
        nodes, elapsed = self.progress.nodes, self.progress.elapsed_ms()
        return {
            "nodes": nodes,
            "nps": round(nodes * 1000 / max(elapsed, 1.0)),
            "time_ms": int(elapsed),
            "hashfull": min(1000, round(self._tree.fullness * 1000)),
        }

    def _apply_ponderhit(self) -> None:
        if (limits := self._searcher.take_ponderhit()) is not None:
            self.limits = limits
            self.progress.restart_clock()
            self._conditions = self._make_conditions()

    def _make_conditions(self) -> Conditions:
        """Build the conditions for the current limits and pass them to the source."""
        pipeline = self._pipeline
        times = self._times()
        conditions = conditions_of(
            self.limits,
            times,
            self.stop,
            self._ends_by_mate,
            stops_early=self._options.early_stop and self._options.verify_margin is None,
            slack_ms=(lambda: 0.0) if pipeline.can_drop else (lambda: pipeline.batch_ms),
        )
        self._source.conditions = conditions
        return conditions

    def _times(self) -> TimeBudget:
        o = self._options
        return budget(
            self.limits,
            self._board.turn,
            self._board.ply,
            time_margin_ms=o.time_margin_ms,
            byoyomi_margin_ms=o.byoyomi_margin_ms,
            minimum_ms=o.minimum_time_ms,
        )

    def _poll_s(self) -> float:
        """Return the time to wait for the network before checking the clock and `stop` again."""
        return min(max(self._conditions.hints.deadline_ms / 1000, 0.001), POLL_S)

    def _start_mate(self) -> None:
        """Run df-pn concurrently with the search; before it if only nodes are limited, so that the
        result is deterministic.
        """
        limits, plies = self.limits, self._options.root_mate_plies
        count = limits.nodes or limits.playouts
        if not plies:
            self._mate.forget()
        elif count and not (limits.has_clock or limits.movetime_ms or limits.waits):
            moves = min(MATE_MOVES_PER_NODE * count, MAX_MATE_MOVES)
            self._mate.solve(self._board, plies, moves, self.stop)
        else:
            self._mate.start(self._board, plies, self._searcher.mate_fraction)

    def _ends_by_mate(self) -> bool:
        if not self._mate.moves:  # checked for every batch
            return False
        return self._find_mate() and not (self.limits.waits and self._options.multipv > 1)

    def _find_mate(self) -> bool:
        """Return whether df-pn has found a mate that may be played."""
        if not self.mate and (moves := self._mate.moves):
            allowed, draw_ply = self.limits.searchmoves, self._options.draw_ply
            last_ply = self._board.ply - 1 + len(moves)
            if (not allowed or moves[0] in allowed) and not (draw_ply and last_ply > draw_ply):
                self.mate = moves
        return bool(self.mate)


def tree_options(options: PuctOptions) -> TreeOptions:
    """Convert the settings used by the tree."""
    tree = TreeOptions()
    for name in TREE_SETTINGS:
        setattr(tree, name, getattr(options, name))
    tree.draw_value = (options.draw_value_black, options.draw_value_white)
    tree.declaration_points = DECLARATION_POINTS[options.declaration]
    return tree


def mate_fraction(evaluator: Evaluator) -> float:
    """Return the fraction of a CPU for the mate search: all of it if the network and the
    collecting thread leave one free.
    """
    used = int(getattr(evaluator, "threads", 0)) + 1
    return 1.0 if used < available_threads() else CROWDED_FRACTION
