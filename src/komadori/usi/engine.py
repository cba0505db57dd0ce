"""The engine's front: a GUI's lines in, a searcher's moves out.

Two threads. The reader takes lines and never waits for a search, so that `stop`, `ponderhit`
and `quit` work at any time. The worker loads the searcher and runs one search after another;
each `go` gets exactly one `bestmove` (or `checkmate`), in order.

The searcher is given as a function that builds it from the options, called at `isready`:
nothing heavy is imported before `usiok`.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Protocol

from komadori.usi import protocol
from komadori.usi.options import OptionTable, Scope
from komadori.usi.protocol import GoCommand, InfoLine, PositionCommand, UsiSyntaxError

if TYPE_CHECKING:
    from komadori.rules import Board
    from komadori.search.protocol import Info, Limits, Searcher, SearchResult
    from komadori.usi.book import Book

#: While loading, a newline this often keeps the GUI waiting.
KEEP_ALIVE_S = 5.0

#: How long the end waits for a search or a model under way.
LEAVING_S = 2.0

#: A searcher that hasn't answered this long after `stop` is answered for with its last line.
STOP_PATIENCE_S = 1.0

#: The watch ends a search so long before its clock runs out: a share of the time, within bounds.
SAFETY_SHARE = 0.1
SAFETY_MS = (20.0, 400.0)

#: Kept back from the time of `go mate`.
MATE_MARGIN_MS = 20

#: Time for a `go` in which nothing could be understood.
FALLBACK_MOVETIME_MS = 1000


class SearcherSource(Protocol):
    """Where the front gets its searcher from. Called by the worker thread alone."""

    def build(self, options: OptionTable) -> Searcher:
        """Load what the options name. May take long, may raise anything."""

    def configure(self, searcher: Searcher, options: OptionTable) -> Searcher:
        """The searcher with settings that changed: the same, or another in its place."""


class _Job:
    """One `go`, from the command to its answer. Reader, worker and watch share it."""

    def __init__(self, go: GoCommand, board: Board) -> None:
        self.go = go
        self.board = board
        self.began = time.monotonic()
        self.halt = threading.Event()  # ends the search that runs now
        self.released = threading.Event()  # the answer may be given
        self.last_pv: tuple[str, ...] = ()
        self.last_lines: dict[int | None, str] = {}  # by MultiPV number
        self._lock = threading.Lock()
        self._is_stopped = False
        self._is_hit = False
        self._is_answered = False
        self._on_hit: Callable[[], None] | None = None
        if not (go.infinite or go.ponder):
            self.released.set()

    def stop(self) -> None:
        """End the search and let the answer be given."""
        with self._lock:
            self._is_stopped = True
            self.halt.set()
            self.released.set()

    def hit(self, go: GoCommand) -> None:
        """`ponderhit`: the clock runs from now. A search that can goes on, another is ended."""
        with self._lock:
            self.go = go
            self.began = time.monotonic()
            self.released.set()
            if self._on_hit is not None and not self._is_stopped:
                self._on_hit()
                self._on_hit = None
            else:
                self._is_hit = True
                self.halt.set()

    def going_on(self, on_hit: Callable[[], None] | None) -> None:
        """What a hit does from now on to a search that goes on after it; None: it ends."""
        with self._lock:
            self._on_hit = on_hit if self.go.ponder else None

    def take_hit(self) -> bool:
        """Whether the real search has to follow the pondering; asked once."""
        with self._lock:
            if not self._is_hit or self._is_stopped:
                return False
            self._is_hit = False
            self.halt = threading.Event()
            return True

    def take_answer(self) -> bool:
        """True for the first who asks: the one who may answer."""
        with self._lock:
            is_first, self._is_answered = not self._is_answered, True
            return is_first

    @property
    def is_answered(self) -> bool:
        return self._is_answered

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped


class Front:
    """One conversation with a GUI over a pair of binary streams."""

    def __init__(
        self,
        searchers: SearcherSource,
        options: OptionTable,
        name: str,
        author: str,
        source: BinaryIO,
        sink: BinaryIO,
        leave: Callable[[int], None] | None = None,
    ) -> None:
        """`leave` ends the process from another thread than the reader's, which may be waiting
        for input: it is called with a status when the output is closed or nothing can be loaded.
        """
        self._searchers = searchers
        self._options = options
        self._name, self._author = name, author
        self._source, self._sink, self._leave = source, sink, leave
        self._write_lock = threading.Lock()
        self._is_closed = threading.Event()
        self._searcher: Searcher | None = None
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._current: _Job | None = None
        self._waiting: list[_Job] = []
        self._position = PositionCommand(protocol.STARTPOS)
        self._board: Board | None = None
        self._exit_status = 0
        self._book: tuple[str, Book | None] | None = None
        self._random = random.Random()

    # ------------------------------------------------------------------ the conversation

    def run(self) -> int:
        """Talk until `quit`, the end of input, or a closed output. Returns the exit status."""
        worker = threading.Thread(target=self._work, name="usi worker", daemon=True)
        worker.start()
        while not self._is_closed.is_set():
            line = self._read_line()
            if line is None or line == "quit":
                break
            if line:
                try:
                    self._obey(line)
                except UsiSyntaxError as error:
                    self._say(str(error))
                except Exception as error:  # input must never end the engine
                    self._say(f"error: {type(error).__name__}: {error}")
        self._release_all()  # each `go` still gets its answer: a client may be waiting for it
        self._jobs.put(None)
        worker.join(timeout=LEAVING_S)
        self._is_closed.set()
        if not worker.is_alive() and self._searcher is not None:
            with contextlib.suppress(Exception):
                self._searcher.close()
        return self._exit_status

    def _read_line(self) -> str | None:
        try:
            raw = self._source.readline(protocol.MAX_LINE)
            if len(raw) >= protocol.MAX_LINE and not raw.endswith(b"\n"):
                while (more := self._source.readline(protocol.MAX_LINE)) and more[-1:] != b"\n":
                    pass
                self._say(f"a line of more than {protocol.MAX_LINE} bytes was passed over")
                return ""
        except (OSError, ValueError):
            return None
        if not raw:
            return None
        return raw.decode("utf-8", "surrogateescape").strip()

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._write_lock:
            if self._is_closed.is_set():
                return
            try:
                self._sink.write(data)
                self._sink.flush()
            except (OSError, ValueError):  # nobody listens any more
                self._end(0)

    def _end(self, status: int) -> None:
        self._exit_status = status
        self._is_closed.set()
        if self._leave is not None:
            self._leave(status)

    def _say(self, text: str) -> None:
        self._write(str(InfoLine(string=text)))

    def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "usi":
                self._introduce()
            case "isready":
                self._make_ready()
            case "setoption":
                self._set_option(*protocol.parse_setoption(rest))
            case "position":
                self._set_position(protocol.parse_position(rest))
            case "go":
                self._go(rest)
            case "stop":
                self._release_all()
            case "ponderhit":
                self._ponderhit(rest)
            case "usinewgame":
                self._jobs.put(self._new_game)
            case "gameover":
                self._release_all()
            case _:
                self._say(f"unknown command {protocol.quote(line)}")

    def _introduce(self) -> None:
        lines = [f"id name {self._name}", f"id author {self._author}"]
        lines += [str(option) for option in self._options.declared()]
        self._write("\n".join([*lines, "usiok"]))

    def _make_ready(self) -> None:
        with self._lock:
            is_searching = self._current is not None or bool(self._waiting)
        if is_searching and self._searcher is not None:
            self._write("readyok")
        else:
            self._jobs.put(self._load_and_report)

    def _set_option(self, name: str, value: str) -> None:
        problem = self._options.set(name, value)
        if problem:
            self._say(problem)

    def _set_position(self, command: PositionCommand) -> None:
        from komadori.rules import Board

        board = Board(command.sfen)
        played = 0
        self._position, self._board = PositionCommand(command.sfen), board
        try:
            for move in command.moves:
                if not protocol.is_move_text(move):
                    raise ValueError(f"{protocol.quote(move)} is no USI move")
                board.push_usi(move)
                played += 1
        except ValueError as error:
            self._say(f"position: move {played + 1}: {error}; the moves before it stand")
        self._position = PositionCommand(command.sfen, command.moves[:played])

    def _go(self, arguments: str) -> None:
        try:
            go = protocol.parse_go(arguments)
        except UsiSyntaxError as error:
            self._say(f"{error}; searching for {FALLBACK_MOVETIME_MS} ms")
            go = GoCommand(movetime_ms=FALLBACK_MOVETIME_MS)
        if self._board is None:
            self._set_position(self._position)
        assert self._board is not None
        self._release_all()  # a search still running gives its answer first
        job = _Job(go, self._board.copy())
        with self._lock:
            self._waiting.append(job)
        self._jobs.put(lambda: self._search(job))

    def _release_all(self) -> None:
        """End every search, running or waiting; each still gives its answer."""
        with self._lock:
            jobs = [*([self._current] if self._current else []), *self._waiting]
        for job in jobs:
            job.stop()

    def _ponderhit(self, arguments: str) -> None:
        clocks = protocol.parse_go(arguments)
        with self._lock:
            jobs = [*([self._current] if self._current else []), *self._waiting]
        for job in jobs:
            if job.go.ponder:
                news = {k: v for k, v in vars(clocks).items() if v not in (None, False, ())}
                job.hit(GoCommand(**{**vars(job.go), **news, "ponder": False}))
                return

    # ------------------------------------------------------------------ the worker

    def _work(self) -> None:
        while (task := self._jobs.get()) is not None:
            try:
                task()
            except Exception as error:
                self._say(f"error: {type(error).__name__}: {error}")

    def _new_game(self) -> None:
        if self._searcher is not None:
            self._searcher.new_game()

    def _load_and_report(self) -> None:
        try:
            self._load()
        except Exception as error:
            self._say(f"error: {error}")
            if self._searcher is None:
                self._end(1)
                return
        # What is loaded stays: no collection in the middle of a move shall go through it again.
        gc.collect()
        gc.freeze()
        self._write("readyok")

    def _load(self) -> None:
        """Build the searcher, or bring the options that changed to the one there is."""
        changed = self._options.take_changes()
        if self._searcher is not None and Scope.BUILD not in changed:
            if Scope.SEARCHER in changed:
                self._searcher = self._searchers.configure(self._searcher, self._options)
            return
        loaded = threading.Event()

        def keep_alive() -> None:
            while not loaded.wait(KEEP_ALIVE_S):
                self._write("")

        threading.Thread(target=keep_alive, name="usi keep-alive", daemon=True).start()
        try:
            old, self._searcher = self._searcher, self._searchers.build(self._options)
            if old is not None:
                old.close()
        except Exception:
            if self._searcher is not None and Scope.SEARCHER in changed:
                self._searcher = self._searchers.configure(self._searcher, self._options)
            raise
        finally:
            loaded.set()
            for note in self._options.take_notes():
                self._say(note)

    def _load_or_keep(self) -> None:
        """As `_load`; where it fails and a searcher is there, that one plays on."""
        try:
            self._load()
        except Exception as error:
            if self._searcher is None:
                raise
            self._say(f"error: {error}; what was loaded before plays on")

    def _search(self, job: _Job) -> None:
        with self._lock:
            self._waiting.remove(job)
            self._current = job
        try:
            if job.go.mate:
                self._search_mate(job)
            else:
                self._load_or_keep()
                self._search_move(job)
        except Exception as error:
            self._say(f"error: {type(error).__name__}: {error}")
            self._answer(job, "checkmate timeout" if job.go.mate else self._emergency(job))
        finally:
            with self._lock:
                self._current = None

    def _search_move(self, job: _Job) -> None:
        searcher = self._searcher
        assert searcher is not None
        if answer := self._book_answer(job):
            job.released.wait()
            self._answer(job, answer)
            return
        expected = None
        if job.go.ponder and self._options.value("Stochastic_Ponder") == "true" and job.board.moves:
            expected = job.board.pop()  # the position before the reply, whatever it will be
        searcher.set_position(job.board)
        result = self._run_searcher(job, goes_on=expected is None)
        job.released.wait()
        if expected is not None:
            job.board.push(expected)
            job.last_pv = ()
            searcher.set_position(job.board)
        if job.take_hit():
            result = self._run_searcher(job)
        elif expected is not None:
            result = replace(result, best_move=next(iter(job.board.legal_moves), None), ponder=None)
        self._answer(job, self._bestmove(result))

    def _book_answer(self, job: _Job) -> str:
        """The `bestmove` that the book knows, or ""."""
        go, path = job.go, self._options.value("Book_File")
        limit = self._options.number("Book_Moves")
        if (
            self._options.value("OwnBook") != "true"
            or not path
            or go.infinite
            or go.ponder
            or go.searchmoves
            or (limit and job.board.ply > limit)
        ):
            return ""
        from komadori.usi.book import Book, BookError, draw

        if self._book is None or self._book[0] != path:
            try:
                self._book = (path, Book.find(path))
            except (BookError, OSError) as error:
                self._say(f"error: {error}; playing without a book")
                self._book = (path, None)
        book = self._book[1]
        moves = book.moves(job.board) if book is not None else []
        if not moves:
            return ""
        is_best = self._options.value("Best_Book_Move") == "true"
        chosen = moves[0] if is_best else draw(moves, self._random)
        for number, move in enumerate(moves, 1):
            score = None if move.score_cp is None else protocol.Score(cp=move.score_cp)
            pv = (move.usi, *([move.ponder] if move.ponder else []))
            self._write(str(InfoLine(depth=move.depth, multipv=number, score=score, pv=pv)))
        self._say(f"book: {len(moves)} moves")
        return f"bestmove {chosen.usi}" + (f" ponder {chosen.ponder}" if chosen.ponder else "")

    def _run_searcher(self, job: _Job, goes_on: bool = False) -> SearchResult:
        """One search, under a watch that ends it where the searcher oversteps its time.

        `goes_on`: a ponder search goes on under the clock after `ponderhit`.
        """
        searcher = self._searcher
        assert searcher is not None
        finished = threading.Event()
        halt = job.halt

        def watch() -> None:
            threading.Thread(
                target=self._watch, args=(job, halt, finished), name="usi watch", daemon=True
            ).start()

        def on_hit() -> None:
            searcher.ponderhit(self._limits(job))
            watch()

        limits = self._limits(job)
        watch()
        if goes_on:
            job.going_on(on_hit)
        try:
            result = searcher.search(limits, lambda info: self._report(job, info), halt)
        finally:
            job.going_on(None)
            finished.set()
            halt.set()  # the watch goes home
        for info in result.infos:
            self._report(job, info)
        return result

    def _watch(self, job: _Job, halt: threading.Event, finished: threading.Event) -> None:
        """Halt the search at the end of its time; answer for a searcher that doesn't heed."""
        limit_ms = None if job.go.ponder else self._hard_limit_ms(job)
        if limit_ms is None:
            halt.wait()
        else:
            halt.wait(max(0.0, limit_ms / 1000.0 - (time.monotonic() - job.began)))
            halt.set()
        if finished.wait(STOP_PATIENCE_S) or not job.released.is_set():
            return
        self._say("the searcher didn't stop in time; its last line is taken")
        self._answer(job, self._emergency(job))

    def _hard_limit_ms(self, job: _Job) -> float | None:
        go = job.go
        if go.infinite:
            return None
        if go.movetime_ms is not None:
            return float(go.movetime_ms)
        if not go.has_clock:
            return None
        is_black = job.board.turn == 0
        main = (go.btime_ms if is_black else go.wtime_ms) or 0
        increment = (go.binc_ms if is_black else go.winc_ms) or 0
        # The clock told may hold the increment already: it isn't counted on top of it.
        time_ms = max(main, increment) + (go.byoyomi_ms or 0)
        safety_ms = min(max(time_ms * SAFETY_SHARE, SAFETY_MS[0]), SAFETY_MS[1])
        return max(1.0, time_ms - safety_ms)

    def _limits(self, job: _Job) -> Limits:
        from komadori.rules import Move
        from komadori.search.protocol import Limits

        go = job.go
        delay_ms = self._options.number("NetworkDelay")
        moves = [Move.from_usi(text) for text in go.searchmoves]
        legal = [move for move in moves if move in job.board.legal_moves]
        if len(legal) < len(moves):
            self._say("go searchmoves: the moves that aren't legal here are left out")
        binc_ms, winc_ms = (
            # Where there is nothing but the increment it is the clock.
            _less(increment, 0 if main or go.byoyomi_ms else delay_ms)
            for main, increment in ((go.btime_ms, go.binc_ms), (go.wtime_ms, go.winc_ms))
        )
        constant = self._limit_option("Const_Playout")
        if constant and not (go.infinite or go.ponder):
            return Limits(nodes=constant, searchmoves=tuple(legal))
        return Limits(
            nodes=go.nodes if go.nodes is not None else self._limit_option("NodesLimit"),
            playouts=self._limit_option("UCT_NodeLimit"),
            depth=go.depth if go.depth is not None else self._limit_option("DepthLimit"),
            movetime_ms=_less(go.movetime_ms, delay_ms),
            btime_ms=_less(go.btime_ms, delay_ms),
            wtime_ms=_less(go.wtime_ms, delay_ms),
            byoyomi_ms=_less(go.byoyomi_ms, delay_ms),
            binc_ms=binc_ms,
            winc_ms=winc_ms,
            infinite=go.infinite,
            ponder=go.ponder,
            searchmoves=tuple(legal),
        )

    def _limit_option(self, name: str) -> int | None:
        """The value of an option that sets a limit; None where it is 0 or isn't declared."""
        return int(self._options.values().get(name, "0")) or None

    # ------------------------------------------------------------------ answers

    def _report(self, job: _Job, info: Info) -> None:
        """An info line, unless it was just given."""
        if job.is_answered:
            return
        line = info_line(info)
        if line.pv and line.multipv in (None, 1):
            job.last_pv = line.pv
        text = str(line)
        if text != job.last_lines.get(line.multipv):
            job.last_lines[line.multipv] = text
            self._write(text)

    def _answer(self, job: _Job, text: str) -> None:
        """The one answer to a `go`; whoever comes second is not heard."""
        if job.take_answer():
            self._write(text)

    @staticmethod
    def _bestmove(result: SearchResult) -> str:
        if result.declare_win:
            return "bestmove win"
        if result.resign or result.best_move is None:
            return "bestmove resign"
        ponder = f" ponder {result.ponder.usi()}" if result.ponder is not None else ""
        return f"bestmove {result.best_move.usi()}{ponder}"

    @staticmethod
    def _emergency(job: _Job) -> str:
        """An answer without a searcher's: its last best line, or the first legal move."""
        if job.last_pv:
            return f"bestmove {job.last_pv[0]}"
        for move in job.board.legal_moves:
            return f"bestmove {move.usi()}"
        return "bestmove resign"

    def _search_mate(self, job: _Job) -> None:
        """`go mate`: the df-pn solver, which needs no network."""
        from komadori.mate import MateSolver, StopFlag

        flag = StopFlag()
        halt = job.halt

        def pass_on() -> None:
            halt.wait()
            flag.set()

        threading.Thread(target=pass_on, name="usi mate stop", daemon=True).start()
        try:
            solver = MateSolver(self._options.number("DfPn_Hash"))
            limit_ms = 0 if job.go.mate_ms is None else max(1, job.go.mate_ms - MATE_MARGIN_MS)
            self._answer(job, solver.solve(job.board, time_ms=limit_ms, stop=flag).usi())
        finally:
            halt.set()


def _less(time_ms: int | None, delay_ms: int) -> int | None:
    """A clock without the delay; one that runs keeps a millisecond, so that it is still one."""
    return time_ms if not time_ms else max(1, time_ms - delay_ms)


def info_line(info: Info) -> InfoLine:
    """A searcher's report as an `info` line, side to move's view."""
    if info.mate_plies is not None:
        score = protocol.Score(mate_plies=info.mate_plies)
    elif info.score_cp is not None:
        score = protocol.Score(cp=round(info.score_cp))
    else:
        score = None
    return InfoLine(
        depth=info.depth,
        seldepth=info.seldepth,
        nodes=info.nodes,
        nps=info.nps,
        time_ms=info.time_ms,
        hashfull=info.hashfull,
        multipv=info.multipv,
        score=score,
        pv=tuple(move.usi() for move in info.pv),
    )
