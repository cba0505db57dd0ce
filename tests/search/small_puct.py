"""A PUCT searcher with a small random network, and positions to search."""

from __future__ import annotations

from typing import Any

from komadori.inference import load
from komadori.rules import Board
from komadori.search import Info, PuctOptions, PuctSearcher

MIDDLE = "l2g1k1nl/1r1s1gs2/p1nppp1pp/2p3p2/1p7/2PP2P2/PPSSPP1PP/3R1G3/LN2KG1NL b Bb 25"
MATE_IN_1 = "4k4/9/4GS3/9/9/9/9/9/4K4 b - 1"
MATE_IN_3 = "4k4/9/9/4S4/9/9/9/9/4K4 b 2G 1"
MATE_IN_7 = "7k1/5g2g/4G2G1/8L/9/9/9/9/9 b 2r2b4s4n3l18p 1"
DECLARABLE = "4K4/+P+P+P+P+P+P+P+P+P/+P8/9/9/9/9/9/4k4 b 2R2B 1"


def searcher(model: str = "random:1", sfen: str = MIDDLE, **options: Any) -> PuctSearcher:
    result = PuctSearcher(load(model, max_batch=8, slots=3), PuctOptions(**options))
    result.set_position(Board(sfen))
    return result


def summary(infos: list[Info]) -> list[tuple[Any, ...]]:
    return [(i.pv, i.visits, i.win_rate, i.nodes, i.seldepth) for i in infos]
