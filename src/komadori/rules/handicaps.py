"""Start positions: even games and handicaps, in which White gives pieces and moves first."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple


class Handicap(NamedTuple):
    """A named start position."""

    name: str
    kif: str  #: name in KIF files, after 手合割
    sfen: str


def _handicap(name: str, kif: str, first_ranks: str) -> Handicap:
    return Handicap(name, kif, f"{first_ranks}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1")


#: By name, from even to ten pieces. Left and right are from White's view: its left lance is on 1a.
HANDICAPS: Final = MappingProxyType(
    {
        handicap.name: handicap
        for handicap in (
            Handicap(
                "even",
                "平手",
                "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
            ),
            _handicap("lance", "香落ち", "lnsgkgsn1/1r5b1"),
            _handicap("right-lance", "右香落ち", "1nsgkgsnl/1r5b1"),
            _handicap("bishop", "角落ち", "lnsgkgsnl/1r7"),
            _handicap("rook", "飛車落ち", "lnsgkgsnl/7b1"),
            _handicap("rook-lance", "飛香落ち", "lnsgkgsn1/7b1"),
            _handicap("two-piece", "二枚落ち", "lnsgkgsnl/9"),
            _handicap("three-piece", "三枚落ち", "lnsgkgsn1/9"),
            _handicap("four-piece", "四枚落ち", "1nsgkgsn1/9"),
            _handicap("five-piece", "五枚落ち", "2sgkgsn1/9"),
            _handicap("left-five-piece", "左五枚落ち", "1nsgkgs2/9"),
            _handicap("six-piece", "六枚落ち", "2sgkgs2/9"),
            _handicap("left-seven-piece", "左七枚落ち", "2sgkg3/9"),
            _handicap("right-seven-piece", "右七枚落ち", "3gkgs2/9"),
            _handicap("eight-piece", "八枚落ち", "3gkg3/9"),
            _handicap("ten-piece", "十枚落ち", "4k4/9"),
        )
    }
)
