"""PUCT over a network: collects batches from the tree while others are in the network."""

from __future__ import annotations

import bisect
import contextlib
import math
import random
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from komadori._core.tree import Batch, Proof, RootMove, Tree, TreeOptions
from komadori.inference import (
    Evaluator,
    InferenceError,
    Polled,
    available_threads,
    batch_sizes,
)
from komadori.rules import Board, Move
from komadori.search.clock import TimeBudget, budget
from komadori.search.options import DECLARATION_POINTS, PuctOptions, batch_rows
from komadori.search.protocol import Info, Limits, SearchResult
from komadori.search.root_mate import CROWDED_SHARE, MOST_MOVES, MOVES_PER_NODE, RootMate

MAX_PV = 64

#: Batches of the size allowed that may be in flight: more only hide delays once batches are full.
MAX_BATCHES = 3
#: How long a search without an end is thought to go on, at least.
OPEN_MS = 5000
#: From here on, what a move has made unreachable is freed while the opponent thinks.
TIDY_FULLNESS = 0.5
#: Longest wait for the network without a look at `stop`.
PATIENCE_S = 0.01
#: Win rates are kept this far from 0 and 1 when they become centipawns.
_WIN_RATE_EDGE = 1e-5


def score_cp(win_rate: float, eval_coef: float) -> int:
    """Centipawns of a win rate: eval_coef * ln(p / (1 - p))."""
    p = min(max(win_rate, _WIN_RATE_EDGE), 1 - _WIN_RATE_EDGE)
    return round(eval_coef * math.log(p / (1 - p)))


