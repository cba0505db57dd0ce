"""Background analysis of whole games; results are written to disk at once.

game -> positions -> PositionAnalyser or AlphaBetaAnalyser -> Journal on disk -> page
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
from pathlib import Path
from typing import Any

from komadori.analysis import AnalysedGame, Effort, Found, Journal, PositionAnalyser, from_comments
from komadori.analysis.alphabeta import AlphaBetaAnalyser, facts, make_searchers
from komadori.analysis.comments import without_scores
from komadori.analysis.journal import read_journal
from komadori.inference import InferenceError
from komadori.inference.protocol import Floats
from komadori.inference.shared import Lane, SharedEvaluator
from komadori.records import Game
from komadori.rules import BLACK, Board
from komadori.run_lock import InUseError
from komadori.search import StopEvent
from komadori.search.defaults import ANALYSIS_NODES
from komadori.web import protocol, shapes
from komadori.web.errors import INTERNAL_ERROR, RefusedError
from komadori.web.library import Entry, Library, entry_of, result_of
from komadori.web.models import Models
from komadori.web.page_searchers import NICENESS, ThreadBudget
from komadori.web.positions import COLOR_NAMES, read_position
from komadori.web.protocol import GameProgress
from komadori.web.shapes import Shape
from komadori.web.uploads import recorded_game
from komadori.wording import reason_of

#: Maximum number of concurrently running studies; others wait.
MAX_RUNNING = 2
#: Maximum number of concurrent alpha-beta searches of a study, each with its own hash table.
MAX_SEARCHERS = 16
#: Maximum number of waiting or running studies.
MAX_STUDIES = 50
#: Maximum number of positions of a study.
MAX_POSITIONS = 100_000
#: Interval of progress updates in seconds.
INTERVAL_S = 0.15

Send = Callable[[Shape, str | None], None]


class _StoppedError(Exception):
    """Raised in a stopped study, while it waits or searches."""


class _StoppableLane(Lane):
    """A lane whose first `wait` after `stop` is set raises _StoppedError."""

    def __init__(self, shared: SharedEvaluator, stop: threading.Event) -> None:
        super().__init__(shared)
        self._stop = stop
        self._has_raised = False

    def wait(self, slot: int) -> tuple[Floats, Floats]:
        if self._stop.is_set() and not self._has_raised:
            self._has_raised = True
            super().wait(slot)
            raise _StoppedError
        return super().wait(slot)


@dataclass
class _StudiedGame:
    number: int
    game: Game
    keys: list[str]
    """See `position_keys`."""
    journal: Journal
    remaining: int = 0
    """Number of positions without a result."""


@dataclass
class Study:
    """A request to analyse games, kept for a while after it ends."""

    key: str
    request: protocol.Study
    games: list[_StudiedGame] = field(default_factory=list)
    requested: list[_StudiedGame] = field(default_factory=list)
    """The games in the order of the request; `games` without duplicates."""
    state: str = "running"
    message: str = ""
    stop: StopEvent = field(default_factory=StopEvent)
    found: list[shapes.Found] = field(default_factory=list)
    mistakes: list[shapes.Mistake] = field(default_factory=list)
    total: int = 0
    reused: int = 0
    """Number of results from earlier studies."""
    started_at: float = field(default_factory=time.monotonic)
    followers: dict[object, _Follower] = field(default_factory=dict)

    def progress(self, request: int, sent: int, sent_mistakes: int) -> protocol.StudyProgress:
        """Return an update with the results and mistakes after those already sent."""
        done = len(self.found)
        searched = done - self.reused
        left_s = None
        if searched > 0:
            left_s = (time.monotonic() - self.started_at) / searched * (self.total - done)
        return protocol.StudyProgress(
            id=request,
            study=self.key,
            state=self.state,  # type: ignore[arg-type]
            message=self.message,
            games=[
                GameProgress(
                    game=studied.number,
                    black=studied.game.black,
                    white=studied.game.white,
                    plies=len(studied.game),
                    done=len(studied.keys) - studied.remaining,
                )
                for studied in self.requested
            ],
            done=done,
            total=self.total,
            left_s=left_s if self.state == "running" else 0.0,
            found=self.found[sent:],
            mistakes=self.mistakes[sent_mistakes:],
        )


@dataclass(frozen=True)
class _StudyEngine:
    """The engine of a study."""

    name: str
    """Id of the network, or "alphabeta"."""
    facts: Mapping[str, Any]
    """Identity of the engine; stored results are valid only for it."""
    analyser: PositionAnalyser | AlphaBetaAnalyser


@dataclass
class _Follower:
    request: int
    send: Send
    sent: int = 0
    sent_mistakes: int = 0


class Studies:
    """All studies of the server. Everything but the search runs in the event loop."""

    def __init__(
        self,
        models: Models,
        library: Library,
        pool: ThreadPoolExecutor,
        budget: ThreadBudget,
    ) -> None:
        self._models = models
        self._library = library
        self._pool = pool
        self._budget = budget
        self._studies: dict[str, Study] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(MAX_RUNNING)
        self._numbers = count(1)
        self._written: set[Path] = set()
        """Journals that a study writes to."""
        self._written_changed = threading.Condition()

    def running(self) -> list[str]:
        return [key for key, study in self._studies.items() if study.state == "running"]

    def start(self, request: protocol.Study, watcher: object, send: Send) -> Study:
        """Start a study with `watcher` as a follower. Raises RefusedError."""
        if request.nodes is not None and request.seconds is not None:
            raise RefusedError("not_possible", "nodes or seconds, not both")
        if len(self.running()) >= MAX_STUDIES:
            raise RefusedError("too_many", f"{MAX_STUDIES} studies are running")
        if self._models.resolve_engine(request.engine, request.model) == "model":
            self._models.find(request.model)
        study = Study(f"s{next(self._numbers)}", request)
        self._studies[study.key] = study
        self.follow(study.key, request.id, watcher, send, send_now=False)
        task = asyncio.ensure_future(self._run(study))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return study

    def follow(
        self, key: str, request: int, watcher: object, send: Send, *, send_now: bool = True
    ) -> None:
        """Send a study's results so far, then updates. Raises RefusedError."""
        study = self._get(key)
        study.followers[watcher] = _Follower(request, send)
        if send_now:
            self._broadcast(study)

    def _get(self, key: str) -> Study:
        study = self._studies.get(key)
        if study is None:
            raise RefusedError("unknown_name", f"no study {key!r}")
        return study

    def stop(self, key: str) -> None:
        """Stop a study; its results are kept. Raises RefusedError."""
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

    # -- a study

    async def _run(self, study: Study) -> None:
        loop = asyncio.get_running_loop()
        updates = asyncio.ensure_future(self._send_updates(study))
        try:
            async with self._slots:
                await loop.run_in_executor(self._pool, self._search, study)
            study.state = "stopped" if study.stop.is_set() else "done"
        except (RefusedError, InferenceError, InUseError, ValueError, OSError) as error:
            study.state, study.message = "failed", reason_of(error)
        except BaseException:
            study.state, study.message = "failed", INTERNAL_ERROR
            raise
        finally:
            updates.cancel()
            if 0 < study.total == len(study.found) and study.state == "stopped":
                study.state = "done"
            self._broadcast(study)
            self._forget_finished()

    def _forget_finished(self) -> None:
        """Forget all but the newest finished studies, which returning pages may still follow."""
        ended = [key for key, study in self._studies.items() if study.state != "running"]
        for key in ended[:-20]:
            del self._studies[key]

    async def _send_updates(self, study: Study) -> None:
        sent = (-1, -1, -1)
        while True:
            now = (study.total, len(study.found), len(study.mistakes))
            if now != sent:
                self._broadcast(study)
                sent = now
            await asyncio.sleep(INTERVAL_S)

    def _broadcast(self, study: Study) -> None:
        for follower in study.followers.values():
            message = study.progress(follower.request, follower.sent, follower.sent_mistakes)
            follower.sent += len(message.found)
            follower.sent_mistakes += len(message.mistakes)
            follower.send(message, None)

    def _search(self, study: Study) -> None:
        """Analyse the games of a study, in a thread of its pool."""
        request = study.request
        name = self._models.resolve_engine(request.engine, request.model)
        effort = (
            Effort(None, request.seconds)
            if request.seconds is not None
            else Effort(request.nodes or ANALYSIS_NODES[name])
        )
        lease = self._lease_alphabeta if name == "alphabeta" else self._lease_network
        with (
            contextlib.suppress(_StoppedError),
            lease(study, effort) as engine,
            contextlib.ExitStack() as journals,
        ):
            settings = {**engine.facts, "effort": str(effort), "lines": request.lines}
            weight = float(effort.nodes or (effort.seconds or 0) * 1e6)
            numbers: list[int] = []
            read: dict[int, tuple[Game, list[str], Path]] = {}
            for number, entry in self._entries(request.games):
                numbers.append(number)
                if number in read:
                    continue
                game = entry.with_comments()
                keys = position_keys(game)
                path = self._library.register_study(
                    number,
                    settings,
                    model=engine.name,
                    effort=str(effort),
                    weight=weight,
                    done=0,
                    total=len(keys),
                )
                read[number] = game, keys, path
            journals.enter_context(self._sole_writer({p for *_, p in read.values()}, study.stop))
            games: dict[int, _StudiedGame] = {}
            for number in numbers:
                if number not in games:
                    game, keys, path = read[number]
                    journal = journals.enter_context(Journal(path, settings))
                    games[number] = _StudiedGame(number, game, keys, journal, len(keys))
                    study.games.append(games[number])
                study.requested.append(games[number])
            study.total = sum(len(studied.keys) for studied in study.games)
            if study.total > MAX_POSITIONS:
                raise RefusedError("too_many", f"more than {MAX_POSITIONS:,} positions")
            occurrences: dict[str, list[tuple[_StudiedGame, int]]] = {}
            known: dict[str, Found] = {}
            for studied in study.games:
                known |= studied.journal.known
                for ply, key in enumerate(studied.keys):
                    occurrences.setdefault(key, []).append((studied, ply))
            for key in occurrences.keys() & known.keys():
                self._add_result(study, key, known[key], occurrences[key])
            study.reused = len(study.found)
            study.started_at = time.monotonic()
            try:
                for key, found in engine.analyser.analyse(
                    _positions(study.games, set(occurrences) - set(known))
                ):
                    self._add_result(study, key, found, occurrences[key])
            finally:
                for studied in study.games:
                    with _unless_deleted():
                        self._library.register_study(
                            studied.number,
                            settings,
                            model=engine.name,
                            effort=str(effort),
                            weight=weight,
                            done=len(studied.keys) - studied.remaining,
                            total=len(studied.keys),
                        )

    @contextlib.contextmanager
    def _sole_writer(self, journals: set[Path], stop: threading.Event) -> Iterator[None]:
        """Wait until no other study of this server writes to these journals; the results of that
        one are then reused. Raises _StoppedError.
        """
        with self._written_changed:
            while not self._written_changed.wait_for(
                lambda: journals.isdisjoint(self._written), timeout=INTERVAL_S
            ):
                if stop.is_set():
                    raise _StoppedError
            self._written |= journals
        try:
            yield
        finally:
            with self._written_changed:
                self._written -= journals
                self._written_changed.notify_all()

    @contextlib.contextmanager
    def _lease_network(self, study: Study, effort: Effort) -> Iterator[_StudyEngine]:
        request = study.request
        with self._models.lease(request.model) as engine:
            lane = _StoppableLane(engine.shared, study.stop)
            try:
                options = engine.search_options(multipv=request.lines)
                yield _StudyEngine(
                    engine.model.id,
                    {**engine.facts, "options": engine.options},
                    PositionAnalyser(lane, effort, options),
                )
            finally:
                lane.close()

    @contextlib.contextmanager
    def _lease_alphabeta(self, study: Study, effort: Effort) -> Iterator[_StudyEngine]:
        searchers = make_searchers(
            min(self._models.threads, MAX_SEARCHERS),
            niceness=NICENESS,
            turns=self._budget.turns,
        )
        try:
            analyser = AlphaBetaAnalyser(
                searchers, effort, lines=study.request.lines, stop=study.stop
            )
            yield _StudyEngine("alphabeta", facts(), analyser)
        finally:
            for searcher in searchers:
                searcher.close()

    def _entries(self, games: Sequence[shapes.StudyGame]) -> Iterator[tuple[int, Entry]]:
        """Yield the requested games with their numbers; games of the page are added first."""
        for item in games:
            if item.game is not None and item.position is None:
                number, entry = item.game, self._library.get(item.game)
            else:
                board = read_position(item.position or "startpos")
                winner, end = result_of(item.end, board)
                entry = Entry(
                    sfen=board.root().sfen(),
                    moves=[move.usi() for move in board.moves],
                    source="studied",
                    title=item.headers.get("event", ""),
                    black=item.black,
                    white=item.white,
                    winner=item.winner if item.winner != "none" else winner,
                    end=end,
                    headers=item.headers,
                    comments=item.comments,
                )
                entry.started = entry.to_game().date
                read = recorded_game(item.record, entry.moves)
                if read is not None:
                    entry.record = item.record
                    entry.times_ms = entry_of(read, "studied").times_ms
                number = self._library.add_once(entry, item.game)
            yield number, entry

    def _add_result(
        self, study: Study, key: str, found: Found, occurrences: list[tuple[_StudiedGame, int]]
    ) -> None:
        """Store a position's result for each of its occurrences in the games."""
        for studied, ply in occurrences:
            if key not in studied.journal.known:
                studied.journal.add(key, found)
            studied.remaining -= 1
            study.found.append(found_shape(studied.number, ply, studied.keys[ply], found))
            if not studied.remaining:
                analysed = AnalysedGame(
                    studied.game, [studied.journal.known[k] for k in studied.keys]
                )
                study.mistakes.extend(mistakes_of(studied.number, analysed))


