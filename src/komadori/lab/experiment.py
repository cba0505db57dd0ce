"""Experiments: one TOML file each, a base of settings and the variants that differ from it.

    title = "Pieces in hand as input"
    source = "diary, その5, May 2017"   # article and date
    question = "..."

    [base.model]                       # a training config (training.config) without its data;
                                       # with learner = "kpp" settings of linear.kpp under [base]
    features = "diary"

    [[variants]]
    name = "3x3"
    title = "hands as planes, 3x3 convolution"
    diary = { train_loss = 3.578, policy_top1 = 0.241 }
    set = { model.net.hands = "3x3" }  # merged into the base

    [[claims]]                         # what the diary concludes (lab.claims)
    text = "..."
    higher = ["1x1"]
    lower = ["3x3"]

Channels are the diary's; a run of another width scales them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from komadori.lab.kpp_learner import KppLearner
from komadori.lab.learner import Learner
from komadori.lab.measures import MEASURES
from komadori.lab.network_learner import NetworkLearner
from komadori.lab.size import LabError, Size
from komadori.training import Config
from komadori.typed_settings import build, read_toml
from komadori.wording import no_such_file, on_one_line

#: The learners by the name in an experiment's `learner`.
LEARNERS: Mapping[str, Learner] = {"network": NetworkLearner(), "kpp": KppLearner()}
#: Where `komadori lab` looks for experiments.
FOLDER = Path("experiments") / "lab"
#: Bytes of a variant's name; file systems allow about 255 for a name with the seed and a digest.
MAX_NAME = 100


@dataclass(frozen=True)
class Variant:
    """One row: settings that differ from the base. diary: the diary's figures by measure."""

    name: str
    title: str
    diary: Mapping[str, float | str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A statement about the measure of some variants (`lab.claims`).

    higher, lower: every variant of `higher` is above every one of `lower`. equal, within: no two
    differ by more than `within`. ratio, within: `higher` is `ratio` times `lower`. fails: these
    variants learn nothing. is_open: a question that the diary leaves open. sizes_of, at_equal: one
    side lists sizes of this network; the other side's network is compared with the size of equal
    `at_equal`, by interpolation.
    """

    text: str
    measure: str = "policy_top1"
    higher: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    within: float = 0.01
    ratio: float = 0.0
    fails: tuple[str, ...] = ()
    is_open: bool = False
    sizes_of: str = ""
    at_equal: str = ""

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that the claim compares."""
        return (*self.higher, *self.lower, *self.equal)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes of one network, of an `at_equal` claim."""
        return max(self.higher, self.lower, key=len)

    @property
    def network(self) -> str:
        """The network compared with `sizes`, of an `at_equal` claim."""
        return min(self.higher, self.lower, key=len)[0]


@dataclass(frozen=True)
class Experiment:
    """An experiment file.

    learner: a key of `LEARNERS`. scale: channels are the diary's, scaled to the run's width.
    columns: measures of the table, by default the learner's. extras: further measures of the
    learner. order: position in `lab run --all`.
    """

    name: str
    title: str
    source: str
    question: str
    base: Mapping[str, Any]
    variants: tuple[Variant, ...]
    claims: tuple[Claim, ...] = ()
    learner: str = "network"
    columns: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    note: str = ""
    scale: bool = True
    order: int = 100

    def variant(self, name: str) -> Variant:
        """The variant of that name. Raises LabError that lists the known names."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        known = ", ".join(variant.name for variant in self.variants)
        raise LabError(f"{self.name}: no variant {name!r}; there are {known}")

    @property
    def kind(self) -> Learner:
        """Its learner."""
        return LEARNERS[self.learner]

    @property
    def against_first(self) -> bool:
        """Whether the variants play against the first variant."""
        return not set(self.extras).isdisjoint(self.kind.against_first)

    def with_first(self, names: set[str]) -> set[str]:
        """The names, and the first variant's if the others play against it."""
        return names | {self.variants[0].name} if names and self.against_first else names

    def only(self, names: Collection[str]) -> Experiment:
        """The experiment with these variants and those they need. Raises LabError as `variant`."""
        wanted = self.with_first({self.variant(name).name for name in names})
        return dataclasses.replace(
            self, variants=tuple(one for one in self.variants if one.name in wanted)
        )

    def config(self, variant: Variant, size: Size, seed: int = 1) -> Any:
        """The complete config of a variant, of its learner's type."""
        table = merge(self.base, variant.settings)
        config = self.kind.config(
            table, size, seed, scale=self.scale, name=f"{self.name}/{variant.name}"
        )
        first = self.variants[0]
        if self.against_first and variant.name != first.name:
            config = self.kind.against(config, self.config(first, size, seed))
        return config

    def training_config(self, variant: Variant, size: Size, seed: int = 1) -> Config:
        """A variant's config for `komadori train`. Raises LabError for other learners."""
        config = self.config(variant, size, seed)
        if not isinstance(config, Config):
            raise LabError(f"{self.name}: its learner is {self.learner}; a network is needed")
        return config


def load(path: Path) -> Experiment:
    """Read an experiment file. Raises LabError for any error in it or in a variant's config."""
    try:
        table = read_toml(path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise LabError(str(error)) from error
    variants = table.get("variants", [])
    for one in variants if isinstance(variants, list) else []:
        if isinstance(one, dict) and "set" in one:
            one["settings"] = one.pop("set")
    try:
        experiment = build(Experiment, {**table, "name": path.stem})
    except ValueError as error:
        raise LabError(f"{path}: {error}") from error
    names = [variant.name for variant in experiment.variants]
    if not names or len(set(names)) < len(names):
        raise LabError(f"{path}: each variant needs a name of its own")
    for name in names:  # a part of file names, arguments and tables
        if not (0 < len(os.fsencode(name)) <= MAX_NAME and on_one_line(name) == name.strip()):
            raise LabError(
                f"{path}: variants.name is {name[:MAX_NAME]!r}; 1 to {MAX_NAME} bytes without "
                "control characters and spaces around them are needed"
            )
    _check_values(experiment, path)
    _check_measures(experiment, path)
    for claim in experiment.claims:
        _check_sides(claim, path)
        for name in (*claim.variants, *claim.fails):
            experiment.variant(name)
        sides = sorted((len(claim.higher), len(claim.lower)))
        if claim.at_equal and not (claim.sizes_of and sides[0] == 1 < sides[1]):
            raise LabError(
                f"{path}: at_equal needs one in higher or lower, two sizes or more in the other, "
                "and sizes_of"
            )
    if experiment.learner not in LEARNERS:
        known_learners = ", ".join(LEARNERS)
        raise LabError(f"{path}: learner = {experiment.learner!r}; there are {known_learners}")
    for name in experiment.extras:
        if name not in experiment.kind.extras:
            known_extras = ", ".join(experiment.kind.extras)
            raise LabError(f"{path}: extras: unknown {name!r}; there are {known_extras}")
    for variant in experiment.variants:
        try:
            experiment.config(variant, Size())
        except LabError as error:
            raise LabError(f"{path}: {error}") from error
    return experiment


def _check_values(experiment: Experiment, path: Path) -> None:
    """Raises LabError for settings of TOML's types of dates and times, which no setting has."""
    tables = [("base", experiment.base)]
    tables += [(f"variants.set of {one.name}", one.settings) for one in experiment.variants]
    for key, table in tables:
        try:
            json.dumps(table)
        except TypeError:
            raise LabError(f"{path}: {key}: a date or time is no setting's value") from None


def _check_sides(claim: Claim, path: Path) -> None:
    """Raises LabError for a claim that compares nothing, or can't hold whatever is measured."""
    where = f"{path}: claims: {claim.text!r}"
    has_sides = len(claim.equal) > 1 or (claim.higher and claim.lower)
    if not (claim.fails or has_sides):
        raise LabError(f"{where} needs higher and lower, two variants or more in equal, or fails")
    if len(set(claim.variants)) < len(claim.variants):
        raise LabError(f"{where} names a variant twice")
    if claim.within <= 0 or claim.ratio < 0:
        raise LabError(f"{where} needs within above 0 and ratio of at least 0")


def _check_measures(experiment: Experiment, path: Path) -> None:
    """Raises LabError for a measure that doesn't exist and for a diary's figure that isn't one."""
    used = [("columns", name) for name in experiment.columns]
    for claim in experiment.claims:
        used += [("claims.measure", claim.measure), ("claims.at_equal", claim.at_equal)]
    for variant in experiment.variants:
        used += [("variants.diary", name) for name in variant.diary]
        for name, value in variant.diary.items():
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise LabError(
                    f"{path}: variants.diary.{name} must be a number or text, not {value!r}"
                )
    for key, name in used:
        if name and name not in MEASURES:
            raise LabError(
                f"{path}: {key}: unknown measure {name!r}; there are {', '.join(MEASURES)}"
            )


def load_all(folder: Path = FOLDER) -> list[Experiment]:
    """Return the folder's experiments in the order of `lab run --all`. Raises LabError if none."""
    if not folder.is_dir():
        raise LabError(f"{folder}: no such folder of experiments") from no_such_file(folder)
    experiments = [load(path) for path in sorted(folder.glob("*.toml"))]
    if not experiments:
        raise LabError(f"{folder}: no experiment (*.toml) in it")
    return sorted(experiments, key=lambda e: (e.order, e.name))


def is_experiment(path: Path) -> bool:
    """Whether the file is an experiment of variants, not a training config."""
    try:
        return "variants" in read_toml(path)
    except (OSError, ValueError):
        return False


def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the change into the base, section by section. A network with a family, or a short name,
    replaces the base's network as a whole."""
    merged: dict[str, Any] = json.loads(json.dumps(base))
    for key, value in change.items():
        old = merged.get(key)
        is_section = isinstance(old, dict) and isinstance(value, Mapping)
        if is_section and not (key == "net" and "family" in value):
            merged[key] = merge(old or {}, value)
        else:
            merged[key] = json.loads(json.dumps(value))
    return merged
