"""Sessions: the requests, searches and outgoing messages of a page."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from komadori import __version__
from komadori.inference import InferenceError
from komadori.web import protocol
from komadori.web.errors import INTERNAL_ERROR, RefusedError
from komadori.web.folders import Folders
from komadori.web.lab_pages import LabPages
from komadori.web.ladders import Ladders
from komadori.web.library import Library
from komadori.web.live import FULL_MEMORY_PAGES, MEMORY_MB, SMALL_MEMORY_MB, Analysis
from komadori.web.loops import Loops
from komadori.web.mates import Mates
from komadori.web.models import Models
from komadori.web.network import Network
from komadori.web.opponents import Opponents
from komadori.web.page_searchers import ThreadBudget, lower_priority
from komadori.web.played import Games
from komadori.web.shapes import Shape
from komadori.web.studies import Studies
from komadori.web.trainings import Tail, Trainings, is_alive, json_safe

T = TypeVar("T")

#: Seconds a session is kept after its connection was lost.
SESSION_TTL_S = 60.0
#: Delay in seconds of the memory clean-up after a page has closed.
TRIM_S = 1.0
#: Maximum number of sessions that wait for their page; the one that waits longest gives way.
MAX_WAITING = 64
#: Maximum number and total size of queued messages before a slow page is disconnected.
MAX_QUEUED = 2000
MAX_QUEUED_CHARS = 32 << 20
#: Size of queued messages above which further parts of a log wait.
BUSY_CHARS = 1 << 20
#: Maximum number and total size of the sent messages kept for a reconnect.
MAX_KEPT = 200
MAX_KEPT_CHARS = 1 << 20
#: Maximum number of concurrent requests of a page.
MAX_REQUESTS = 64
#: Maximum number of watched logs per page, their polling interval, entries per message.
MAX_WATCHES = 20
WATCH_S = 1.0
ENTRIES_PER_MESSAGE = 2000
#: Maximum size of a message.
MAX_MESSAGE_BYTES = 256 << 10
#: Number of threads: for the searches of 256 pages and their short requests, for clearing the hash
#: tables of alpha-beta analyses, for mate searches.
THREADS = 512
PREPARATION_THREADS = 4
MATE_THREADS = 16
#: WebSocket close codes of a closed page.
_PAGE_CLOSED = (1000, 1001)

_log = logging.getLogger("komadori.web")


class Outbox:
    """Queue of messages to the page. A newer message replaces one with the same key.

    Keeps the latest messages sent, to resend those that were lost with a connection.
    """

    def __init__(self) -> None:
        self._queue: OrderedDict[str, str] = OrderedDict()
        self._queued_chars = 0
        self._has_messages, self._is_idle = asyncio.Event(), asyncio.Event()
        self._numbers = count()
        self.has_overflowed = False
        #: Number of messages sent; the latest of them, by key, with their numbers from 1.
        self._sent = 0
        self._kept: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._kept_chars = 0
        #: Number of the last message that is no longer kept, unless a newer one replaced it.
        self._forgotten = 0

    def put(self, message: Shape, key: str | None) -> None:
        if len(self._queue) >= MAX_QUEUED or self._queued_chars > MAX_QUEUED_CHARS:
            self.has_overflowed = True
            self._queue.clear()
            self._queued_chars = 0
        key, text = key or f"#{next(self._numbers)}", message.model_dump_json()
        self._queued_chars += len(text) - len(self._queue.get(key, ""))
        self._queue[key] = text
        self._has_messages.set()

    async def room(self) -> None:
        """Wait until the page has received most of the queue."""
        while self._queued_chars > BUSY_CHARS:
            self._is_idle.clear()
            await self._is_idle.wait()

    async def get(self) -> str:
        while not self._queue:
            self._has_messages.clear()
            await self._has_messages.wait()
        key, text = self._queue.popitem(last=False)
        self._queued_chars -= len(text)
        if self._queued_chars <= BUSY_CHARS:
            self._is_idle.set()
        self._sent += 1
        self._forget(key)
        self._kept[key] = (self._sent, text)
        self._kept_chars += len(text)
        while len(self._kept) > MAX_KEPT or self._kept_chars > MAX_KEPT_CHARS:
            self._forgotten = self._forget(next(iter(self._kept)))
        return text

    def _forget(self, key: str) -> int:
        number, text = self._kept.pop(key, (0, ""))
        self._kept_chars -= len(text)
        return number

    def repeat(self, received: int | None) -> bool:
        """Put the sent messages that the page hasn't received at the front of the queue.

        `received`: their number; None: all. Returns whether none is lost.
        """
        if received is None:
            received = self._sent
        if self.has_overflowed or not self._forgotten <= received <= self._sent:
            return False
        lost = [(key, text) for key, (n, text) in self._kept.items() if n > received]
        for key, text in reversed(lost):
            self._forget(key)
            if key not in self._queue:  # else a newer message replaces it
                self._queue[key] = text
                self._queue.move_to_end(key, last=False)
                self._queued_chars += len(text)
        self._sent = received
        self._has_messages.set()
        return True


class Session:
    """The state of a page, which can reconnect within SESSION_TTL_S."""

    def __init__(self, hub: Hub) -> None:
        self.key = secrets.token_urlsafe(16)
        self._hub = hub
        self._outbox = Outbox()
        self._socket: WebSocket | None = None
        self._sender: asyncio.Future[None] | None = None
        self._closings: set[asyncio.Task[None]] = set()
        #: Number of the last request received.
        self._received = 0
        self._requests: set[asyncio.Task[None]] = set()
        self.disconnected_at: float | None = None
        self._watches: dict[int, asyncio.Task[None]] = {}
        self.analysis = Analysis(
            hub.models,
            hub.pool,
            hub.preparation,
            hub.thread_budget,
            self.send,
            MEMORY_MB if hub.page_count < FULL_MEMORY_PAGES else SMALL_MEMORY_MB,
        )
        self.mates = Mates(hub.mate_pool)

    def send(self, message: Shape, key: str | None = None) -> None:
        self._outbox.put(message, key)

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    def can_resume(self, received: int | None) -> bool:
        """Prepare to continue after the messages that the page has received, if none is lost."""
        return self._outbox.repeat(received)

    async def serve(self, socket: WebSocket, resumed: bool) -> int:
        """Serve the page until it disconnects; return the close code."""
        if self._sender is not None:
            self._sender.cancel()
        if self._socket is not None:
            # The page has reconnected. Closing a dead connection takes long.
            closing = asyncio.ensure_future(_close(self._socket, 4000))
            self._closings.add(closing)
            closing.add_done_callback(self._closings.discard)
        self._socket, self.disconnected_at = socket, None
        sender = asyncio.ensure_future(self._send_messages(socket, self._welcome(resumed)))
        self._sender = sender
        try:
            while True:
                text = await socket.receive_text()
                self._handle(text)
        except WebSocketDisconnect as disconnect:
            return disconnect.code
        except (RuntimeError, KeyError):  # closed by the server, or a binary message
            return 1011
        finally:
            sender.cancel()
            if self._socket is socket:
                self._socket, self.disconnected_at = None, time.monotonic()

    async def _send_messages(self, socket: WebSocket, first: protocol.Welcome) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
            await socket.send_text(first.model_dump_json())
            while not self._outbox.has_overflowed:
                await socket.send_text(await self._outbox.get())
            await socket.close(1013)

    def _welcome(self, resumed: bool) -> protocol.Welcome:
        model = self._hub.models.default()
        return protocol.Welcome(
            protocol=protocol.VERSION,
            version=__version__,
            session=self.key,
            resumed=resumed,
            received=self._received,
            default_engine=self._hub.models.default_engine,
            default_model=model,
            problem="" if model else "no network: start with --model",
            is_lan=self._hub.is_lan,
            games=self._hub.games.watched_by(self),
            studies=self._hub.studies.running(),
        )

    def _handle(self, text: str) -> None:
        if len(text) > MAX_MESSAGE_BYTES:
            self._refuse(None, "bad_message", "the message is too long")
            return
        try:
            request = protocol.CLIENT_MESSAGE.validate_json(text, strict=True)
        except ValidationError as error:
            self._refuse(_id_in(text), "bad_message", _format_error(error))
            return
        self._received = request.id
        if len(self._requests) >= MAX_REQUESTS:
            self._refuse(request.id, "too_many", f"{MAX_REQUESTS} requests are running")
            return
        task = asyncio.ensure_future(self._answer(request))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _answer(self, request: Any) -> None:
        try:
            await self._handlers[type(request)](self, request)
        except RefusedError as error:
            self._refuse(request.id, error.code, str(error))
        except InferenceError as error:
            self._refuse(request.id, "failed", str(error))
        except Exception:
            _log.exception("request %s failed", request.type)
            self._refuse(request.id, "failed", INTERNAL_ERROR)

    def _refuse(self, request: int | None, code: Any, message: str) -> None:
        self.send(protocol.Error(id=request, code=code, message=message))

    async def close(self) -> None:
        """Release the session's resources."""
        for task in [*self._requests, *self._watches.values()]:
            task.cancel()
        self._hub.games.leave(self)
        self._hub.studies.leave(self)
        if self._socket is not None and self._socket.client_state == WebSocketState.CONNECTED:
            await _close(self._socket, 1001)
        self.mates.stop()
        await self.analysis.close()

    # -- requests

    async def _analyse(self, request: protocol.Analyse) -> None:
        await self.analysis.start(request)

    async def _threats(self, request: protocol.Threats) -> None:
        self.send(await self.analysis.threats(request))

    async def _mate(self, request: protocol.AskMate) -> None:
        self.send(await self.mates.search(request))

    async def _stop(self, request: protocol.Stop) -> None:
        if request.what in ("threats", "all"):
            self.analysis.stop_short()
        if request.what in ("mate", "all"):
            self.mates.stop()
        if request.what in ("analysis", "all"):
            await self.analysis.stop()
        self._ok(request)

    async def _tree(self, request: protocol.TreeWalk) -> None:
        self.send(self.analysis.walk(request))

    async def _network(self, request: protocol.AskNetwork) -> None:
        for index, model in enumerate(request.models or [None]):
            self.send(
                await self._hub.in_thread(
                    self._hub.network.evaluate, request.id, request.position, model, index
                )
            )

    async def _planes(self, request: protocol.AskPlanes) -> None:
        self.send(await self._hub.in_thread(self._hub.network.planes, request))

    async def _attention(self, request: protocol.AskAttention) -> None:
        self.send(await self._hub.in_thread(self._hub.network.attention, request))

    async def _checkpoints(self, request: protocol.AskCheckpoints) -> None:
        network = self._hub.network
        entries = await self._hub.in_thread(network.checkpoints, request.run)
        for index, entry in enumerate(entries):
            self.send(
                await self._hub.in_thread(
                    network.evaluate_checkpoint, request, entry, index, len(entries)
                )
            )
        self._ok(request)

    async def _study(self, request: protocol.Study) -> None:
        self._hub.studies.start(request, self, self.send)

    async def _study_follow(self, request: protocol.FollowStudy) -> None:
        self._hub.studies.follow(request.study, request.id, self, self.send)

    async def _study_stop(self, request: protocol.StopStudy) -> None:
        self._hub.studies.stop(request.study)
        self._ok(request)

    async def _game_start(self, request: protocol.StartGame) -> None:
        game = await self._hub.games.start(request)
        self._hub.games.leave(self, is_over=True)
        game.watch(self, request.id, self.send)

    async def _game_join(self, request: protocol.JoinGame) -> None:
        self._hub.games.get(request.game).watch(self, request.id, self.send)

    async def _game_move(self, request: protocol.GameMove) -> None:
        self._hub.games.get(request.game).move(request.move)
        self._ok(request)

    async def _game_action(self, request: protocol.GameAction) -> None:
        self._hub.games.get(request.game).act(request.action)
        self._ok(request)

    async def _hint(self, request: protocol.AskHint) -> None:
        board = self._hub.games.get(request.game).board
        if not board.legal_moves:
            raise RefusedError("not_possible", "the game is over")
        lines = await self.analysis.short_search(board, request.nodes, 3)
        self.send(protocol.Hint(id=request.id, game=request.game, lines=lines))

    async def _watch(self, request: protocol.Watch) -> None:
        path = self._hub.trainings.path(request.what, request.name)
        if len(self._watches) >= MAX_WATCHES:
            raise RefusedError("too_many", f"{MAX_WATCHES} logs are being watched")
        if old := self._watches.pop(request.id, None):
            old.cancel()
        self._watches[request.id] = asyncio.ensure_future(self._follow(request, Tail(path)))

    async def _follow(self, request: protocol.Watch, tail: Tail) -> None:
        """Send new log entries periodically."""
        is_first, was_running = True, False
        last: dict[str, Any] = {}
        skipped = request.since
        while True:
            first, entries = await self._hub.in_thread(tail.read)
            if first == 0 and not is_first and entries:
                skipped = 0  # the log was restarted
            if entries:
                last = entries[-1]
            running = is_alive(tail.path, last)
            new = entries[max(0, skipped - first) :]
            if is_first or new or running != was_running:
                since = first + len(entries) - len(new)
                for begin in range(0, max(len(new), 1), ENTRIES_PER_MESSAGE):
                    await self._outbox.room()
                    self.send(
                        protocol.Watched(
                            id=request.id,
                            what=request.what,
                            name=request.name,
                            since=since + begin,
                            entries=[
                                json_safe(entry)
                                for entry in new[begin : begin + ENTRIES_PER_MESSAGE]
                            ],
                            is_running=running,
                        )
                    )
            is_first, was_running = False, running
            await asyncio.sleep(WATCH_S)

    async def _unwatch(self, request: protocol.Unwatch) -> None:
        if task := self._watches.pop(request.watch, None):
            task.cancel()
        self._ok(request)

    async def _ping(self, request: protocol.Ping) -> None:
        self._ok(request)

    def _ok(self, request: protocol.Request) -> None:
        self.send(protocol.Ok(id=request.id))

    _handlers: ClassVar[dict[type, Callable[[Session, Any], Awaitable[None]]]] = {
        protocol.Analyse: _analyse,
        protocol.Threats: _threats,
        protocol.AskMate: _mate,
        protocol.Stop: _stop,
        protocol.TreeWalk: _tree,
        protocol.AskNetwork: _network,
        protocol.AskPlanes: _planes,
        protocol.AskAttention: _attention,
        protocol.AskCheckpoints: _checkpoints,
        protocol.Study: _study,
        protocol.FollowStudy: _study_follow,
        protocol.StopStudy: _study_stop,
        protocol.StartGame: _game_start,
        protocol.JoinGame: _game_join,
        protocol.GameMove: _game_move,
        protocol.GameAction: _game_action,
        protocol.AskHint: _hint,
        protocol.Watch: _watch,
        protocol.Unwatch: _unwatch,
        protocol.Ping: _ping,
    }


