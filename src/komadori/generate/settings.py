"""Settings of teacher games."""

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
    """Limits of each search of a game; 0 for none."""

    nodes: int = 0
    depth: int = 0
    weight: float = 1.0
    """Relative frequency."""

    def __post_init__(self) -> None:
        if self.nodes < 0 or self.depth < 0:
            raise ValueError("searches: nodes and depth have to be at least 0")
        if not self.nodes and not self.depth:
            raise ValueError("searches: nodes or depth is needed, nothing else ends a search")
        if not self.weight > 0:
            raise ValueError(f"searches: weight is {self.weight}, more than 0 is needed")

    @classmethod
    def parse(cls, text: str) -> SearchBounds:
        """Parse "nodes=1500" or "depth=8,weight=0.5". Raises ValueError."""
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
    """A game is determined by these, its number, the openings and the evaluations."""

    seed: int = 1
    searches: tuple[SearchBounds, ...] = (SearchBounds(nodes=1500),)
    """Search limits; one of several is drawn per game."""
    opening_share: float = 1.0
    """Fraction of games that begin with an opening, if there are any; the others begin with the
    start position."""
    opening_plies: tuple[int, int] = (0, 24)
    """Moves played of an opening: uniform between the two."""
    random_moves: int = 6
    """Most random moves after the opening: uniform from 0."""
    multipv: int = 1
    """MultiPV of searches that are sampled from or keep candidates."""
    sampled_plies: int = 0
    """Most plies after the random moves that are sampled from the lines: uniform from 0."""
    sample_temperature_cp: float = 50.0
    """Lines are sampled in proportion to exp(score / temperature)."""
    sample_window_cp: int = 150
    """Lines further below the best are not sampled."""
    candidate_share: float = 0.0
    """Fraction of the other plies that keep all lines as candidates."""
    candidate_temperature_cp: float = 100.0
    """Visits of candidates are 1,000 x softmax(score / temperature)."""
    opponent_share: float = 0.0
    """Fraction of games with the opponent's evaluation on one side, whose plies give no samples."""
    opponent_searches: tuple[SearchBounds, ...] = ()
    """Search limits of the opponent; by default the game's."""
    resign_cp: int = 3000
    resign_plies: int = 2
    """The loser resigns after so many consecutive plies beyond `resign_cp`, by both sides'
    scores."""
    play_on_share: float = 0.1
    """Fraction of games without resignation, to measure how often resigning is wrong."""
    repetitions: int = 2
    """Occurrences of a position that end the game; 4 by the rules."""
    declaration: str = "27"
    max_plies: int = 320
    """A game of this length is a draw."""
    inner_share: float = 0.0
    """Fraction of plies of whose search tree a position is drawn and searched too."""
    inner_depth: int = 8
    """Its largest distance from the ply."""
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
        """From a TOML table or JSON object. Raises ValueError that names the wrong setting."""
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
