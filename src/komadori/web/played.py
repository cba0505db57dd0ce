"""Games played in the browser: humans and engines, clocks, storage."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from komadori.arena.game import Conditions, charge, judge
from komadori.players import Decision
from komadori.players.external import start_sfen
from komadori.players.player import effective_limits
from komadori.rules import DECLARATION_POINTS, HANDICAPS, Board
from komadori.usi.client import EngineError
from komadori.usi.protocol import GoCommand, one_line
from komadori.web import protocol
from komadori.web.errors import RefusedError
from komadori.web.library import Entry, Library, now
from komadori.web.opponents import Opponents, SeatedPlayer
from komadori.web.positions import COLOR_NAMES, read_move, read_position, turn_of
from komadori.web.shapes import (
    Clock,
    ClockState,
    GameResult,
    GameState,
    Human,
    Opponent,
    SeatState,
    Shape,
    Thought,
)
from komadori.wording import reason_of

#: Number of moves in a handicap game before the engine may resign.
NO_RESIGNATION_PLIES = 60
#: Milliseconds per move of engines without limits in games without a clock.
UNTIMED_MS = 1000
#: Tolerated network delay of a human's move, in ms.
GRACE_MS = 300
#: Maximum number of characters of a player's name, as in the requests that save a game.
MAX_NAME = 200
#: Maximum number of concurrent games.
MAX_GAMES = 100
#: Seconds after which a game that no page watches is interrupted.
ABANDONED_S = 60.0

#: The result of a game that is given up by its pages or its server.
INTERRUPTED = GameResult(winner="none", reason="interrupted")

_log = logging.getLogger("komadori.web")

_EVEN = Board(HANDICAPS["even"].sfen).sfen().rpartition(" ")[0]


@dataclass
class _Seat:
    state: SeatState
    engine: SeatedPlayer | None = None


@dataclass
class _PlayedMove:
    """A move, and the remaining times before it."""

    time_ms: int
    score_cp: int | None
    remaining_ms: tuple[float, float]


class PlayedGame:
    """A game in progress. Everything but the engines' searches runs in the event loop."""

    def __init__(
        self,
        request: protocol.StartGame,
        seats: tuple[_Seat, _Seat],
        library: Library,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._seats = seats
        self._library = library
        self._pool = pool
        self._board = read_position(request.position)
        self._start = self._board.root().sfen()
        clock = request.clock
        self._conditions = Conditions(
            main_ms=clock.main_ms if clock else 0,
            byoyomi_ms=clock.byoyomi_ms if clock else 0,
            increment_ms=clock.increment_ms if clock else 0,
            margin_ms=GRACE_MS,
            max_plies=request.max_plies,
            auto_declare=False,
        )
        self._declaration = request.declaration
        self._points = DECLARATION_POINTS[request.declaration]
        self._pace_s = request.pace_ms / 1000 if all(s.engine for s in seats) else 0.0
        main_ms = float(self._conditions.main_ms)
        self._remaining_ms = [main_ms, main_ms]
        self._moves = [_PlayedMove(0, None, (main_ms, main_ms))] * len(self._board.moves)
        self._phase: str = "playing"
        self._result: GameResult | None = None
        self._thought: Thought | None = None
        self._turn_started_at = time.perf_counter()
        self._turn_used_ms = 0.0
        #: The engine's answer and its time in ms, while `pace_ms` delays the move.
        self._answer: tuple[Decision, float] | None = None
        self._flag_timer: asyncio.TimerHandle | None = None
        self._search_task: asyncio.Task[None] | None = None
        self._cancelled = threading.Event()
        self._watchers: dict[object, tuple[int, Callable[[Shape, str | None], None]]] = {}
        self.unwatched_at: float | None = time.monotonic()
        self._is_closed = False
        #: Why the library lacks the latest moves; "" if it has them.
        self._problem = ""
        entry = Entry(
            sfen=self._start,
            moves=[move.usi() for move in self._board.moves],
            source="played",
            black=seats[0].state.name,
            white=seats[1].state.name,
            end=INTERRUPTED.reason,
            started=now(),
            headers={"time_control": _time_control(clock)} if clock else {},
        )
        self.number = library.add(entry)

    async def begin(self) -> None:
        """Prepare the engines and start the first turn."""
        draw_ply = self._board.ply - len(self._board.moves) - 1 + self._conditions.max_plies
        loop = asyncio.get_running_loop()
        for seat in self._seats:
            if seat.engine is not None:
                await loop.run_in_executor(
                    self._pool, seat.engine.new_game, draw_ply, self._declaration
                )
        self._begin_turn()
        self._broadcast()

    # -- watchers

    def watch(
        self, watcher: object, request: int, send: Callable[[Shape, str | None], None]
    ) -> None:
        self._watchers[watcher] = (request, send)
        self.unwatched_at = None
        send(protocol.Game(id=request, game=self.state()), f"game {self.number}")
        if self._problem:
            send(self._unsaved(request), None)

    def unwatch(self, watcher: object) -> None:
        if self._watchers.pop(watcher, None) and not self._watchers:
            self.unwatched_at = time.monotonic()

    def _broadcast(self) -> None:
        state = self.state()
        for request, send in list(self._watchers.values()):
            send(protocol.Game(id=request, game=state), f"game {self.number}")

    @property
    def board(self) -> Board:
        return self._board.copy()

    @property
    def is_over(self) -> bool:
        return self._phase == "over"

    def state(self) -> GameState:
        board = self._board
        occurrences = _occurrences(board)
        return GameState(
            game=self.number,
            black=self._seats[0].state,
            white=self._seats[1].state,
            sfen=self._start,
            moves=[move.usi() for move in board.moves],
            turn=turn_of(board),
            phase=self._phase,  # type: ignore[arg-type]
            thinking=turn_of(board) if self._search_task is not None else None,
            clock=self._clock(),
            times_ms=[move.time_ms for move in self._moves],
            scores_cp=[move.score_cp for move in self._moves],
            result=self._result,
            can_declare=self._can_declare(),
            is_check=board.is_check(),
            occurrences=min(occurrences, 4),
            last_thought=self._thought,
        )

    def _clock(self) -> ClockState | None:
        conditions = self._conditions
        if not conditions.has_clock:
            return None
        remaining = list(self._remaining_ms)
        is_playing = self._phase == "playing"
        running = is_playing and self._answer is None
        if not self.is_over:
            remaining[self._board.turn] -= self._used_ms() if is_playing else self._turn_used_ms
            remaining[self._board.turn] += conditions.increment_ms
        return ClockState(
            black_ms=round(remaining[0]),
            white_ms=round(remaining[1]),
            byoyomi_ms=conditions.byoyomi_ms,
            increment_ms=conditions.increment_ms,
            running=turn_of(self._board) if running else None,
            in_byoyomi=[
                COLOR_NAMES[side]
                for side in (0, 1)
                if conditions.byoyomi_ms and remaining[side] <= 0
            ],
        )

    # -- turns

    def _used_ms(self) -> float:
        """Return the time used in this turn, which is being played."""
        if self._answer is not None:
            return self._answer[1]
        return self._turn_used_ms + (time.perf_counter() - self._turn_started_at) * 1000

    def _begin_turn(self) -> None:
        """Start a turn, unless the rules have ended the game."""
        end = judge(self._board, self._conditions)
        if end is not None:
            self._finish(GameResult(winner=end[0], reason=end[1], detail=end[2]))
            return
        self._turn_used_ms = 0.0
        self._answer = None
        self._resume_turn()

    def _resume_turn(self) -> None:
        """Start the clock, and the engine's search or the human's flag timer."""
        self._turn_started_at = time.perf_counter()
        side = self._board.turn
        engine = self._seats[side].engine
        if engine is not None:
            self._cancelled = threading.Event()
            self._search_task = asyncio.ensure_future(self._think(engine, self._cancelled))
        elif self._conditions.has_clock:
            c = self._conditions
            remaining = self._remaining_ms[side] + c.increment_ms + c.byoyomi_ms
            delay_s = (remaining - self._turn_used_ms + GRACE_MS) / 1000 + 0.01
            loop = asyncio.get_running_loop()
            self._flag_timer = loop.call_later(delay_s, self._lose_on_time)

    def _end_turn(self) -> None:
        """Stop the clock and cancel the engine's search."""
        self._turn_used_ms = self._used_ms()
        if self._flag_timer is not None:
            self._flag_timer.cancel()
            self._flag_timer = None
        task, self._search_task = self._search_task, None
        if task is not None and task is not asyncio.current_task():
            self._cancelled.set()
            engine = self._seats[self._board.turn].engine
            if engine is not None:
                engine.stop()
            task.cancel()

    def _stop_clock(self) -> None:
        """Deduct the time used in the unfinished turn."""
        c, side = self._conditions, self._board.turn
        used = self._used_ms() if self._phase == "playing" else self._turn_used_ms
        if c.has_clock:
            remaining = self._remaining_ms[side] + c.increment_ms - used
            self._remaining_ms[side] = max(remaining, -float(c.byoyomi_ms))

    def _lose_on_time(self) -> None:
        self._stop_clock()
        self._finish(GameResult(winner=COLOR_NAMES[1 - self._board.turn], reason="time"))
        self._broadcast()

    async def _think(self, engine: SeatedPlayer, cancelled: threading.Event) -> None:
        """Search with an engine, unless it has answered before a pause, and play its move."""
        board, side = self._board.copy(), self._board.turn
        loop = asyncio.get_running_loop()
        try:
            if self._answer is None:
                go = self._go(engine, side)
                decision = await loop.run_in_executor(self._pool, engine.play, board, go, cancelled)
                self._answer = decision, self._used_ms()
            decision, spent_ms = self._answer
            pause_s = self._pace_s - (time.perf_counter() - self._turn_started_at)
            if pause_s > 0:
                if self._conditions.has_clock:
                    self._broadcast()  # the clock stands
                await asyncio.sleep(pause_s)
        except EngineError as error:
            self._search_task = None
            self._lose(side, "engine_failure", str(error)[:200])
            return
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._search_task = None
            self._lose(side, "engine_failure", type(error).__name__)
            return
        self._search_task = None
        self._thought = Thought(
            color=COLOR_NAMES[side],
            score_cp=decision.score_cp,
            mate_plies=decision.mate_plies,
            depth=decision.depth,
            nodes=decision.nodes,
            pv=list(decision.pv),
        )
        self._play_decision(decision, side, spent_ms)

    def _go(self, engine: SeatedPlayer, side: int) -> GoCommand:
        """Return the limits of an engine's search, less the time used before a pause."""
        if engine.limits is None and not self._conditions.has_clock:
            return GoCommand(movetime_ms=UNTIMED_MS)
        remaining = list(self._remaining_ms)
        left_ms = remaining[side] - self._turn_used_ms
        remaining[side] = max(left_ms, 0.0)
        go = effective_limits(engine.limits, self._conditions.go(remaining))
        if left_ms < 0.0:  # so much of the byoyomi or the increment is used
            if go.byoyomi_ms:
                return replace(go, byoyomi_ms=max(0, go.byoyomi_ms + int(left_ms)))
            own_ms = max(0, ((go.btime_ms, go.wtime_ms)[side] or 0) + int(left_ms))
            return replace(go, btime_ms=own_ms) if side == 0 else replace(go, wtime_ms=own_ms)
        return go

    def _play_decision(self, decision: Decision, side: int, spent_ms: float) -> None:
        is_handicap = self._start.rpartition(" ")[0] != _EVEN
        is_early = len(self._board.moves) < NO_RESIGNATION_PLIES
        if decision.resigns and not (is_handicap and is_early and decision.move is not None):
            self._lose(side, "resignation")
        elif decision.declares_win:
            self._declare(side)
        elif decision.move is None or decision.move not in self._board.legal_moves:
            text = decision.illegal or (decision.move.usi() if decision.move else "no move")
            self._lose(side, "illegal_move", one_line(text, 80))
        else:
            self._play(decision.move.usi(), spent_ms, decision.recorded_cp)

    def _play(self, move: str, spent_ms: float, score_cp: int | None) -> None:
        side = self._board.turn
        before = (self._remaining_ms[0], self._remaining_ms[1])
        self._end_turn()
        if self._conditions.has_clock and not charge(
            self._remaining_ms, side, spent_ms, self._conditions
        ):
            self._remaining_ms[side] = -float(self._conditions.byoyomi_ms)
            self._lose(side, "time")
            return
        self._board.push_usi(move)
        self._moves.append(_PlayedMove(round(spent_ms), score_cp, before))
        self._save()
        self._begin_turn()
        self._broadcast()

    # -- actions of humans

    def move(self, text: str) -> None:
        """Play a move for the human whose turn it is. Raises RefusedError."""
        self._require_playing()
        if self._seats[self._board.turn].engine is not None:
            raise RefusedError("not_possible", "it is the engine's turn")
        move = read_move(self._board, text)
        self._play(move.usi(), self._used_ms(), None)

    def act(self, action: str) -> None:
        """Perform an action of `protocol.GameAction`. Raises RefusedError."""
        match action:
            case "take_back":
                self._take_back()
            case "resign":
                self._require_playing()
                self._stop_clock()
                self._lose(self._human_side(), "resignation")
            case "declare":
                self._require_playing()
                side = self._human_side()
                if side != self._board.turn:
                    raise RefusedError("not_possible", "a win is declared on one's own turn")
                self._declare(side)
            case "pause":
                self._require_playing()
                self._end_turn()
                self._phase = "paused"
            case "resume":
                if self._phase != "paused":
                    raise RefusedError("not_possible", "the game isn't paused")
                self._phase = "playing"
                self._resume_turn()
            case "stop":
                if not self.is_over:
                    self._stop_clock()
                    self._finish(INTERRUPTED)
        self._broadcast()

    def _require_playing(self) -> None:
        if self._phase != "playing":
            raise RefusedError("not_possible", f"the game is {self._phase}")

    def _human_side(self) -> int:
        """Return the human's side; of two humans, the one to move. Raises RefusedError."""
        sides = [side for side in (0, 1) if self._seats[side].engine is None]
        if not sides:
            raise RefusedError("not_possible", "no human plays in this game")
        return self._board.turn if self._board.turn in sides else sides[0]

    def _take_back(self) -> None:
        humans = [side for side in (0, 1) if self._seats[side].engine is None]
        if not humans:
            raise RefusedError("not_possible", "no human plays in this game")
        if self._phase == "paused":
            raise RefusedError("not_possible", "the game is paused")
        plies = 1
        while (self._board.turn + plies) % 2 not in humans:
            plies += 1
        if len(self._board.moves) < plies or len(self._moves) < plies:
            raise RefusedError("not_possible", "there is no move to take back")
        self._end_turn()
        for _ in range(plies):
            self._board.pop()
            move = self._moves.pop()
            self._remaining_ms = list(move.remaining_ms)
        self._phase, self._result, self._thought = "playing", None, None
        self._save()
        self._begin_turn()

    # -- endings

    def _can_declare(self) -> bool:
        return (
            bool(self._points[0])
            and self._phase == "playing"
            and self._board.can_declare_win(*self._points)
        )

    def _declare(self, side: int) -> None:
        if self._can_declare():
            self._finish(GameResult(winner=COLOR_NAMES[side], reason="declaration"))
        else:
            self._finish(GameResult(winner=COLOR_NAMES[1 - side], reason="false_declaration"))
        self._broadcast()

    def _lose(self, side: int, reason: str, detail: str = "") -> None:
        winner = COLOR_NAMES[1 - side]
        self._finish(GameResult(winner=winner, reason=reason, detail=detail))  # type: ignore[arg-type]
        self._broadcast()

    def _finish(self, result: GameResult) -> None:
        self._end_turn()
        self._phase, self._result = "over", result
        self._save()

    def _save(self) -> None:
        """Store the current state of the game. If that fails, the pages are told once, and the next
        move or `save_again` stores everything.
        """
        try:
            self._library.update(self.number, self._write)
            problem = ""
        except RefusedError as error:  # of another code: deleted during the game
            problem = str(error) if error.code == "failed" else ""
        is_new, self._problem = bool(problem and not self._problem), problem
        if is_new:
            _log.error("game %d isn't saved: %s", self.number, problem)
            for request, send in list(self._watchers.values()):
                send(self._unsaved(request), None)

    def save_again(self) -> None:
        """Store the game if that failed."""
        if self._problem:
            self._save()

    def _unsaved(self, request: int) -> protocol.Error:
        message = f"the game isn't saved: {self._problem}"
        return protocol.Error(id=request, code="failed", message=message)

    def _write(self, entry: Entry) -> None:
        """Enter the moves and the result; the rest is the pages' to change."""
        entry.sfen = self._start
        entry.moves = [move.usi() for move in self._board.moves]
        entry.times_ms = [move.time_ms for move in self._moves]
        entry.scores_cp = [move.score_cp for move in self._moves]
        result = self._result or INTERRUPTED  # what it is if the server is killed
        entry.winner, entry.end = result.winner, result.reason

    def interrupt(self) -> None:
        """End the game if it isn't over, and store it; one without a move leaves the library."""
        is_unplayed = not self.is_over and not self._moves
        if not self.is_over:
            self._finish(INTERRUPTED)
            self._broadcast()
        self.save_again()
        if is_unplayed:
            with contextlib.suppress(RefusedError):  # deleted by a page
                self._library.delete(self.number)

    async def close(self) -> None:
        """Interrupt the game if it isn't over, and close the players."""
        if self._is_closed:
            return
        self._is_closed = True
        self.interrupt()
        await _close_players(self._seats, self._pool)


class Games:
    """All games in progress."""

    def __init__(self, library: Library, opponents: Opponents, pool: ThreadPoolExecutor) -> None:
        self._library = library
        self._opponents = opponents
        self._pool = pool
        self._games: dict[int, PlayedGame] = {}
        #: Number of games whose players are being made.
        self._starting = 0

    async def start(self, request: protocol.StartGame) -> PlayedGame:
        """Create and begin a game. Raises RefusedError."""
        if len(self._games) + self._starting >= MAX_GAMES:
            raise RefusedError("too_many", f"{MAX_GAMES} games are being played")
        start = start_sfen(read_position(request.position))
        for player in (request.black, request.white):
            if isinstance(player, Opponent):
                self._opponents.check_start(player, start)
        clock = request.clock
        if clock is not None and clock.byoyomi_ms and clock.increment_ms:
            raise RefusedError("not_possible", "a clock has byoyomi or an increment, not both")
        self._starting += 1
        try:
            game = await self._begin(request)
        finally:
            self._starting -= 1
        self._games[game.number] = game
        return game

    async def _begin(self, request: protocol.StartGame) -> PlayedGame:
        """Make the players and begin the game. Raises RefusedError."""
        seats: list[_Seat] = []
        try:
            for player in (request.black, request.white):
                seats.append(await self._seat(player))
            game = PlayedGame(request, (seats[0], seats[1]), self._library, self._pool)
        except BaseException:
            await _close_players(seats, self._pool)
            raise
        try:
            await game.begin()
        except BaseException as error:
            await game.close()
            if isinstance(error, EngineError):
                raise RefusedError("failed", reason_of(error)) from error
            raise
        return game

    async def _seat(self, player: Human | Opponent) -> _Seat:
        if isinstance(player, Human):
            return _Seat(SeatState(kind="human", name=player.name))
        loop = asyncio.get_running_loop()
        making = loop.run_in_executor(self._pool, self._opponents.seat, player)
        try:
            engine = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(self._close_unused)
            raise
        counts: Literal["playouts", "nodes"] = (
            "playouts" if player.player.startswith("model:") else "nodes"
        )
        name = player.name or one_line(engine.name, MAX_NAME)
        return _Seat(SeatState(kind="engine", name=name, counts=counts), engine)

    def _close_unused(self, making: asyncio.Future[SeatedPlayer]) -> None:
        """Close a player that nobody waits for any more."""
        if not making.cancelled() and making.exception() is None:
            self._pool.submit(making.result().close)

    def get(self, number: int) -> PlayedGame:
        """Return a game in progress. Raises RefusedError."""
        game = self._games.get(number)
        if game is None:
            raise RefusedError("unknown_name", f"game {number} isn't being played")
        return game

    def is_running(self, number: int) -> bool:
        game = self._games.get(number)
        return game is not None and not game.is_over

    def watched_by(self, watcher: object) -> list[int]:
        return [n for n, game in self._games.items() if watcher in game._watchers]

    def leave(self, watcher: object, *, is_over: bool = False) -> None:
        """End what a page watches: with `is_over` only its finished games, whose engines hold
        memory.
        """
        for game in self._games.values():
            if game.is_over or not is_over:
                game.unwatch(watcher)

    async def sweep(self) -> None:
        """Close the games that nobody has watched for ABANDONED_S; store those not saved."""
        for number, game in list(self._games.items()):
            game.save_again()
            since = game.unwatched_at
            if since is not None and time.monotonic() - since > ABANDONED_S:
                del self._games[number]
                await game.close()

    async def close(self) -> None:
        games, self._games = list(self._games.values()), {}
        for game in games:  # all of them before the first engine, which may take its time
            game.interrupt()
        await asyncio.gather(*(game.close() for game in games))


async def _close_players(seats: Sequence[_Seat], pool: ThreadPoolExecutor) -> None:
    """Close the engines, all at once and in the pool: each may take seconds to end."""
    loop = asyncio.get_running_loop()
    engines = [seat.engine for seat in seats if seat.engine is not None]
    closing = [loop.run_in_executor(pool, engine.close) for engine in engines]
    await asyncio.shield(asyncio.gather(*closing))


def _time_control(clock: Clock) -> str:
    """Format a clock as in CSA 3.0: main time, byoyomi and increment in seconds."""
    parts = (clock.main_ms, clock.byoyomi_ms, clock.increment_ms)
    return "+".join(f"{ms / 1000:g}" for ms in parts)


def _occurrences(board: Board) -> int:
    """Return how many times the position has occurred in the game, including now."""
    walk, seen = board.copy(), Counter({board.key: 1})
    for _ in range(len(board.moves)):
        walk.pop()
        seen[walk.key] += 1
    return seen[board.key]
