"""Runs experiments: one run per variant and seed, each resumable, none repeated.

Several processes, also on several machines with a common folder, divide the runs: the process that
executes a run holds its lock.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from komadori import __version__
from komadori.json_file import read_table
from komadori.lab import claims, machine
from komadori.lab.experiment import Experiment, Variant
from komadori.lab.learner import Job, Learner, Progress
from komadori.lab.results import Record, Store
from komadori.lab.size import LabError, Size
from komadori.polling import pause
from komadori.training import Part, Samples

#: Seconds between polls for runs finished by other processes.
WAIT_S = 2.0


@dataclass(frozen=True)
class Task:
    """One run of an experiment."""

    experiment: Experiment
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        return f"{self.experiment.name}/{self.variant.name}, seed {self.seed}"

    @property
    def kind(self) -> Learner:
        """The learner of the run."""
        return self.experiment.kind


class Observer:
    """Receives progress; silent by default."""

    def begin(self, task: Task, done: int, left: int, seconds_left: float) -> None:
        """A run begins. done: runs finished. left: runs left, including this one."""

    def progress(self, progress: Progress) -> None:
        """The current run's progress."""

    def end(self, task: Task, record: Record) -> None:
        """A run has ended and its record is stored."""

    def wait(self, left: int) -> None:
        """All runs that are left wait for other processes."""


