"""Alpha-beta search with material, a linear evaluation or NNUE, over `komadori._core.alphabeta`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori._core import alphabeta as core
from komadori.encoding import score_from_win_rate, win_rate_from_score
from komadori.encoding.value import ELMO_COEF
from komadori.rules import DECLARATION_POINTS, Board, Move
from komadori.search.clock import iteration_budget
from komadori.search.memory import check_memory
from komadori.search.protocol import (
    Info,
    Limits,
    OneAtATime,
    SearchResult,
    StopEvent,
    check_searchmoves,
    one_at_a_time,
    stopped_at_exit,
)
from komadori.search.resigning import Resigning, ResignRule
from komadori.typed_settings import at_least, fractions, numbers, one_of
from komadori.wording import check_type, counted, names_arguments

if TYPE_CHECKING:
    from komadori.inference import Evaluator

#: The evaluations and their bundled weights; None: no weights are bundled.
EVALUATIONS: dict[str, str | None] = {
    "material": None,
    "two-piece": "two-piece.npz",
    "kpp": None,
    "nnue": "nnue-k-p.bin",
}

#: Parts of the search that can be disabled, by the names of `core.Parts`.
PARTS = tuple(name for name in dir(core.Parts) if not name.startswith("_") and name != "all_moves")

#: Constants of the search that games can tune: (value, minimum, maximum) by name, as in
#: cpp/komadori/alphabeta/constants.h.
CONSTANTS = {name: (value, low, high) for name, value, low, high in core.constants()}

#: Poll interval of a `stop` that isn't a StopEvent.
_POLL_MS = 2
#: Interval in which other searches look for signals.
_SLOW_POLL_MS = 100
#: The core counts plies in 32 bits.
_MAX_DEPTH = 2**31 - 1
#: Lower bound on priors, so that their logarithm is finite.
_MIN_PRIOR = 1e-30


@dataclass(frozen=True)
class AlphaBetaOptions:
    """Settings of the alpha-beta searcher."""

    threads: int = 1
    """A single-threaded search limited by nodes or depth is deterministic."""
    hash_mb: int = 256
    """Size of the transposition table, in MiB."""
    multipv: int = 1
    draw_value_black: float = 0.5
    """Value of a draw to the engine when it plays Black, as a win rate; below 0.5 it avoids draws.
    The opponent's value is one minus this."""
    draw_value_white: float = 0.5
    draw_ply: int = 0
    """The game is drawn after this many plies; 0: never."""
    declaration: str = "27"
    """The entering-king rule: "27" points, "24" points or "none"."""
    resign_value: int = 99999
    """Resign when the score falls to minus this (centipawns); a mate in n plies scores
    32,000 - n."""
    resign_moves: int = 3
    """Consecutive own moves at that score before resigning; a proven mate needs one."""
    resign_ply: int = 20
    """Never resign before this move of the game."""
    time_margin_ms: int | None = None
    """Safety margin of every move's time; None: a tenth of it, 35 to 500 ms."""
    minimum_thinking_ms: int = 0
    """Minimum time per move under a clock, if available."""
    slow_mover: int = 100
    """Scales the time per move, in per cent."""
    constants: Mapping[str, int] = field(default_factory=dict)
    """Changed constants of the search (see `CONSTANTS`), by name."""
    without: frozenset[str] = frozenset()
    """Parts of the search to disable (see `PARTS`), for ablations."""
    policy_depth: int = 8
    """Minimum remaining depth at which a policy network orders the moves."""
    policy_nodes: int = 20_000
    """Minimum number of nodes between policy evaluations; the root is always evaluated."""
    all_moves: bool = False
    """Also search non-promotions that only serve to avoid mate by a dropped pawn."""
    niceness: int = 0
    """Niceness of the search threads, on systems that have one per thread (Linux)."""

    def __post_init__(self) -> None:
        numbers(self)
        at_least(
            self,
            threads=1,
            hash_mb=1,
            multipv=1,
            draw_ply=0,
            resign_moves=1,
            resign_ply=0,
            minimum_thinking_ms=0,
            slow_mover=1,
            policy_depth=1,
            policy_nodes=0,
            niceness=0,
        )
        if self.time_margin_ms is not None:
            at_least(self, time_margin_ms=0)
        fractions(self, "draw_value_black", "draw_value_white")
        one_of(self, "declaration", DECLARATION_POINTS)
        for name, value in self.constants.items():
            if name not in CONSTANTS:
                raise ValueError(f"the search has no constant {name!r}")
            _, low, high = CONSTANTS[name]
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}, {low} to {high} is needed")
        if unknown := self.without - set(PARTS):
            raise ValueError(f"the search has no part {', '.join(sorted(unknown))}")

    def to_core(self, *, has_policy: bool = False) -> core.Options:
        options = core.Options()
        options.policy_depth = self.policy_depth if has_policy else 0
        options.policy_nodes = self.policy_nodes
        options.threads = self.threads
        options.hash_mb = self.hash_mb
        options.multi_pv = self.multipv
        options.niceness = self.niceness
        options.max_ply = self.draw_ply
        options.set_draw_scores(
            round(score_of(self.draw_value_black)), round(score_of(self.draw_value_white))
        )
        options.declaration_points = list(DECLARATION_POINTS[self.declaration])
        parts = core.Parts()
        for name in self.without:
            setattr(parts, name, False)
        parts.all_moves = self.all_moves
        options.parts = parts
        for name, value in self.constants.items():
            options.set_constant(name, value)
        return options


