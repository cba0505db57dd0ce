"""Background analysis of whole games; results are written to disk at once.

game -> positions -> PositionAnalyser on a lane -> Journal beside the library -> page
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from komadori.analysis import AnalysedGame, Effort, Found, Journal, PositionAnalyser
from komadori.analysis.alphabeta import AlphaBetaAnalyser, facts, make_searchers
from komadori.analysis.journal import read_journal
from komadori.inference import InferenceError
from komadori.inference.protocol import Floats
from komadori.inference.shared import Lane, SharedEvaluator
from komadori.records import Game
from komadori.rules import BLACK, Board
from komadori.run_lock import InUseError
from komadori.search.defaults import ANALYSIS_NODES
from komadori.web import protocol, shapes
from komadori.web.errors import RefusedError
from komadori.web.library import Entry, Library, result_of
from komadori.web.models import Models
from komadori.web.positions import COLOR_NAMES, read_position
from komadori.web.protocol import GameProgress
from komadori.web.shapes import Shape

#: Maximum number of concurrent studies; others wait.
AT_ONCE = 2
#: Alpha-beta searches of a study at once, each with a table of its own.
MOST_SEARCHERS = 16
#: Maximum number of waiting or running studies.
MOST = 50
#: Maximum number of positions of a study.
MOST_POSITIONS = 100_000
#: Minimum interval of messages to a page.
INTERVAL_S = 0.15

Send = Callable[[Shape, str | None], None]


class _StoppedError(Exception):
    """Ends a study's search."""


class _StoppableLane(Lane):
    """A lane whose next batch ends its search once `stop` is set."""

    def __init__(self, shared: SharedEvaluator, stop: threading.Event) -> None:
        super().__init__(shared)
        self._stop = stop
        self._has_ended = False

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        if self._stop.is_set() and not self._has_ended:
            self._has_ended = True
            super().wait(slot)
            raise _StoppedError
        return super().wait(slot)


@dataclass
class _StudiedGame:
    number: int
    game: Game
    keys: list[str]
    """The position after each number of moves: its SFEN without the move number."""
    journal: Journal
    left: int = 0
    """Positions still to search."""
    is_told: bool = False


@dataclass
class Study:
    """A request to analyse games, kept for a while after it ends."""

    key: str
    request: protocol.Study
    games: list[_StudiedGame] = field(default_factory=list)
    wanted: list[_StudiedGame] = field(default_factory=list)
    """The requested games in their order; equal ones are one of `games`."""
    state: str = "running"
    message: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    found: list[shapes.Found] = field(default_factory=list)
    mistakes: list[shapes.Mistake] = field(default_factory=list)
    total: int = 0
    known_before: int = 0
    began: float = field(default_factory=time.monotonic)
    followers: dict[object, _Follower] = field(default_factory=dict)

    def progress(self, request: int, told: int, told_mistakes: int) -> protocol.StudyProgress:
        done = len(self.found)
        fresh = done - self.known_before
        left = None
        if fresh > 0:
            left = (time.monotonic() - self.began) / fresh * (self.total - done)
        return protocol.StudyProgress(
            id=request,
            study=self.key,
            state=self.state,  # type: ignore[arg-type]
            message=self.message,
            games=[
                GameProgress(
                    game=one.number,
                    black=one.game.black,
                    white=one.game.white,
                    plies=len(one.game),
                    done=len(one.keys) - one.left,
                )
                for one in self.wanted
            ],
            done=done,
            total=self.total,
            left_s=left if self.state == "running" else 0.0,
            found=self.found[told:],
            mistakes=self.mistakes[told_mistakes:],
        )


@dataclass(frozen=True)
class _Searching:
    """What searches a study's positions."""

    name: str
    """Id of the network, or alphabeta."""
    facts: Mapping[str, Any]
    """Results hold for these alone."""
    analyser: PositionAnalyser | AlphaBetaAnalyser


@dataclass
class _Follower:
    request: int
    send: Send
    told: int = 0
    told_mistakes: int = 0


