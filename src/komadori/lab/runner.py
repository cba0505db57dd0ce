"""Runs the variants of experiments one after another, each resumable, none twice."""

from __future__ import annotations

import json
import math
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from komadori import __version__, training
from komadori.lab import claims, measures
from komadori.lab.experiment import Experiment, LabError, Size, Variant
from komadori.lab.results import Record, Store, is_same_run, run_digest
from komadori.training import Config, DivergedError, Part, Report, RunResult, Samples

#: What a sample costs at first, in seconds, before anything has been timed (13 layers of 64).
_FIRST_GUESS = 1 / 2000


@dataclass(frozen=True)
class Task:
    """One run that is to be made."""

    experiment: Experiment
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        return f"{self.experiment.name}/{self.variant.name}, seed {self.seed}"


class Observer:
    """What a display is told; the default is silent."""

    def begin(self, task: Task, done: int, left: int, seconds_left: float) -> None:
        """A run begins; `left` counts it."""

    def training(self, report: Report) -> None:
        """A step was logged."""

    def end(self, task: Task, record: Record) -> None:
        """A run has ended and its record is stored."""


@dataclass
class Laboratory:
    """runs: a folder for the runs' checkpoints. device: as `training.DeviceConfig`'s, "" for the
    experiment's own."""

    store: Store
    runs: Path
    size: Size
    samples: Samples | Part
    device: str = ""
    observer: Observer = Observer()  # noqa: RUF009 (silent, without state)
    stop: Callable[[], bool] = lambda: False

    def run(self, experiments: Sequence[Experiment], seeds: Sequence[int] | None = None) -> bool:
        """Make every run that has no record yet; True when all have one.

        Without `seeds` each variant runs with the first one, and the variants of a claim whose
        gap is small with the others of `claims.SEEDS` too, after the first runs of all.
        """
        pace = _Pace()
        done = 0
        while (tasks := self.tasks(experiments, seeds)) and not self.stop():
            task = tasks[0]
            twin = self.store.twin(task.experiment, task.variant, self.size, task.seed)
            if twin is not None:  # another experiment has made this very run
                self.store.add(task.experiment.name, twin)
                self.observer.end(task, twin)
                continue
            left = sum(pace.expect(self._samples(t), t) for t in tasks)
            self.observer.begin(task, done, len(tasks), left)
            began = time.monotonic()
            record = self._make(task)
            if record is None:
                return False
            pace.took(task, record.samples, time.monotonic() - began)
            self.store.add(task.experiment.name, record)
            self.observer.end(task, record)
            done += 1
        return not self.tasks(experiments, seeds)

    def tasks(self, experiments: Sequence[Experiment], seeds: Sequence[int] | None) -> list[Task]:
        """What is left to run, in order."""
        wanted = [
            Task(experiment, variant, seed)
            for experiment in experiments
            for seed in seeds or claims.SEEDS[:1]
            for variant in experiment.variants
        ]
        if not seeds:
            wanted += [task for experiment in experiments for task in self._more(experiment)]
        return [
            task
            for task in wanted
            if self.store.find(task.experiment, task.variant, self.size, task.seed) is None
        ]

    def _more(self, experiment: Experiment) -> list[Task]:
        """Further seeds of the variants whose gaps are small."""
        records = claims.at_size(self.store.records(experiment.name), self.size)
        names: set[str] = set()
        for claim in experiment.claims:
            names |= claims.needs_seeds(claim, records)
        return [
            Task(experiment, variant, seed)
            for seed in claims.SEEDS[1:]
            for variant in experiment.variants
            if variant.name in names
        ]

    def _samples(self, task: Task) -> int:
        count = len(self.samples.hcp) if not isinstance(self.samples, Part) else len(self.samples)
        return min(self.size.positions or count, count)

    def config(self, task: Task) -> Config:
        """The task's training config on this laboratory's device."""
        config = task.experiment.config(task.variant, self.size, task.seed)
        if self.device:
            config = replace(config, device=replace(config.device, device=self.device))
        return config

    def folder(self, task: Task) -> Path:
        """Where the task's run lies."""
        name = re.sub(r"[^\w.+-]", "_", task.variant.name)
        config, parent = self.config(task), self.runs / task.experiment.name
        for begun in sorted(parent.glob(f"{name}-seed{task.seed}-*")):
            if _has_config(begun, config):  # begun by an older komadori, maybe
                return begun
        return parent / f"{name}-seed{task.seed}-{run_digest(config)}"

    def _make(self, task: Task) -> Record | None:
        """Train and measure; None where `stop` ended it early."""
        config, folder = self.config(task), self.folder(task)
        resume = folder.exists() and training.latest(folder) is not None
        watch = _Watch(self.observer)
        diverged = None
        try:
            result = training.train(
                config,
                self.samples,
                None,
                folder,
                resume=resume,
                progress=watch,
                stop=self.stop,
            )
        except DivergedError as error:
            found = re.search(r"step (\d+)", str(error))
            diverged, result = int(found[1]) if found else 0, None
        if result is not None and not result.is_complete:
            return None
        history = training.read_log(folder)
        facts = next(entry for entry in history if entry["kind"] == "run")
        data = next(entry for entry in history if entry["kind"] == "data")
        found_measures = self._measures(task, result, history)
        train = [entry for entry in history if entry["kind"] == "train"]
        return Record(
            variant=task.variant.name,
            seed=task.seed,
            size=self.size,
            config=training.config_to_dict(config),
            measures=found_measures,
            samples=result.samples if result else (train[-1]["samples"] if train else 0),
            seconds=round(result.seconds if result else watch.seconds, 1),
            cpu_seconds=round(watch.cpu_seconds, 1),
            cpu_samples=watch.samples,
            diverged=diverged,
            facts={
                **{k: facts[k] for k in ("net", "parameters", "device_name", "dtype", "torch")},
                "eval_coef": facts["eval_coef"],
                "komadori": __version__,
                "machine": f"{platform.system()} {platform.machine()}",
                "train_positions": data["train_positions"],
                "test_positions": data["test_positions"],
                "data": data["train_fingerprint"],
            },
        )

    def _measures(
        self, task: Task, result: RunResult | None, history: list[dict[str, Any]]
    ) -> dict[str, float]:
        found = {}
        train = [entry for entry in history if entry["kind"] == "train"]
        last = [e["policy_loss"] for e in train[-max(1, len(train) // 10) :]]
        if last and all(value is not None for value in last):
            found["train_loss"] = sum(last) / len(last)
        if result is None:
            return found
        if result.test is None:
            raise LabError(f"{task.name}: no test positions")
        usual = {k: v for k, v in result.test.to_dict().items() if math.isfinite(v)}
        extra: dict[str, float] = {}
        for name in task.experiment.extras:
            extra |= measures.EXTRAS[name](result, self.samples)
        return {**found, **usual, **extra}


def _has_config(folder: Path, config: Config) -> bool:
    try:
        saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return is_same_run(saved, config)


class _Watch:
    """The processor time between the first and the last logged step of this process."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._first: tuple[float, int] | None = None
        self.cpu_seconds = 0.0
        self.samples = 0
        self.seconds = 0.0

    def __call__(self, report: Report) -> None:
        self.seconds = report.seconds
        if report.entry["kind"] == "train":
            now, samples = time.process_time(), report.entry["samples"]
            if self._first is None:
                self._first = now, samples
            self.cpu_seconds = now - self._first[0]
            self.samples = samples - self._first[1]
        self._observer.training(report)


class _Pace:
    """Seconds a sample, by experiment; the others are thought to be as the mean."""

    def __init__(self) -> None:
        self._spent: dict[str, tuple[float, int]] = {}

    def took(self, task: Task, samples: int, seconds: float) -> None:
        before = self._spent.get(task.experiment.name, (0.0, 0))
        self._spent[task.experiment.name] = before[0] + seconds, before[1] + samples

    def expect(self, samples: int, task: Task) -> float:
        own = self._spent.get(task.experiment.name)
        if own is None:
            seconds = sum(s for s, _ in self._spent.values())
            counted = sum(n for _, n in self._spent.values())
            own = (seconds, counted) if counted else (_FIRST_GUESS, 1)
        return samples * own[0] / max(own[1], 1)