class PuctSearcher:
    """Tree search with a policy and value network (a `search.Searcher`).

    With a fixed number of nodes the result depends only on the evaluator's answers, the options
    and the searches before it: never on timing. A searcher made anew, or after `new_game`,
    repeats itself exactly. The evaluator may serve several searchers one after another, not
    at the same time.
    """

    def __init__(self, evaluator: Evaluator, options: PuctOptions | None = None) -> None:
        self.evaluator = evaluator
        self._polled = evaluator if isinstance(evaluator, Polled) else None
        self._options = options or PuctOptions()
        self._tree = Tree(self._options.memory_mb << 20, tree_options(self._options))
        self._root = self._tree.add_root()
        self._batches = [make_batch(evaluator, slot) for slot in range(evaluator.slots)]
        self._sizes = batch_sizes(evaluator.max_batch)
        self._mate = RootMate(self._options.mate_memory_mb)
        self._mate_share = mate_share(evaluator)
        self._random = random.Random(self._options.random_seed)
        self._board = Board()
        self._placed = False
        self._ponderhit: Limits | None = None
        self._warned = False
        self._batch_ms = 0.0
        self._usual_speed = 0.0
        self._tidying: threading.Thread | None = None

    # -- the Searcher protocol

    @property
    def options(self) -> PuctOptions:
        """The settings; assign to change them between searches."""
        return self._options

    @options.setter
    def options(self, options: PuctOptions) -> None:
        self._await_tidying()
        if options.memory_mb != self._options.memory_mb:
            self._tree = Tree(options.memory_mb << 20, tree_options(options))
            self._root = self._tree.add_root()
        else:
            self._tree.options = tree_options(options)
        if options.mate_memory_mb != self._options.mate_memory_mb:
            self._mate.forget()
            self._mate = RootMate(options.mate_memory_mb)
        if options.random_seed != self._options.random_seed:
            self._random.seed(options.random_seed)
        self._options = options
        self._placed = False

    def set_option(self, **changes: Any) -> None:
        """Change some settings by name."""
        self.options = replace(self._options, **changes)

    @property
    def tree(self) -> Tree:
        """The graph behind the search, for inspection."""
        return self._tree

    @property
    def mate_nodes(self) -> int:
        """Moves made by the last search's mate search."""
        return self._mate.nodes

    def set_position(self, board: Board) -> None:
        self._board = board.copy()
        self._placed = False

    def new_game(self) -> None:
        self._await_tidying()
        self._tree.clear()
        self._random.seed(self._options.random_seed)
        self._placed = False

    def ponderhit(self, limits: Limits) -> None:
        self._ponderhit = limits

    def close(self) -> None:
        self._await_tidying()
        self._mate.forget()
        self._tree = Tree(1 << 20)
        self._root = self._tree.add_root()
        self._placed = False

    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        run = _Run(limits, on_info, stop or threading.Event(), self._board, self._options)
        try:
            self._await_tidying()
            self._place(limits)
            run.begin(self._tree.playouts())
            immediate = self._without_search(limits, run)
            if immediate is None:
                self._start_mate(limits, run.stop)
                self._loop(run)
                # What was still in flight may have brought another move to the front.
                while run.is_deep and not self._reaches(limits.depth or 0):
                    run.is_deep = False
                    self._loop(run)
            waits = limits.waits
            if waits and immediate is None and not run.stop.is_set():
                self._take_mate(run)
                self._report(run)  # what ended the search is told at once
            while waits and not run.stop.wait(0.005):
                if immediate is None and not run.mate:
                    self._take_mate(run)
                    if run.mate:
                        self._report(run)
                if limits.ponder and self._ponderhit is not None:
                    break
            result = immediate or self._result(run)
            if immediate is None and run.is_timed:
                self._usual_speed = run.speed()
            self._tidy_after(result.best_move, run.limits)
            return result
        finally:
            # The thread must be gone before the interpreter may end.
            self._mate.stop()
            self._mate.wait()
            # Not at the start: the hit may come before this thread gets there.
            self._ponderhit = None

    # -- how it is done

    def _tidy_after(self, best: Move | None, limits: Limits) -> None:
        """Free in the background what the game can't come back to, if memory is getting short."""
        if best is None or limits.waits or self._tree.fullness < TIDY_FULLNESS:
            return
        after = self._board.copy()
        after.push(best)
        self._placed = False

        def tidy() -> None:
            self._tree.set_root(self._root, after)
            self._tree.reclaim(0.0)

        self._tidying = threading.Thread(target=tidy, name="reclaim", daemon=True)
        self._tidying.start()

    def _await_tidying(self) -> None:
        if self._tidying is not None:
            self._tidying.join()
            self._tidying = None

    def _place(self, limits: Limits) -> None:
        if not self._placed:
            if not self._options.reuse_subtree:
                self._tree.clear()
            self._tree.set_root(self._root, self._board)
            self._placed = True
        self._tree.set_search_moves(self._root, [move.move16 for move in limits.searchmoves])

    def _without_search(self, limits: Limits, run: _Run) -> SearchResult | None:
        """The answer where the rules give it: no move, a declaration, a mate in one."""
        board = self._board
        if not board.legal_moves:
            return SearchResult(None, resign=True)
        mate: Move | None = None
        points = DECLARATION_POINTS[self._options.declaration]
        if points[0] and board.can_declare_win(*points):
            declare = True
        else:
            declare = False
            if self._options.mate_in_one and not board.is_check():
                mate = board.mate_in_one()
            if mate is None or (limits.searchmoves and mate not in limits.searchmoves):
                return None
        info = Info(
            depth=1,
            seldepth=1,
            nodes=0,
            nps=0,
            time_ms=run.elapsed_ms(),
            hashfull=self._hashfull(),
            multipv=1,
            score_cp=None,
            mate_plies=1,
            win_rate=1.0,
            pv=[mate] if mate else [],
            visits=0,
        )
        if run.on_info:
            run.on_info(info)
        return SearchResult(mate, declare_win=declare, infos=[info])

    def _start_mate(self, limits: Limits, stop: threading.Event) -> None:
        """Under a clock df-pn works beside the search; where only the nodes are counted it works
        before it, so that the result stays the same.
        """
        plies = self._options.root_mate_plies
        count = limits.nodes or limits.playouts
        if not plies:
            self._mate.forget()
        elif count and not (limits.has_clock or limits.movetime_ms or limits.waits):
            self._mate.solve(self._board, plies, min(MOVES_PER_NODE * count, MOST_MOVES), stop)
        else:
            self._mate.start(self._board, plies, self._mate_share)

    def _take_mate(self, run: _Run) -> bool:
        """Whether a mate that df-pn has found ends the search."""
        if not run.mate:
            moves = self._mate.moves
            allowed = run.limits.searchmoves
            last_ply = self._board.ply - 1 + len(moves)
            if (allowed and moves and moves[0] not in allowed) or (
                self._options.draw_ply and last_ply > self._options.draw_ply
            ):
                return False
            run.mate = moves
        return bool(run.mate) and not (run.limits.waits and self._options.multipv > 1)

    def _loop(self, run: _Run) -> None:
        """Keep the network busy until a limit is met.

        Where a count ended the search, what is in flight is taken in, so that the result is
        always the same; a clock, a mate or `stop` drops it.
        """
        tree, root, evaluator, batches = self._tree, self._root, self.evaluator, self._batches
        free = deque(range(evaluator.slots))
        flying: list[int] = []
        rows_flying = 0
        started = [0.0] * evaluator.slots
        polled = self._polled
        ended = hurried = False
        # Only what a batch brings back changes the tree: collecting between two looks at a slow
        # network would make the result depend on how often that happens.
        may_collect = True
        try:
            while True:
                if self._ponderhit is not None and run.limits.ponder:
                    run.ponderhit(self._ponderhit)
                done = run.update(tree.playouts(), tree.root_visits(root))
                hurried = hurried or run.stop.is_set() or self._take_mate(run) or self._is_over(run)
                ended = ended or done or hurried
                if hurried and polled:
                    break
                # Nor is a batch begun that won't be back in time, except for the first.
                late = run.left_ms() < self._batch_ms and (run.nodes > 0 or bool(flying))
                while may_collect and free and not (ended or late):
                    rows = self._rows(run, rows_flying)
                    if rows <= 0:
                        break
                    slot = free[0]
                    left = run.nodes_left() - rows_flying
                    added = tree.collect(root, batches[slot], rows, max(1, left))
                    if not added:
                        break
                    evaluator.start(slot, added)
                    started[slot] = time.perf_counter()
                    flying.append(free.popleft())
                    rows_flying += added
                may_collect = not flying
                if flying:
                    found = polled.first_done(flying, run.patience_s()) if polled else flying[0]
                    if found is not None:
                        may_collect = True
                        policy, value = evaluator.wait(found)
                        took_ms = (time.perf_counter() - started[found]) * 1000
                        self._batch_ms += 0.2 * (took_ms - self._batch_ms)
                        rows_flying -= batches[found].rows
                        tree.expand(batches[found], policy, value)
                        flying.remove(found)
                        free.append(found)
                elif ended or tree.root_solved(root) or not run.has_moved_on(tree.playouts()):
                    break
                if run.wants_info():
                    self._report(run)
        except BaseException:
            for slot in flying:
                with contextlib.suppress(InferenceError):
                    evaluator.wait(slot)
                tree.cancel(batches[slot])
            raise
        for slot in flying:
            assert polled is not None
            polled.drop(slot)
            tree.cancel(batches[slot])
        if tree.stats.invalid and not self._warned:
            self._warned = True
            warnings.warn(
                f"{evaluator.name}: the network gave outputs that aren't numbers; "
                "such positions count as even",
                RuntimeWarning,
                stacklevel=3,
            )

    def _rows(self, run: _Run, flying: int) -> int:
        """Rows of the next batch; 0: rather wait than begin a smaller one."""
        expected = run.expected_visits(self._usual_speed)
        allowed = batch_rows(self._options, run.visits, expected, is_timed=run.is_timed)
        rows = self._sizes[bisect.bisect_right(self._sizes, allowed) - 1]
        if flying + rows > MAX_BATCHES * allowed:
            return 0
        return min(rows, run.nodes_left() - flying)

    def _is_over(self, run: _Run) -> bool:
        """Whether the clock, or the lead of the best move, ends the search."""
        times = run.times
        if times.maximum_ms is None or run.limits.ponder:
            return self._is_deep(run)
        assert times.optimum_ms is not None
        elapsed = run.elapsed_ms()
        waits_ms = 0.0 if self._polled else self._batch_ms
        if elapsed + waits_ms >= times.maximum_ms:
            return True
        if not run.has_clock or elapsed < times.minimum_ms:
            return self._is_deep(run)
        if elapsed >= times.optimum_ms and not run.is_extended:
            if not self._is_doubtful():
                return True
            run.is_extended = True
        if self._options.early_stop and run.wants_lead_check():
            end = times.maximum_ms if run.is_extended else times.optimum_ms
            moves = self._tree.root_moves(self._root)
            if len(moves) == 1:
                return moves[0].visits > 0
            to_come = run.speed() * max(end - elapsed, 0)
            if run.nodes > 0 and moves[0].visits - moves[1].visits > to_come:
                return True
        return self._is_deep(run)

    def _is_deep(self, run: _Run) -> bool:
        if run.limits.depth is None or not run.wants_lead_check():
            return False
        run.is_deep = self._reaches(run.limits.depth)
        return run.is_deep

    def _reaches(self, depth: int) -> bool:
        """Whether the line of the best move is so long."""
        moves = self._tree.root_moves(self._root)
        return bool(moves) and (
            len(self._tree.variation(self._root, moves[0].move16, MAX_PV)) >= depth
        )

    def _is_doubtful(self) -> bool:
        """Whether the best move hardly leads, or another one is valued higher."""
        moves = [m for m in self._tree.root_moves(self._root)[:4] if m.visits]
        if len(moves) < 2:
            return False
        best, second = moves[0], moves[1]
        return best.visits < 1.5 * second.visits or any(m.value > best.value for m in moves[1:])

    def _hashfull(self) -> int:
        return min(1000, round(self._tree.fullness * 1000))

    def _infos(self, run: _Run) -> list[Info]:
        moves = self._tree.root_moves(self._root)

        def is_mate(m: RootMove) -> bool:
            return bool(run.mate) and m.move16 == run.mate[0].move16

        if run.mate and moves[0].proof != Proof.WIN:
            moves.sort(key=lambda m: not is_mate(m))  # the rest stays as it is
        shown = [m for m in moves if m.visits or m.proof != Proof.NONE or is_mate(m)][
            : self._options.multipv
        ]
        return [self._info(run, rank, m) for rank, m in enumerate(shown or moves[:1], 1)]

    def _info(self, run: _Run, rank: int, move: RootMove) -> Info:
        pv = self._tree.variation(self._root, move.move16, MAX_PV)
        mate = None
        by_search = bool(run.mate) and move.move16 == run.mate[0].move16
        if by_search and move.proof != Proof.WIN:
            return self._mate_info(run, rank, move.visits)
        if move.proof in (Proof.WIN, Proof.LOSS):
            mate = move.proof_plies if move.proof == Proof.WIN else -move.proof_plies
        time_ms = run.elapsed_ms()
        win_rate = move.value if move.visits or mate else self._tree.root_value(self._root)
        return Info(
            depth=len(pv),
            seldepth=max(self._tree.stats.depth, len(pv)),
            nodes=run.nodes,
            nps=round(run.speed() * 1000),
            time_ms=time_ms,
            hashfull=self._hashfull(),
            multipv=rank,
            score_cp=None if mate else score_cp(win_rate, self._options.eval_coef),
            mate_plies=mate,
            win_rate=win_rate,
            pv=[Move.from_move16(m) for m in pv],
            visits=move.visits,
        )

    def _mate_info(self, run: _Run, rank: int, visits: int) -> Info:
        """The line of the mate that df-pn found."""
        time_ms = run.elapsed_ms()
        return Info(
            depth=len(run.mate),
            seldepth=max(self._tree.stats.depth, len(run.mate)),
            nodes=run.nodes,
            nps=round(run.speed() * 1000),
            time_ms=time_ms,
            hashfull=self._hashfull(),
            multipv=rank,
            score_cp=None,
            mate_plies=len(run.mate),
            win_rate=1.0,
            pv=list(run.mate),
            visits=visits,
        )

    def _report(self, run: _Run) -> list[Info]:
        infos = self._infos(run)
        if run.on_info:
            for info in infos:
                run.on_info(info)
        return infos

    def _result(self, run: _Run) -> SearchResult:
        run.update(self._tree.playouts(), self._tree.root_visits(self._root))
        self._take_mate(run)
        infos = self._report(run)
        best = infos[0]
        threshold = self._options.resign_threshold
        pv = best.pv if run.mate else self._drawn(best)
        return SearchResult(
            best_move=pv[0],
            ponder=pv[1] if len(pv) > 1 else None,
            resign=best.visits > 0 and best.win_rate < threshold,
            infos=infos,
        )

    def _drawn(self, best: Info) -> list[Move]:
        """The line of the move to play: the best one's, or within `random_plies` of one drawn."""
        o = self._options
        ply = self._board.ply
        temperature = o.random_temperature - o.random_temperature_drop * (ply - 1)
        if ply > o.random_plies or temperature <= 0 or best.mate_plies is not None:
            return best.pv
        moves = [
            m
            for m in self._tree.root_moves(self._root)
            if m.visits and m.proof == Proof.NONE and m.value >= best.win_rate - o.random_cutoff
        ]
        if not moves:
            return best.pv
        most = max(m.visits for m in moves)
        weights = [(m.visits / most) ** (1 / temperature) for m in moves]
        move16 = self._random.choices(moves, weights)[0].move16
        return [Move.from_move16(m) for m in self._tree.variation(self._root, move16, MAX_PV)]