class Studies:
    """All studies of the server. Everything but the search runs in the event loop."""

    def __init__(
        self,
        models: Models,
        library: Library,
        pool: ThreadPoolExecutor,
        background: ThreadPoolExecutor,
    ) -> None:
        """`background`: threads that step back behind those of `pool`."""
        self._models = models
        self._library = library
        self._pools = {"model": pool, "alphabeta": background}
        self._studies: dict[str, Study] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._numbers = count(1)

    def running(self) -> list[str]:
        return [key for key, study in self._studies.items() if study.state == "running"]

    def start(self, request: protocol.Study, watcher: object, send: Send) -> Study:
        """Start a study, which the watcher follows. Raises RefusedError."""
        if request.nodes is not None and request.seconds is not None:
            raise RefusedError("not_possible", "nodes or seconds, not both")
        if len(self.running()) >= MOST:
            raise RefusedError("too_many", f"{MOST} studies are under way")
        if self._models.engine_of(request.engine, request.model) == "model":
            self._models.find(request.model)
        study = Study(f"s{next(self._numbers)}", request)
        self._studies[study.key] = study
        self.follow(study.key, request.id, watcher, send, tell=False)
        task = asyncio.ensure_future(self._run(study))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return study

    def follow(
        self, key: str, request: int, watcher: object, send: Send, *, tell: bool = True
    ) -> None:
        """Send a study from its beginning, then its updates. Raises RefusedError."""
        study = self._get(key)
        study.followers[watcher] = _Follower(request, send)
        if tell:
            self._tell(study)

    def _get(self, key: str) -> Study:
        study = self._studies.get(key)
        if study is None:
            raise RefusedError("unknown_name", f"no study {key!r}")
        return study

    def stop(self, key: str) -> None:
        """Raises RefusedError."""
        self._get(key).stop.set()

    def leave(self, watcher: object) -> None:
        """Remove a watcher; its studies continue."""
        for study in self._studies.values():
            study.followers.pop(watcher, None)

    async def close(self) -> None:
        for study in self._studies.values():
            study.stop.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=0.7)

    # -- one study

    async def _run(self, study: Study) -> None:
        loop = asyncio.get_running_loop()
        teller = asyncio.ensure_future(self._tell_often(study))
        try:
            async with self._turns:
                engine = self._models.engine_of(study.request.engine, study.request.model)
                await loop.run_in_executor(self._pools[engine], self._search, study)
            study.state = "stopped" if study.stop.is_set() else "done"
        except (RefusedError, InferenceError, InUseError, ValueError, OSError) as error:
            study.state, study.message = "failed", str(error)
        except BaseException:
            study.state, study.message = "failed", "the server failed"
            raise
        finally:
            teller.cancel()
            if len(study.found) == study.total and study.state == "stopped":
                study.state = "done"
            self._tell(study)
            self._forget_old()

    def _forget_old(self) -> None:
        """Keep only the newest finished studies, for returning pages."""
        ended = [key for key, study in self._studies.items() if study.state != "running"]
        for key in ended[:-20]:
            del self._studies[key]

    async def _tell_often(self, study: Study) -> None:
        told = (-1, -1, -1)
        while True:
            now = (study.total, len(study.found), len(study.mistakes))
            if now != told:
                self._tell(study)
                told = now
            await asyncio.sleep(INTERVAL_S)

    def _tell(self, study: Study) -> None:
        for follower in study.followers.values():
            message = study.progress(follower.request, follower.told, follower.told_mistakes)
            follower.told += len(message.found)
            follower.told_mistakes += len(message.mistakes)
            follower.send(message, None)

    def _search(self, study: Study) -> None:
        """In a thread of the pool."""
        request = study.request
        name = self._models.engine_of(request.engine, request.model)
        effort = (
            Effort(None, request.seconds)
            if request.seconds is not None
            else Effort(request.nodes or ANALYSIS_NODES[name])
        )
        engine = self._alphabeta if name == "alphabeta" else self._network
        with engine(study, effort) as searching, contextlib.ExitStack() as journals:
            settings = {**searching.facts, "effort": str(effort), "lines": request.lines}
            weight = float(effort.nodes or (effort.seconds or 0) * 1e6)
            games: dict[int, _StudiedGame] = {}
            for number, entry in self._entries(request.games):
                if number in games:
                    study.wanted.append(games[number])
                    continue
                game = entry.with_comments()
                keys = position_keys(game)
                path = self._library.note_study(
                    number,
                    settings,
                    model=searching.name,
                    effort=str(effort),
                    weight=weight,
                    done=0,
                    total=len(keys),
                )
                journal = journals.enter_context(Journal(path, settings))
                games[number] = _StudiedGame(number, game, keys, journal, len(keys))
                study.games.append(games[number])
                study.wanted.append(games[number])
            study.total = sum(len(one.keys) for one in study.games)
            if study.total > MOST_POSITIONS:
                raise RefusedError("too_many", f"more than {MOST_POSITIONS:,} positions")
            waiting: dict[str, list[tuple[_StudiedGame, int]]] = {}
            known: dict[str, Found] = {}
            for one in study.games:
                known |= one.journal.known
                for ply, key in enumerate(one.keys):
                    waiting.setdefault(key, []).append((one, ply))
            for key in waiting.keys() & known.keys():
                self._take(study, key, known[key], waiting)
            study.known_before = len(study.found)
            study.began = time.monotonic()
            try:
                for key, found in searching.analyser.analyse(
                    _positions(study.games, set(waiting) - set(known))
                ):
                    self._take(study, key, found, waiting)
                    known[key] = found
            except _StoppedError:
                pass
            finally:
                for one in study.games:
                    self._library.note_study(
                        one.number,
                        settings,
                        model=searching.name,
                        effort=str(effort),
                        weight=weight,
                        done=len(one.keys) - one.left,
                        total=len(one.keys),
                    )

    @contextlib.contextmanager
    def _network(self, study: Study, effort: Effort) -> Iterator[_Searching]:
        request = study.request
        with self._models.lease(request.model) as engine:
            lane = _StoppableLane(engine.shared, study.stop)
            try:
                options = engine.search_options(multipv=request.lines)
                yield _Searching(
                    engine.model.id,
                    {**engine.facts, "options": engine.options},
                    PositionAnalyser(lane, effort, options),
                )
            finally:
                lane.close()

    @contextlib.contextmanager
    def _alphabeta(self, study: Study, effort: Effort) -> Iterator[_Searching]:
        searchers = make_searchers(min(self._models.threads, MOST_SEARCHERS))
        try:
            analyser = AlphaBetaAnalyser(
                searchers, effort, lines=study.request.lines, stop=study.stop
            )
            yield _Searching("alphabeta", facts(), analyser)
        finally:
            for searcher in searchers:
                searcher.close()

    def _entries(self, wanted: Sequence[shapes.StudyGame]) -> Iterator[tuple[int, Entry]]:
        for one in wanted:
            if one.game is not None:
                number, entry = one.game, self._library.get(one.game)
            else:
                board = read_position(one.position or "startpos")
                winner, end = result_of(one.end, board)
                entry = Entry(
                    sfen=board.root().sfen(),
                    moves=[move.usi() for move in board.moves],
                    source="studied",
                    black=one.black,
                    white=one.white,
                    winner=winner,
                    end=end,
                )
                number = self._library.add_once(entry)
            yield number, entry

    def _take(
        self,
        study: Study,
        key: str,
        found: Found,
        waiting: dict[str, list[tuple[_StudiedGame, int]]],
    ) -> None:
        """Store a position's result for every game that contains it."""
        for one, ply in waiting[key]:
            if key not in one.journal.known:
                one.journal.add(key, found)
            one.left -= 1
            study.found.append(found_shape(one.number, ply, one.keys[ply], found))
            if not one.left:
                analysed = AnalysedGame(one.game, [one.journal.known[k] for k in one.keys])
                study.mistakes.extend(mistakes_of(one.number, analysed))


