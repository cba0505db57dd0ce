"""A fake searcher, and a USI server on a pair of pipes."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from komadori.rules import Board
from komadori.search.protocol import Info, Limits, SearchResult
from komadori.usi.engine import UsiServer
from komadori.usi.options import OptionTable, option_table


def an_info(board: Board, multipv: int = 1, **changes: Any) -> Info:
    values: dict[str, Any] = {
        "depth": 1,
        "seldepth": 2,
        "nodes": 100,
        "nps": 1000,
        "time_ms": 10,
        "hashfull": 5,
        "multipv": multipv,
        "score_cp": 30,
        "mate_plies": None,
        "win_rate": 0.5,
        "pv": list(board.legal_moves)[multipv - 1 : multipv],
        "visits": 50,
    }
    return Info(**{**values, **changes})


class FakeSearcher:
    """Searches by waiting: until its limits (a node takes 10 us), or until stopped.

    With `heeds_stop` False it ignores `stop` and sleeps for a second.
    """

    def __init__(self) -> None:
        self.board: Board | None = None
        self.seen: list[Limits] = []
        self.hits: list[Limits] = []
        self.positions: list[str] = []
        self.games = 0
        self.is_closed = False
        self.heeds_stop = True
        self.multipv = 1
        self.result: Callable[[Board], SearchResult] | None = None
        self.fails = False
        self.error: Exception | None = None
        self.infos: list[Info] = []

    def set_position(self, board: Board) -> None:
        self.board = board
        self.positions.append(board.sfen())

    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        self.seen.append(limits)
        board = self.board
        assert board is not None
        assert stop is not None
        if self.fails:
            raise RuntimeError("the network melted")
        if self.error is not None:
            raise self.error
        for info in self.infos:
            assert on_info is not None
            on_info(info)
        if self.result is not None:
            return self.result(board)
        moves = list(board.legal_moves)
        if not moves:
            return SearchResult(None, resign=True)
        if on_info:
            for k in range(min(self.multipv, len(moves))):
                on_info(an_info(board, k + 1))
        if not self.heeds_stop:
            time.sleep(1.0)
        elif not limits.infinite and not limits.ponder and limits.nodes is not None:
            stop.wait(limits.nodes / 100_000)
        else:  # after a hit too: the server's watch knows the clock
            stop.wait(None)
        return SearchResult(moves[0], infos=[an_info(board, 1, nodes=200)])

    def ponderhit(self, limits: Limits) -> None:
        self.hits.append(limits)

    def new_game(self) -> None:
        self.games += 1

    def close(self) -> None:
        self.is_closed = True


class FakeSource:
    """Builds FakeSearchers, with the delay or failure that the test sets."""

    def __init__(self, load_s: float = 0.0, error: str | Exception = "") -> None:
        self.load_s = load_s
        self.error = error
        self.built: list[FakeSearcher] = []
        self.settings: list[dict[str, Any]] = []

    def build(self, options: OptionTable) -> FakeSearcher:
        time.sleep(self.load_s)
        if isinstance(self.error, Exception):
            raise self.error
        if self.error:
            raise ValueError(self.error)
        self.built.append(FakeSearcher())
        return self.configure(self.built[-1], options)

    def configure(self, searcher: Any, options: OptionTable) -> FakeSearcher:
        self.settings.append(options.settings())
        searcher.multipv = int(options.values().get("MultiPV", "1"))
        fake: FakeSearcher = searcher
        return fake

    @property
    def searcher(self) -> FakeSearcher:
        return self.built[-1]


class Gui:
    """The other side of a server: sends lines, expects lines. Use as a context."""

    def __init__(self, source: Any | None = None, options: OptionTable | None = None) -> None:
        self.source = source or FakeSource()
        to_engine, input_end = os.pipe()
        output_end, from_engine = os.pipe()
        self._input = os.fdopen(input_end, "wb", buffering=0)
        self._output = os.fdopen(output_end, "rb")
        self._engine_output = os.fdopen(from_engine, "wb")
        table = options or option_table("model")
        self.server = UsiServer(
            self.source, table, "test", "tester", os.fdopen(to_engine, "rb"), self._engine_output
        )
        self.status: int | None = None
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.log: list[str] = []
        self._threads = [
            threading.Thread(target=self._run, daemon=True),
            threading.Thread(target=self._read, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        self.status = self.server.run()
        with contextlib.suppress(OSError):
            self._engine_output.close()

    def _read(self) -> None:
        with contextlib.suppress(ValueError, OSError):
            for raw in self._output:
                self.lines.put(raw.decode().rstrip("\n"))
        self.lines.put(None)

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            data = (line if isinstance(line, bytes) else line.encode()) + b"\n"
            while data:
                data = data[self._input.write(data) or 0 :]

    def expect(self, start: str, within_s: float = 5.0) -> str:
        """The next line that begins with `start`; all lines go to the log."""
        end = time.monotonic() + within_s
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {start!r} came; log: {self.log[-20:]}") from None
            assert line is not None, f"the engine left before {start!r}; log: {self.log[-20:]}"
            self.log.append(line)
            if line.startswith(start):
                return line

    def rest(self, quiet_s: float = 0.1) -> list[str]:
        """All lines until none has arrived for a while."""
        lines: list[str] = []
        with contextlib.suppress(queue.Empty):
            while (line := self.lines.get(timeout=quiet_s)) is not None:
                lines.append(line)
        return lines

    def ready(self) -> Gui:
        self.send("usi", "isready")
        self.expect("readyok")
        return self

    def close_input(self) -> None:
        self._input.close()

    def close_output(self) -> None:
        """Stop listening, as a GUI that was killed."""
        os.close(self._output.fileno())

    def join(self, within_s: float = 5.0) -> int | None:
        self._threads[0].join(within_s)
        assert not self._threads[0].is_alive(), "the server is still running"
        return self.status

    def __enter__(self) -> Gui:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._input.close()
        for thread in self._threads:
            thread.join(5.0)


def bestmoves(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.startswith("bestmove")]


class Lateness:
    """The time that a block takes, and the system's largest wake-up delay meanwhile."""

    TICK_S = 0.005

    def __enter__(self) -> Lateness:
        self.took_ms = self.most_ms = 0.0
        self._over = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._tick)
        self._thread.start()
        return self

    def _tick(self) -> None:
        before = time.monotonic()
        while not self._over.wait(self.TICK_S):
            now = time.monotonic()
            self.most_ms = max(self.most_ms, (now - before - self.TICK_S) * 1000)
            before = now

    def __exit__(self, *_: object) -> None:
        self.took_ms = (time.monotonic() - self._began) * 1000
        self._over.set()
        self._thread.join()
