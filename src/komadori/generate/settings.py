"""How teacher games are played."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from komadori._core import generate as _core
from komadori.rules import DECLARATION_POINTS

#: hcpe3 holds no longer games (dlshogi's limit).
LONGEST_GAME = 513


@dataclass(frozen=True)
class SearchBounds:
    """Bounds of every search of a game; 0 is none."""

    nodes: int = 0
    depth: int = 0
    weight: float = 1.0
    """How often it is drawn, relative to the others."""

    def __post_init__(self) -> None:
        if self.nodes < 0 or self.depth < 0:
            raise ValueError("searches: nodes and depth have to be at least 0")
        if not self.nodes and not self.depth:
            raise ValueError("searches: nodes or depth is needed, nothing else ends a search")
        if not self.weight > 0:
            raise ValueError(f"searches: weight is {self.weight}, more than 0 is needed")

    @classmethod
    def parse(cls, text: str) -> SearchBounds:
        """From "nodes=1500", "depth=8,weight=0.5" and the like. Raises ValueError."""
        values: dict[str, Any] = {}
        for part in text.split(","):
            match = re.fullmatch(r"\s*(nodes|depth|weight)=([0-9.]+)\s*", part)
            if match is None:
                raise ValueError(
                    f"{part!r}: nodes=N, depth=N or weight=X is needed, separated by commas"
                )
            name, number = match.groups()
            values[name] = float(number) if name == "weight" else int(number)
        return cls(**values)

    def to_core(self) -> _core.SearchBounds:
        return _core.SearchBounds(depth=self.depth, nodes=self.nodes, weight=self.weight)


@dataclass(frozen=True)
class TeacherSettings:
    """A game depends on these, its number, the openings and the evaluations, on nothing else."""

    seed: int = 1
    searches: tuple[SearchBounds, ...] = (SearchBounds(nodes=1500),)
    """Of a game's searches; one of several is drawn per game."""
    opening_share: float = 1.0
    """Games that begin with one of the openings, where there are any; others with the start
    position."""
    opening_plies: tuple[int, int] = (0, 24)
    """How many moves of an opening are played: drawn evenly between the two."""
    random_moves: int = 6
    """After the opening: drawn evenly from 0 on."""
    multipv: int = 1
    """Lines of the searches that are sampled from or keep candidates."""
    sampled_plies: int = 0
    """Plies after the random moves that are sampled from the lines: drawn evenly from 0 on."""
    sample_temperature_cp: float = 50.0
    """A line's chance is exp(score / temperature)."""
    sample_window_cp: int = 150
    """Lines further below the best are never sampled."""
    candidate_share: float = 0.0
    """Plies besides the sampled ones that keep all lines as candidates."""
    candidate_temperature_cp: float = 100.0
    """Visits of candidates are 1,000 x softmax(score / temperature)."""
    opponent_share: float = 0.0
    """Games in which one side is played by the opponent's evaluation; its plies aren't learnt."""
    opponent_searches: tuple[SearchBounds, ...] = ()
    """Of the opponent; none: as the game's."""
    resign_cp: int = 3000
    resign_plies: int = 2
    """The loser resigns when so many plies in a row were beyond `resign_cp`, seen from both
    sides."""
    play_on_share: float = 0.1
    """Games that nobody resigns: they tell how often resigning would have been wrong."""
    repetitions: int = 2
    """Occurrences of a position that end the game; the rules say 4."""
    declaration: str = "27"
    max_plies: int = 320
    """A game is drawn after so many moves."""
    inner_share: float = 0.0
    """Plies of whose search a position is drawn and searched too."""
    inner_depth: int = 8
    """How far below the ply at most."""
    hash_mb: int = 4
    """Of each engine's transposition table."""

    def __post_init__(self) -> None:
        for name, least in (
            ("seed", 0),
            ("random_moves", 0),
            ("multipv", 1),
            ("sampled_plies", 0),
            ("sample_window_cp", 0),
            ("resign_cp", 1),
            ("resign_plies", 1),
            ("repetitions", 2),
            ("max_plies", 1),
            ("inner_depth", 1),
            ("hash_mb", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, at least {least} is needed")
        for name in (
            "opening_share",
            "candidate_share",
            "opponent_share",
            "play_on_share",
            "inner_share",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, 0 to 1 is needed")
        for name in ("sample_temperature_cp", "candidate_temperature_cp"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}, more than 0 is needed")
        least, most = self.opening_plies
        if not 0 <= least <= most:
            raise ValueError(f"opening_plies is {least} to {most}: the first can't be larger")
        if not self.searches:
            raise ValueError("searches: at least one is needed")
        if self.max_plies > LONGEST_GAME:
            raise ValueError(f"max_plies is {self.max_plies}, hcpe3 holds at most {LONGEST_GAME}")
        if self.multipv == 1 and (self.sampled_plies or self.candidate_share):
            raise ValueError("multipv is 1: sampling and candidates need at least 2 lines")
        if self.declaration not in DECLARATION_POINTS:
            rules = ", ".join(DECLARATION_POINTS)
            raise ValueError(f"declaration is {self.declaration!r}, one of {rules} is needed")

    @property
    def needs_multipv(self) -> bool:
        return self.sampled_plies > 0 or self.candidate_share > 0

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TeacherSettings:
        """From a TOML table or JSON object. Raises ValueError, which names what is wrong."""
        known = {field.name: field for field in fields(cls)}
        if unknown := sorted(set(values) - set(known)):
            raise ValueError(f"no setting is called {', '.join(unknown)}")
        given: dict[str, Any] = {}
        for name, value in values.items():
            if name in ("searches", "opponent_searches"):
                given[name] = tuple(_bounds(one) for one in value)
            elif name == "opening_plies":
                if not isinstance(value, list | tuple) or len(value) != 2:
                    raise ValueError(f"opening_plies is {value!r}, two numbers are needed")
                given[name] = tuple(value)
            else:
                kind = type(known[name].default)
                if kind is float and isinstance(value, int) and not isinstance(value, bool):
                    value = float(value)
                if type(value) is not kind:
                    raise ValueError(f"{name} is {value!r}, {kind.__name__} is needed")
                given[name] = value
        return cls(**given)

    def to_core(self) -> _core.Settings:
        core = _core.Settings()
        for field in fields(self):
            if field.name in ("declaration", "hash_mb", "opening_plies", "multipv"):
                continue
            value = getattr(self, field.name)
            if field.name in ("searches", "opponent_searches"):
                value = [bounds.to_core() for bounds in value]
            setattr(core, field.name, value)
        core.opening_min_plies, core.opening_max_plies = self.opening_plies
        core.multi_pv = self.multipv
        return core


def _bounds(value: Any) -> SearchBounds:
    if isinstance(value, SearchBounds):
        return value
    if isinstance(value, str):
        return SearchBounds.parse(value)
    try:
        return SearchBounds(**value)
    except TypeError as error:
        raise ValueError(f"searches: {value!r} isn't nodes, depth and weight") from error
