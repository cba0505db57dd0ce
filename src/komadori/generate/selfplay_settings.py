"""Settings of self-play games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from komadori.encoding.value import DLSHOGI_COEF
from komadori.generate.settings import MAX_MB, check_game_settings, former_names
from komadori.search.options import PuctOptions
from komadori.typed_settings import at_least, at_most, build, fractions, one_of, positive

#: Kinds of root search: AlphaZero's noise, or Gumbel AlphaZero's sequential halving.
ROOTS = ("noise", "gumbel")


@dataclass(frozen=True)
class SelfPlaySettings:
    """Settings of self-play games.

    They determine a game, given its number, the openings and the network.
    """

    seed: int = 1
    root: str = "gumbel"
    """"noise": Dirichlet noise and moves drawn by visits (AlphaZero, arXiv 1712.01815); "gumbel":
    sequential halving over sampled moves (Gumbel MuZero, ICLR 2022)."""
    playouts: int = 200
    """Root visits of a full search, including those of a reused tree; with "gumbel", new playouts
    only."""
    fast_playouts: int = 40
    """The same for a fast search; its ply gives no sample (playout cap randomisation, KataGo,
    arXiv 1902.10565)."""
    full_fraction: float = 0.25
    """Probability that a ply gets a full search."""
    noise_alpha: float = 10.0
    """The Dirichlet parameter times the number of legal moves."""
    noise_fraction: float = 0.25
    """Weight of the noise in the root's priors (AlphaZero's epsilon)."""
    prune_targets: bool = True
    """Remove visits due to the noise from the policy target (policy target pruning, KataGo)."""
    gumbel_moves: int = 16
    """Moves sampled for sequential halving."""
    gumbel_visits: float = 50.0
    gumbel_scale: float = 1.0
    """sigma(q) = (gumbel_visits + largest number of visits) * gumbel_scale * q."""
    temperature: float = 1.0
    """Temperature of the draw by visits, or scale of the Gumbel noise, at the first ply."""
    temperature_halflife: float = 20.0
    """Plies after which the temperature halves."""
    least_temperature: float = 0.15
    """Lower bound of the temperature."""
    policy_temperature: float = 1.0
    """Softmax temperature of the network's policy."""
    opening_fraction: float = 1.0
    """Fraction of games that start from an opening, if there are any; the others start from the
    initial position."""
    opening_plies: tuple[int, int] = (0, 24)
    """Minimum and maximum number of moves played of an opening, drawn uniformly."""
    resign_win_rate: float = 0.03
    """A move counts towards resignation if its win rate is below this."""
    resign_moves: int = 3
    """A side resigns after this many consecutive own moves below `resign_win_rate`; 0: never."""
    play_on_fraction: float = 0.1
    """Fraction of games without resignation, to measure how often resigning is wrong."""
    mate_nodes: int = 1000
    """Node limit of the df-pn search before each move; a mate found ends the game. 0: no search."""
    repetitions: int = 4
    """Occurrences of a position that end the game; 4 by the rules."""
    declaration: str = "27"
    """Rule of the winning declaration, a key of `rules.DECLARATION_POINTS`."""
    max_plies: int = 320
    """A game of this length is a draw."""
    reuse_tree: bool = True
    """Keep the subtree of the move played for the next search."""
    leaf_weight: float = 0.0
    """Weight of an alpha-beta search's value at each leaf beside the network's; 0: off."""
    leaf_nodes: int = 100
    """Nodes of that search."""
    leaf_file: str = ""
    """NNUE of that search; empty: the bundled one."""
    eval_coef: float = DLSHOGI_COEF
    """Centipawns per unit of log odds in the scores written."""
    memory_mb: int = 4
    """MiB of each game's tree."""

    def __post_init__(self) -> None:
        at_least(
            self,
            seed=0,
            playouts=2,
            fast_playouts=1,
            gumbel_moves=1,
            resign_moves=0,
            mate_nodes=0,
            repetitions=2,
            max_plies=1,
            memory_mb=1,
            leaf_nodes=1,
            temperature=0,
            least_temperature=0,
        )
        # The improved policy's logits are float32.
        at_most(self, memory_mb=MAX_MB, gumbel_visits=10**6, gumbel_scale=10**6)
        fractions(
            self,
            "full_fraction",
            "noise_fraction",
            "opening_fraction",
            "resign_win_rate",
            "play_on_fraction",
            "leaf_weight",
        )
        positive(
            self,
            "noise_alpha",
            "gumbel_visits",
            "gumbel_scale",
            "temperature_halflife",
            "policy_temperature",
            "eval_coef",
        )
        one_of(self, "root", ROOTS)
        if self.full_fraction == 0:
            raise ValueError("full_fraction is 0: the games would have no samples")
        check_game_settings(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> SelfPlaySettings:
        """From a TOML table or JSON object. Raises ValueError that names the wrong setting."""
        return build(cls, values, renamed=former_names(cls))

    def temperature_at(self, ply: int) -> float:
        """The temperature after `ply` moves of the game."""
        drop: float = 0.5 ** (ply / self.temperature_halflife)
        return max(self.temperature * drop, self.least_temperature)

    def search_options(self) -> PuctOptions:
        """The options of a game's tree."""
        return PuctOptions(
            temperature=self.policy_temperature,
            declaration=self.declaration,
            draw_ply=self.max_plies,
            memory_mb=self.memory_mb,
            leaf_weight=self.leaf_weight,
            leaf_nodes=self.leaf_nodes,
            leaf_file=self.leaf_file,
        )