@dataclass
class Laboratory:
    """Executes the runs that have no record yet.

    runs: folder of the runs. device: of networks, as in `training.DeviceConfig`; "" for the
    experiment's. threads: CPU threads, 0 for all. files: names of the game files, for the report.
    """

    store: Store
    runs: Path
    size: Size
    samples: Samples | Part
    device: str = ""
    observer: Observer = Observer()  # noqa: RUF009 (silent, without state)
    stop: Callable[[], bool] = lambda: False
    threads: int = 0
    files: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """A digest of the samples; runs on other samples can't be compared."""
        samples = self.samples.samples if isinstance(self.samples, Part) else self.samples
        found = hashlib.sha256()
        for column in (samples.hcp, samples.move16, samples.score_cp, samples.result):
            found.update(np.ascontiguousarray(column).data)
        return found.hexdigest()[:16]

    @property
    def _has_candidates(self) -> bool:
        return isinstance(self.samples, Part) and self.samples.target_probs is not None

    def _check_data(self, experiments: Sequence[Experiment]) -> None:
        """Raises LabError if an experiment has runs of this size on other samples."""
        for experiment in experiments:
            size = experiment.kind.size(self.size)
            for record in claims.at_size(self.store.current(experiment), size):
                if record.facts.get("samples", self.digest) != self.digest:
                    games = ", ".join(record.facts.get("files", ())) or "other games"
                    raise LabError(
                        f"{self.store.path(experiment.name)}: {record.variant} learned from "
                        f"{games}, which aren't the games given now; give the same --data, or "
                        "other folders for --results and --runs"
                    )

    def _check_configs(
        self, experiments: Sequence[Experiment], seeds: Sequence[int] | None
    ) -> None:
        """Raises LabError that names the variant if one of the runs can't begin."""
        checked = set()
        for task in self.tasks(experiments, seeds):
            name = f"{task.experiment.name}/{task.variant.name}"
            if name not in checked:
                checked.add(name)
                config = self.config(task)
                try:
                    task.kind.check(config)
                except LabError as error:
                    raise LabError(f"{name}: {error}") from error
                if task.kind.needs_candidates(config) and not self._has_candidates:
                    raise LabError(f"{name} learns from candidates, which these samples don't have")

    def run(self, experiments: Sequence[Experiment], seeds: Sequence[int] | None = None) -> bool:
        """Execute every run without a record, with `claims.SEEDS` by default; returns whether all
        have one.

        Raises LabError if there are records of the same size from other samples, or if a network
        doesn't take its features.
        """
        self._check_data(experiments)
        self._check_configs(experiments, seeds)
        pace = _Pace()
        done = 0
        while (tasks := self.tasks(experiments, seeds)) and not self.stop():
            claimed = self._claim(tasks)
            if claimed is None:
                self.observer.wait(len(tasks))
                pause(WAIT_S, self.stop)
                continue
            task, claim = claimed
            try:
                if self._has_record(task):  # just finished by another process
                    continue
                left = sum(pace.expect(self._samples(t), t) for t in tasks)
                record = self._take_or_make(task, pace, done, len(tasks), left)
            finally:
                claim.release()
            if record is None:
                return False
            self.observer.end(task, record)
            done += 1
        return not self.tasks(experiments, seeds)

    def _take_or_make(
        self, task: Task, pace: _Pace, done: int, left: int, seconds_left: float
    ) -> Record | None:
        """Execute the task, or copy the record of an equal run; None if stopped."""
        twin = self.store.twin(task.experiment, task.variant, self.size, task.seed, self.digest)
        if twin is not None:  # another experiment has the same run
            self.store.add(task.experiment.name, twin)
            return twin
        self.observer.begin(task, done, left, seconds_left)
        started = time.monotonic()
        record = self._make(task)
        if record is not None:
            pace.took(task, record.samples, time.monotonic() - started)
            self.store.add(task.experiment.name, record)
        return record

    def _claim(self, tasks: Sequence[Task]) -> tuple[Task, FileLock] | None:
        """The first task that is ready and not being executed elsewhere, and its lock."""
        for task in tasks:
            first = self._first_task(task)
            if first is not None and not self._has_record(first):
                continue
            lock = FileLock(self._claim_file(task))
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            return task, lock
        return None

    def _claim_file(self, task: Task) -> Path:
        """The lock file of the task's run, the same for all tasks with equal runs."""
        experiment, digest = task.experiment, task.kind.digest(self.config(task))
        own = experiment.name if experiment.extras else "any"
        folder = self.runs / ".claims"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{own}-{digest}-{task.seed}.lock"

    def _has_record(self, task: Task) -> bool:
        found = self.store.find(task.experiment, task.variant, self.size, task.seed)
        return found is not None

    def tasks(self, experiments: Sequence[Experiment], seeds: Sequence[int] | None) -> list[Task]:
        """The runs without a record: all variants with the first seed, then the next seed."""
        wanted = (
            Task(experiment, variant, seed)
            for seed in seeds or claims.SEEDS
            for experiment in experiments
            for variant in experiment.variants
        )
        return [task for task in wanted if not self._has_record(task)]

    def _samples(self, task: Task) -> int:
        count = len(self.samples.hcp) if not isinstance(self.samples, Part) else len(self.samples)
        return min(self.size.positions or count, count)

    def config(self, task: Task) -> Any:
        """The task's config on this laboratory's device, of its learner's type."""
        config = task.experiment.config(task.variant, self.size, task.seed)
        return task.kind.on_device(config, self.device, self.threads)

    def folder(self, task: Task) -> Path:
        """The folder of the task's run."""
        config, parent = self.config(task), self.runs / task.experiment.name
        name = _file_name(task).partition("/")[2]
        for known in sorted(parent.glob(f"{name}-*")):
            if _has_config(known, task.kind, config):  # its digest may be of an older version
                return known
        return parent / f"{name}-{task.kind.digest(config)}"

    def _first_task(self, task: Task) -> Task | None:
        """The first variant's task, if this one plays against it."""
        first = task.experiment.variants[0]
        if not task.experiment.against_first or task.variant.name == first.name:
            return None
        return replace(task, variant=first)

    def _make(self, task: Task) -> Record | None:
        """Train and measure; None if stopped."""
        first = self._first_task(task)
        job = Job(
            name=task.name,
            config=self.config(task),
            folder=self.folder(task),
            samples=self.samples,
            extras=task.experiment.extras,
            first=self.folder(first) if first else None,
            progress=self.observer.progress,
            stop=self.stop,
        )
        outcome = task.kind.make(job)
        if outcome is None:
            return None
        return Record(
            variant=task.variant.name,
            seed=task.seed,
            size=task.kind.size(self.size),
            config=task.kind.to_table(job.config),
            measures=outcome.measures,
            samples=outcome.samples,
            seconds=round(outcome.seconds, 1),
            cpu_seconds=round(outcome.cpu_seconds, 1),
            cpu_samples=outcome.cpu_samples,
            diverged=outcome.diverged,
            facts={
                **outcome.facts,
                "komadori": __version__,
                "machine": machine.describe(),
                "samples": self.digest,
                "files": list(self.files),
            },
        )


def _file_name(task: Task) -> str:
    """EXPERIMENT/VARIANT-seedN, in characters allowed on every file system."""
    variant = re.sub(r"[^\w.+-]", "_", task.variant.name)
    return f"{task.experiment.name}/{variant}-seed{task.seed}"


def _has_config(folder: Path, kind: Learner, config: Any) -> bool:
    try:
        saved = read_table(folder / "config.json")
    except (OSError, ValueError):
        return False
    return kind.same(saved, config)


class _Pace:
    """Seconds per sample, by experiment and by learner."""

    def __init__(self) -> None:
        self._spent: dict[str, tuple[float, int]] = {}

    def took(self, task: Task, samples: int, seconds: float) -> None:
        for key in (task.experiment.name, task.experiment.learner):
            before = self._spent.get(key, (0.0, 0))
            self._spent[key] = before[0] + seconds, before[1] + samples

    def expect(self, samples: int, task: Task) -> float:
        """By runs of the experiment, else by those of its learner, else a guess."""
        for key in (task.experiment.name, task.experiment.learner):
            seconds, counted = self._spent.get(key, (0.0, 0))
            if counted:
                return samples * seconds / counted
        return samples * task.kind.guess_s
