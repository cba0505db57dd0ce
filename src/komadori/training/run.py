"""A run's state (network, optimizer, loader, budget, log) and its dealings with its folder."""

from __future__ import annotations

import contextlib
import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import komadori
from komadori import nets
from komadori.atomic import write_text
from komadori.nets import ModelCard, Network
from komadori.training import checkpoint
from komadori.training.auxiliary import WithSoftPolicy
from komadori.training.averaging import WeightAverage, estimate_norms
from komadori.training.config import Config, ConfigError, config_to_dict
from komadori.training.data import Part, Samples, Split, make_split, split_by_game
from komadori.training.device import Compute
from komadori.training.duplicates import average_duplicates
from komadori.training.errors import TrainingError
from komadori.training.evaluate import Metrics, evaluate
from komadori.training.guard import NanGuard
from komadori.training.loader import Batch, Encoder, Loader
from komadori.training.loss import Losses
from komadori.training.optimizer import make_optimizer
from komadori.training.run_log import RunLog, read_log
from komadori.training.schedule import Budget
from komadori.training.score_fit import fit_eval_coef
from komadori.training.workers import Replicas
from komadori.training.world import World


@dataclass(frozen=True)
class Report:
    """What a progress display needs; given to the callback after each logged step.

    progress: 0 to 1 over the run. entry: the log's newest entry, of kind train or test.
    """

    step: int
    progress: float
    seconds: float
    seconds_left: float
    samples_per_s: float
    entry: dict[str, Any]


@dataclass(frozen=True)
class RunResult:
    """checkpoint: the model folder of the run's end. history: the log's entries in order.

    test: the last measures, None without a test part. is_complete: False where `stop`
    ended the run before its budget.
    """

    run_dir: Path
    checkpoint: Path
    step: int
    samples: int
    seconds: float
    is_complete: bool
    test: Metrics | None
    history: list[dict[str, Any]] = field(repr=False)


