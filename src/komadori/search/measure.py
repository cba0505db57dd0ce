"""Measure how much of a network's raw speed the search retains."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from komadori.inference import Evaluator
from komadori.inference.measure import fill_inputs, positions_per_second
from komadori.rules import Board
from komadori.search.options import PuctOptions
from komadori.search.protocol import Limits
from komadori.search.puct import PuctSearcher

#: Benchmark positions: the start position, eight from games of the bundled sample, and "matsuri",
#: a common move generator test with 207 moves.
POSITIONS: Mapping[str, str] = {
    "start": "startpos",
    "opening, ply 16": (
        "lns1kgsn1/3g3rl/1ppp1p1pp/p3p1p2/9/2P2P3/PP1PP1PPP/3KG2R1/LNSG2SNL b Bb 17"
    ),
    "opening, ply 24": (
        "1nsgk1bnl/lr3gsp1/2pp1pp1p/pp2p2R1/9/1PP3P2/P2PPP2P/LBSK1G3/1N1G2SNL b P 25"
    ),
    "castles, ply 36": (
        "lnsgk2nl/3rgs3/pppp1pppp/4p4/2B4P1/2P1n1P2/PP3P2P/3S1GKR1/1+b4SNL b gl2p 37"
    ),
    "middle game, ply 50": (
        "l2gk2nl/5r3/ppnsp1spp/5+b3/2p2g3/3P2p1P/PPG+BPGPP1/2KS3R1/LN5NL b 3Psp 51"
    ),
    "middle game, ply 64": (
        "ln4+P1l/1r1k1g3/2p1pSng1/pp2lPs1p/3p2pp1/P1P6/1P1PP1N1P/1BGS1GS1+b/LN1K2r2 b Pp 65"
    ),
    "attack, ply 78": (
        "ln1k4l/2g+b2g2/pppp1g2p/4p1p2/2RP1+R3/6P1P/PP1SPp3/4G1KP1/L5SNL b S3Pbs2n 79"
    ),
    "endgame, ply 92": ("lr5n1/3g2gk1/2ns4l/2ppPpBPs/1p5Np/P1RP1P1p1/1PN2SKbP/1G2G4/L7L b S5P 93"),
    "endgame, ply 110": (
        "5rs1l/5gs1k/l1+B1p1n2/p4P1g1/1p4P1p/PPPP2sP1/2GSP3R/1K2G4/LN6L b N5Pbnp 111"
    ),
    "matsuri": "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
}


@dataclass(frozen=True)
class SearchSpeed:
    """Speed of a search and of the raw network, measured one after the other."""

    name: str
    seconds: float
    evaluated: int
    """Leaves evaluated by the network (the nodes)."""
    terminal: int
    transposed: int
    dropped: int
    raw: float
    """Positions per second of the network alone, before and after the search."""
    mate_nodes: int = 0
    """Moves made by the concurrent mate search."""

    @property
    def nodes_per_second(self) -> float:
        return self.evaluated / self.seconds

    @property
    def ratio(self) -> float:
        """Nodes per second of the search over positions per second of the network."""
        return self.nodes_per_second / self.raw


def measure_search(
    evaluator: Evaluator,
    options: PuctOptions,
    seconds: float,
    positions: Mapping[str, str] = POSITIONS,
    raw: Evaluator | None = None,
) -> Iterator[SearchSpeed]:
    """Search each position from scratch for `seconds`, with half that time of raw inference before
    and after. `raw`: the network with its fastest settings, if the search uses others.
    """
    raw = raw or evaluator
    searcher = PuctSearcher(evaluator, options)
    for name, sfen in positions.items():
        searcher.new_game()
        searcher.set_position(Board(sfen))
        fill_inputs(raw)
        before = positions_per_second(raw, seconds / 2)
        start = time.perf_counter()
        searcher.search(Limits(movetime_ms=round(seconds * 1000)), stop=threading.Event())
        elapsed = time.perf_counter() - start
        after = positions_per_second(raw, seconds / 2)
        stats = searcher.tree.stats
        yield SearchSpeed(
            name,
            elapsed,
            stats.evaluated,
            stats.terminal,
            stats.transposed,
            stats.dropped,
            (before + after) / 2,
            searcher.mate_nodes,
        )
    searcher.close()
