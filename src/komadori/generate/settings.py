"""Settings of teacher games."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from komadori._core import generate as _core
from komadori._core.records import HCPE3_MAX_PLIES
from komadori.rules import DECLARATION_POINTS
from komadori.typed_settings import at_least, at_most, build, fractions, one_of, positive
from komadori.wording import names_arguments

#: Largest integer of a setting that the core holds in 32 bits.
MAX_INT = 2**31 - 1
#: Largest table or tree, in MiB, as in the USI options.
MAX_MB = 1 << 20


@names_arguments
@dataclass(frozen=True)
class SearchBounds:
    """Limits of each search of a game; 0 for none."""

    nodes: int = 0
    depth: int = 0
    weight: float = 1.0
    """Relative frequency with which these limits are drawn."""

    def __post_init__(self) -> None:
        if self.nodes < 0 or self.depth < 0:
            raise ValueError("searches: nodes and depth must be at least 0")
        if not self.nodes and not self.depth:
            raise ValueError("searches: nodes or depth is needed to end a search")
        if self.nodes >= 1 << 63 or self.depth >= 1 << 31:
            raise ValueError("searches: nodes must be below 2^63 and depth below 2^31")
        if not 0 < self.weight < math.inf:
            raise ValueError(
                f"searches: weight is {self.weight}, a finite number above 0 is needed"
            )

    @classmethod
    def parse(cls, text: str) -> SearchBounds:
        """Parse "nodes=1500" or "depth=8,weight=0.5". Raises ValueError."""
        values: dict[str, Any] = {}
        for part in text.split(","):
            match = re.fullmatch(
                r"\s*(?:(nodes|depth)=([0-9]+)|(weight)=([0-9]+\.?[0-9]*|\.[0-9]+))\s*", part
            )
            if match is None:
                raise ValueError(
                    f"{part!r}: nodes=N, depth=N or weight=X is needed, separated by commas"
                )
            name, number = (group for group in match.groups() if group is not None)
            values[name] = float(number) if name == "weight" else int(number)
        return cls(**values)

    def to_core(self) -> _core.SearchBounds:
        return _core.SearchBounds(depth=self.depth, nodes=self.nodes, weight=self.weight)


@names_arguments
@dataclass(frozen=True)
class TeacherSettings:
    """Settings of teacher games.

    They determine a game, given its number, the openings and the evaluations.
    """

    seed: int = 1
    searches: tuple[SearchBounds, ...] = (SearchBounds(nodes=1500),)
    """Search limits; if there are several, one is drawn per game."""
    opening_fraction: float = 1.0
    """Fraction of games that start from an opening, if there are any; the others start from the
    initial position."""
    opening_plies: tuple[int, int] = (0, 24)
    """Minimum and maximum number of moves played of an opening, drawn uniformly."""
    random_moves: int = 6
    """Maximum number of random moves after the opening. The number is drawn uniformly from 0, or
    from half the maximum in games without an opening."""
    multipv: int = 1
    """MultiPV of searches that are sampled from or keep candidates."""
    sampled_plies: int = 0
    """Maximum number of plies after the random moves whose move is sampled from the lines; drawn
    uniformly from 0."""
    sample_temperature_cp: float = 50.0
    """Lines are sampled in proportion to exp(score / temperature)."""
    sample_window_cp: int = 150
    """Lines that are worse than the best by more than this are not sampled."""
    candidate_fraction: float = 0.0
    """Fraction of the other plies that keep all lines as candidates."""
    candidate_temperature_cp: float = 100.0
    """Probabilities of candidates are softmax(score / temperature)."""
    candidate_minimum: float = 0.02
    """Candidates with a smaller probability are left out."""
    candidate_steps: int = 2
    """The best candidate has 64 visits; those of the others are rounded to this many steps per
    factor of two below it, which compresses better. 0: visits are 1,000 x the probability."""
    score_step_cp: int = 0
    """Scores are rounded to multiples of this, and of 2, 4, 8 and 16 times as much from 1,058,
    1,580, 2,067 and 2,476 cp, where the win rate is flatter; 0: exact."""
    opponent_fraction: float = 0.0
    """Fraction of games with the opponent's evaluation on one side, whose plies give no samples."""
    opponent_searches: tuple[SearchBounds, ...] = ()
    """Search limits of the opponent; by default the game's."""
    resign_cp: int = 3000
    resign_plies: int = 2
    """The losing side resigns after this many consecutive plies beyond `resign_cp` by both sides'
    scores."""
    play_on_fraction: float = 0.1
    """Fraction of games without resignation, to measure how often resigning is wrong."""
    repetitions: int = 2
    """Occurrences of a position that end the game; 4 by the rules."""
    declaration: str = "27"
    max_plies: int = 320
    """A game of this length is a draw."""
    inner_fraction: float = 0.0
    """Fraction of plies for which a position from inside the search tree is drawn and searched."""
    inner_depth: int = 8
    """Maximum distance of that position from the ply."""
    hash_mb: int = 4
    """MiB of each engine's transposition table."""

    def __post_init__(self) -> None:
        at_least(
            self,
            seed=0,
            random_moves=0,
            multipv=1,
            sampled_plies=0,
            sample_window_cp=0,
            resign_cp=1,
            resign_plies=1,
            repetitions=2,
            max_plies=1,
            inner_depth=1,
            hash_mb=1,
            candidate_steps=0,
            score_step_cp=0,
        )
        at_most(
            self,
            random_moves=MAX_INT,
            multipv=MAX_INT,
            sampled_plies=MAX_INT,
            sample_window_cp=MAX_INT,
            resign_cp=MAX_INT,
            resign_plies=MAX_INT,
            repetitions=MAX_INT,
            inner_depth=MAX_INT,
            hash_mb=MAX_MB,
            candidate_steps=MAX_INT,
            score_step_cp=MAX_INT,
        )
        fractions(
            self,
            "opening_fraction",
            "candidate_fraction",
            "candidate_minimum",
            "opponent_fraction",
            "play_on_fraction",
            "inner_fraction",
        )
        positive(self, "sample_temperature_cp", "candidate_temperature_cp")
        if not self.searches:
            raise ValueError("searches: at least one is needed")
        if self.multipv == 1 and (self.sampled_plies or self.candidate_fraction):
            raise ValueError("multipv is 1: sampling and candidates need at least 2 lines")
        check_game_settings(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TeacherSettings:
        """From a TOML table or JSON object. Raises ValueError that names the wrong setting."""
        given = dict(values)
        for name in ("searches", "opponent_searches"):
            if name in given:
                given[name] = _all_bounds(name, given[name])
        return build(cls, given, renamed=former_names(cls))

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


def former_names(cls: Any) -> dict[str, str]:
    """Map the former names of fractions, `..._share`, to the current ones."""
    names = [one.name for one in fields(cls) if one.name.endswith("_fraction")]
    return {name.replace("_fraction", "_share"): name for name in names}


def check_game_settings(settings: Any) -> None:
    """Check the settings that all kinds of games share. Raises ValueError."""
    least, most = settings.opening_plies
    if not 0 <= least <= most <= HCPE3_MAX_PLIES:
        raise ValueError(
            f"opening_plies is {least} to {most}: a range within 0 to {HCPE3_MAX_PLIES} is needed"
        )
    if settings.max_plies > HCPE3_MAX_PLIES:
        raise ValueError(
            f"max_plies is {settings.max_plies}, hcpe3 holds at most {HCPE3_MAX_PLIES}"
        )
    one_of(settings, "declaration", DECLARATION_POINTS)


def _all_bounds(name: str, values: Any) -> tuple[SearchBounds, ...]:
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name} must be a list, not {values!r}")
    return tuple(_bounds(one) for one in values)


def _bounds(value: Any) -> SearchBounds:
    if isinstance(value, str):
        return SearchBounds.parse(value)
    return value if isinstance(value, SearchBounds) else build(SearchBounds, value, "searches")