class Run:
    """Made fresh or from the newest checkpoint; `loop.train` drives it."""

    def __init__(
        self,
        config: Config,
        train_samples: Samples | Part,
        test_samples: Samples | Part | None,
        run_dir: Path,
        resume: bool,
        encoder: Encoder | None,
    ) -> None:
        self.dir = run_dir
        last = checkpoint.latest(run_dir)
        if resume and last is None:
            raise TrainingError(f"{run_dir}: nothing to resume: no checkpoint there")
        if last is not None and not resume:
            raise TrainingError(f"{run_dir}: holds a run already; resume it or choose another")
        self.compute = Compute.of(config.device)
        if getattr(config.model.net, "dropout", 0.0):
            # Threads would draw from torch's one random state in whatever order they come.
            self.compute = self.compute.undivided()
        self.world = World.of(self.compute.device)
        if self.world.is_first:
            checkpoint.clear_unfinished(run_dir)
        self.encoder = encoder or _core_encoder(config)
        self.split = split_of(config, train_samples, test_samples, self.encoder)
        config = _fitted(config, self.split.train)
        self.config, self.loss = config, config.loss
        self.loader = Loader(
            self.split.train,
            self.encoder,
            config.loop.batch_size,
            seed=config.seed,
            mirror=config.data.mirror,
            legal=config.loss.mask_illegal,
            ahead=config.data.ahead,
            shard=self.world.shard,
            pinned=self.compute.device.type == "cuda",
        )

        torch.manual_seed(config.seed)
        interface = self.encoder.interface
        if interface.heads and self.split.train.shares is not None:
            raise ConfigError(
                f"model.labels = {config.model.labels!r}: soft policy targets and averaged "
                "duplicates need labels of one output"
            )
        network = _new_network(config, self.encoder, last is None)
        if config.loss.soft_policy_weight and self.split.train.shares is None:
            raise ConfigError(
                "loss.soft_policy_weight: a target of one move can't be flattened; it needs "
                "policy_target = visits or averaged duplicates"
            )
        trained = WithSoftPolicy(network) if config.loss.soft_policy_weight else network
        self.trained = self.compute.place(trained).train()
        self.network = network
        self.optimizer = make_optimizer(self.trained, config.optimizer)
        self.scaler = self.compute.scaler()
        self.scaler.scale(torch.zeros((), device=self.compute.device))  # made before the threads
        self.average = self._average() if config.loop.ema_decay or config.loop.swa_every else None
        self.at = checkpoint.Progress(data=self.split.fingerprint)
        if last is not None:
            self.at, saved = checkpoint.read_progress(last)
            _check_same(saved, config, run_dir)
            if self.at.data not in ("", self.split.fingerprint):
                raise TrainingError(
                    f"{run_dir}: the {len(self.split.train):,} training positions are not those "
                    "of the run; resume it with its own data and seed, or start another run"
                )
            checkpoint.restore(last, self.model, self.trained, self.optimizer, self.scaler)
        self.replicas = Replicas(self.trained, self.compute.replicas)
        self.budget = Budget.of(config.loop, len(self.split.train), self.at.seconds)

        self.guard = NanGuard(run_dir, self.split.train.samples, self.world.is_first)
        self.saved: Path | None = None
        self.metrics: Metrics | None = None
        self._metrics_step = self._norms_step = -1
        self._sums: dict[str, Tensor] = {}
        self._samples = self.at.samples
        self._counted = self._micro_steps = 0
        self._since = time.monotonic()
        self._samples_per_s = 0.0
        self.log = RunLog(
            run_dir,
            resume_step=self.at.step if resume else None,
            is_measured_again=is_due(self.at.step, config.loop.evaluate_every),
            tensorboard=config.loop.tensorboard,
            silent=not self.world.is_first,
        )
        if self.world.is_first:
            _write_config(run_dir / "config.json", config)
        self.log.write("run", self.at.step, self._facts())
        self.log.write("data", self.at.step, self.split.facts())
        self.world.wait()

    @property
    def model(self) -> Network:
        """What is measured and exported: the weight average where there is one, without what is
        for training only."""
        if self.average is not None and self.average.has_begun(self.at.step):
            return self.average.averaged
        return self.network

    def count(self, loss: Losses, batch: Batch) -> None:
        """Add a micro-step to the means that the next train entry reports."""
        for name, value in vars(loss).items():
            value = value.detach()
            self._sums[name] = self._sums[name] + value if name in self._sums else value
        self._samples += batch.size.positions
        self._counted += batch.size.positions
        self._micro_steps += 1

    def advance(self, batch: Batch) -> None:
        """One optimiser step is done; `batch` was its last."""
        if self.average is not None:
            self.average.update(self.at.step + 1)
        seconds = self.budget.seconds
        self.at = replace(
            self.at,
            step=self.at.step + 1,
            samples=self._samples,
            seconds=seconds,
            cursor=batch.after,
        )

    def log_step(self, rate: float, norm: Tensor) -> dict[str, Any]:
        """The train entry of the steps since the last one."""
        now = time.monotonic()
        self._samples_per_s = self._counted / max(now - self._since, 1e-9)
        means = {name: float(total) / self._micro_steps for name, total in self._sums.items()}
        entry = self.log.write(
            "train",
            self.at.step,
            {
                "epoch": self.at.samples / len(self.split.train),
                "samples": self.at.samples,
                "seconds": self.at.seconds,
                "rate": rate,
                "loss": means["total"],
                "policy_loss": means["policy"],
                "value_result_loss": means["value_result"],
                "value_score_loss": means["value_score"],
                "gradient_norm": float(norm),
                "samples_per_s": self._samples_per_s,
            },
        )
        self._restart_means()
        return entry

    def evaluate(self) -> dict[str, Any] | None:
        """Measure the test part and log it; None without one, and but in the first process."""
        is_known = self._metrics_step == self.at.step
        if not len(self.split.test) or is_known or not self.world.is_first:
            return None
        began = time.monotonic()
        self._estimate_norms()
        loop = self.config.loop
        self.metrics = evaluate(
            self.model,
            self.split.test,
            self.encoder,
            self.loss,
            self.compute,
            loop.test_batch_size,
        )
        self.guard.check_test(self.metrics.loss, self.at.step)
        self._metrics_step = self.at.step
        self._since += time.monotonic() - began  # the training speed leaves the test out
        values = {"samples": self.at.samples, "seconds": self.budget.seconds}
        return self.log.write("test", self.at.step, values | self.metrics.to_dict())

    def save(self, batch: Batch | None) -> None:
        """Write the checkpoint of this step, in the first process.

        DivergedError where the step has ruined the weights, by their outputs for its batch.
        """
        if not self.world.is_first:
            return
        began = time.monotonic()
        if batch is not None:
            self.guard.check_outputs(lambda: self._outputs(batch), self.at.step)
        self._estimate_norms()
        self.saved = checkpoint.save(
            self.dir,
            self.at,
            self.config,
            self._card(),
            self.model,
            self.trained,
            self.optimizer,
            self.scaler,
            self.config.loop.keep,
        )
        self._since += time.monotonic() - began

    @torch.no_grad()
    def _outputs(self, batch: Batch) -> tuple[Tensor, ...]:
        self.trained.eval()
        try:
            with self.compute.autocast():
                return self.trained.outputs(*self.compute.inputs(batch))
        finally:
            self.trained.train()

    def finish(self) -> RunResult:
        self.world.leave()
        saved = self.saved or checkpoint.latest(self.dir)
        assert saved is not None
        is_complete = self.budget.is_spent(self.at.step, self.at.samples)
        self.log.write(
            "end",
            self.at.step,
            {"seconds": self.at.seconds, "samples": self.at.samples, "is_complete": is_complete},
        )
        self.log.close()
        return RunResult(
            self.dir,
            saved,
            self.at.step,
            self.at.samples,
            self.at.seconds,
            is_complete,
            self.metrics,
            read_log(self.dir),
        )

    def report(self, entry: dict[str, Any]) -> Report:
        progress = self.budget.progress(self.at.step, self.at.samples)
        seconds = self.budget.seconds
        left = seconds * (1 - progress) / progress if progress else math.inf
        return Report(self.at.step, progress, seconds, left, self._samples_per_s, entry)

    def _restart_means(self) -> None:
        self._sums = {}
        self._counted = self._micro_steps = 0
        self._since = time.monotonic()

    def _average(self) -> WeightAverage:
        copy = nets.build(self.config.model.net, self.network.interface)
        copy = self.compute.place(copy).eval().requires_grad_(False)
        copy.load_state_dict(self.network.state_dict())
        return WeightAverage(self.config.loop, self.network, copy)

    def _estimate_norms(self) -> None:
        """Statistics for the averaged weights from the first batches of an epoch."""
        count = self.config.loop.norm_batches
        if not count or self.model is self.network or self._norms_step == self.at.step:
            return
        self._norms_step = self.at.step
        # Whole batches, so that several processes come to the same.
        with contextlib.closing(self.loader.undivided().batches()) as batches:

            def forward() -> None:
                with self.compute.autocast():
                    self.model(*self.compute.inputs(next(batches)))
                self.compute.wait()  # the batch's buffer is filled anew soon

            estimate_norms(self.model, count, forward)

    def _card(self) -> ModelCard:
        facts: dict[str, Any] = {
            "steps": self.at.step,
            "samples": self.at.samples,
            "seconds": round(self.at.seconds, 1),
            "komadori": komadori.__version__,
            "config": config_to_dict(self.config),
            "data": self.split.facts(),
        }
        if self.metrics is not None and self._metrics_step == self.at.step:
            facts["test"] = {k: v for k, v in self.metrics.to_dict().items() if math.isfinite(v)}
        return model_card(self.config, self.encoder, facts)

    def _facts(self) -> dict[str, Any]:
        return {
            "net": nets.short_name(self.config.model.net),
            "parameters": nets.parameter_count(self.network),
            "komadori": komadori.__version__,
            "eval_coef": self.loss.eval_coef,
            "processes": self.world.size,
            **self.compute.describe(),
        }


