"""How self-play games are played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from komadori.encoding.value import DLSHOGI_COEF
from komadori.generate.settings import LONGEST_GAME
from komadori.rules import DECLARATION_POINTS
from komadori.search.options import PuctOptions

#: How the root is searched: AlphaZero's noise, or Gumbel's sequential halving.
ROOTS = ("noise", "gumbel")


@dataclass(frozen=True)
class SelfPlaySettings:
    """A game depends on these, its number, the openings and the network, on nothing else."""

    seed: int = 1
    root: str = "gumbel"
    """"noise": Dirichlet noise and moves drawn by visits (AlphaZero, arXiv 1712.01815); "gumbel":
    sequential halving over sampled moves (Gumbel MuZero, ICLR 2022)."""
    playouts: int = 200
    """Visits of the root in a full search, kept ones included; of Gumbel's, new ones."""
    fast_playouts: int = 40
    """The same in a fast search, whose ply isn't learnt (playout cap randomisation, KataGo, arXiv
    1902.10565)."""
    full_share: float = 0.25
    """Plies that get a full search."""
    noise_alpha: float = 10.0
    """Dirichlet's parameter is this over the number of legal moves."""
    noise_share: float = 0.25
    """Of the root's prior that is noise."""
    prune_targets: bool = True
    """Visits that only the noise has brought aren't learnt (policy target pruning, KataGo)."""
    gumbel_moves: int = 16
    """Moves that sequential halving begins with."""
    gumbel_visits: float = 50.0
    gumbel_scale: float = 1.0
    """sigma(q) = (gumbel_visits + largest number of visits) * gumbel_scale * q."""
    temperature: float = 1.0
    """Of the draw by visits, and the scale of Gumbel's noise, at the first ply."""
    temperature_halflife: float = 20.0
    """Plies in which the temperature halves."""
    least_temperature: float = 0.15
    policy_temperature: float = 1.0
    """Of the network's softmax."""
    opening_share: float = 1.0
    """Games that begin with one of the openings, where there are any."""
    opening_plies: tuple[int, int] = (0, 24)
    """How many moves of an opening are played: drawn evenly between the two."""
    resign_win_rate: float = 0.03
    resign_moves: int = 3
    """The loser resigns after so many own moves in a row below that rate; 0: never."""
    play_on_share: float = 0.1
    """Games that nobody resigns: they tell how often resigning would have been wrong."""
    mate_nodes: int = 1000
    """Moves of df-pn before each search; a mate ends the game. 0: none."""
    repetitions: int = 4
    """Occurrences of a position that end the game: 4 by the rules, fewer save time."""
    declaration: str = "27"
    max_plies: int = 320
    """A game is drawn after so many moves."""
    reuse_tree: bool = True
    """Keep what the last search found below the move played."""
    eval_coef: float = DLSHOGI_COEF
    """Centipawns per unit of log odds in the scores written."""
    memory_mb: int = 4
    """Of each game's tree."""

    def __post_init__(self) -> None:
        for name, least in (
            ("seed", 0),
            ("playouts", 2),
            ("fast_playouts", 1),
            ("gumbel_moves", 1),
            ("resign_moves", 0),
            ("mate_nodes", 0),
            ("repetitions", 2),
            ("max_plies", 1),
            ("memory_mb", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, at least {least} is needed")
        for name in (
            "full_share",
            "noise_share",
            "opening_share",
            "resign_win_rate",
            "play_on_share",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, 0 to 1 is needed")
        for name in (
            "noise_alpha",
            "gumbel_visits",
            "gumbel_scale",
            "temperature_halflife",
            "policy_temperature",
            "eval_coef",
        ):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}, more than 0 is needed")
        for name in ("temperature", "least_temperature"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, at least 0 is needed")
        if self.root not in ROOTS:
            raise ValueError(f"root is {self.root!r}, one of {', '.join(ROOTS)} is needed")
        if self.full_share == 0:
            raise ValueError("full_share is 0: no ply would be learnt")
        least_plies, most_plies = self.opening_plies
        if not 0 <= least_plies <= most_plies:
            raise ValueError(
                f"opening_plies is {least_plies} to {most_plies}: the first can't be larger"
            )
        if self.max_plies > LONGEST_GAME:
            raise ValueError(f"max_plies is {self.max_plies}, hcpe3 holds at most {LONGEST_GAME}")
        if self.declaration not in DECLARATION_POINTS:
            rules = ", ".join(DECLARATION_POINTS)
            raise ValueError(f"declaration is {self.declaration!r}, one of {rules} is needed")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> SelfPlaySettings:
        """From a TOML table or JSON object. Raises ValueError, which names what is wrong."""
        known = {field.name: field.default for field in fields(cls)}
        if unknown := sorted(set(values) - set(known)):
            raise ValueError(f"no setting is called {', '.join(unknown)}")
        given: dict[str, Any] = {}
        for name, value in values.items():
            kind = type(known[name])
            if kind is tuple and isinstance(value, list):
                value = tuple(value)
            if kind is float and type(value) is int:
                value = float(value)
            if type(value) is not kind:
                raise ValueError(f"{name} is {value!r}, {kind.__name__} is needed")
            given[name] = value
        return cls(**given)

    def temperature_at(self, ply: int) -> float:
        """Of the move after so many plies."""
        drop: float = 0.5 ** (ply / self.temperature_halflife)
        return max(self.temperature * drop, self.least_temperature)

    def search_options(self) -> PuctOptions:
        """What the tree of a game heeds."""
        return PuctOptions(
            temperature=self.policy_temperature,
            declaration=self.declaration,
            draw_ply=self.max_plies,
            memory_mb=self.memory_mb,
        )
