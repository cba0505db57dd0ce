"""Experiments of networks, trained by `komadori.training`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from komadori import training
from komadori.lab import measures
from komadori.lab.learner import Job, Outcome, Progress, Stopwatch
from komadori.lab.size import FULL_WIDTH, LabError, Size
from komadori.training import (
    Config,
    ConfigError,
    DivergedError,
    Part,
    Report,
    RunResult,
    Samples,
)
from komadori.training.encoder import interface_of
from komadori.training.setup import encoder_of, new_network


class NetworkLearner:
    """A `lab.learner.Learner`; configs are `training.Config`."""

    columns: tuple[str, ...] = ("train_loss", "policy_top1", "best_is_legal", "cpu_us", "time")
    picture = "policy_top1"
    headline: tuple[tuple[str, str], ...] = (
        ("policy", "policy_top1"),
        ("legal", "best_is_legal"),
        ("value", "value_accuracy"),
    )
    extras = tuple(measures.EXTRAS)
    against_first: tuple[str, ...] = ()
    guess_s = 1 / 2000  # 13 layers of 64

    def size(self, size: Size) -> Size:
        return size

    def config(
        self, table: Mapping[str, Any], size: Size, seed: int, *, scale: bool, name: str
    ) -> Config:
        whole = json.loads(json.dumps(table))
        data = {
            "test_fraction": 0.02,
            "test_limit": size.test_positions,
            "train_limit": size.positions,
        }
        loop = {
            "epochs": 1.0,
            "evaluate_every": 0,
            "checkpoint_every": 1000,
            "keep": 1,
            "tensorboard": False,
        }
        whole["seed"] = seed
        sections: dict[str, dict[str, Any]] = {"device": {}, "data": data, "loop": loop}
        for key, defaults in sections.items():
            section = whole.get(key, {})
            if not isinstance(section, dict):
                raise LabError(f"{name}: {key} must be a table, not {section!r}")
            whole[key] = {**defaults, **section}
        # Batch norm sees whole batches on any number of cores.
        whole["device"]["replicas"] = 1
        try:
            config = training.config_from_dict(whole, name)
        except ConfigError as error:
            raise LabError(str(error)) from error
        if scale:
            config = _scaled(config, size, name)
        try:
            interface_of(config.model.features, config.model.labels)
        except ConfigError as error:
            raise LabError(f"{name}: {error}") from error
        return config

    def check(self, config: Config) -> None:
        try:
            new_network(config, encoder_of(config), begin=False)
        except ConfigError as error:
            raise LabError(str(error)) from error

    def needs_candidates(self, config: Config) -> bool:
        return config.loss.policy_target == "visits"

    def against(self, config: Config, first: Config) -> Config:
        return config

    def on_device(self, config: Config, device: str, threads: int) -> Config:
        own = config.device
        placed = dataclasses.replace(
            own,
            device=device or own.device,
            threads=threads or own.threads,
        )
        return dataclasses.replace(config, device=placed)

    def to_table(self, config: Config) -> dict[str, Any]:
        return training.config_to_dict(config)

    def same(self, saved: Mapping[str, Any], config: Config) -> bool:
        try:
            other = training.config_from_dict(saved)
        except ConfigError:
            return False
        return _essence(other) == _essence(config)

    def digest(self, config: Config) -> str:
        text = json.dumps(training.config_to_dict(_essence(config)), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def make(self, job: Job) -> Outcome | None:
        resume = job.folder.exists() and training.newest_checkpoint(job.folder) is not None
        watch = _Watch(job)
        diverged = None
        try:
            result = training.train(
                job.config,
                _samples(job),
                None,
                job.folder,
                resume=resume,
                progress=watch,
                stop=job.stop,
                stop_test=job.stop,
            )
        except DivergedError as error:
            diverged, result = error.step, None
        if result is not None and not result.is_complete:
            return None
        history = training.read_log(job.folder)
        facts = next(entry for entry in history if entry["kind"] == "run")
        data = next(entry for entry in history if entry["kind"] == "data")
        train = [entry for entry in history if entry["kind"] == "train"]
        return Outcome(
            measures=_measures(job, result, train),
            samples=result.samples if result else (train[-1]["samples"] if train else 0),
            seconds=result.seconds if result else watch.seconds,
            cpu_seconds=watch.cpu.seconds,
            cpu_samples=watch.cpu.samples,
            diverged=diverged,
            facts={
                **{k: facts[k] for k in ("net", "parameters", "device_name", "dtype", "torch")},
                "eval_coef": facts["eval_coef"],
                "train_positions": data["train_positions"],
                "test_positions": data["test_positions"],
                "data": data["train_fingerprint"],
            },
        )

    def options(self, size: Size) -> str:
        return f" --width {size.width}"

    def budget_text(self, config: Mapping[str, Any]) -> str:
        return "one epoch"

    def how(self, size: Size, facts: Mapping[str, Any], *, scale: bool, machine: str) -> str:
        width = ""
        if scale and size.width != FULL_WIDTH:
            width = f"{size.width} channels instead of the diary's {FULL_WIDTH}. "
        return (
            f"{width}{machine}, {facts['dtype']}, torch {facts['torch']}. Times were measured on a "
            "busy machine; µs per sample is CPU time. Train loss is the policy's; training losses "
            "are means over the last tenth of the steps."
        )


#: Means over the last tenth of the steps, by their names in the log.
_TRAIN_LOSSES = {
    "train_loss": "policy_loss",
    "train_result_loss": "value_result_loss",
    "train_score_loss": "value_score_loss",
    "train_total_loss": "loss",
}


def _scaled(config: Config, size: Size, name: str) -> Config:
    """The config with its network's channels at the run's width, however the network is given.

    Raises LabError if the network doesn't take so many.
    """
    net: Any = config.model.net
    if not hasattr(net, "channels"):
        return config
    try:
        net = dataclasses.replace(net, channels=size.channels(net.channels))
    except ValueError as error:
        raise LabError(f"{name}: model.net at width {size.width}: {error}") from error
    return dataclasses.replace(config, model=dataclasses.replace(config.model, net=net))


def _essence(config: Config) -> Config:
    averages = config.loop.ema_decay or config.loop.swa_every
    loop = dataclasses.replace(
        config.loop,
        checkpoint_every=0,
        keep=1,
        log_every=1,
        tensorboard=False,
        norm_batches=config.loop.norm_batches if averages else 0,
    )
    data = dataclasses.replace(config.data, train=(), test=(), cache="", ahead=1, threads=1)
    device = type(config.device)(replicas=config.device.replicas)
    return dataclasses.replace(config, loop=loop, data=data, device=device)


def _measures(job: Job, result: RunResult | None, train: list[dict[str, Any]]) -> dict[str, float]:
    found = {}
    tenth = train[-max(1, len(train) // 10) :]
    for name, key in _TRAIN_LOSSES.items():
        last = [entry[key] for entry in tenth]
        if last and all(value is not None for value in last):
            found[name] = sum(last) / len(last)
    if result is None:
        return found
    if result.test is None:
        raise LabError(f"{job.name}: no test positions")
    usual = {k: v for k, v in result.test.to_dict().items() if math.isfinite(v)}
    extra: dict[str, float] = {}
    if job.extras:
        test = training.split_of(job.config, _samples(job), None).test
        for name in job.extras:
            extra |= measures.EXTRAS[name](result, test)
    return {**found, **usual, **extra}


def _samples(job: Job) -> Samples | Part:
    """The run's samples, without their candidates if it learns from the moves made."""
    if isinstance(job.samples, Part) and job.config.loss.policy_target == "move":
        return dataclasses.replace(job.samples, target_probs=None)
    return job.samples


class _Watch:
    """Forwards training's reports and times its steps."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.cpu = Stopwatch()
        self.seconds = 0.0

    def __call__(self, report: Report) -> None:
        self.seconds = report.seconds
        if report.entry["kind"] == "train":
            self.cpu.step(report.entry["samples"])
        self._job.progress(
            Progress(
                report.step,
                report.progress,
                report.seconds_left,
                f"{report.samples_per_s:,.0f} samples/s",
            )
        )
