"""The set-up of a run from its config: data split, network, optimizer, device; nothing on disk."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from komadori import nets
from komadori.nets import Interface, ModelCard, Network
from komadori.training import checkpoint
from komadori.training.auxiliary import WithSoftPolicy
from komadori.training.averaging import WeightAverage
from komadori.training.config import Config, ConfigError
from komadori.training.data import Part, Samples, Source, Split, make_split, split_by_game
from komadori.training.device import Compute
from komadori.training.distill import Teacher
from komadori.training.duplicates import average_duplicates
from komadori.training.encoder import CoreEncoder
from komadori.training.errors import CheckpointError
from komadori.training.loader import Encoder, Loader
from komadori.training.optimizer import make_optimizer
from komadori.training.score_fit import fit_eval_coef
from komadori.training.streamed import Files, StreamedPart, split_stream
from komadori.training.world import World
from komadori.wording import names_arguments


@dataclass(frozen=True)
class Setup:
    """Everything a run computes with.

    config: with a fitted eval_coef if requested. network: measured and exported. trained: stepped
    by the optimizer, `network` with its auxiliary heads. average: of the weights of `network`, if
    configured. teacher: of `loss.distill_from`.
    """

    config: Config
    compute: Compute
    world: World
    encoder: Encoder
    split: Split[Source]
    loader: Loader
    network: Network
    trained: Network
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: WeightAverage | None
    teacher: Teacher | None

    @classmethod
    def of(
        cls,
        config: Config,
        train: Samples | Part | Files,
        test: Samples | Part | None,
        encoder: Encoder | None = None,
        *,
        is_new: bool = True,
    ) -> Setup:
        """Build the set-up. is_new: load the weights of `model.init_from`; a resumed run restores
        its own.

        Raises ConfigError if settings contradict each other, the data or the machine.
        """
        compute = Compute.of(config.device)
        if getattr(config.model.net, "dropout", 0.0):
            # Replicas would draw from torch's one random state in no fixed order.
            compute = compute.undivided()
        world = World.of(compute.device)
        encoder = encoder or encoder_of(config)
        split = split_of(config, train, test, encoder)
        if not config.loss.eval_coef:
            with contextlib.closing(split.train.pieces(0)) as pieces:
                _, first = next(pieces)
            config = replace(config, loss=replace(config.loss, eval_coef=fit_eval_coef(first)))
        loader = Loader(
            split.train,
            encoder,
            config.loop.batch_size,
            seed=config.seed,
            mirror=config.data.mirror,
            legal=config.loss.mask_illegal,
            ahead=config.data.ahead,
            shard=world.shard,
            pinned=compute.device.type == "cuda",
        )
        _check_targets(config, encoder, split.train)
        torch.manual_seed(config.seed)
        network = new_network(config, encoder, begin=is_new)
        trained = WithSoftPolicy(network) if config.loss.soft_policy_weight else network
        trained = compute.place(trained).train()
        scaler = compute.scaler()
        scaler.scale(torch.zeros((), device=compute.device))  # made before the threads
        has_average = config.loop.ema_decay or config.loop.swa_every
        return cls(
            config=config,
            compute=compute,
            world=world,
            encoder=encoder,
            split=split,
            loader=loader,
            network=network,
            trained=trained,
            optimizer=make_optimizer(trained, config.optimizer),
            scaler=scaler,
            average=_average(config, network, compute) if has_average else None,
            teacher=_teacher(config, compute),
        )

    def model(self, step: int) -> Network:
        """The network that is measured and exported after `step` steps: the weight average, once
        begun."""
        if self.average is not None and self.average.has_started(step):
            return self.average.averaged
        return self.network


def encoder_of(config: Config) -> Encoder:
    """The encoder for the config's feature table and label scheme."""
    model = config.model
    return CoreEncoder(model.features, model.labels, threads=config.data.threads)


