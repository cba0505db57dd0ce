"""What a loop is: one TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from komadori.arena.elo import Sprt
from komadori.generate.loop.learners import LEARNERS
from komadori.generate.loop.plugins import GAMES, RELABELLERS

T = TypeVar("T")


class LoopConfigError(ValueError):
    """A config that describes no loop. The message names the key."""


@dataclass(frozen=True)
class GamesConfig:
    """Where a generation's games come from.

    kind: one of `plugins.GAMES`. games: of each generation. settings: those of the kind, as it
    reads them (`TeacherSettings` for teacher games).
    """

    kind: str = "teacher"
    games: int = 1000
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.kind in GAMES, f"games.kind is {self.kind!r}: {_names(GAMES)}")
        _check(self.games >= 1, f"games.games is {self.games}, at least 1 is needed")


@dataclass(frozen=True)
class RelabelConfig:
    """Which relabeller gives the games new targets; none where kind is empty."""

    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = not self.kind or self.kind in RELABELLERS
        _check(known, f"relabel.kind is {self.kind!r}: {_names(RELABELLERS)}")


@dataclass(frozen=True)
class GateConfig:
    """The match that decides whether a candidate takes over.

    games: at most; 0: every candidate takes over, nothing is played. elo0, elo1: of the SPRT; a
    candidate takes over where it accepts elo1, or where the games end undecided with at least
    `min_score`. references: other players that whoever took over plays `reference_games` against,
    for the record alone.
    """

    games: int = 200
    nodes: int = 1000
    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    min_score: float = 0.5
    openings: str = ""
    opening_plies: int = 8
    references: tuple[str, ...] = ()
    reference_games: int = 20

    def __post_init__(self) -> None:
        _check(self.games >= 0 and self.games % 2 == 0, "gate.games is an even number or 0")
        _check(
            self.reference_games >= 2 and self.reference_games % 2 == 0,
            "gate.reference_games is an even number above 0",
        )
        _check(self.nodes >= 1, f"gate.nodes is {self.nodes}, at least 1 is needed")
        try:
            self.sprt()
        except ValueError as error:
            raise LoopConfigError(f"gate: {error}") from error

    def sprt(self) -> Sprt:
        return Sprt(self.elo0, self.elo1, self.alpha, self.beta)


@dataclass(frozen=True)
class LoopConfig:
    """learner: what learns, one of `learners.LEARNERS`. train: its settings.

    window: generations whose games are learnt from, the latest ones. lag: games are played by
    whoever had taken over so many generations before the last one, so that they can be played
    while the last one still learns. begin_with: a model or weights that generation 0 plays with;
    a model folder or run is what training starts from, too. Empty: the learner's own beginning.
    data: records that every generation learns from too.
    """

    learner: str = "nnue"
    generations: int = 10
    window: int = 3
    lag: int = 0
    begin_with: str = ""
    data: tuple[str, ...] = ()
    test_fraction: float = 0.02
    test_limit: int = 5000
    seed: int = 1
    games: GamesConfig = field(default_factory=GamesConfig)
    relabel: RelabelConfig = field(default_factory=RelabelConfig)
    train: Mapping[str, Any] = field(default_factory=dict)
    gate: GateConfig = field(default_factory=GateConfig)

    def __post_init__(self) -> None:
        _check(self.learner in LEARNERS, f"learner is {self.learner!r}: {_names(LEARNERS)}")
        for name, least in (("generations", 1), ("window", 1), ("lag", 0), ("test_limit", 1)):
            value = getattr(self, name)
            _check(value >= least, f"{name} is {value}, at least {least} is needed")
        _check(
            0 < self.test_fraction < 1, f"test_fraction is {self.test_fraction}, 0 to 1 is needed"
        )
        try:
            LEARNERS[self.learner].check(self.train)
        except ValueError as error:
            raise LoopConfigError(f"train: {error}") from error
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


def load_config(path: Path | str) -> LoopConfig:
    """Raises LoopConfigError, which names the file and the key, and OSError."""
    try:
        with Path(path).open("rb") as file:
            table = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LoopConfigError(f"{path}: {error}") from error
    try:
        return config_from_dict(table)
    except LoopConfigError as error:
        raise LoopConfigError(f"{path}: {error}") from error


def config_from_dict(table: Mapping[str, Any]) -> LoopConfig:
    """Raises LoopConfigError."""
    values = dict(table)
    if "test_share" in values:  # its name in older loops
        values.setdefault("test_fraction", values.pop("test_share"))
    parts: dict[str, Any] = {
        name: _read(kind, values.pop(name, {}), f"{name}.")
        for name, kind in (("games", GamesConfig), ("relabel", RelabelConfig), ("gate", GateConfig))
    }
    return _read(LoopConfig, values, "", parts)


def _read(kind: type[T], table: Any, where: str, given: Mapping[str, Any] | None = None) -> T:
    if not isinstance(table, Mapping):
        raise LoopConfigError(f"{where[:-1]}: a table is needed")
    values = dict(given or {})
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    for name, value in table.items():
        if name not in known:
            raise LoopConfigError(f"no setting is called {where}{name}")
        default = known[name].default
        if isinstance(default, tuple):
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise LoopConfigError(f"{where}{name} is {value!r}: a list of texts is needed")
            value = tuple(value)
        elif isinstance(default, float) and type(value) is int:
            value = float(value)
        elif isinstance(default, int | float | str) and type(value) is not type(default):
            wanted = type(default).__name__
            raise LoopConfigError(f"{where}{name} is {value!r}: {wanted} is needed")
        values[name] = value
    return kind(**values)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise LoopConfigError(message)


def _names(known: Mapping[str, Any]) -> str:
    return f"one of {', '.join(known)} is needed"
