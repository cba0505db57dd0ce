"""Labellers that search: PUCT over a network, the alpha-beta search, USI engines."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from komadori import inference
from komadori.cpus import available_threads
from komadori.encoding import score_from_win_rate, softmax
from komadori.generate.labellers import (
    MATE_SCORE,
    LabelError,
    PolicySettings,
    PositionLabel,
    PositionLabeller,
    boards_of,
    model_coef,
    model_digest,
)
from komadori.inference.model_file import load_identified
from komadori.records import Samples, score_to_record
from komadori.rules import Board

#: MiB of the tree, shared by all positions searched concurrently.
TREE_MB = 512
#: Positions searched concurrently per row of the network's batches in flight.
ROOTS_PER_ROW = 2
#: Minimum number of rows per task of an engine; a task consists of whole games.
TASK_ROWS = 64
#: Attempts per task; a failed engine is restarted before the next.
ATTEMPTS = 3
#: Seconds without an answer after which a USI engine counts as hung.
TIMEOUT_S = 600.0


class SearchLabeller(PositionLabeller):
    """Labels with the root visits and the root value of a PUCT search of `playouts` playouts.

    Hundreds of positions are searched concurrently; their leaves share the network's batches.
    """

    def __init__(self, model: str, playouts: int, settings: PolicySettings, **options: Any) -> None:
        """`options` are passed to `inference.load`, whose errors are raised."""
        from komadori.search import PuctOptions
        from komadori.search.many import Effort, ManySearch

        if playouts < 1:
            raise LabelError("playouts must be at least 1")
        self._playouts = playouts
        self._coef = settings.eval_coef or model_coef(model)
        self.evaluator, self._digest = load_identified(
            model, lambda: inference.load(model, **options), model_digest
        )
        self._search: ManySearch[int] = ManySearch(
            self.evaluator,
            Effort(nodes=playouts),
            PuctOptions(multipv=593, memory_mb=TREE_MB, temperature=settings.temperature),
            roots=ROOTS_PER_ROW * self.evaluator.slots * self.evaluator.max_batch,
        )

    def card(self) -> dict[str, Any]:
        return {
            "kind": "search",
            "model": self._digest,
            "playouts": self._playouts,
            "eval_coef": self._coef,
        }

    def _label_rows(self, samples: Samples) -> Generator[tuple[int, PositionLabel], None, None]:
        for row, found in self._search.search(enumerate(boards_of(samples))):
            if found.declares:
                yield row, ({int(samples.move16[row]): 1.0}, MATE_SCORE)
                continue
            visits = {line.pv[0].move16: float(line.visits) for line in found.lines if line.visits}
            best = found.lines[0] if found.lines else None
            if best is None:
                raise LabelError(f"row {row} has no legal move to search")
            if best.mate_plies is not None:
                # A mating move is the only label; visits of other moves carry no information.
                won = best.mate_plies > 0
                visits = {best.pv[0].move16: 1.0} if won or not visits else visits
                score = MATE_SCORE if won else -MATE_SCORE
            else:
                score = float(score_from_win_rate(best.win_rate, self._coef))
            yield row, (visits or {best.pv[0].move16: 1.0}, score)

    def close(self) -> None:
        self.evaluator.close()


@dataclass(frozen=True)
class EngineSettings:
    """Limits of an engine's searches, and how its scores become a policy.

    nodes, depth: exactly one of them is set. multipv: number of moves to score. score_temperature:
    temperature of the softmax over their scores, in centipawns.
    """

    nodes: int | None = None
    depth: int | None = None
    multipv: int = 8
    score_temperature: float = 100.0

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.depth is None):
            raise LabelError("an engine needs either nodes or depth")
        if not 0.001 <= self.score_temperature < math.inf or self.multipv < 1:
            raise LabelError("multipv must be at least 1, and score_temperature at least 0.001")


class EngineLabeller(PositionLabeller):
    """Labels with an alpha-beta engine, built in (`alphabeta`) or over USI (`usi:COMMAND`): the
    softmax over the scores of its best moves, and the best score.

    Several engines work in parallel, each on whole games. Their hash tables are cleared before
    each task, so the labels don't depend on the number of engines or on timing.
    """

    def __init__(self, spec: str, settings: EngineSettings, count: int = 0) -> None:
        """`count`: number of engines (processes, for a USI engine); 0 for one per core. Raises
        LabelError, and the errors of starting the engine."""
        from komadori.players import PlayerSpec, fingerprint

        parsed = PlayerSpec.parse(spec)
        if parsed.kind not in ("alphabeta", "usi"):
            raise LabelError(f"{spec}: expected alphabeta or usi:COMMAND")
        self._settings = settings
        self._card = {"kind": "engine", "player": spec, "files": sorted(fingerprint(spec).values())}
        self._count = count or available_threads()
        self._free: SimpleQueue[_Engine] = SimpleQueue()
        self._engines: list[_Engine] = (
            _builtin_engines(parsed, settings, self._count) if parsed.kind == "alphabeta" else []
        )
        try:
            while len(self._engines) < self._count:
                self._engines.append(_UsiEngine(parsed, settings))
        except BaseException:
            self.close()
            raise
        for engine in self._engines:
            self._free.put(engine)

    def card(self) -> dict[str, Any]:
        return {**self._card, **vars(self._settings)}

    def _label_rows(self, samples: Samples) -> Generator[tuple[int, PositionLabel], None, None]:
        stopped = threading.Event()
        temperature = self._settings.score_temperature
        with ThreadPoolExecutor(self._count) as pool:
            waiting: deque[tuple[int, Future[list[dict[int, float]]]]] = deque(
                (first, pool.submit(self._task, samples, first, end, stopped))
                for first, end in _tasks(samples)
            )
            try:
                while waiting:
                    first, task = waiting.popleft()
                    for row, scored in enumerate(task.result(), first):
                        if 0 in scored:
                            yield row, ({int(samples.move16[row]): 1.0}, scored[0])
                            continue
                        policy = softmax(list(scored.values()), temperature).tolist()
                        moves = dict(zip(scored, policy, strict=True))
                        yield row, (moves, max(scored.values()))
            finally:
                stopped.set()
                pool.shutdown(cancel_futures=True)

    def _task(
        self, samples: Samples, first: int, end: int, stopped: threading.Event
    ) -> list[dict[int, float]]:
        """Score the moves of rows first to end - 1; restart the engine on errors."""
        from komadori.usi.client import EngineError

        engine = self._free.get()
        try:
            for attempt in range(ATTEMPTS):
                try:
                    return self._search_rows(engine, samples, first, end, stopped)
                except EngineError:
                    if attempt == ATTEMPTS - 1 or stopped.is_set():
                        raise
                    engine.restart()
        finally:
            self._free.put(engine)
        raise AssertionError("unreachable")

    def _search_rows(
        self, engine: _Engine, samples: Samples, first: int, end: int, stopped: threading.Event
    ) -> list[dict[int, float]]:
        found: list[dict[int, float]] = []
        engine.new_game()
        for board in boards_of(samples, first, end):
            if stopped.is_set():
                return []
            scored = engine(board)
            if not scored:
                raise LabelError(f"the engine returned no move with a score in {board.sfen()}")
            found.append(scored)
        return found

    def close(self) -> None:
        for engine in self._engines:
            engine.close()


def _tasks(samples: Samples) -> list[tuple[int, int]]:
    """Split the rows by game into ranges (first, end) of at least `TASK_ROWS`, except the last."""
    starts = np.flatnonzero(np.diff(samples.game)) + 1
    tasks: list[tuple[int, int]] = []
    first = 0
    for end in [*starts.tolist(), len(samples)]:
        if end - first >= TASK_ROWS or end == len(samples):
            tasks.append((first, end))
            first = end
    return [task for task in tasks if task[0] < task[1]]


class _Engine(Protocol):
    """Scores the best moves of a position: move16 to centipawns, from the side to move's view.

    The only key is 0 if the engine resigns or declares a win.
    """

    def __call__(self, board: Board) -> dict[int, float]: ...

    def new_game(self) -> None: ...

    def restart(self) -> None:
        """Restart the engine after an error."""

    def close(self) -> None: ...


def _builtin_engines(spec: Any, settings: EngineSettings, count: int) -> list[_Engine]:
    from komadori._core import alphabeta as core
    from komadori.search.alphabeta import AlphaBetaOptions, make_engines

    own = dict(spec.own_options)
    evaluation = own.pop("Eval", own.pop("eval", "nnue"))
    weights = own.pop("EvalFile", own.pop("weights", None))
    if own:
        raise LabelError(f"alphabeta: Eval and EvalFile are the only options here, not {[*own]}")
    options = AlphaBetaOptions(threads=1, multipv=settings.multipv, hash_mb=16)
    limits = core.Limits()
    limits.nodes, limits.depth = settings.nodes or 0, settings.depth or 0
    engines = make_engines(evaluation, weights, options, count)
    return [_BuiltinEngine(engine, limits) for engine in engines]


class _BuiltinEngine:
    def __init__(self, engine: Any, limits: Any) -> None:
        self._engine, self._limits = engine, limits

    def __call__(self, board: Board) -> dict[int, float]:
        found: dict[int, float] = {}
        result = self._engine.search(board, self._limits)
        if result.declares_win:
            return {0: MATE_SCORE}
        for line in result.lines:
            if line.pv:
                found[line.pv[0]] = score_to_record(line.score_cp, line.mate_plies)
        return found

    def new_game(self) -> None:
        self._engine.new_game()

    def restart(self) -> None: ...

    def close(self) -> None:
        self._engine.stop()


class _UsiEngine:
    def __init__(self, spec: Any, settings: EngineSettings) -> None:
        from komadori.usi.protocol import GoCommand

        self._spec, self._settings = spec, settings
        self._go = GoCommand(nodes=settings.nodes, depth=settings.depth)
        self._engine = self._start()

    def _start(self) -> Any:
        from komadori.usi.client import EngineError, UsiEngine, grace_after

        engine = UsiEngine(self._spec.argument, self._spec.own_options)
        name = next((n for n in ("MultiPV", "USI_MultiPV") if n in engine.declared), None)
        if self._settings.multipv > 1:
            try:
                if name is None:
                    raise EngineError(f"{engine.name} has no option MultiPV: multipv must be 1")
                engine.set_known_options({name: str(self._settings.multipv)})
            except BaseException as error:
                engine.close(grace_s=grace_after(error))
                raise
        return engine

    def __call__(self, board: Board) -> dict[int, float]:
        from komadori.generate.usi_games import scored_lines
        from komadori.usi.client import EngineError

        moves = [move.usi() for move in board.moves]
        thought = self._engine.think(board.root().sfen(), moves, self._go, TIMEOUT_S)
        lines: dict[int, float] = {}
        for text, score in scored_lines(thought.infos, self._settings.multipv).items():
            with contextlib.suppress(ValueError):
                lines[board.parse_usi(text).move16] = score
        if not lines and thought.best.move == "win" and not board.can_declare_win():
            raise EngineError(
                f"{self._engine.name} declared a win against the rules in {board.sfen()}"
            )
        if not lines and thought.best.move in ("resign", "win"):
            return {0: MATE_SCORE if thought.best.move == "win" else -MATE_SCORE}
        return lines

    def new_game(self) -> None:
        self._engine.new_game()

    def restart(self) -> None:
        self._engine.close()
        self._engine = self._start()

    def close(self) -> None:
        self._engine.close()