@contextlib.contextmanager
def _unless_deleted() -> Iterator[None]:
    """Ignore that a page has deleted the game."""
    try:
        yield
    except RefusedError as error:
        if error.code != "unknown_name":
            raise


def position_keys(game: Game) -> list[str]:
    """Return the SFENs of all positions, without move numbers."""
    boards = [board.sfen() for board, _ in game.moving_board()]
    return [sfen.rpartition(" ")[0] for sfen in (*boards, game.final_board().sfen())]


def _positions(games: Sequence[_StudiedGame], pending: set[str]) -> Iterator[tuple[str, Board]]:
    """Yield the pending positions as `komadori analyse` does: each once, without history, the last
    of each game first.
    """
    for studied in games:
        for key in reversed(studied.keys):
            if key in pending:
                pending.remove(key)
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


def recorded_analysis(game: Game, *, with_scores: bool = True) -> dict[str, Any]:
    """Return the fields of `RecordedAnalysis`. Without `with_scores`, scores outside comments
    count only beside an analysis in comments."""
    return _recorded_line(game, with_scores) | {"variations": _recorded_variations(game)}


def _recorded_variations(game: Game) -> list[dict[str, Any]]:
    lines = [(0, 0, game)]
    for number, (_, _, line) in enumerate(lines):  # grows while it is read
        lines += [(number, ply, one) for ply, some in line.variations.items() for one in some]
    variations = [
        _recorded_line(line, with_scores=True, begin=1)  # its first position is the parent's
        | {"parent": parent, "ply": ply, "moves": line.usi_moves()}
        for parent, ply, line in lines[1:]
    ]
    return variations if any(one["texts"] for one in variations) else []


def _recorded_line(game: Game, with_scores: bool, begin: int = 0) -> dict[str, Any]:
    texts = {
        ply: text
        for ply, comment in game.comments.items()
        if ply >= begin and (text := without_scores(comment)) != comment
    }
    analysed = from_comments(game) if with_scores or texts else None
    if analysed is None:
        return {"analysis": [], "texts": texts}
    keys = position_keys(game)
    shown = []
    for ply, found in enumerate(analysed.found):
        if found is not None and ply >= begin:
            shown.append(found_shape(0, ply, keys[ply], found))
            texts.setdefault(ply, game.comments.get(ply, ""))
    return {"analysis": shown, "texts": texts}


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
class StoredAnalysis:
    """The stored analysis of a game of the library."""

    keys: list[str]
    analysed: AnalysedGame
    model: str
    effort: str

    @property
    def done(self) -> int:
        return sum(found is not None for found in self.analysed.found)


def load_analysis(library: Library, number: int) -> StoredAnalysis | None:
    """Load a game's best analysis; None if there is none. Raises RefusedError."""
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
    analysed = AnalysedGame(game, [known.get(key) for key in keys])
    return StoredAnalysis(keys, analysed, model, effort)
