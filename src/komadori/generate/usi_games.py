"""Teacher games of USI engines: several processes, each playing one game at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from komadori._core import generate as _core
from komadori.generate.folder import FinishedGame, StoredFacts, StoredGame
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.records import End, Winner, score_to_record
from komadori.rules import RulesError
from komadori.usi import adapters
from komadori.usi.client import (
    INTERRUPTED_GRACE_S,
    EngineError,
    ExternalEngine,
    Thought,
    UsiEngine,
)
from komadori.usi.protocol import GoCommand, InfoLine, Score, UsiSyntaxError, parse_go

#: Consecutive failed games, over all processes, after which the run ends.
MAX_FAILURES = 10


@dataclass(frozen=True)
class EngineSpec:
    """How to start an engine, and its search limits.

    command  a command line, or the name of an adapter (`komadori.usi.adapters`)
    options  USI options
    go       arguments of `go` that replace the settings' nodes or depth, for engines that are
             limited by an option or support neither
    limit_s  seconds without a move after which the engine counts as hung
    """

    command: str
    options: Mapping[str, str] = field(default_factory=dict)
    go: str | None = None
    limit_s: float = 60.0

    def __post_init__(self) -> None:
        if self.go is not None:
            parse_go(self.go)  # raises UsiSyntaxError, a ValueError
        if not self.limit_s > 0:
            raise ValueError(f"limit_s is {self.limit_s}, more than 0 is needed")

    def start(self) -> ExternalEngine:
        """Start the engine. Raises EngineError if it doesn't reach its first `readyok`."""
        if self.command in adapters.ADAPTERS:
            return adapters.start(self.command, dict(self.options))
        return UsiEngine(self.command, dict(self.options))

    def card(self, name: str) -> dict[str, Any]:
        return {
            "engine": name,
            "command": self.command,
            "options": dict(self.options),
            "go": self.go,
        }

    def request(self, nodes: int, depth: int) -> GoCommand:
        """The `go` command for these limits; 0 for none."""
        if self.go is not None:
            return parse_go(self.go)
        return GoCommand(nodes=nodes or None, depth=depth or None)


def check_engine(spec: EngineSpec, multipv: int) -> str:
    """Start and stop the engine; return its name. Raises EngineError if it can't be used."""
    engine = spec.start()
    try:
        if multipv > 1 and not (isinstance(engine, UsiEngine) and "MultiPV" in engine.declared):
            raise EngineError(f"{engine.name} has no option MultiPV: multipv must be 1")
        return engine.name
    finally:
        engine.close()


