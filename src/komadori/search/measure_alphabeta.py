"""Speed of the alpha-beta search: nodes per second on named positions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.search.protocol import Limits

#: Benchmark positions, from openings to mating races. All but the first two are from games of the
#: bundled sample (comments: game number, ply).
POSITIONS = {
    "start": "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "matsuri": "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    # 5, 20
    "opening": "ln1g1gsnl/4r1kb1/pps2p1p1/2ppp1p1p/9/2PP2P1P/PPBSPP1P1/5K3/LN1GRGSNL b - 21",
    # 11, 36
    "joseki": "ln2k2nl/1r1s2g2/2p1pgbp1/3p4p/pp7/2PPPP1P1/PPB3R1P/2GS5/LN1K1G1NL b S2Psp 37",
    # 23, 52
    "clash": "ln2k1b2/2p3r1l/pp3p1p1/s1PpG1s2/2n1pgp1p/1P1R5/P2PPP1P1/1B2G4/LNSK1GS1L b n2p 53",
    # 41, 68
    "exchange": "+B2S1k2l/5s1g1/3+Rppnpp/p5p2/8P/P4PP2/1+rbPPSN2/6G2/L2GK3L b GS5P2nlp 69",
    # 67, 84
    "defence": "9/l4rk2/1png2s1l/2pppb1s1/p4n1pp/2PPPPG2/PPNS5/2G2Ns2/L1BK3RL b GP4p 85",
    # 89, 100
    "attack": "l1gS+B1S2/1k1nG4/p1L1p3p/2pr1p3/1N1p1sp1P/2P2n1P1/PPGPP1P1R/4G2pL/L+p3K1sb b np 101",
    # 114, 116
    "entering": "ln5+Pl/1r3G3/5+P1k1/p4pNsp/1NsP2Pn1/1Pp2PK1P/Pp2p1gp1/3S2G2/L3R3L b BG3Pbs 117",
    # 151, 140
    "race": "4l4/4gkg1R/2ppp4/4npp1p/1+R3n1L1/5gP1N/+p2PPs3/1PS3K2/+l2G3NL b 2B2S5P2p 141",
}


@dataclass(frozen=True)
class Speed:
    """One search of one position."""

    position: str
    nodes: int
    """Moves made; null moves don't count."""
    depth: int
    cpu_s: float
    """CPU time of this process, all threads."""
    wall_s: float

    @property
    def nps(self) -> float:
        """Nodes per second of CPU time: the wall-clock speed of an idle machine."""
        return self.nodes / max(self.cpu_s, 1e-9)


def measure(
    nodes: int,
    evaluation: str = "material",
    weights: Path | str | None = None,
    threads: int = 1,
) -> Iterator[Speed]:
    """Search each position from an empty table with this node limit."""
    options = AlphaBetaOptions(hash_mb=64, threads=threads)
    searcher = AlphaBetaSearcher(evaluation, weights, options)
    searcher.set_position(Board())
    searcher.search(Limits(nodes=min(nodes, 100_000)))  # touches the tables' memory
    for name, sfen in POSITIONS.items():
        searcher.new_game()
        searcher.set_position(Board(sfen))
        wall, cpu = time.perf_counter(), time.process_time()
        result = searcher.search(Limits(nodes=nodes))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        yield Speed(name, searcher.nodes, result.infos[0].depth, cpu, wall)