def score_of(win_rate: float) -> float:
    """Convert a win rate to centipawns, clamped to +-6,000."""
    return score_from_win_rate(win_rate, ELMO_COEF, limit_cp=6000.0)


@names_arguments
class AlphaBetaSearcher(OneAtATime):
    """Alpha-beta search (a `search.Searcher`).

    The transposition table and move histories are kept between moves until `new_game`.
    """

    def __init__(
        self,
        evaluation: str = "material",
        weights: Path | str | None = None,
        options: AlphaBetaOptions | None = None,
        *,
        fv_scale: int = 16,
        policy: Evaluator | None = None,
        turns: core.Turns | None = None,
    ) -> None:
        """Create a searcher.

        `weights` defaults to the bundled ones. `fv_scale` divides an NNUE network's output.
        `policy` orders moves; the caller closes it. Searchers with the same `turns` share the
        CPUs. Raises ValueError if the evaluation doesn't exist or the file isn't valid for it,
        OSError if the file can't be read.
        """
        if evaluation not in EVALUATIONS:
            names = ", ".join(EVALUATIONS)
            raise ValueError(f"evaluation is {evaluation!r}, one of {names} is needed")
        if evaluation == "material" and weights is not None:
            raise ValueError("the evaluation material takes no weights")
        if policy is not None:
            _check_policy(policy)
        super().__init__()
        self.evaluation = evaluation
        self._options = options or AlphaBetaOptions()
        check_memory("the transposition table", self._options.hash_mb)
        self._resigning = Resigning()
        self._policy = policy
        self._turns = turns
        self._engine = _engine(evaluation, weights, fv_scale, self._core_options())
        self._board = Board()
        self._hit_lock = threading.Lock()
        self._is_started = False
        self._early_hit: core.Limits | None = None

    def __repr__(self) -> str:
        policy = "" if self._policy is None else f", ordered by {self._policy!r}"
        return f"<AlphaBetaSearcher on {self.evaluation!r}{policy}>"

    @property
    def options(self) -> AlphaBetaOptions:
        """The settings; assign to change them between searches."""
        return self._options

    @options.setter
    @one_at_a_time
    def options(self, options: AlphaBetaOptions) -> None:
        check_memory("the transposition table", options.hash_mb)
        previous, self._options = self._options, options
        try:
            self._engine.set_options(self._core_options())
        except BaseException:
            self._options = previous
            raise

    def set_option(self, **changes: Any) -> None:
        """Change some settings by name."""
        self.options = replace(self._options, **changes)

    def _core_options(self) -> core.Options:
        options = self._options.to_core(has_policy=self._policy is not None)
        options.turns = self._turns
        return options

    def _core_limits(self, limits: Limits) -> core.Limits:
        nodes = limits.playouts if limits.nodes is None else limits.nodes
        times = iteration_budget(
            limits,
            self._board.turn,
            self._board.ply,
            time_margin_ms=self._options.time_margin_ms,
            minimum_ms=self._options.minimum_thinking_ms,
            slow_mover=self._options.slow_mover,
        )
        bounds = core.Limits()  # 0: no limit
        bounds.depth = 0 if limits.depth is None else min(max(1, limits.depth), _MAX_DEPTH)
        bounds.nodes = nodes or 0
        if nodes == 0:  # as for `stop` at once: the first iteration, which finds a move
            bounds.depth = 1
        bounds.infinite = limits.infinite or limits.ponder or limits.mate == 0
        if times.optimum_ms is not None and times.maximum_ms is not None:
            # An only move isn't thought about for the whole byoyomi.
            is_only = len(self._board.legal_moves) == 1
            least = self._options.minimum_thinking_ms if is_only else math.inf
            bounds.minimum_ms = round(min(times.minimum_ms, least))
            bounds.optimum_ms = max(1, round(times.optimum_ms))
            bounds.maximum_ms = max(1, round(times.maximum_ms))
        bounds.searchmoves = [move.move16 for move in limits.searchmoves]
        return bounds

    @property
    def engine(self) -> core.Engine:
        """The core's engine, for inspection."""
        return self._engine

    @property
    def nodes(self) -> int:
        """Nodes of the last search, over all threads."""
        count: int = self._engine.nodes
        return count

    @property
    def table_bytes(self) -> int:
        """Size of the transposition table in bytes."""
        size: int = self._engine.table_bytes
        return size

    @one_at_a_time
    def set_position(self, board: Board) -> None:
        check_type("board", board, Board)
        self._board = board.copy()
        with self._hit_lock:
            self._early_hit = None  # it came after the end of the last search

    @one_at_a_time
    def new_game(self) -> None:
        self._engine.new_game()
        self._resigning.new_game()

    def close(self) -> None:
        self._engine.stop()
        self._engine.result()

    def evaluate(self, board: Board) -> int:
        """Return the static evaluation in centipawns, from the side to move's view."""
        score: int = self._engine.evaluate(board)
        return score

    def ponderhit(self, limits: Limits) -> None:
        bounds = self._core_limits(limits)
        with self._hit_lock:
            if self._is_started:
                self._engine.ponderhit(bounds)
            else:  # it may arrive before the searching thread gets there
                self._early_hit = bounds

    def _start(self, limits: Limits) -> None:
        """Start the core's search, under the limits of a ponderhit that came before it."""
        bounds = self._core_limits(limits)
        with self._hit_lock:
            hit, self._early_hit = self._early_hit, None
            if limits.ponder and hit is not None:
                hit.searchmoves = bounds.searchmoves
                bounds = hit
            self._engine.start(self._board, bounds)
            self._is_started = True

    @one_at_a_time
    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        check_searchmoves(limits, self._board)
        engine = self._engine
        with stopped_at_exit(stop) as stop:
            try:
                self._start(limits)
                if isinstance(stop, StopEvent):
                    with stop.calling(engine.stop):
                        self._follow(on_info, None)
                else:
                    self._follow(on_info, stop)
            finally:
                with self._hit_lock:
                    self._is_started = False
        if on_info:
            for line in engine.wait(0):
                on_info(_info(line))
        return self._result(engine.result())

    def _follow(self, on_info: Callable[[Info], None] | None, stop: threading.Event | None) -> None:
        """Report and answer the running search until it ends; poll `stop`."""
        engine = self._engine
        poll_ms = _SLOW_POLL_MS if stop is None else _POLL_MS
        try:
            while True:
                lines = engine.wait(poll_ms)
                for key, sfen in engine.step():
                    engine.supply(key, *self._priors(sfen))
                if on_info:
                    for line in lines:
                        on_info(_info(line))
                if not engine.is_searching:
                    break
                if stop is not None and stop.is_set():
                    engine.stop()
        except BaseException:
            engine.stop()
            engine.result()
            raise

    def _priors(self, sfen: str) -> tuple[list[int], list[float]]:
        """Return the legal moves (move16) of a position and the logarithms of their priors."""
        from komadori.encoding import encode_boards, move_probabilities
        from komadori.inference import evaluate

        assert self._policy is not None
        board = Board(sfen)
        logits, _ = evaluate(self._policy, *encode_boards([board], self._policy.features))
        priors = move_probabilities(board, logits[0], self._policy.labels)
        return [move.move16 for move in board.legal_moves], [
            math.log(max(p, _MIN_PRIOR)) for p in priors.tolist()
        ]

    def _result(self, result: core.Result) -> SearchResult:
        infos = [_info(line) for line in result.lines]
        if result.declares_win:
            return SearchResult(None, declare_win=True)
        if result.best is None:
            return SearchResult(None, resign=True)
        return SearchResult(
            best_move=Move.from_move16(result.best),
            ponder=None if result.ponder is None else Move.from_move16(result.ponder),
            resign=self._resigning.resigns(
                self._board,
                ResignRule(self._options.resign_moves, self._options.resign_ply),
                is_low=result.lines[0].score_cp <= -self._options.resign_value,
                is_mated=(infos[0].mate_plies or 0) < 0
                and result.lines[0].score_cp <= -self._options.resign_value,
            ),
            infos=infos,
        )