def new_network(config: Config, encoder: Encoder, *, begin: bool = True) -> Network:
    """A network with random weights, or with `begin` those of `model.init_from`."""
    model = config.model
    try:
        network = nets.build(model.net, encoder.interface)
    except (ValueError, RuntimeError, OverflowError) as error:  # RuntimeError: out of memory
        reason = str(error).splitlines()[0]
        raise ConfigError(f"model.net = {nets.short_name(model.net)}: {reason}") from error
    if not (model.init_from and begin):
        return network
    check_init_from(config)
    initial, _ = nets.load_model(checkpoint.resolve(Path(model.init_from)))
    network.load_state_dict(initial.state_dict())
    return network


def check_outputs(config: Config, outputs: object, interface: Interface, rows: int) -> None:
    """Raise ConfigError where a network's `outputs` for this number of rows aren't (policy
    [rows, labels], value [rows] or [rows, 3]), perhaps with those of further heads.
    """
    expected = f"(policy [{rows}, {interface.labels}], value [{rows}] or [{rows}, 3])"
    if isinstance(outputs, (tuple, list)) and all(isinstance(one, Tensor) for one in outputs):
        shapes = [tuple(one.shape) for one in outputs]
        policies, values = [(rows, interface.labels)], [(rows,), (rows, 3)]
        if len(shapes) >= 2 and shapes[0] in policies and shapes[1] in values:
            return
        found = f"({', '.join(str(list(shape)) for shape in shapes)})"
    else:
        found = type(outputs).__name__
    name = nets.short_name(config.model.net)
    raise ConfigError(f"model.net = {name}: its outputs are {found}, expected {expected}")


@names_arguments
def check_init_from(config: Config) -> None:
    """Compare the card of `model.init_from` with the config's network and tables.

    Raises ConfigError for a model of another network, CheckpointError where there is none.
    """
    model = config.model
    setting = f"model.init_from = {model.init_from!r}"
    card = nets.load_card(checkpoint.resolve(Path(model.init_from)))
    own, other = _description(model.net, card.net), _description(card.net, model.net)
    if own != other:
        raise ConfigError(f"{setting}: its net is {other}, not {own}")
    _check_tables(config, card, setting)


@names_arguments
def check_distill_from(config: Config) -> Path | None:
    """Compare the card of `loss.distill_from` with the config's tables; return its model folder,
    None if it isn't set.

    Raises ConfigError for other features or labels, CheckpointError where there is no model.
    """
    if not config.loss.distill_from:
        return None
    try:
        folder = checkpoint.resolve(Path(config.loss.distill_from))
    except CheckpointError as error:
        raise CheckpointError(f"loss.distill_from: {error}") from error
    setting = f"loss.distill_from = {config.loss.distill_from!r}"
    _check_tables(config, nets.load_card(folder), setting)
    return folder


def _check_tables(config: Config, card: ModelCard, setting: str) -> None:
    """Raise ConfigError for the model of a setting with other features or labels than the run."""
    for what in ("features", "labels"):
        own, other = getattr(config.model, what), getattr(card, what)
        if own != other:
            raise ConfigError(f"{setting}: its {what}: {other}, not {own}")


def _teacher(config: Config, compute: Compute) -> Teacher | None:
    folder = check_distill_from(config)
    return None if folder is None else Teacher(nets.load_model(folder)[0], compute)


def _description(net: nets.NetConfig, other: nets.NetConfig) -> str:
    """The network's short name, and what that doesn't say of the difference to `other`."""
    name = nets.short_name(net)
    if name != nets.short_name(other) or type(net) is not type(other):
        return name
    own, others = asdict(net), asdict(other)
    return " ".join([name, *(f"{k}={v}" for k, v in own.items() if v != others[k])])


@names_arguments
def save_untrained(config: Config, folder: Path | str, encoder: Encoder | None = None) -> Path:
    """Write the initial network of a run of this config as a model folder."""
    encoder = encoder or encoder_of(config)
    torch.manual_seed(config.seed)
    network = new_network(config, encoder)
    nets.save_model(Path(folder), network, model_card(config, encoder, {"steps": 0}))
    return Path(folder)


