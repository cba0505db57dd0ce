"""The searches of a page: its analysis, and short searches alongside it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from komadori._core.tree import NodeView, Proof, RootMove
from komadori.inference import InferenceError
from komadori.rules import Board, Move
from komadori.search import Info, Limits, PuctSearcher, SearchResult, StopEvent
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.web import protocol
from komadori.web.errors import INTERNAL_ERROR, RefusedError
from komadori.web.models import Models
from komadori.web.page_searchers import PageAlphaBeta, PageSearcher, ThreadBudget
from komadori.web.positions import (
    after_pass,
    ended_win_rate,
    outcome_of,
    read_position,
    turn_of,
)
from komadori.web.shapes import Candidate, Engine, Line, Shape
from komadori.web.shapes import Proof as ProofText

#: Memory in MB of the tree or hash table: of a page's analysis, and of its short searches.
MEMORY_MB = 128
SHORT_MEMORY_MB = 32
#: Number of pages that get MEMORY_MB; each further page gets less, so that 256 pages fit in memory.
FULL_MEMORY_PAGES = 24
SMALL_MEMORY_MB = 16
#: Default limits of short searches.
SHORT_NODES: dict[Engine, int] = {"alphabeta": 100_000, "model": 400}

_PROOFS: dict[Proof, ProofText] = {
    Proof.NONE: "none",
    Proof.WIN: "win",
    Proof.LOSS: "loss",
    Proof.DRAW: "draw",
}

Send = Callable[[Shape, str | None], None]

_log = logging.getLogger("komadori.web")


class Analysis:
    """Runs the analysis of a page, and short searches alongside it, one of each at a time."""

    def __init__(
        self,
        models: Models,
        pool: ThreadPoolExecutor,
        preparation: ThreadPoolExecutor,
        budget: ThreadBudget,
        send: Send,
        memory_mb: int = MEMORY_MB,
    ) -> None:
        self._models = models
        self._searcher = PageSearcher(models, memory_mb)
        self._short_searcher = PageSearcher(models, min(SHORT_MEMORY_MB, memory_mb), is_short=True)
        self._alphabeta = PageAlphaBeta(memory_mb, budget)
        self._short_alphabeta = PageAlphaBeta(min(SHORT_MEMORY_MB, memory_mb))
        self._pool = pool
        self._preparation = preparation
        self._budget = budget
        self._send = send
        self._stop = StopEvent()
        self._short_stop = StopEvent()
        self._task: asyncio.Future[None] | None = None
        self._pending: protocol.Analyse | None = None
        self._tree_board: Board | None = None
        self._short_lock = asyncio.Lock()

    # -- the analysis

    async def start(self, request: protocol.Analyse) -> None:
        """Replace the running search, and any request still waiting for it to stop."""
        read_position(request.position)
        self._models.resolve_engine(request.engine, request.model)
        self._pending = request
        self._stop.set()
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Stop the search and wait until it has ended."""
        self._pending = None
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])  # cancelling the caller doesn't cancel it

    def stop_short(self) -> None:
        """Stop the running short search."""
        self._short_stop.set()

    async def _run(self) -> None:
        try:
            while (request := self._pending) is not None:
                self._pending = None
                self._stop = stop = StopEvent()
                try:
                    last = await self._search(request, stop)
                except (RefusedError, InferenceError) as error:
                    code = error.code if isinstance(error, RefusedError) else "failed"
                    self._send(_error(request.id, code, str(error)), None)
                except Exception:
                    _log.exception("analysis failed")
                    self._send(_error(request.id, "failed", INTERNAL_ERROR), None)
                else:
                    if self._pending is None:
                        self._send(last, f"analysis {request.id}")
        finally:
            self._task = None

    async def _search(self, request: protocol.Analyse, stop: threading.Event) -> protocol.Analysis:
        """Search and send updates; return the final one."""
        loop = asyncio.get_running_loop()
        if self._models.resolve_engine(request.engine, request.model) == "model":
            return await loop.run_in_executor(self._pool, self._search_tree, request, stop, loop)
        reporter = _AlphaBetaReporter(request)
        task = asyncio.ensure_future(self._send_updates(reporter))
        try:
            with self._budget.share() as threads:
                searcher = await loop.run_in_executor(
                    self._preparation, self._alphabeta.prepare, threads, request.multipv
                )
                return await loop.run_in_executor(
                    self._pool, self._search_alphabeta, searcher, reporter, stop
                )
        finally:
            task.cancel()

    async def _send_updates(self, reporter: _AlphaBetaReporter) -> None:
        """Send updates periodically, as the search itself reports only once per depth."""
        request = reporter.request
        while True:
            await asyncio.sleep(request.interval_ms / 1000)
            if (message := reporter.update()) is not None:
                self._send(message, f"analysis {request.id}")

    def _search_alphabeta(
        self, searcher: AlphaBetaSearcher, reporter: _AlphaBetaReporter, stop: threading.Event
    ) -> protocol.Analysis:
        """Search in a thread of the pool; return the final update."""
        request, board = reporter.request, reporter.board
        if not board.legal_moves or board.can_declare_win():  # nothing is searched
            return reporter.message("done")
        limits = Limits(infinite=True) if request.nodes is None else Limits(nodes=request.nodes)
        searcher.set_position(board)
        reporter.begin(searcher)
        try:
            result = searcher.search(limits, reporter.on_info, stop)
        finally:
            reporter.end()
        return reporter.message("done", result.infos)

    def _search_tree(
        self,
        request: protocol.Analyse,
        stop: threading.Event,
        loop: asyncio.AbstractEventLoop,
    ) -> protocol.Analysis:
        """Search in a thread of the pool and send updates; return the final one."""
        board = read_position(request.position)
        searcher = self._searcher.prepare(
            request.model, multipv=request.multipv, pv_interval_ms=request.interval_ms
        )
        searcher.set_position(board)
        self._tree_board = board
        reporter = _TreeReporter(request, board, searcher, self._searcher.model)
        lines: list[Info] = []
        expected = 1

        def on_info(info: Info) -> None:
            nonlocal expected
            if info.multipv == 1:
                lines.clear()
                expected = min(request.multipv, reporter.refresh())
            lines.append(info)
            if len(lines) == expected:
                message = reporter.message(lines, "running")
                loop.call_soon_threadsafe(self._send, message, f"analysis {request.id}")

        if board.legal_moves:
            limits = Limits(infinite=True) if request.nodes is None else Limits(nodes=request.nodes)
            result = searcher.search(limits, on_info, stop)
        else:
            result = SearchResult(None)
        return reporter.message(result.infos, "done")

    # -- short searches and the tree

    async def threats(self, request: protocol.Threats) -> protocol.ThreatsFound:
        """Search for the opponent's threats after a pass. Raises RefusedError."""
        board = read_position(request.position)
        passed = after_pass(board) if board.legal_moves else None
        if passed is None or not passed.legal_moves:
            return protocol.ThreatsFound(
                id=request.id,
                position=request.position,
                available=False,
                reason="check" if board.is_check() and board.legal_moves else "over",
                lines=[],
            )
        infos = await self.short_search(
            passed, request.nodes, request.multipv, request.engine, request.model
        )
        return protocol.ThreatsFound(
            id=request.id, position=request.position, available=True, reason="", lines=infos
        )

    async def short_search(
        self,
        board: Board,
        nodes: int | None,
        multipv: int,
        engine: Engine | None = None,
        model: str | None = None,
    ) -> list[Line]:
        """Return the lines of a short search, which waits for earlier ones. Raises RefusedError."""
        loop = asyncio.get_running_loop()
        engine = self._models.resolve_engine(engine, model)
        limits = Limits(nodes=nodes or SHORT_NODES[engine])
        async with self._short_lock:
            self._short_stop = stop = StopEvent()

            def search() -> list[Line]:
                searcher: PuctSearcher | AlphaBetaSearcher
                if engine == "alphabeta":
                    searcher = self._short_alphabeta.prepare(1, multipv)
                else:
                    searcher = self._short_searcher.prepare(
                        model, multipv=multipv, pv_interval_ms=0
                    )
                searcher.set_position(board)
                return lines_of(searcher.search(limits, None, stop).infos)

            running = loop.run_in_executor(self._pool, search)
            running.add_done_callback(_take_error)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait([running])  # until then the searcher is in use
                raise

    def walk(self, request: protocol.TreeWalk) -> protocol.TreeNode:
        """Return a node of the last analysis's tree. Raises RefusedError."""
        searcher, board = self._searcher.searcher, self._tree_board
        if searcher is None or board is None:
            raise RefusedError("not_possible", "there is no tree: analyse with a network first")
        board = board.copy()
        moves = []
        for text in request.path:
            try:
                move = board.parse_usi(text)
            except ValueError as error:
                raise RefusedError("illegal_move", str(error)) from error
            moves.append(move.move16)
            board.push(move)
        view: NodeView = searcher.tree.view(0, moves)
        candidates = _edges(view)
        finished = view.visits - view.in_flight
        return protocol.TreeNode(
            id=request.id,
            path=request.path,
            found=view.found,
            turn=turn_of(board),
            sfen=board.sfen(),
            visits=view.visits,
            value=view.value_sum / (_VALUE_STEPS * finished) if finished > 0 else None,
            network_value=view.value if view.found else None,
            proof=_PROOFS[view.proof],
            proof_plies=view.proof_plies,
            moves=candidates[: request.limit],
            total_moves=len(board.legal_moves),
        )

    async def close(self) -> None:
        self.stop_short()
        await self.stop()
        async with self._short_lock:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._release)

    def _release(self) -> None:
        for searcher in (
            self._searcher,
            self._short_searcher,
            self._alphabeta,
            self._short_alphabeta,
        ):
            searcher.close()