def _write_config(path: Path, config: Config) -> None:
    try:
        write_text(path, json.dumps(config_to_dict(config), indent=2) + "\n")
    except OSError as error:
        raise TrainingError(f"{path}: can't be written: {error.strerror or error}") from error


def is_due(step: int, every: int) -> bool:
    """Whether what happens every so many steps, 0 for never, happens after this one."""
    return every > 0 and step % every == 0


def _check_same(saved: Config, config: Config, run_dir: Path) -> None:
    """TrainingError where the run can't go on with this config."""
    for what, own, given in (
        ("network", nets.short_name(saved.model.net), nets.short_name(config.model.net)),
        ("network's settings", saved.model.net, config.model.net),
        ("features", saved.model.features, config.model.features),
        ("labels", saved.model.labels, config.model.labels),
        ("optimizer", saved.optimizer.name, config.optimizer.name),
        ("seed", saved.seed, config.seed),
    ):
        if own != given:
            raise TrainingError(
                f"{run_dir}: the run's {what} is {own}, not {given}; resume it with its own, or "
                "start another run"
            )


def _new_network(config: Config, encoder: Encoder, is_new: bool = True) -> Network:
    """Random weights, or where the run is new those it is to begin with."""
    model = config.model
    try:
        network = nets.build(model.net, encoder.interface)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from error
    if not (model.begin_with and is_new):
        return network
    folder = checkpoint.resolve(Path(model.begin_with))
    begun, card = nets.load_model(folder)
    for what, own, other in (
        ("net", model.net, card.net),
        ("features", model.features, card.features),
        ("labels", model.labels, card.labels),
    ):
        if own != other:
            raise ConfigError(
                f"model.begin_with = {model.begin_with!r}: its {what} is {other}, not {own}"
            )
    network.load_state_dict(begun.state_dict())
    return network


