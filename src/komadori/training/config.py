"""A run's settings: frozen dataclasses, one TOML file per run, saved in its checkpoints.

    [model]
    net = "resnet5x64"            # or a table: [model.net] family = "resnet", blocks = 5, ...

    [data]
    train = ["games-*.hcpe3.xz"]

    [loop]
    epochs = 1

A key that isn't a setting is an error that names the key and the file, and so is a value
of the wrong type. `--set loop.batch_size=512` overrides one key.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from komadori.encoding.value import DLSHOGI_COEF
from komadori.json_file import as_json
from komadori.nets import FAMILIES, NetConfig, UnknownNetError, parse
from komadori.nets.registry import family_of
from komadori.shipped import experiment_path
from komadori.typed_settings import at_least, convert, parse_toml, read_toml
from komadori.wording import names_arguments, not_expected

#: Settings of older files by their present names.
_RENAMED = {
    "model.begin_with": "init_from",
    "data.test_share": "test_fraction",
    "loss.hard_share": "hard_fraction",
}
PRECISIONS = ("float32", "bfloat16", "float16")


class ConfigError(ValueError):
    """An unknown setting, wrong type or value out of range; the text names key and file."""


class OverrideError(ConfigError):
    """The same in an override (`--set`)."""


def _error(place: str, text: str) -> ConfigError:
    """Return the error of a value that a file or an override has."""
    kind = OverrideError if place.startswith("--set ") else ConfigError
    return kind(f"{place}: {text}")


def _default_net() -> NetConfig:
    return parse("resnet10x192")


@dataclass(frozen=True)
class ModelConfig:
    """features, labels: keys of `encoding.FEATURES` and `encoding.LABELS`.

    init_from: a run, checkpoint or model folder with the same network, for initial weights;
    empty for random ones.
    """

    net: NetConfig = field(default_factory=_default_net)
    features: str = "dlshogi"
    labels: str = "2187"
    init_from: str = ""


@dataclass(frozen=True)
class DataConfig:
    """The samples.

    train, test: files or glob patterns, relative to the working directory.
    test_fraction: fraction of the games held out for the test if `test` is empty.
    test_limit, train_limit: most positions, drawn by the seed; 0 for all.
    drop_seen: remove test positions that also occur in the training data.
    mirror: mirror a random half of the samples left to right, drawn anew each epoch.
    duplicates: keep each sample of a repeated position, or average them
    (`training.duplicates`).
    cache: a folder for the decoded samples, memory-mapped from there so that they need not fit
    into memory; empty to load them.
    window: positions in memory at a time, read from the files in a stream; nothing is loaded whole
    nor unpacked to the disk, whole files are held out for the test, and the shuffle reaches as far
    as a window (`training.streamed`). 0: all positions are loaded, or mapped from the cache.
    ahead: batches prefetched by the background thread. threads: of the core, encoding each batch.
    """

    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    test_fraction: float = 0.1
    test_limit: int = 0
    train_limit: int = 0
    drop_seen: bool = True
    mirror: bool = False
    duplicates: str = "keep"
    cache: str = ""
    window: int = 0
    ahead: int = 4
    threads: int = 1

    def __post_init__(self) -> None:
        _check(0 <= self.test_fraction < 1, "test_fraction is in [0, 1)")
        at_least(self, test_limit=0, train_limit=0)
        _check(self.window >= 0, "window is not negative")
        if self.window:
            _check(not self.cache, "window reads files as they are: give no cache with it")
            _check(
                not self.train_limit, "window: train_limit needs all positions; give fewer files"
            )
            _check(self.duplicates == "keep", "window: duplicates = average needs all positions")
        _check(1 <= self.ahead <= 1024, "ahead is 1 to 1024")
        _check(1 <= self.threads <= 256, "threads are 1 to 256")
        _check(self.duplicates in ("keep", "average"), "duplicates is keep or average")


@names_arguments
@dataclass(frozen=True)
class LossConfig:
    """policy_weight * policy + value_weight * value, as `training.loss` defines them.

    value_lambda: elmo's mix; 0 learns the game's result only, 1 the teacher's score only.
    lambda_decay: fraction by which it decreases linearly over the run.
    value_loss: cross-entropy, or squared, of tanh (diary, その49).
    eval_coef: centipawns per unit of the teacher's logit; "fit" or 0 fits it to the results of the
    training data. The model card records it.
    policy_target: the move, or the visits of each candidate (hcpe3), raised to
    1 / policy_temperature. hard_fraction: of a target of visits, the fraction for the move played.
    mask_illegal: leave illegal moves out of the policy's softmax. result_weighted: weight a
    position's policy loss by result - teacher + 1/2. entropy_bonus: weight of the entropy of
    the labelled positions.
    soft_policy_weight: of an auxiliary policy head with a flattened target, in training only
    (`training.auxiliary`; KataGo uses 8); 0 for none. surprise: fraction of a position's weight
    that is proportional to its policy surprise (`training.loss`).
    distill_from: a run, checkpoint or model folder, of any network with the same features and
    labels, whose outputs are targets too (`training.distill`); empty for none. distill_weight:
    fraction of the policy's and the value's loss that they get.
    """

    policy_weight: float = 1.0
    value_weight: float = 1.0
    value_lambda: float = 0.333
    lambda_decay: float = 0.0
    value_loss: str = "cross-entropy"
    eval_coef: float = DLSHOGI_COEF
    policy_target: str = "move"
    policy_temperature: float = 1.0
    hard_fraction: float = 0.0
    mask_illegal: bool = False
    result_weighted: bool = False
    entropy_bonus: float = 0.0
    soft_policy_weight: float = 0.0
    surprise: float = 0.0
    distill_from: str = ""
    distill_weight: float = 0.5

    def __post_init__(self) -> None:
        _check(min(self.policy_weight, self.value_weight) >= 0, "weights are not negative")
        _check(0 <= self.value_lambda <= 1, "value_lambda is in [0, 1]")
        _check(0 <= self.lambda_decay <= 1, "lambda_decay is in [0, 1]")
        _check(self.eval_coef >= 0, 'eval_coef is positive, or "fit"')
        losses = ("cross-entropy", "squared")
        _check(self.value_loss in losses, f"value_loss is one of {', '.join(losses)}")
        _check(self.policy_target in ("move", "visits"), "policy_target is move or visits")
        _check(self.policy_temperature > 0, "policy_temperature is positive")
        _check(self.soft_policy_weight >= 0, "soft_policy_weight is not negative")
        _check(0 <= self.surprise <= 1, "surprise is in [0, 1]")
        _check(0 <= self.distill_weight <= 1, "distill_weight is in [0, 1]")
        _check(0 <= self.hard_fraction <= 1, "hard_fraction is in [0, 1]")
        _check(
            not self.hard_fraction or self.policy_target == "visits",
            "hard_fraction needs policy_target = visits: else the whole target is the move made",
        )

    def at(self, progress: float) -> LossConfig:
        """The loss at this progress of the run, 0 to 1."""
        return replace(self, value_lambda=self.value_lambda * (1 - self.lambda_decay * progress))


@dataclass(frozen=True)
class OptimizerConfig:
    """name: sgd (momentum, nesterov), adagrad, rmsprop (alpha: decay of the mean square, 0.99 in
    torch and Chainer), adam or adamw (betas), or muon: weights of linear and convolution layers by
    Muon (`training.muon`; momentum, usually 0.95), the rest by AdamW. Weight decay applies to
    parameters of more than one dimension, not to biases and norms.
    """

    name: str = "sgd"
    momentum: float = 0.9
    nesterov: bool = True
    betas: tuple[float, ...] = (0.9, 0.999)
    alpha: float = 0.99
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        known = ("sgd", "adagrad", "rmsprop", "adam", "adamw", "muon")
        _check(self.name in known, f"name is one of {', '.join(known)}")
        _check(
            len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
            "betas are two numbers in [0, 1)",
        )
        _check(0 <= self.alpha < 1, "alpha is in [0, 1)")
        _check(0 <= self.momentum < 1, "momentum is in [0, 1)")
        _check(self.weight_decay >= 0, "weight_decay is not negative")


@dataclass(frozen=True)
class ScheduleConfig:
    """The learning rate over the run's progress p from 0 to 1 (`training.schedule`).

    kind: constant; cosine, from `rate` to `rate * final`; cycles, `cycles` such cosines in a row
    (SGDR, arXiv 1608.03983); step, times `factor` at each of `drops`. The first `warmup_steps`
    rise linearly. p is the progress of the budget that will end the run first.
    """

    kind: str = "cosine"
    rate: float = 0.05
    warmup_steps: int = 100
    final: float = 0.01
    drops: tuple[float, ...] = (0.5, 0.75)
    factor: float = 0.1
    cycles: int = 4

    def __post_init__(self) -> None:
        known = ("constant", "cosine", "cycles", "step")
        _check(self.kind in known, f"kind is one of {', '.join(known)}")
        _check(self.cycles >= 1, "cycles is at least 1")
        _check(self.rate > 0, "rate is positive")
        _check(min(self.final, self.factor) >= 0, "final and factor are not negative")
        _check(self.warmup_steps >= 0, "warmup_steps is not negative")
        _check(all(0 < drop < 1 for drop in self.drops), "drops are between 0 and 1")


@dataclass(frozen=True)
class LoopConfig:
    """The run ends with the step that reaches the first budget: epochs, max_steps or max_seconds
    (0: none).

    batch_size: samples per micro-step; `accumulate` micro-steps of equal weight make one optimizer
    step. clip: maximum gradient norm, 0 for none.
    evaluate_every, checkpoint_every, log_every: in steps; 0 evaluates and saves at the end only.
    keep: number of newest checkpoints kept.
    ema_decay: of an exponential moving average of the weights. swa_every, swa_start: in steps, of
    stochastic weight averaging (`training.averaging`); a start of 0 means `swa_every`. 0 for none.
    norm_batches: batches that re-estimate the batch norm statistics of averaged weights before
    they are tested or saved; 0 averages the statistics too.
    tensorboard: also write event files, if the package is installed.
    """

    batch_size: int = 256
    accumulate: int = 1
    epochs: float = 1.0
    max_steps: int = 0
    max_seconds: float = 0.0
    clip: float = 10.0
    ema_decay: float = 0.0
    swa_every: int = 0
    swa_start: int = 0
    norm_batches: int = 50
    evaluate_every: int = 1000
    checkpoint_every: int = 1000
    log_every: int = 20
    keep: int = 3
    test_batch_size: int = 1024
    tensorboard: bool = True

    def __post_init__(self) -> None:
        at_least(self, batch_size=1, accumulate=1, test_batch_size=1)
        at_least(self, epochs=0, max_steps=0, max_seconds=0)
        _check(
            self.epochs > 0 or self.max_steps > 0 or self.max_seconds > 0,
            "one of epochs, max_steps, max_seconds is positive",
        )
        _check(0 <= self.ema_decay < 1, "ema_decay is in [0, 1)")
        _check(
            min(self.swa_every, self.swa_start, self.norm_batches) >= 0,
            "swa_every, swa_start and norm_batches are not negative",
        )
        _check(
            not (self.ema_decay and self.swa_every), "ema_decay and swa_every exclude each other"
        )
        _check(self.swa_every > 0 or not self.swa_start, "swa_start needs swa_every")
        _check(self.clip >= 0, "clip is not negative")
        _check(
            min(self.evaluate_every, self.checkpoint_every) >= 0,
            "evaluate_every and checkpoint_every are not negative",
        )
        _check(self.keep >= 1, "keep is at least 1")
        _check(self.log_every >= 1, "log_every is at least 1")


@names_arguments
@dataclass(frozen=True)
class DeviceConfig:
    """device: auto, cpu, cuda, cuda:1, mps. precision: auto, float32, bfloat16, or float16
    with loss scaling.

    compile: mode of torch.compile for training steps: none, default (block by block),
    reduce-overhead, max-autotune. threads: torch threads on the CPU; 0 for torch's default, at most
    the CPUs of this process. replicas: data-parallel shards of a batch on the CPU; 0 for one per
    thread, at most four.
    """

    device: str = "auto"
    precision: str = "auto"
    compile: str = "none"
    threads: int = 0
    replicas: int = 0

    def __post_init__(self) -> None:
        known = ("auto", *PRECISIONS)
        _check(self.precision in known, f"precision is one of {', '.join(known)}")
        modes = ("none", "default", "reduce-overhead", "max-autotune")
        _check(self.compile in modes, f"compile is one of {', '.join(modes)}")
        _check(
            min(self.threads, self.replicas) >= 0 and max(self.threads, self.replicas) <= 4096,
            "threads and replicas are 0 to 4096",
        )


@names_arguments
@dataclass(frozen=True)
class Config:
    """All settings of one training run."""

    seed: int = 1
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    device: DeviceConfig = field(default_factory=DeviceConfig)

    def __post_init__(self) -> None:
        _check(0 <= self.seed < 2**63, "seed is 0 to 2^63 - 1")


@names_arguments
def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Read a TOML file, or an experiment shipped with the package: its path in a checkout or its
    short name. Each override is `section.key=value` with a TOML value or plain text.
    """
    path = experiment_path(Path(path), ("",))
    try:
        table = read_toml(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return config_from_dict(table, str(path), overrides)


@names_arguments
def config_from_dict(
    table: Mapping[str, Any], where: str = "config", overrides: Sequence[str] = ()
) -> Config:
    """The config of a plain table; errors name its origin `where`. Raises ConfigError."""
    merged = json.loads(json.dumps(table, default=str))  # a date of TOML becomes text
    origin: dict[str, str] = {}
    if isinstance(overrides, str | Mapping):  # iterable too, but by characters or keys
        raise not_expected("overrides", overrides, "a list of section.key=value")
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator:
            raise OverrideError(f"--set {override}: expected section.key=value")
        _assign(merged, key.strip().split("."), _toml_value(text.strip()), override)
        origin[key.strip()] = override
    config = _build(Config, merged, "", where, origin)
    assert isinstance(config, Config)
    return config


@names_arguments
def config_to_dict(config: Config) -> dict[str, Any]:
    """Plain JSON values; `config_from_dict` gives the config back."""
    table = dataclasses.asdict(config)
    table["model"]["net"] = {"family": family_of(config.model.net).name, **table["model"]["net"]}
    plain: dict[str, Any] = as_json(table)
    return plain


def _check(condition: bool, text: str) -> None:
    if not condition:
        raise ValueError(text)


def _toml_value(text: str) -> Any:
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _plain_text(value: Any, override: str) -> str:
    """The text of an override: for a text setting 1496 is one too."""
    return value if isinstance(value, str) else override.partition("=")[2].strip()


def _assign(table: dict[str, Any], keys: list[str], value: Any, override: str) -> None:
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise OverrideError(f"--set {override}: {key!r} is not a section")
    table[keys[-1]] = value


def _build(cls: Any, table: Any, prefix: str, where: str, origin: Mapping[str, str]) -> Any:
    """An instance of the dataclass from a table, every key and type checked."""
    if not isinstance(table, Mapping):
        place = f"--set {origin[prefix]}" if prefix in origin else where
        raise _error(place, f"{prefix or 'the file'} must be a table, not {table!r}")
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]
    values: dict[str, Any] = {}
    for given, value in table.items():
        own = f"{prefix}.{given}"
        key: str = _RENAMED.get(own, str(given))
        full = f"{prefix}.{key}" if prefix else key
        within = (o for name, o in origin.items() if name == full or name.startswith(f"{full}."))
        override = next(within, None)
        place = f"--set {override}" if override is not None else where
        if key not in names:
            raise _error(place, f"unknown key {full!r}; known: {', '.join(names)}")
        if cls is ModelConfig and key == "net":
            values[key] = _net(value, full, place, origin)
        elif cls is LossConfig and key == "eval_coef" and isinstance(value, str):
            if value != "fit":
                raise _error(place, f'{full} must be a number or "fit", not {value!r}')
            values[key] = 0.0
        elif hints[key] is str and full in origin:
            values[key] = _plain_text(value, origin[full])
        elif dataclasses.is_dataclass(hints[key]):
            values[key] = _build(hints[key], value, full, where, origin)
        else:
            try:
                values[key] = convert(value, hints[key], full)
            except ValueError as error:
                raise _error(place, str(error)) from error
    try:
        return cls(**values)
    except ValueError as error:
        # Which of the values is wrong isn't known: name all overrides of the section.
        names = [f"{prefix}.{key}" if prefix else key for key in values]
        given = "".join(f" --set {origin[name]}" for name in names if name in origin)
        kind = OverrideError if given else ConfigError
        section = f"[{prefix}] " if prefix else ""
        raise kind(f"{where}{f' with{given}' if given else ''}: {section}{error}") from error


def _net(value: Any, key: str, where: str, origin: Mapping[str, str]) -> NetConfig:
    if isinstance(value, str):
        try:
            return parse(value)
        except UnknownNetError as error:
            raise _error(where, f"{key}: {error}") from error
    if not isinstance(value, Mapping) or "family" not in value:
        raise _error(where, f"{key} is a short name or a table with a family")
    name = value["family"]
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        known = ", ".join(sorted(FAMILIES))
        raise _error(where, f"{key}.family: unknown {name!r}; known: {known}")
    rest = {k: v for k, v in value.items() if k != "family"}
    return _build(family.config, rest, key, where, origin)