class _AlphaBetaReporter:
    """Creates the updates of an alpha-beta search. `on_info` is called in the search thread,
    `update` in the event loop.
    """

    def __init__(self, request: protocol.Analyse) -> None:
        self.request = request
        self.board = board = read_position(request.position)
        self._expected = min(request.multipv, len(board.legal_moves))
        self._outcome = outcome_of(board)
        self._fallback = 1.0 if self._outcome == "declaration" else ended_win_rate(board)
        self._searcher: AlphaBetaSearcher | None = None
        self._is_searching = False
        self._started_at = time.perf_counter()
        self._incomplete: list[Info] = []
        self._infos: list[Info] = []
        self._reported_nodes = -1

    def begin(self, searcher: AlphaBetaSearcher) -> None:
        self._started_at = time.perf_counter()
        self._searcher, self._is_searching = searcher, True

    def end(self) -> None:
        self._is_searching = False

    def on_info(self, info: Info) -> None:
        if info.multipv == 1:
            self._incomplete = []
        self._incomplete.append(info)
        if len(self._incomplete) == self._expected:
            self._infos = self._incomplete

    def update(self) -> protocol.Analysis | None:
        """Return the progress; None if there is none since the last update."""
        if not self._is_searching or self._searcher is None:
            return None
        nodes = self._searcher.nodes
        if nodes == self._reported_nodes:
            return None
        self._reported_nodes = nodes
        return self.message("running")

    def message(self, state: Any, infos: Sequence[Info] | None = None) -> protocol.Analysis:
        infos = infos or self._infos
        first = infos[0] if infos else None
        nodes = self._searcher.nodes if self._searcher is not None else 0
        elapsed_s = time.perf_counter() - self._started_at
        return protocol.Analysis(
            id=self.request.id,
            state=state,
            position=self.request.position,
            turn=turn_of(self.board),
            lines=lines_of(infos),
            candidates=[],
            nodes=nodes,
            nps=round(nodes / max(elapsed_s, 0.001)),
            time_ms=round(1000 * elapsed_s),
            depth=first.depth if first else 0,
            seldepth=first.seldepth if first else 0,
            hashfull=first.hashfull if first else 0,
            root_visits=nodes,
            win_rate=first.win_rate if first else self._fallback,
            outcome=self._outcome,
            engine="alphabeta",
            model="",
        )