class _Run:
    """One search under way: its limits, its clock, its counts."""

    def __init__(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None,
        stop: threading.Event,
        board: Board,
        options: PuctOptions,
    ) -> None:
        self.limits = limits
        self.on_info = on_info
        self.stop = stop
        self.is_extended = False
        self.is_deep = False
        self.visits = 0
        self.nodes = 0
        self.mate: tuple[Move, ...] = ()
        self._board = board
        self._options = options
        self._started = self._clock_started = time.perf_counter()
        self._next_info = self._started + options.pv_interval_ms / 1000
        self._next_check = self._started
        self.times = self._budget()

    def _budget(self) -> TimeBudget:
        o = self._options
        return budget(
            self.limits,
            self._board.turn,
            self._board.ply,
            time_margin_ms=o.time_margin_ms,
            byoyomi_margin_ms=o.byoyomi_margin_ms,
            minimum_ms=o.minimum_time_ms,
        )

    def begin(self, playouts: int) -> None:
        """The search begins, the tree having ended so many playouts before."""
        self._before = playouts
        self._seen = -1

    def ponderhit(self, limits: Limits) -> None:
        """From now on these limits hold, their time counting from now."""
        self.limits = limits
        self._clock_started = time.perf_counter()
        self.times = self._budget()

    @property
    def has_clock(self) -> bool:
        limits = self.limits
        return limits.has_clock and limits.movetime_ms is None and not limits.mate

    def elapsed_ms(self) -> int:
        """Since the clock of the limits in force began."""
        return int((time.perf_counter() - self._clock_started) * 1000)

    def speed(self) -> float:
        """Playouts a millisecond."""
        return self.nodes / max((time.perf_counter() - self._started) * 1000, 1.0)

    @property
    def is_timed(self) -> bool:
        """Whether anything but a count ends the search."""
        limits = self.limits
        counts = limits.nodes is not None or limits.playouts is not None
        return self.times.maximum_ms is not None or not counts

    def expected_visits(self, usual_speed: float) -> float:
        """How many visits the root will have in the end, at the speed so far or the usual one."""
        left = float(self.nodes_left())
        if self.is_timed:
            left = min(left, max(self.speed(), usual_speed) * self._left_ms())
        return self.visits + left

    def _left_ms(self) -> float:
        """Milliseconds to the end that is planned, or a guess where nothing says when it is."""
        end = self.times.optimum_ms or self.times.maximum_ms
        if end is None or self.limits.ponder:
            return OPEN_MS
        return max(end - self.elapsed_ms(), 0)

    def update(self, playouts: int, visits: int) -> bool:
        """Take the tree's counts; whether a count or `stop` ends the search."""
        self.visits = visits
        self.nodes = playouts - self._before
        return self.stop.is_set() or self.nodes_left() <= 0

    def nodes_left(self) -> int:
        limits = self.limits
        left = 1 << 30
        if limits.ponder:
            return left
        if limits.nodes is not None:
            left = limits.nodes - self.nodes
        if limits.playouts is not None:
            left = min(left, limits.playouts - self.visits)
        return left

    def has_moved_on(self, playouts: int) -> bool:
        """Whether any playout has ended since this was last asked."""
        seen, self._seen = self._seen, playouts
        return self._seen != seen

    def left_ms(self) -> float:
        """Until the time is up; infinite without a clock."""
        if self.times.maximum_ms is None or self.limits.ponder:
            return math.inf
        return self.times.maximum_ms - (time.perf_counter() - self._clock_started) * 1000

    def patience_s(self) -> float:
        """How long to wait for the network before looking at the clock and `stop` again."""
        return min(max(self.left_ms() / 1000, 0.001), PATIENCE_S)

    def wants_info(self) -> bool:
        if not self.on_info or not self._options.pv_interval_ms:
            return False
        now = time.perf_counter()
        if now < self._next_info:
            return False
        self._next_info = now + self._options.pv_interval_ms / 1000
        return True

    def wants_lead_check(self) -> bool:
        """True every few milliseconds, so that costly questions aren't asked for each batch."""
        now = time.perf_counter()
        if now < self._next_check:
            return False
        self._next_check = now + 0.005
        return True


def tree_options(options: PuctOptions) -> TreeOptions:
    """The part of the settings that the tree heeds."""
    tree = TreeOptions()
    for name in (
        "c_init",
        "c_base",
        "fpu_reduction",
        "c_init_root",
        "c_base_root",
        "fpu_reduction_root",
        "temperature",
        "draw_ply",
        "repetition",
        "mate_in_one",
    ):
        setattr(tree, name, getattr(options, name))
    tree.draw_value = (options.draw_value_black, options.draw_value_white)
    tree.declaration_points = DECLARATION_POINTS[options.declaration]
    return tree


def mate_share(evaluator: Evaluator) -> float:
    """Of a processor's time for the mate search: all of it where the network and the thread that
    collects leave one free.
    """
    used = int(getattr(evaluator, "threads", 0)) + 1
    return 1.0 if used < available_threads() else CROWDED_SHARE


def make_batch(evaluator: Evaluator, slot: int) -> Batch:
    """The rows of a slot as the tree fills them."""
    return Batch(evaluator.inputs(slot), evaluator.features, evaluator.labels)
