"""Settings of the PUCT searcher."""

from __future__ import annotations

from dataclasses import dataclass

from komadori._core.tree import TreeOptions
from komadori.encoding.value import DLSHOGI_COEF
from komadori.rules import DECLARATION_POINTS
from komadori.typed_settings import at_least, at_most, fractions, numbers, one_of, positive
from komadori.wording import names_arguments

#: Early batches have at most one row per this many visits, however long the search.
EARLY_GROWTH = 4
#: Settings of the tree itself, by the names of `TreeOptions`, which has their defaults.
TREE_SETTINGS = (
    "c_init",
    "c_base",
    "fpu_reduction",
    "c_init_root",
    "c_base_root",
    "fpu_reduction_root",
    "c_growth",
    "stdev_scale",
    "stdev_prior",
    "stdev_prior_weight",
    "lcb_stdevs",
    "lcb_min_visits",
    "value_bias",
    "uncertainty_weight",
    "temperature",
    "temperature_root",
    "temperature_decay",
    "visits_per_flight",
    "draw_ply",
    "repetition",
    "mate_in_one",
)
_NONNEGATIVE = (
    "c_init",
    "c_init_root",
    "c_growth",
    "stdev_scale",
    "stdev_prior_weight",
    "lcb_stdevs",
    "value_bias",
    "uncertainty_weight",
    "temperature_root",
    "visits_per_flight",
    "draw_ply",
    "root_mate_plies",
    "pv_interval_ms",
    "resign_ply",
    "random_plies",
    "random_temperature",
    "random_temperature_drop",
    "random_cutoff",
    "minimum_time_ms",
)
#: The largest number that the tree holds in 32 bits.
_INT32_MAX = 2**31 - 1
_TREE = TreeOptions()


def _tree_default(name: str) -> float:
    """Return the tree's float32 default as its shortest decimal."""
    return float(f"{getattr(_TREE, name):.7g}")