def position_keys(game: Game) -> list[str]:
    """The position after each number of moves: its SFEN without the move number."""
    boards = [board.sfen() for board, _ in game.positions()]
    return [sfen.rpartition(" ")[0] for sfen in (*boards, game.final_board().sfen())]


def _positions(games: Sequence[_StudiedGame], wanted: set[str]) -> Iterator[tuple[str, Board]]:
    """As `komadori analyse` takes them: each once, from the end, without the moves before."""
    for one in games:
        for key in reversed(one.keys):
            if key in wanted:
                wanted.remove(key)
                yield key, Board(f"{key} 1")


def found_shape(game: int, ply: int, key: str, found: Found) -> shapes.Found:
    turn = 0 if key.split()[1] == "b" else 1
    return shapes.Found(
        game=game,
        ply=ply,
        turn=COLOR_NAMES[turn],
        win_rate=found.win_rate,
        black_win_rate=found.win_rate if turn == BLACK else 1 - found.win_rate,
        visits=found.visits,
        declares=found.declares,
        lines=[line_shape(line, rank) for rank, line in enumerate(found.lines, 1)],
    )


def line_shape(line: Any, rank: int = 1) -> shapes.Line:
    return shapes.Line(
        multipv=rank,
        win_rate=line.win_rate,
        score_cp=line.score_cp,
        mate_plies=line.mate_plies,
        visits=line.visits,
        depth=len(line.pv),
        pv=list(line.pv),
    )


def mistakes_of(game: int, analysed: AnalysedGame) -> list[shapes.Mistake]:
    return [
        shapes.Mistake(
            game=game,
            ply=mistake.ply,
            turn=COLOR_NAMES[mistake.turn],
            played=mistake.played.usi(),
            before=mistake.before,
            after=mistake.after,
            loss=mistake.loss,
            grade=mistake.grade,
            best=line_shape(mistake.best),
            reply=line_shape(mistake.reply) if mistake.reply else None,
        )
        for mistake in analysed.mistakes()
    ]


@dataclass
class StoredFound:
    """The stored analysis of a game of the library."""

    keys: list[str]
    analysed: AnalysedGame
    model: str
    effort: str

    @property
    def done(self) -> int:
        return sum(found is not None for found in self.analysed.found)


def stored(library: Library, number: int) -> StoredFound | None:
    """Return the results of a game's best study; None if there is none. Raises RefusedError."""
    game = library.get(number).with_comments()
    best = library.best_study(number)
    if best is None:
        return None
    model, effort, path = best
    try:
        known = read_journal(path)
    except OSError:
        return None
    keys = position_keys(game)
    analysed = AnalysedGame(game, [known.get(key) for key in keys], model)
    return StoredFound(keys, analysed, model, effort)
