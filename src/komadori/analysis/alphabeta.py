"""Alpha-beta analysis of game positions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import resources
from queue import SimpleQueue

from komadori._core.alphabeta import Turns
from komadori.analysis.positions import Effort, Found, Key, Line
from komadori.inference import digest
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import EVALUATIONS, AlphaBetaOptions, AlphaBetaSearcher
from komadori.search.protocol import Info, SearchResult, StopEvent

__all__ = ["AlphaBetaAnalyser", "facts", "make_searchers"]

#: Of each searcher: its table is cleared for each position.
HASH_MB = 32


def make_searchers(
    count: int, *, niceness: int = 0, turns: Turns | None = None
) -> list[AlphaBetaSearcher]:
    """Searchers over the package's NNUE for an `AlphaBetaAnalyser`."""
    options = AlphaBetaOptions(hash_mb=HASH_MB, niceness=niceness)
    return [AlphaBetaSearcher("nnue", None, options, turns=turns) for _ in range(count)]


def facts() -> dict[str, str]:
    """What searches, by name: results hold for these weights alone."""
    weights = EVALUATIONS["nnue"]
    assert weights is not None
    with resources.as_file(resources.files("komadori") / "data" / weights) as path:
        return {"player": "alphabeta", "weights": weights, "sha256": digest(path)}


class AlphaBetaAnalyser:
    """Searches positions, one per thread at a time.

    Each search has one thread and an empty transposition table, so that a limit of nodes gives a
    position the same result in every run, interrupted or not.
    """

    def __init__(
        self,
        searchers: Iterable[AlphaBetaSearcher],
        effort: Effort,
        *,
        lines: int = 1,
        stop: threading.Event | None = None,
    ) -> None:
        """One searcher per thread, whose settings change; they stay the caller's to close. An
        effort in seconds is the time that passes per position, so that each of N
        searchers thinks N times as long. `lines`: how many are kept of each position. `stop`:
        once it is set, the iteration ends without what is being searched; leaving the
        iteration sets it.
        """
        self._searchers = list(searchers)
        self._stop = stop
        self._idle: SimpleQueue[AlphaBetaSearcher] = SimpleQueue()
        for searcher in self._searchers:
            searcher.options = replace(
                searcher.options, threads=1, multipv=lines, hash_mb=HASH_MB, resign_value=_NEVER
            )
            self._idle.put(searcher)
        if effort.seconds is None:
            self._limits = Limits(nodes=effort.nodes)
        else:
            share = effort.seconds * 1000 * len(self._searchers)
            self._limits = Limits(movetime_ms=max(1, round(share)))

    def analyse(self, positions: Iterable[tuple[Key, Board]]) -> Iterator[tuple[Key, Found]]:
        """What is found of each position, in the order in which they are finished.

        A board's path counts for repetitions. The iteration may be left at any time.
        """
        source = iter(positions)
        stop = self._stop or StopEvent()
        running: dict[Future[Found], Key] = {}
        with ThreadPoolExecutor(len(self._searchers)) as pool:
            try:
                while True:
                    while len(running) < len(self._searchers):
                        task = next(source, None)
                        if task is None:
                            break
                        key, board = task
                        running[pool.submit(self._search, board, stop)] = key
                    if not running:
                        return
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    if stop.is_set():
                        return
                    for future in finished:
                        yield running.pop(future), future.result()
            finally:
                if running:
                    stop.set()

    def _search(self, board: Board, stop: threading.Event) -> Found:
        searcher = self._idle.get()
        try:
            searcher.new_game()
            searcher.set_position(board)
            return _found(searcher.search(self._limits, stop=stop), searcher.nodes)
        finally:
            self._idle.put(searcher)


#: Beyond every score: an analysis doesn't resign.
_NEVER = 99999


def _found(result: SearchResult, nodes: int) -> Found:
    if result.declare_win:
        return Found(1.0, 0, (), declares=True)
    if not result.infos:
        return Found(0.0, 0, ())
    best = result.infos[0]
    return Found(_win_rate(best), nodes, tuple(_line(info, nodes) for info in result.infos))


def _line(info: Info, nodes: int) -> Line:
    pv = tuple(move.usi() for move in info.pv)
    return Line(_win_rate(info), info.mate_plies, info.score_cp, nodes, pv, info.depth)


def _win_rate(info: Info) -> float:
    """Certain where a mate is seen."""
    if info.mate_plies is not None:
        return 1.0 if info.mate_plies > 0 else 0.0
    return info.win_rate