def _info(line: core.Info) -> Info:
    mate = line.mate_plies
    return Info(
        depth=line.depth,
        seldepth=line.seldepth,
        nodes=line.nodes,
        nps=round(line.nodes * 1000 / max(line.time_ms, 1)),
        time_ms=line.time_ms,
        hashfull=line.hashfull,
        multipv=line.multipv,
        score_cp=None if mate is not None else line.score_cp,
        mate_plies=mate,
        win_rate=win_rate_from_score(line.score_cp, ELMO_COEF),
        pv=[Move.from_move16(m) for m in line.pv],
        visits=line.nodes,
        bound=(
            "lowerbound" if line.is_lower_bound else "upperbound" if line.is_upper_bound else ""
        ),
    )


def _check_policy(policy: Evaluator) -> None:
    from komadori.encoding import FEATURES

    if FEATURES[policy.features].needs_plies:
        raise ValueError(
            f"the policy network reads {policy.features}, which counts plies; alpha-beta queues "
            "positions without them"
        )


def make_engines(
    evaluation: str,
    weights: Path | str | None,
    options: AlphaBetaOptions,
    count: int,
    *,
    fv_scale: int = 16,
) -> list[core.Engine]:
    """Create `count` core engines that share one copy of the weights.

    Raises like `AlphaBetaSearcher`.
    """
    check_memory(counted(count, "transposition table"), count * options.hash_mb)
    make = engine_factory(evaluation, weights, fv_scale)
    return [make(options.to_core()) for _ in range(count)]