class _TreeReporter:
    """Creates the updates of a tree search."""

    def __init__(
        self, request: protocol.Analyse, board: Board, searcher: PuctSearcher, model: str
    ) -> None:
        self._request = request
        self._searcher = searcher
        self._model = model
        self._turn = turn_of(board)
        self._outcome = outcome_of(board)
        self._ended = ended_win_rate(board)
        self._is_over = not board.legal_moves
        self._rows: list[RootMove] = []

    def refresh(self) -> int:
        """Read the root's moves for the next update; return the number of lines so far."""
        self._rows = self._searcher.tree.root_moves(0)
        return max(1, sum(bool(m.visits) or m.proof != Proof.NONE for m in self._rows))

    def message(self, infos: Sequence[Info], state: Any) -> protocol.Analysis:
        first = infos[0] if infos else None
        tree = self._searcher.tree
        if state == "done" and not self._is_over:
            self.refresh()
        rows = self._rows[: self._request.candidates]
        return protocol.Analysis(
            id=self._request.id,
            state=state,
            position=self._request.position,
            turn=self._turn,
            lines=lines_of(infos),
            candidates=[candidate_of(move) for move in rows],
            nodes=first.nodes if first else 0,
            nps=first.nps if first else 0,
            time_ms=first.time_ms if first else 0,
            depth=first.depth if first else 0,
            seldepth=first.seldepth if first else 0,
            hashfull=first.hashfull if first else 0,
            root_visits=0 if self._is_over else tree.root_visits(0),
            win_rate=first.win_rate if first else self._ended,
            outcome=self._outcome,
            engine="model",
            model=self._model,
        )


def lines_of(infos: Sequence[Info]) -> list[Line]:
    return [
        Line(
            multipv=info.multipv,
            win_rate=info.win_rate,
            score_cp=info.score_cp,
            mate_plies=info.mate_plies,
            visits=info.visits,
            depth=info.depth,
            pv=[move.usi() for move in info.pv],
        )
        for info in infos
        if info.pv
    ]


def candidate_of(move: RootMove) -> Candidate:
    return Candidate(
        move=Move.from_move16(move.move16).usi(),
        prior=move.prior,
        visits=move.visits,
        value=move.value if move.visits or move.proof != Proof.NONE else None,
        proof=_PROOFS[move.proof],
        proof_plies=move.proof_plies,
    )


#: Scale of the fixed-point value sums of `NodeView`.
_VALUE_STEPS = 4096


def _edges(view: NodeView) -> list[Candidate]:
    rows = [
        Candidate(
            move=Move.from_move16(move16).usi(),
            prior=prior,
            visits=visits,
            value=total / (_VALUE_STEPS * visits) if visits else (0.0 if lost else None),
            proof="loss" if lost else "none",
            proof_plies=0,
        )
        for move16, visits, total, prior, lost in view.edges
    ]
    return sorted(rows, key=lambda row: (-row.visits, -row.prior))


def _take_error(done: asyncio.Future[list[Line]]) -> None:
    """Mark the error as seen: asyncio would log that of a search whose page has gone."""
    if not done.cancelled():
        done.exception()


def _error(request: int, code: Any, message: str) -> protocol.Error:
    return protocol.Error(id=request, code=code, message=message)
