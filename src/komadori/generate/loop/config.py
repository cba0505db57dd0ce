"""The configuration of a loop, one TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from komadori.arena.elo import Sprt
from komadori.generate.loop.learners import LEARNERS
from komadori.generate.loop.plugins import GAMES, RELABELLERS
from komadori.search.defaults import MAX_GAMES
from komadori.typed_settings import at_least, build, read_toml
from komadori.wording import names_arguments


class LoopConfigError(ValueError):
    """An invalid config; the message names the key."""


@names_arguments
@dataclass(frozen=True)
class GamesConfig:
    """The source of a generation's games.

    kind: a key of `plugins.GAMES`. games: number per generation. settings: those of
    the kind, for example of `TeacherSettings`.
    """

    kind: str = "teacher"
    games: int = 1000
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.kind in GAMES, f"games.kind is {self.kind!r}: {_one_of(GAMES)}")
        _check(self.games >= 1, f"games.games is {self.games}, at least 1 is needed")


@dataclass(frozen=True)
class RelabelConfig:
    """The relabeller of the games. kind: a key of `plugins.RELABELLERS`, "" for none."""

    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = not self.kind or self.kind in RELABELLERS
        _check(known, f"relabel.kind is {self.kind!r}: {_one_of(RELABELLERS)}")


@names_arguments
@dataclass(frozen=True)
class GateConfig:
    """The gating match, which decides whether a candidate is promoted.

    games: maximum; 0 promotes every candidate without a match. nodes: per move. elo0, elo1, alpha,
    beta: of the SPRT; a candidate is promoted if it accepts elo1, or if it is undecided after all
    games and the score is at least `min_score`. references: players against which every promoted
    candidate plays `reference_games`, for information only. opening_plies: below 0, 8 random moves,
    whole lines of a text file and 24 moves of games.
    """

    games: int = 200
    nodes: int = 1000
    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    min_score: float = 0.5
    openings: str = ""
    opening_plies: int = -1
    references: tuple[str, ...] = ()
    reference_games: int = 20

    def __post_init__(self) -> None:
        _check(self.games >= 0 and self.games % 2 == 0, "gate.games must be even, or 0")
        _check(
            self.reference_games >= 2 and self.reference_games % 2 == 0,
            "gate.reference_games must be even and above 0",
        )
        for name in ("games", "reference_games"):
            most = getattr(self, name) <= MAX_GAMES
            _check(most, f"gate.{name} is {getattr(self, name)}, at most {MAX_GAMES} is possible")
        _check(0 <= self.min_score <= 1, f"gate.min_score is {self.min_score}, 0 to 1 is needed")
        _check(self.nodes >= 1, f"gate.nodes is {self.nodes}, at least 1 is needed")
        try:
            self.sprt()
        except ValueError as error:
            raise LoopConfigError(f"gate: {error}") from error

    def opening_plies_or_default(self) -> int | None:
        return self.opening_plies if self.opening_plies >= 0 else None

    def sprt(self) -> Sprt:
        return Sprt(self.elo0, self.elo1, self.alpha, self.beta)


@names_arguments
@dataclass(frozen=True)
class LoopConfig:
    """The configuration of a loop.

    learner: a key of `learners.LEARNERS`. train: its settings. window: number of latest generations
    whose games are trained on. lag: games are played by the best generation of `lag` generations
    earlier, so that they can be played while later ones train. init_from: model or weights that
    generation 0 plays with, "" for the learner's default; training also starts from a model folder
    or run. data: further record files to train on. test_*: held-out positions, as in
    `training.DataConfig`.
    """

    learner: str = "nnue"
    generations: int = 10
    window: int = 3
    lag: int = 0
    init_from: str = ""
    data: tuple[str, ...] = ()
    test_fraction: float = 0.02
    test_limit: int = 5000
    seed: int = 1
    games: GamesConfig = field(default_factory=GamesConfig)
    relabel: RelabelConfig = field(default_factory=RelabelConfig)
    train: Mapping[str, Any] = field(default_factory=dict)
    gate: GateConfig = field(default_factory=GateConfig)

    def __post_init__(self) -> None:
        _check(self.learner in LEARNERS, f"learner is {self.learner!r}: {_one_of(LEARNERS)}")
        at_least(self, generations=1, window=1, lag=0, test_limit=1)
        _check(
            0 < self.test_fraction < 1, f"test_fraction is {self.test_fraction}, 0 to 1 is needed"
        )
        try:
            LEARNERS[self.learner].check(self.train)
        except ValueError as error:
            problem = str(error).removeprefix("train: ")  # in the settings of a network
            raise LoopConfigError(f"train: {problem}") from error
        try:
            GAMES[self.games.kind].check(self.games.settings)
        except ValueError as error:
            raise LoopConfigError(f"games.settings: {error}") from error
        try:
            if self.relabel.kind:
                RELABELLERS[self.relabel.kind].check(self.relabel.settings)
        except ValueError as error:
            raise LoopConfigError(f"relabel.settings: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@names_arguments
def load_config(path: Path | str) -> LoopConfig:
    """Read a TOML file. Raises LoopConfigError that names the file and the key, OSError."""
    try:
        table = read_toml(Path(path))
    except ValueError as error:
        raise LoopConfigError(str(error)) from error
    try:
        return config_from_dict(table)
    except LoopConfigError as error:
        raise LoopConfigError(f"{path}: {error}") from error


#: Former names of settings, which are still read, and their current names.
_RENAMED = {"begin_with": "init_from", "test_share": "test_fraction"}


def _with_current_names(table: Mapping[str, Any]) -> Mapping[str, Any]:
    train = table.get("train")
    if not isinstance(train, Mapping) or "go_on" not in train:
        return table
    current = {"warm_start" if name == "go_on" else name: value for name, value in train.items()}
    return {**table, "train": current}


@names_arguments
def config_from_dict(table: Mapping[str, Any]) -> LoopConfig:
    """Build a config from a TOML table or JSON object. Raises LoopConfigError."""
    try:
        return build(LoopConfig, _with_current_names(table), renamed=_RENAMED)
    except LoopConfigError:
        raise
    except ValueError as error:
        raise LoopConfigError(str(error)) from error


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise LoopConfigError(message)


def _one_of(known: Mapping[str, Any]) -> str:
    return f"one of {', '.join(known)} is needed"