def _engine(
    evaluation: str, weights: Path | str | None, fv_scale: int, options: core.Options
) -> core.Engine:
    return engine_factory(evaluation, weights, fv_scale)(options)


def engine_factory(
    evaluation: str, weights: Path | str | None, fv_scale: int = 16
) -> Callable[[core.Options], core.Engine]:
    """Return a function that creates core engines, which share one copy of the weights.

    Raises like `AlphaBetaSearcher`.
    """
    if evaluation not in EVALUATIONS:
        names = ", ".join(EVALUATIONS)
        raise ValueError(f"evaluation is {evaluation!r}, one of {names} is needed")
    if evaluation == "material":
        if weights is not None:
            raise ValueError("the evaluation material takes no weights")
        return lambda options: core.Engine(evaluation, options)
    if weights is not None:
        return _factory_of(evaluation, weights, fv_scale)
    return _bundled_factory(evaluation, fv_scale)


@cache
def _bundled_factory(evaluation: str, fv_scale: int) -> Callable[[core.Options], core.Engine]:
    bundled = EVALUATIONS[evaluation]
    if bundled is None:
        raise ValueError(f"the evaluation {evaluation} needs a file of weights")
    with resources.as_file(resources.files("komadori") / "data" / bundled) as path:
        return _factory_of(evaluation, path, fv_scale)


def _factory_of(
    evaluation: str, weights: Path | str, fv_scale: int
) -> Callable[[core.Options], core.Engine]:
    from komadori import linear
    from komadori._core import linear as linear_core

    if evaluation == "two-piece":
        two_piece = linear.TwoPieceWeights.load(weights).core()
        return lambda options: linear_core.two_piece_engine(two_piece, options)
    if evaluation == "kpp":
        kpp = linear.KppWeights.load(weights).core()
        return lambda options: linear_core.kpp_engine(kpp, options)
    nnue = linear.NnueWeights.load(weights, fv_scale).core()
    return lambda options: linear_core.nnue_engine(nnue, options)