class Hub:
    """All sessions, and the state they share."""

    def __init__(
        self,
        models: Models,
        folders: Folders,
        library: Library,
        *,
        players: Sequence[str] = (),
        is_lan: bool = False,
    ) -> None:
        """`players`: specs of additional opponents. Raises PlayerSpecError."""
        self.models = models
        self.library = library
        self.is_lan = is_lan
        self.pool = ThreadPoolExecutor(THREADS, "page")
        self.preparation = ThreadPoolExecutor(PREPARATION_THREADS, "prepare")
        self.mate_pool = ThreadPoolExecutor(MATE_THREADS, "mate", initializer=lower_priority)
        self.thread_budget = ThreadBudget(models.threads)
        self.network = Network(models, folders)
        self.trainings = Trainings(folders)
        self.loops = Loops(folders)
        self.ladders = Ladders(folders)
        self.lab = LabPages(folders)
        self.opponents = Opponents(models, players, self.ladders)
        self.games = Games(library, self.opponents, self.pool)
        self.studies = Studies(models, library, self.pool, self.thread_budget)
        self._sessions: dict[str, Session] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._is_trim_scheduled = False

    @property
    def page_count(self) -> int:
        return len(self._sessions)

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run blocking work in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, *arguments)

    async def connect(self, socket: WebSocket, key: str, received: int | None = None) -> None:
        """Serve a page's connection until it ends."""
        session = self._sessions.get(key)
        if session is not None and not session.can_resume(received):
            await self._drop(session)
            session = None
        resumed = session is not None
        if session is None:
            await self._make_room()
            session = Session(self)
            self._sessions[session.key] = session
        if self._sweeper is None:
            self._sweeper = asyncio.ensure_future(self._sweep())
        code = await session.serve(socket, resumed)
        if code in _PAGE_CLOSED and not session.is_connected:
            await self._drop(session)

    async def _make_room(self) -> None:
        """End the sessions that have waited longest for their page: each has a search's memory."""
        waiting = sorted(
            (session.disconnected_at, key)
            for key, session in self._sessions.items()
            if session.disconnected_at is not None
        )
        for _, key in waiting[: max(0, len(waiting) - MAX_WAITING)]:
            # A busy search takes a while to end; the new page need not wait for one.
            ending = asyncio.ensure_future(self._drop(self._sessions.pop(key)))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
        if len(self._endings) > MAX_WAITING:
            await asyncio.wait(self._endings, return_when=asyncio.FIRST_COMPLETED)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SESSION_TTL_S / 12)
            now = time.monotonic()
            for session in list(self._sessions.values()):
                since = session.disconnected_at
                if since is not None and now - since > SESSION_TTL_S:
                    await self._drop(session)
            await self.games.sweep()

    async def _drop(self, session: Session) -> None:
        self._sessions.pop(session.key, None)
        await session.close()
        if not self._is_trim_scheduled:
            self._is_trim_scheduled = True
            asyncio.get_running_loop().call_later(TRIM_S, self.pool.submit, self._trim_memory)

    def _trim_memory(self) -> None:
        """Return freed memory to the system, as glibc would keep it."""
        self._is_trim_scheduled = False
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self.studies.close()
        await self.games.close()
        await asyncio.gather(*(self._drop(session) for session in list(self._sessions.values())))
        await asyncio.gather(*self._endings)
        for pool in (self.pool, self.preparation, self.mate_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.get_running_loop().run_in_executor(None, self.models.close)
        self.library.close()


async def _close(socket: WebSocket, code: int) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code)


def _id_in(text: str) -> int | None:
    """Return the id of an invalid message, if it has one."""
    from pydantic_core import from_json

    try:
        found = from_json(text)
        number = found.get("id") if isinstance(found, dict) else None
    except ValueError:
        return None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _format_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}"[:300] if where else str(first["msg"])[:300]