class UsiGames:
    """Plays games with engine processes, one game per process at a time (a `GameSource`).

    An engine that crashes, hangs, reports no score or makes an illegal move is restarted; its game
    is dropped and counted as failed.
    """

    def __init__(
        self,
        settings: TeacherSettings,
        lines: Lines,
        engine: EngineSpec,
        opponent: EngineSpec | None = None,
        processes: int = 1,
    ) -> None:
        if settings.inner_fraction:
            raise ValueError("inner_fraction: USI engines don't expose their search trees")
        self._settings, self._lines = settings.to_core(), lines.core
        self._specs = (engine, opponent or engine) if settings.opponent_fraction else (engine,)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._numbers: deque[int] = deque()
        self._unfinished = 0
        self._finished: list[FinishedGame] = []
        self._failure: BaseException | None = None
        self._failed_in_row = 0
        self._has_played = False
        self._stopping = False
        self._engines: set[ExternalEngine] = set()
        self._threads = [
            threading.Thread(target=self._run, name=f"engine {i}", daemon=True)
            for i in range(processes)
        ]
        for thread in self._threads:
            thread.start()

    # -- GameSource

    def add(self, numbers: Sequence[int]) -> None:
        with self._changed:
            self._numbers.extend(numbers)
            self._unfinished += len(numbers)
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        return self._unfinished

    def take(self, timeout_ms: int) -> Sequence[FinishedGame]:
        """As `GameSource.take`. Raises EngineError after `MAX_FAILURES` failures in a row."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._finished or self._failure or not self._unfinished, timeout_ms / 1000
            )
            if self._failure and not self._finished:
                failure, self._failure = self._failure, None
                raise failure
            games, self._finished = self._finished, []
            return games

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            engines = list(self._engines)
            self._changed.notify_all()
        closing = [threading.Thread(target=_close, args=(engine,)) for engine in engines]
        for thread in closing:
            thread.start()
        end = time.monotonic() + 3 * INTERRUPTED_GRACE_S
        for thread in closing + self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    # -- game threads

    def _run(self) -> None:
        engines: list[ExternalEngine] = []
        try:
            while (number := self._next()) is not None:
                try:
                    if not engines:
                        engines = self._start()
                    game = self._play(number, engines)
                except (EngineError, RulesError, UsiSyntaxError) as error:
                    self._discard(engines)
                    engines = []
                    if self._stopping:
                        return
                    self._add_failed(number, error)
                else:
                    self._add_finished(game)
        except BaseException as error:  # re-raised by take
            with self._changed:
                self._failure = self._failure or error
                self._changed.notify_all()
        finally:
            self._discard(engines)

    def _next(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._numbers or self._stopping or self._failure)
            return None if self._stopping or self._failure else self._numbers.popleft()

    def _start(self) -> list[ExternalEngine]:
        engines: list[ExternalEngine] = []
        for spec in self._specs:
            engine = spec.start()
            engines.append(engine)
            with self._lock:
                is_late = self._stopping
                if not is_late:
                    self._engines.add(engine)
            if is_late:  # stop() didn't see it
                self._discard(engines)
                raise EngineError(f"{engine.name} started after the stop")
        return engines

    def _discard(self, engines: list[ExternalEngine]) -> None:
        for engine in engines:
            with self._lock:
                self._engines.discard(engine)
            _close(engine)

    def _add_finished(self, game: FinishedGame, failure: Exception | None = None) -> None:
        with self._changed:
            self._failed_in_row = 0 if failure is None else self._failed_in_row + 1
            self._has_played = self._has_played or failure is None
            self._finished.append(game)
            self._unfinished -= 1
            failed = self._failed_in_row
            is_over = failed >= MAX_FAILURES or not (self._has_played or self._unfinished)
            if failed and is_over and self._failure is None:
                self._failure = EngineError(f"{failed} games in a row failed, the last: {failure}")
            self._changed.notify_all()

    def _add_failed(self, number: int, error: Exception) -> None:
        facts = StoredFacts(
            number, 0, Winner.UNKNOWN, End.INTERRUPTED, Winner.UNKNOWN, 0, 0, 0, 0, 0
        )
        self._add_finished(StoredGame(facts, b"", b""), error)

    def _play(self, number: int, engines: list[ExternalEngine]) -> FinishedGame:
        game = _core.TeacherGame(self._settings, self._lines, number)
        for engine in engines:
            engine.new_game()
        multipv_set = [0] * len(engines)
        while not game.is_over:
            request = game.request()
            side = 1 if request.by_opponent and len(engines) > 1 else 0
            engine, spec = engines[side], self._specs[side]
            if multipv_set[side] != request.multi_pv:
                if isinstance(engine, UsiEngine) and "MultiPV" in engine.declared:
                    engine.set_option("MultiPV", str(request.multi_pv))
                multipv_set[side] = request.multi_pv
            go = spec.request(request.nodes, request.depth)
            thought = engine.think(game.initial_sfen, game.moves, go, spec.limit_s)
            if thought.time_ms > 1000 * spec.limit_s:
                raise EngineError(f"{engine.name} did not answer within {spec.limit_s:g} s")
            _apply_thought(game, thought, engine.name, request.multi_pv)
        return game.finished()


def _apply_thought(game: _core.TeacherGame, thought: Thought, name: str, ranks: int) -> None:
    nodes = thought.nodes
    move = thought.best.move
    if move == "resign":
        game.answer([], nodes)
    elif move == "win":
        if not game.position.can_declare_win():
            raise EngineError(f"{name} declared a win against the rules")
        game.answer([], nodes, True)
    else:
        lines = scored_lines(thought.infos, ranks)
        best = thought.last_info
        if best is None or best.score is None:
            raise EngineError(
                f"{name} reported no score for {move}; switch off its book and instant replies"
            )
        scored = {move: _cp(best.score)}
        for text, score in lines.items():
            scored.setdefault(text, min(score, scored[move]))
        first, *others = scored.items()
        game.answer([first, *sorted(others, key=lambda line: -line[1])], nodes)


def scored_lines(infos: Sequence[InfoLine], ranks: int) -> dict[str, int]:
    """Return the first move and score of each MultiPV rank's last line, best rank first.

    A bound gives way to an exact score that its move has at the same rank and depth. A line of an
    earlier depth counts no higher than the rank above it.
    """
    by_rank: dict[int, InfoLine] = {}
    complete: set[int] = set()
    for info in reversed(infos):
        if info.score is None or not info.pv:
            continue
        rank = info.multipv or 1
        if rank in complete:
            continue
        known = by_rank.setdefault(rank, info)
        if known.depth != info.depth:
            complete.add(rank)
        elif known.pv[0] == info.pv[0] and not info.score.bound:
            by_rank[rank] = info
            complete.add(rank)
        if len(complete) >= ranks:
            break
    found: dict[str, int] = {}
    most: int | None = None
    for _, info in sorted(by_rank.items()):
        if info.score is None or info.pv[0] in found:  # a later rank may be of the last depth
            continue
        cp = _cp(info.score)
        most = cp if most is None else min(most, cp)
        found[info.pv[0]] = most
    return found


def _cp(score: Score) -> int:
    mate = score.mate_plies
    return score_to_record(score.cp, (score.mate_sign or None) if mate is None else mate)


def _close(engine: ExternalEngine) -> None:
    if isinstance(engine, UsiEngine):
        engine.close(grace_s=INTERRUPTED_GRACE_S)
    else:
        engine.close()