def save_untrained(config: Config, folder: Path | str, encoder: Encoder | None = None) -> Path:
    """Write the network that a run of this config starts from as a model folder."""
    encoder = encoder or _core_encoder(config)
    torch.manual_seed(config.seed)
    network = _new_network(config, encoder)
    nets.save_model(Path(folder), network, model_card(config, encoder, {"steps": 0}))
    return Path(folder)


def model_card(config: Config, encoder: Encoder, facts: dict[str, Any]) -> ModelCard:
    """The card of the config's network with these facts of its training."""
    return ModelCard(
        net=config.model.net,
        features=config.model.features,
        labels=config.model.labels,
        interface=encoder.interface,
        eval_coef=config.loss.eval_coef,
        training=facts,
    )


def split_of(
    config: Config,
    train: Samples | Part,
    test: Samples | Part | None,
    encoder: Encoder | None = None,
) -> Split:
    """The parts that a run of this config learns from and is measured on."""
    data = config.data
    encoder = encoder or _core_encoder(config)
    train = _part(train)
    if test is None:
        train, test = split_by_game(train, data.test_share, config.seed)
    if not len(train):
        if len(_part(test)):
            raise ConfigError(
                f"data.test_share = {data.test_share} leaves no game to learn from; give a "
                "smaller share, or games to test on"
            )
        raise ConfigError("the training data has no positions")
    if config.loss.policy_target == "visits" and train.shares is None:
        raise ConfigError("loss.policy_target = visits: these samples have no candidates")
    if config.loss.hard_share:
        if train.shares is None or train.shares.played is None or data.duplicates == "average":
            raise ConfigError(
                "loss.hard_share: needs the moves made of games with candidates, not averaged"
            )
        train = replace(train, shares=train.shares.with_hard(config.loss.hard_share))
    if data.duplicates == "average":
        train = average_duplicates(train)
    if train.shares is not None:
        shares = train.shares.at_temperature(config.loss.policy_temperature)
        train = replace(train, shares=shares)
    elif config.loss.policy_temperature != 1:
        raise ConfigError(
            f"loss.policy_temperature = {config.loss.policy_temperature}: without visits or "
            "averaged duplicates there are no shares of moves to temper"
        )
    return make_split(
        train,
        _part(test),
        drop_seen=data.drop_seen,
        mirror=encoder.mirrored if data.mirror else None,
        test_limit=data.test_limit,
        train_limit=data.train_limit,
        seed=config.seed,
    )


def _fitted(config: Config, train: Part) -> Config:
    """The config with the teacher's coefficient, fitted where none is given."""
    if config.loss.eval_coef:
        return config
    return replace(config, loss=replace(config.loss, eval_coef=fit_eval_coef(train)))


def _part(samples: Samples | Part) -> Part:
    return samples if isinstance(samples, Part) else Part.whole(samples)


def _core_encoder(config: Config) -> Encoder:
    from komadori.training.encoder import CoreEncoder

    model = config.model
    return CoreEncoder(model.features, model.labels, threads=config.data.threads)