@names_arguments
@dataclass(frozen=True)
class PuctOptions:
    """Settings of the PUCT searcher.

    Those of the tree have the defaults of `TreeOptions` (`cpp/komadori/tree/options.h`), which
    are dlshogi's.
    """

    c_init: float = _tree_default("c_init")
    """C of Q + C P sqrt(N) / (1 + n): c_init + c_growth * ln((N + c_base + 1) / c_base)."""
    c_base: float = _tree_default("c_base")
    fpu_reduction: float = _tree_default("fpu_reduction")
    """First-play urgency: an unvisited move has the node's mean value minus this times the square
    root of the visited prior mass."""
    c_init_root: float = _tree_default("c_init_root")
    c_base_root: float = _tree_default("c_base_root")
    fpu_reduction_root: float = _tree_default("fpu_reduction_root")
    c_growth: float = _tree_default("c_growth")
    stdev_scale: float = _tree_default("stdev_scale")
    """Multiply C by 1 + this * (sd / stdev_prior - 1), where sd is the standard deviation of the
    node's values on the scale -1 to 1; KataGo uses 0.85. 0: off."""
    stdev_prior: float = _tree_default("stdev_prior")
    stdev_prior_weight: float = _tree_default("stdev_prior_weight")
    """Weight of the prior's variance, in visits."""
    lcb_stdevs: float = _tree_default("lcb_stdevs")
    """Play the move with the highest lower confidence bound, its value minus this many standard
    errors, among moves with at least lcb_min_visits of the most visits (leela-zero: 5). 0: play
    the most visited move."""
    lcb_min_visits: float = _tree_default("lcb_min_visits")
    value_bias: float = _tree_default("value_bias")
    """Add to a new leaf's value this fraction of the mean error of the network's values after the
    same two moves in this search (KataGo's subtree value bias: 0.45). 0: off."""
    uncertainty_weight: float = _tree_default("uncertainty_weight")
    """Weight playouts by how well the network and the alpha-beta search of the leaf (leaf_weight)
    agree (after KataGo's uncertainty-weighted playouts). 1: in full. 0: all playouts weigh the
    same."""
    temperature: float = _tree_default("temperature")
    """Temperature of the policy's softmax."""
    temperature_root: float = _tree_default("temperature_root")
    """The temperature at depth d is temperature + (temperature_root - temperature) *
    temperature_decay^d. 0: off."""
    temperature_decay: float = _tree_default("temperature_decay")
    visits_per_flight: int = _TREE.visits_per_flight
    """Limit the playouts in flight below a node to one per this many finished visits, at least
    one. 2 allows 1, 1, 2, 4, 8 at 1, 2, 4, 8, 16 visits. 0: no limit."""
    draw_value_black: float = _TREE.draw_value[0]
    """Value of a draw to Black if Black's move leads to it."""
    draw_value_white: float = _TREE.draw_value[1]
    draw_ply: int = _TREE.draw_ply
    """The game is drawn after this many plies; 0: never."""
    repetition: bool = _TREE.repetition
    """Detect repetitions; disable only for ablations."""
    mate_in_one: bool = _TREE.mate_in_one
    """Check for mates in one before evaluating a leaf."""
    declaration: str = "27"
    """The entering-king rule: "27" points, "24" points or "none"."""
    memory_mb: int = 512
    """Memory limit of the tree; when it is full, the least visited positions are reclaimed."""
    visits_per_row: int = 256
    """A batch has at most one row per this many visits expected at the root at the end of the
    search, so that visits in flight have little effect."""
    reuse_subtree: bool = True
    """Reuse the tree of the last search."""
    root_mate_plies: int = 1000
    """Maximum length in plies of mates that df-pn searches for at the root, beside the search;
    1000: any length, 0: off."""
    mate_memory_mb: int = 64
    """Memory limit of the mate search's table."""
    multipv: int = 1
    pv_interval_ms: int = 500
    """Time between analysis lines; 0: only at the end."""
    resign_threshold: float = 0.01
    """Resign below this win rate; 0: never."""
    resign_moves: int = 3
    """Consecutive own moves below the threshold before resigning; a proven mate needs one."""
    resign_ply: int = 20
    """Never resign before this move of the game."""
    random_plies: int = 0
    """Up to this move number, draw moves by visits^(1 / temperature), for variety."""
    random_temperature: float = 1.0
    random_temperature_drop: float = 0.0
    """Decrease of the temperature per move of the game; at 0 the best move is played."""
    random_cutoff: float = 0.015
    """Draw only moves with a win rate at most this much below the best move's."""
    random_seed: int | None = None
    """Seed of the draws; None: a random seed."""
    leaf_weight: float = 0.0
    """Weight of an alpha-beta search's value at each leaf beside the network's; 0: off."""
    leaf_nodes: int = 100
    """Nodes of that search."""
    leaf_file: str = ""
    """NNUE of that search; empty: the bundled one."""
    verify_margin: int | None = None
    """Verify the most visited moves by alpha-beta searches in another thread: a move that scores
    this many centipawns less than the best is refuted. None: off."""
    eval_coef: float = DLSHOGI_COEF
    """Centipawns per unit of log odds: score = coef * ln(p / (1 - p))."""
    early_stop: bool = True
    """Under a clock, stop when the second-best move can't catch up."""
    time_margin_ms: int | None = None
    """Safety margin of main time; None: a tenth of a move's time, 35 to 500 ms."""
    byoyomi_margin_ms: int | None = None
    """Safety margin of byoyomi; None: as for `time_margin_ms`."""
    minimum_time_ms: int = 0
    """Minimum time per move under a clock, if available."""

    def __post_init__(self) -> None:
        numbers(self)
        one_of(self, "declaration", DECLARATION_POINTS)
        positive(self, "temperature", "c_base", "c_base_root", "stdev_prior", "eval_coef")
        at_least(
            self,
            memory_mb=1,
            mate_memory_mb=1,
            visits_per_row=1,
            multipv=1,
            leaf_nodes=1,
            resign_moves=1,
        )
        at_least(self, **dict.fromkeys(_NONNEGATIVE, 0))
        at_most(self, visits_per_flight=_INT32_MAX, draw_ply=_INT32_MAX)
        for name in ("verify_margin", "time_margin_ms", "byoyomi_margin_ms"):
            if getattr(self, name) is not None:
                at_least(self, **{name: 0})
        fractions(
            self,
            "draw_value_black",
            "draw_value_white",
            "resign_threshold",
            "lcb_min_visits",
            "temperature_decay",
            "leaf_weight",
        )


def batch_rows(options: PuctOptions, visits: int, expected: float) -> int:
    """Return the number of rows allowed in the next batch, at least 1.

    `visits` are those of the root so far, `expected` those expected at the end of the search.
    """
    rows = int(expected) // options.visits_per_row
    return max(1, min(rows, visits // EARLY_GROWTH + 1))
