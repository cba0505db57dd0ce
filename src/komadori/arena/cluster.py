"""A match's games on several machines."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from komadori.arena.game import Conditions, GameRecord
from komadori.arena.openings import Opening
from komadori.arena.workers import NO_FILES, Files, Job, PlayerSource, ProcessGameRunner
from komadori.cluster import Fleet
from komadori.cluster.fleet import AHEAD
from komadori.cpus import available_threads


class MatchWorker:
    """Plays games in one process per thread (a `cluster.Worker`).

    job: the players' specifications, the fingerprints of their files on the head (`portable`; empty
    if unknown), and the conditions. items: `Job`s. results: games. All JSON.
    """

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        """Raises PlayerSpecError if a player's files differ from the head's."""
        from komadori.players.fingerprint import check_same

        a, b = job["players"]
        self._sources: tuple[PlayerSource, PlayerSource] = (a, b)
        self._files = [check_same(*one) for one in zip((a, b), job["files"], strict=True)]
        self._conditions = Conditions(**job["conditions"])
        self._items: queue.Queue[Any] = queue.Queue()
        self._done: queue.Queue[tuple[Any, Any]] = queue.Queue()
        self._runners: list[ProcessGameRunner] = []
        self._threads_each = max(1, available_threads() // threads)
        for i in range(threads):
            threading.Thread(target=self._play, name=f"game runner {i}", daemon=True).start()

    def add(self, items: list[Any]) -> None:
        for item in items:
            self._items.put(item)

    def take(self) -> list[tuple[Any, Any]]:
        try:
            item, result = self._done.get(timeout=0.1)
        except queue.Empty:
            return []
        if isinstance(result, Exception):
            raise result
        return [(item, result)]

    def stop(self) -> None:
        for runner in self._runners:
            runner.abandon()

    def _play(self) -> None:
        item: Any = None
        try:
            item = self._items.get()
            with ProcessGameRunner(
                self._sources, self._conditions, self._threads_each, self._files
            ) as runner:
                self._runners.append(runner)
                while True:
                    record = runner.play(read_job(item), self._conditions)
                    self._done.put((item, record.to_json()))
                    item = self._items.get()
        except Exception as error:  # re-raised in `take`
            self._done.put((item, error))


def read_job(data: Mapping[str, Any]) -> Job:
    """Restore a job from its `dataclasses.asdict`."""
    opening = Opening(data["opening"]["sfen"], tuple(data["opening"]["moves"]))
    return Job(**{**data, "opening": opening, "options": tuple(data["options"])})


def run_jobs_on_cluster(
    address: str,
    sources: tuple[PlayerSource, PlayerSource],
    conditions: Conditions,
    jobs: Iterator[Job],
    concurrency: int | None = None,
    files: Files = NO_FILES,
) -> Generator[GameRecord, None, None]:
    """Like `workers.run_jobs`, on all machines of a Ray cluster.

    `concurrency`: games at once per machine; None for one per core.
    File paths in specifications must be valid on every machine. Games of a lost machine are
    played again on another one. Raises ClusterError, also if a machine has other files than
    `files` at these paths.
    """
    from komadori.players.fingerprint import portable

    if not all(isinstance(source, str) for source in sources):
        raise ValueError("players on other machines are given by specifications")
    job = {
        "players": list(sources),
        "files": [portable(one) for one in files],
        "conditions": asdict(conditions),
    }
    worker = "komadori.arena.cluster:MatchWorker"
    finished: set[int] = set()
    with Fleet(address, worker, job, threads=concurrency) as fleet:
        rest = iter(jobs)
        while True:
            while fleet.waiting < AHEAD * fleet.threads and (one := next(rest, None)) is not None:
                fleet.add([asdict(one)])
            if not fleet.waiting:
                return
            for _, result in fleet.take(0.5):
                record = GameRecord.from_json(result)
                if record.index not in finished:
                    finished.add(record.index)
                    yield record
