"""The USI server: reads a GUI's commands and answers with a searcher's moves.

There are two threads. The reader handles commands and never waits for a search, so that `stop`,
`ponderhit` and `quit` work at any time. The worker loads the searcher and runs one search after
another; each `go` gets exactly one `bestmove` (or `checkmate`), in order.

The searcher is given as a function that builds it from the options, called at `isready`:
nothing heavy is imported before `usiok`.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from komadori.usi import protocol
from komadori.usi.loading import LoadedSearcher, SearcherSource
from komadori.usi.options import OptionTable, ServerOptions
from komadori.usi.protocol import GoCommand, InfoLine, UsiSyntaxError
from komadori.wording import not_enough_memory, reason_of

if TYPE_CHECKING:
    from komadori.rules import Board
    from komadori.search.protocol import Info, Limits, SearchResult
    from komadori.usi.book_answers import BookAnswers
    from komadori.usi.job import Job
    from komadori.usi.protocol import BestMove

#: How long shutdown waits for a running search or loading model; the same after Ctrl-C.
SHUTDOWN_S, INTERRUPTED_SHUTDOWN_S = 2.0, 0.7

#: Exit status after Ctrl-C.
INTERRUPTED_STATUS = 130

_INVALID_POSITION = "the last position was invalid"

#: Seconds between looks at the queue while an answer waits for `stop`.
_POLL_S = 0.02


class _Interrupt(BaseException):
    """Ends the wait for a line."""


class UsiServer:
    """Serves a GUI over a pair of binary streams."""

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
        """`leave` ends the process while the reader may be waiting for input. It is called with an
        exit status when the output is closed, or the model or the settings can't be loaded.
        """
        self._options = options
        self._name, self._author = name, author
        self._source, self._sink, self._leave = source, sink, leave
        self._write_lock = threading.Lock()
        self._is_closed = threading.Event()
        self._loaded = LoadedSearcher(searchers, options, self._write, self._say)
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._current: Job | None = None
        self._waiting: list[Job] = []
        self._board: Board | None = None
        self._position_error = ""
        self._exit_status = 0
        self._is_reading = self._is_interrupted = False
        self._book: BookAnswers | None = None

    # ------------------------------------------------------------------ the reader

    def run(self) -> int:
        """Serve until `quit`, the end of input, a closed output or `interrupt`.

        Returns the exit status.
        """
        worker = threading.Thread(target=self._work, name="usi worker", daemon=True)
        try:
            worker.start()
        except RuntimeError:
            self._say("error: the system gives no more threads")
            return 1
        shutdown_s = INTERRUPTED_SHUTDOWN_S
        try:
            while not self._is_closed.is_set():
                line = self._read_line()
                if line is None or line == "quit":
                    break
                if line:
                    self._handle(line)
            shutdown_s = SHUTDOWN_S
        except _Interrupt:
            self._exit_status = INTERRUPTED_STATUS
        finally:
            self._release_all()  # each `go` is still answered
            self._jobs.put(None)
            worker.join(shutdown_s)
            if self._unanswered():  # as while a model is still loading
                rest = threading.Thread(target=self._answer_rest, name="usi rest", daemon=True)
                rest.start()
                rest.join(INTERRUPTED_SHUTDOWN_S)  # the output may be a pipe that nobody reads
            self._is_closed.set()
            if not worker.is_alive() and self._loaded.searcher is not None:
                with contextlib.suppress(Exception):
                    self._loaded.searcher.close()
        return self._exit_status

    def interrupt(self) -> None:
        """End `run` with INTERRUPTED_STATUS; each `go` is still answered.

        For a signal handler in the thread that runs it: it waits for the import or the command in
        progress, which may swallow an exception, but not for a line.
        """
        self._is_interrupted = True
        if self._is_reading:
            raise _Interrupt

    def _read_line(self) -> str | None:
        self._is_reading = True
        try:
            if self._is_interrupted:
                raise _Interrupt
            return self._read()
        finally:
            self._is_reading = False

    def _read(self) -> str | None:
        try:
            raw = self._source.readline(protocol.MAX_LINE)
            if len(raw) >= protocol.MAX_LINE and not raw.endswith(b"\n"):
                while (more := self._source.readline(protocol.MAX_LINE)) and more[-1:] != b"\n":
                    pass
                self._say(f"a line of more than {protocol.MAX_LINE} bytes was skipped")
                if raw.split(maxsplit=1)[:1] == [b"position"]:
                    self._position_error = _INVALID_POSITION
                return ""
        except (OSError, ValueError):
            return None
        if not raw:
            return None
        return raw.decode("utf-8", "surrogateescape").strip()

    def _write(self, text: str) -> None:
        with self._write_lock:
            self._write_locked(text)

    def _write_locked(self, text: str) -> None:
        if self._is_closed.is_set():
            return
        try:
            self._sink.write(text.encode("utf-8", "backslashreplace") + b"\n")
            self._sink.flush()
        except (OSError, ValueError):  # the output is closed
            self._end(0)

    def _end(self, status: int) -> None:
        self._exit_status = status
        self._is_closed.set()
        if self._leave is not None:
            self._leave(status)

    def _say(self, text: str) -> None:
        self._write(str(InfoLine(string=text)))

    def _handle(self, line: str) -> None:
        try:
            self._dispatch(line)
        except UsiSyntaxError as error:
            self._say(str(error))
        except Exception as error:  # no input may end the engine
            self._say(f"error: {type(error).__name__}: {error}")

    def _dispatch(self, line: str) -> None:
        word, rest = [*line.split(maxsplit=1), "", ""][:2]
        match word:
            case "usi":
                self._send_identity()
            case "isready":
                self._make_ready()
            case "setoption":
                if problem := self._options.set(*protocol.parse_setoption(rest)):
                    self._say(problem)
            case "position":
                self._set_position(rest)
            case "go":
                self._go(rest)
            case "stop" | "gameover":
                self._release_all()
            case "ponderhit":
                self._ponderhit(rest)
            case "usinewgame":
                self._jobs.put(self._new_game)
            case _:
                self._say(f"unknown command {protocol.quote(line)}")

    def _send_identity(self) -> None:
        lines = [f"id name {self._name}", f"id author {self._author}"]
        lines += [str(option) for option in self._options.declared()]
        # Names and paths may hold line breaks; the GUI would read a command behind one.
        self._write("\n".join(" ".join(line.splitlines()) for line in [*lines, "usiok"]))

    def _make_ready(self) -> None:
        # The worker may not have left a search that has just been answered.
        is_searching = any(job.is_stuck or not job.is_answered for job in self._unanswered())
        if is_searching and self._loaded.searcher is not None:
            self._write("readyok")
        else:
            self._jobs.put(self._load_and_report)

    def _set_position(self, arguments: str) -> None:
        """Set the position. After an invalid one `go` resigns. If a move is illegal, the moves
        before it are kept.
        """
        from komadori.rules import Board

        self._position_error = _INVALID_POSITION
        command = protocol.parse_position(arguments)
        board = Board(command.sfen)
        self._board, self._position_error = board, ""
        for number, move in enumerate(command.moves, 1):
            try:
                if not protocol.is_move_text(move):
                    raise ValueError(f"{protocol.quote(move)} isn't a USI move")
                board.push_usi(move)
            except ValueError as error:
                self._say(f"position: move {number}: {error}; the moves before it are kept")
                return

    def _go(self, arguments: str) -> None:
        go = self._limited(*protocol.read_go(arguments))
        if self._board is None:
            from komadori.rules import Board

            self._board = Board()
        self._release_all()  # a running search answers first
        from komadori.usi.job import Job

        job = Job(go, self._board.copy(), self._position_error)
        with self._lock:
            self._waiting.append(job)
        self._jobs.put(lambda: self._search(job))

    def _limited(self, go: GoCommand, problems: list[str]) -> GoCommand:
        """Report what couldn't be read; if that leaves no limit, return a short search."""
        if problems and not go.has_limit:
            problems = [*problems, f"searching for {protocol.FALLBACK_MS} ms"]
            go = replace(go, movetime_ms=protocol.FALLBACK_MS)
        if problems:
            self._say("; ".join(problems))
        return go

    def _unanswered(self) -> list[Job]:
        with self._lock:
            return [*([self._current] if self._current else []), *self._waiting]

    def _release_all(self) -> None:
        """Stop every search, running or waiting; each still answers."""
        for job in self._unanswered():
            job.stop()

    def _ponderhit(self, arguments: str) -> None:
        given, problems = protocol.read_go(arguments)
        for job in self._unanswered():
            if job.awaits_hit:
                job.hit(self._limited(job.go.after_ponderhit(given), problems))
                return
        if problems:
            self._say("; ".join(problems))

    # ------------------------------------------------------------------ the worker

    def _work(self) -> None:
        while (task := self._jobs.get()) is not None:
            try:
                task()
            except Exception as error:
                self._say(f"error: {type(error).__name__}: {error}")

    def _new_game(self) -> None:
        if self._loaded.searcher is not None:
            self._loaded.searcher.new_game()

    def _load_and_report(self) -> None:
        try:
            self._loaded.load()
        except Exception as error:
            self._say(f"error: {_described(error)}")
            self._end(1)
            return
        # Import now rather than on the clock of the first `go`.
        from komadori.usi import answers, book_answers, job, limits, watch  # noqa: F401

        # Exclude loaded objects from garbage collection during moves.
        gc.collect()
        gc.freeze()
        self._write("readyok")

    def _search(self, job: Job) -> None:
        with self._lock:
            self._waiting.remove(job)
            self._current = job
        try:
            if job.problem:
                self._resign(job, job.problem)
            elif job.go.mate:
                self._search_mate(job)
            else:
                self._search_move(job)
        except Exception as error:
            if isinstance(error, MemoryError):
                self._say(f"error: {not_enough_memory(error)}")
            else:
                self._say(f"error: {type(error).__name__}: {error}")
            from komadori.usi.answers import fallback_answer

            job.released.wait()
            self._answer(job, "checkmate timeout" if job.go.mate else fallback_answer(job, error))
        finally:
            with self._lock:
                self._current = None

    def _resign(self, job: Job, problem: str) -> None:
        """Report the problem and resign."""
        from komadori.usi.answers import RESIGN

        self._say(f"error: {problem}")
        # Nothing may be loaded yet, and a GUI waits for `readyok` before it sends `stop`.
        while not job.released.wait(_POLL_S):
            if self._jobs.queue and self._jobs.queue[0] == self._load_and_report:
                self._jobs.get()
                self._load_and_report()
        self._answer(job, "checkmate notimplemented" if job.go.mate else RESIGN)

    def _search_move(self, job: Job) -> None:
        from komadori.usi.answers import best_move
        from komadori.usi.book_answers import BookAnswers

        try:
            searcher = self._loaded.load()
        except Exception as error:
            self._resign(job, f"{_described(error)}; nothing is played without it")
            return
        options = self._options.group(ServerOptions)
        self._book = self._book or BookAnswers()
        lines, chosen = self._book.find(job, options, int(self._options.value("MultiPV", "1")))
        for line in lines:
            self._write(str(line))
        if chosen is not None:
            self._answer(job, chosen)
            return
        expected = None
        if job.go.ponder and options.stochastic_ponder and job.board.moves:
            expected = job.board.pop()  # ponder on the position before the reply
        searcher.set_position(job.board)
        result = self._run_searcher(job, continues=expected is None)
        job.released.wait()
        if expected is not None:
            job.board.push(expected)
            job.last_pv = ()
            searcher.set_position(job.board)
        if job.take_hit():
            result = self._run_searcher(job)
        elif expected is not None:
            result = replace(result, best_move=next(iter(job.board.legal_moves), None), ponder=None)
        self._answer(job, best_move(result))

    def _run_searcher(self, job: Job, continues: bool = False) -> SearchResult:
        """Run one search under a watchdog.

        With `continues` a ponder search continues under the clock after `ponderhit`.
        """
        from komadori.search.clock import hard_limit_ms
        from komadori.usi.watch import Watch

        searcher, turn = self._loaded.searcher, job.board.turn
        assert searcher is not None
        if continues:
            job.take_hit()  # of before the search, which then begins under the clock
        watch = Watch(job, lambda: self._answer_unresponsive(job))

        def on_hit() -> None:
            limits = self._limits(job)
            searcher.ponderhit(limits)
            watch.start(hard_limit_ms(limits, turn))

        if continues:
            job.continue_on_hit(on_hit)
        limits = self._limits(job)
        watch.start(hard_limit_ms(limits, turn))
        try:
            result = searcher.search(limits, lambda info: self._report(job, info), job.halt)
        finally:
            job.continue_on_hit(None)
            watch.finish()
        for info in result.infos:
            self._report(job, info)
        return result

    def _limits(self, job: Job) -> Limits:
        from komadori.usi.limits import legal_searchmoves, search_limits

        legal = legal_searchmoves(job.go, job.board)
        if len(legal) < len(job.go.searchmoves):
            self._say("go searchmoves: the moves that aren't legal here are left out")
        return search_limits(job.go, self._options.group(ServerOptions), legal)

    def _search_mate(self, job: Job) -> None:
        """Answer `go mate` with the df-pn solver, which needs no network."""
        from komadori.mate import MateSolver, StopFlag
        from komadori.search.clock import mate_time_ms
        from komadori.search.memory import check_memory

        flag, halt = StopFlag(), job.halt

        def forward_stop() -> None:
            halt.wait()
            flag.set()

        threading.Thread(target=forward_stop, name="usi mate stop", daemon=True).start()
        try:
            memory_mb = self._options.group(ServerOptions).mate_memory_mb
            check_memory("the mate search", memory_mb)
            solver = MateSolver(memory_mb)
            limit_ms = mate_time_ms(job.go.mate_ms)
            self._answer(job, solver.solve(job.board, time_ms=limit_ms, stop=flag).usi())
        finally:
            halt.set()

    # ------------------------------------------------------------------ output

    def _report(self, job: Job, info: Info) -> None:
        """Send an info line unless it repeats the last one."""
        if job.is_answered:
            return
        from komadori.usi.answers import info_line

        line = info_line(info)
        if line.pv and line.multipv in (None, 1):
            job.last_pv = line.pv
        # A change of time or speed alone doesn't make a line new.
        content = str(replace(line, time_ms=None, nps=None, hashfull=None))
        if content != job.last_lines.get(line.multipv):
            job.last_lines[line.multipv] = content
            self._write(str(line))

    def _answer(self, job: Job, answer: str | BestMove) -> None:
        """Send the answer to a `go`, once; later answers are ignored."""
        # Under the lock: whoever comes second may end the process, but not before it is written.
        with self._write_lock:
            if job.take_answer():
                self._write_locked(str(answer))

    def _answer_rest(self) -> None:
        """Answer each `go` that the worker hasn't answered, without a search."""
        from komadori.usi.answers import RESIGN, fallback_answer

        for job in self._unanswered():
            if job.go.mate:
                self._answer(job, "checkmate timeout")
            else:
                self._answer(job, RESIGN if job.problem else fallback_answer(job))

    def _answer_unresponsive(self, job: Job) -> None:
        from komadori.usi.answers import fallback_answer

        job.is_stuck = True
        self._say("the searcher didn't stop in time; playing its last line")
        self._answer(job, fallback_answer(job))


def _described(error: Exception) -> str:
    """Describe an error of loading."""
    if isinstance(error, MemoryError):
        return not_enough_memory(error)
    if isinstance(error, ModuleNotFoundError):
        from komadori.extras import missing

        return f"this needs {missing(error)}"
    return reason_of(error)