def model_card(config: Config, encoder: Encoder, facts: dict[str, Any]) -> ModelCard:
    """The model card of the config's network with these facts of its training."""
    return ModelCard(
        net=config.model.net,
        features=config.model.features,
        labels=config.model.labels,
        interface=encoder.interface,
        eval_coef=config.loss.eval_coef,
        training=facts,
    )


@overload
def split_of(
    config: Config,
    train: Samples | Part,
    test: Samples | Part | None,
    encoder: Encoder | None = None,
) -> Split[Part]: ...


@overload
def split_of(
    config: Config,
    train: Samples | Part | Files,
    test: Samples | Part | None,
    encoder: Encoder | None = None,
) -> Split[Source]: ...


@names_arguments
def split_of(
    config: Config,
    train: Samples | Part | Files,
    test: Samples | Part | None,
    encoder: Encoder | None = None,
) -> Split[Part] | Split[StreamedPart]:
    """The training and test parts of a run of this config."""
    data = config.data
    encoder = encoder or encoder_of(config)
    mirror = encoder.mirrored if data.mirror else None
    if isinstance(train, Files):
        return split_stream(config, train, None if test is None else _part(test), mirror)
    train = _part(train)
    if test is None:
        train, test = split_by_game(train, data.test_fraction, config.seed)
    if not len(train):
        if len(_part(test)):
            raise ConfigError(
                f"data.test_fraction = {data.test_fraction} leaves no game to learn from; give a "
                "smaller fraction, or games to test on"
            )
        raise ConfigError("the training data has no positions")
    return make_split(
        _with_targets(config, train),
        _part(test),
        drop_seen=data.drop_seen,
        mirror=mirror,
        test_limit=data.test_limit,
        train_limit=data.train_limit,
        seed=config.seed,
    )


def _with_targets(config: Config, train: Part) -> Part:
    """The training part with the policy targets of the config."""
    loss, averages = config.loss, config.data.duplicates == "average"
    if loss.policy_target == "visits" and train.target_probs is None:
        raise ConfigError("loss.policy_target = visits: these samples have no candidates")
    if loss.hard_fraction:
        if train.target_probs is None or train.target_probs.played is None or averages:
            raise ConfigError(
                "loss.hard_fraction: needs the moves made of games with candidates, not averaged"
            )
        train = replace(train, target_probs=train.target_probs.with_hard(loss.hard_fraction))
    if averages:
        train = average_duplicates(train)
    if train.target_probs is not None:
        return replace(
            train, target_probs=train.target_probs.at_temperature(loss.policy_temperature)
        )
    if loss.policy_temperature != 1:
        raise ConfigError(
            f"loss.policy_temperature = {loss.policy_temperature}: without visits or "
            "averaged duplicates the target is one move, which has no temperature"
        )
    return train


def _check_targets(config: Config, encoder: Encoder, train: Source) -> None:
    if encoder.interface.heads and train.is_soft:
        raise ConfigError(
            f"model.labels = {config.model.labels!r}: soft policy targets and averaged "
            "duplicates need labels of one output"
        )
    if config.loss.soft_policy_weight and not train.is_soft:
        raise ConfigError(
            "loss.soft_policy_weight: a target of one move can't be flattened; it needs "
            "policy_target = visits or averaged duplicates"
        )


def _average(config: Config, network: Network, compute: Compute) -> WeightAverage:
    copy = nets.build(config.model.net, network.interface)
    copy = compute.place(copy).eval().requires_grad_(False)
    copy.load_state_dict(network.state_dict())
    return WeightAverage(config.loop, network, copy)


def _part(samples: Samples | Part) -> Part:
    return samples if isinstance(samples, Part) else Part.whole(samples)
