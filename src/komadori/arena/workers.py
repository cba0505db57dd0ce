"""Play games in this thread, in threads, or in worker processes.

A worker process exchanges JSON lines over its pipes: one job in, one game out. Nothing is pickled
and the caller's main module isn't imported again. A worker whose input ends during a game has lost
its parent and exits at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from komadori.arena.game import Conditions, GameRecord, play_game
from komadori.arena.openings import Opening
from komadori.cpus import THREADS_VARIABLE, available_threads
from komadori.json_file import dump_json
from komadori.usi.client import EngineError
from komadori.wording import names_no_file, no_such_file

if TYPE_CHECKING:
    from komadori.players import Player, Tunable

#: A specification, or a function that builds a player.
PlayerSource: TypeAlias = "str | Callable[[], Player]"


#: The fingerprints of two players' files (`players.fingerprint`); empty if unknown.
Files: TypeAlias = Sequence[Mapping[str, str]]
NO_FILES: Files = ({}, {})


class WorkerError(RuntimeError):
    """A worker process ended or failed. The message contains its last output."""


@dataclass(frozen=True)
class Job:
    """A game to play; `first_is_black`: whether A has Black."""

    index: int
    opening_index: int
    opening: Opening
    first_is_black: bool
    seed: int
    options: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    """Options of A and B to set before the game; they stay set."""


def run_jobs(
    sources: tuple[PlayerSource, PlayerSource],
    conditions: Conditions,
    jobs: Iterable[Job],
    concurrency: int,
    files: Files = NO_FILES,
) -> Generator[GameRecord, None, None]:
    """Play the jobs and yield each game as it finishes. Closing the iterator ends all work.

    A job is taken from `jobs` only when a worker is free, one at a time, so `jobs` may depend on
    the games finished so far. `files`: fingerprints of the players' files, if known; then loading a
    player from others raises PlayerSpecError.
    """
    if concurrency == 1:
        with GameRunner(sources, files) as runner:
            for job in jobs:
                yield runner.play(job, conditions)
        return
    if all(isinstance(source, str) for source in sources):
        threads = max(1, available_threads() // concurrency)
        open_runner: Callable[[], Any] = partial(
            ProcessGameRunner, sources, conditions, threads, files
        )
    else:
        open_runner = partial(GameRunner, sources, files)
    count = min(concurrency, len(jobs)) if isinstance(jobs, Sized) else concurrency
    yield from _in_threads(open_runner, conditions, iter(jobs), count)


def _in_threads(
    open_runner: Callable[[], Any], conditions: Conditions, jobs: Iterator[Job], count: int
) -> Iterator[GameRecord]:
    finished: queue.SimpleQueue[GameRecord | BaseException | None] = queue.SimpleQueue()
    is_over = threading.Event()
    jobs_lock = threading.Lock()
    runners: list[Any] = []

    def next_job() -> Job | None:
        with jobs_lock:
            return None if is_over.is_set() else next(jobs, None)

    def work() -> None:
        try:
            if (job := next_job()) is None:
                return
            with open_runner() as runner:
                runners.append(runner)
                if is_over.is_set():  # since before it was in the list
                    runner.abandon()
                while job is not None:
                    finished.put(runner.play(job, conditions))
                    job = next_job()
        except BaseException as error:
            finished.put(error)
        finally:
            finished.put(None)

    threads = [
        threading.Thread(target=work, name=f"game runner {i}", daemon=True) for i in range(count)
    ]
    for thread in threads:
        thread.start()
    working = count
    try:
        while working:
            record = finished.get()
            if record is None:
                working -= 1
            elif isinstance(record, BaseException):
                raise record
            else:
                yield record
    finally:
        is_over.set()
        for runner in runners:
            runner.abandon()
        for thread in threads:
            thread.join()


class GameRunner:
    """Plays games between two players in this process."""

    def __init__(self, sources: tuple[PlayerSource, PlayerSource], files: Files = NO_FILES) -> None:
        self._sources, self._files = sources, files
        self._players: list[Player | None] = [None, None]

    def __enter__(self) -> GameRunner:
        return self

    def __exit__(self, *_: object) -> None:
        for i in range(2):
            self._close_player(i)

    def abandon(self) -> None:
        """Do nothing: a running game finishes, since a thread can't be killed."""

    def _close_player(self, i: int) -> None:
        player, self._players[i] = self._players[i], None
        if player is not None:
            player.close()

    def _player(self, i: int) -> Player:
        from komadori.players import make
        from komadori.players.fingerprint import check_unchanged

        player = self._players[i]
        if player is None:
            source = self._sources[i]
            player = make(source) if isinstance(source, str) else _built(source)
            self._players[i] = player
            if isinstance(source, str) and self._files[i]:
                check_unchanged(source, self._files[i])
        return player

    def play(self, job: Job, conditions: Conditions) -> GameRecord:
        """Play one game; an engine that failed is restarted for the next."""
        for i, options in enumerate(job.options):
            if options:
                self._set_options(i, options)
        a, b = self._player(0), self._player(1)
        black, white = (a, b) if job.first_is_black else (b, a)
        record = play_game(
            black,
            white,
            job.opening,
            conditions,
            index=job.index,
            opening_index=job.opening_index,
            first_is_black=job.first_is_black,
            seed=job.seed,
        )
        if record.reason in ("engine_failure", "time"):
            for i in range(2):
                self._close_player(i)
        return record

    def _set_options(self, i: int, options: Mapping[str, str]) -> None:
        """Set a player's options; an engine that has died since the last game is restarted."""
        is_new = self._players[i] is None
        try:
            tunable(self._player(i)).set_options(options)
        except EngineError:
            self._close_player(i)
            if is_new:
                raise
            tunable(self._player(i)).set_options(options)


