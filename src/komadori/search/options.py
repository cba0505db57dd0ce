"""Settings of the PUCT searcher."""

from __future__ import annotations

from dataclasses import dataclass

from komadori.encoding.value import DLSHOGI_COEF

#: However long a search will be, its first batches have one row per this many visits.
EARLY_GROWTH = 4


@dataclass(frozen=True)
class PuctOptions:
    """Settings of the PUCT searcher; the constants are dlshogi's."""

    c_init: float = 1.44
    c_base: float = 28288.0
    fpu_reduction: float = 0.27
    """First-play urgency: an unvisited move counts as the node's mean less this times the root of
    the prior mass visited."""
    c_init_root: float = 1.16
    c_base_root: float = 25617.0
    fpu_reduction_root: float = 0.0
    temperature: float = 1.74
    """Of the policy's softmax."""
    draw_value_black: float = 0.5
    """What a draw is worth to Black when Black's move brings it about."""
    draw_value_white: float = 0.5
    draw_ply: int = 0
    """The game is drawn after this many plies; 0: never."""
    repetition: bool = True
    """Look for repetitions; off only to measure what the check is worth."""
    mate_in_one: bool = True
    """Look for mates in one before asking the network."""
    declaration: str = "27"
    """The entering-king rule: "27" points, "24" points or "none"."""
    memory_mb: int = 512
    """Bound on the tree. When it is full the least visited positions are forgotten."""
    batch_share: int = 256
    """A batch has at most one row per this many visits expected at the root in the end, so that
    what is in flight hardly matters."""
    batch_growth: int = 32
    """Under a clock a batch may have one row per this many visits of the root: there small searches
    gain more by larger batches than they lose."""
    reuse_subtree: bool = True
    """Keep what is known of the positions of the last search."""
    root_mate_plies: int = 1000
    """Beside the search df-pn looks for a mate from the root of at most this many plies; 1000: of
    any length, 0: not at all."""
    mate_memory_mb: int = 64
    """Bound on the mate search's table."""
    multipv: int = 1
    pv_interval_ms: int = 500
    """Time between analysis lines; 0: only at the end."""
    resign_threshold: float = 0.01
    """Resign below this win rate; 0: never."""
    resign_moves: int = 3
    """After so many own moves in a row below it; a proven mate needs one."""
    resign_ply: int = 20
    """Never resign before this move of the game."""
    random_plies: int = 0
    """Moves up to this number of the game are drawn by visits^(1 / temperature), for variety."""
    random_temperature: float = 1.0
    random_temperature_drop: float = 0.0
    """Off the temperature for each move of the game; at 0 the best move is played."""
    random_cutoff: float = 0.015
    """Only moves whose win rate is at most this much below the best one's are drawn."""
    random_seed: int | None = None
    """Of the draws; None: another in each process."""
    eval_coef: float = DLSHOGI_COEF
    """Centipawns per unit of log odds: score = coef * ln(p / (1 - p))."""
    early_stop: bool = True
    """Under a clock, stop when the second move can't catch up."""
    time_margin_ms: int | None = None
    """Kept back from main time; None: a tenth of a move's time, 35 to 500 ms."""
    byoyomi_margin_ms: int | None = None
    """Kept back from byoyomi; None as for `time_margin_ms`."""
    minimum_time_ms: int = 0
    """Think at least this long under a clock, where there is as much."""

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}, more than 0 is needed")
        if self.declaration not in DECLARATION_POINTS:
            rules = ", ".join(DECLARATION_POINTS)
            raise ValueError(f"declaration is {self.declaration!r}, one of {rules} is needed")
        for name in ("memory_mb", "mate_memory_mb", "batch_share", "batch_growth", "multipv"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, at least 1 is needed")
        for name in ("draw_value_black", "draw_value_white", "resign_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, 0 to 1 is needed")


#: Points to declare with, Black's and White's, by rule.
DECLARATION_POINTS = {"27": (28, 27), "24": (31, 31), "none": (0, 0)}


def batch_rows(options: PuctOptions, visits: int, expected: float, *, is_timed: bool) -> int:
    """How many rows the next batch may have, at least 1, where the root has so many visits and so
    many are expected in the end.
    """
    rows = int(expected) // options.batch_share
    if is_timed:
        rows = max(rows, visits // options.batch_growth + 1)
    return max(1, min(rows, visits // EARLY_GROWTH + 1))