def _built(function: Callable[[], Player]) -> Player:
    """Return the player that a function builds. Raises TypeError for anything else."""
    player = function()
    needed = ("name", "new_game", "play", "close")
    if missing := ", ".join(name for name in needed if not hasattr(player, name)):
        raise TypeError(f"{type(player).__name__} is no player: {missing} missing")
    return player


def tunable(player: Player) -> Tunable:
    """Return a player whose options can change between games. Raises PlayerSpecError for others."""
    from komadori.players import PlayerSpecError, Tunable

    if not isinstance(player, Tunable):
        raise PlayerSpecError(f"{player.name} has no options that can change between games")
    return player


_MAIN = "import sys; from komadori.arena.workers import main; sys.exit(main())"


class ProcessGameRunner:
    """A `GameRunner` in a separate process."""

    def __init__(
        self,
        sources: tuple[PlayerSource, PlayerSource],
        conditions: Conditions,
        threads: int,
        files: Files = NO_FILES,
    ) -> None:
        """`threads`: default number of threads of a network."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={THREADS_VARIABLE: str(threads), **os.environ, "PYTHONUTF8": "1"},
            start_new_session=True,  # only the parent handles Ctrl-C
        )
        about = {"players": list(sources), "files": list(files), "conditions": asdict(conditions)}
        self._send(about)

    def __enter__(self) -> ProcessGameRunner:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def abandon(self) -> None:
        """Kill the process, which ends a running game; `reaper` kills its engines."""
        self._process.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(dump_json(message) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerError(_ending(self._process.poll())) from error

    def play(self, job: Job, conditions: Conditions) -> GameRecord:
        self._send(asdict(job))
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(_ending(self._process.wait(), job))
        answer = json.loads(line)
        if "error" in answer:
            missing = no_such_file("a player's file") if answer["is_missing"] else None
            raise WorkerError(answer["error"]) from missing
        return GameRecord.from_json(answer)


def _ending(status: int | None, job: Job | None = None) -> str:
    """Describe how a worker process ended: a crash by its signal, not by a negative number."""
    how = f"ended (status {status})"
    if status is not None and status < 0:
        try:
            how = f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            how = f"was ended by signal {-status}"
    return f"a worker process {how}" + (f" in game {job.index + 1:,}" if job else "")


def main() -> int:
    """Run the worker process: players and conditions on the first line, then jobs."""
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keep library output out of the results
    is_playing = threading.Event()
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines, is_playing), daemon=True).start()
    try:
        setup = json.loads(lines.get() or "")
        a, b = setup["players"]
        conditions = Conditions(**setup["conditions"])
        with GameRunner((a, b), setup["files"]) as runner:
            while line := lines.get():
                is_playing.set()
                data = json.loads(line)
                opening = Opening(data["opening"]["sfen"], tuple(data["opening"]["moves"]))
                options = tuple(data["options"])
                job = Job(**{**data, "opening": opening, "options": options})
                record = runner.play(job, conditions)
                is_playing.clear()
                print(dump_json(record.to_json()), file=sink, flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    except Exception as error:
        with contextlib.suppress(OSError):
            is_expected = isinstance(error, EngineError | ValueError | OSError)
            answer = {
                "error": str(error) if is_expected else f"{type(error).__name__}: {error}",
                "is_missing": names_no_file(error),
            }
            print(dump_json(answer), file=sink, flush=True)
        return 1
    return 0


def _listen(lines: queue.SimpleQueue[str | None], is_playing: threading.Event) -> None:
    """Forward the parent's lines; exit if the parent is gone."""
    for line in sys.stdin:
        lines.put(line)
    if is_playing.is_set():
        os._exit(1)
    lines.put(None)
