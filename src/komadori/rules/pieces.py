"""Colours, piece types, pieces and squares, and their notation.

A square is an int, `9*(file-1) + (rank-1)`: 1a is 0, 9i is 80.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from komadori.wording import check_type

BLACK: Final = 0
WHITE: Final = 1
COLORS: Final = (BLACK, WHITE)
SQUARES: Final = range(81)


class PieceType(IntEnum):
    """Numbered as in cshogi and Apery: a promoted piece is its plain type + 8."""

    PAWN = 1
    LANCE = 2
    KNIGHT = 3
    SILVER = 4
    BISHOP = 5
    ROOK = 6
    GOLD = 7
    KING = 8
    PRO_PAWN = 9
    PRO_LANCE = 10
    PRO_KNIGHT = 11
    PRO_SILVER = 12
    HORSE = 13
    DRAGON = 14

    @property
    def is_promoted(self) -> bool:
        return self > PieceType.KING

    @property
    def base(self) -> PieceType:
        """The unpromoted type."""
        return PieceType(self - 8) if self.is_promoted else self

    @property
    def symbol(self) -> str:
        """As in SFEN for Black: `P`, `+R`."""
        return "+" * self.is_promoted + _LETTERS[self.base]

    @property
    def kanji(self) -> str:
        """One character: 歩, 龍, 全."""
        return _KANJI[self]


_LETTERS = ".PLNSBRGK"
_KANJI = ".歩香桂銀角飛金玉と杏圭全馬龍"
#: The types a hand can hold, in the order in which hands are written.
HAND_TYPES: Final = (
    PieceType.ROOK,
    PieceType.BISHOP,
    PieceType.GOLD,
    PieceType.SILVER,
    PieceType.KNIGHT,
    PieceType.LANCE,
    PieceType.PAWN,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece on the board."""

    color: int
    type: PieceType

    @property
    def symbol(self) -> str:
        """As in SFEN: `P` Black's, `p` White's, `+p` promoted."""
        symbol = self.type.symbol
        return symbol if self.color == BLACK else symbol.lower()

    def __str__(self) -> str:
        return self.symbol


#: By the core's code: type + 16 for White.
PIECES: Final[dict[int, Piece]] = {
    type_ + 16 * color: Piece(color, type_) for color in COLORS for type_ in PieceType
}


def check_color(name: str, color: int) -> None:
    """Raise ValueError, which names the argument, unless it is a colour."""
    if color not in COLORS:
        raise ValueError(f"{name} is {color!r}, 0 (Black) or 1 (White) is needed")


def square_name(square: int) -> str:
    """`60` -> `"7g"`. Raises ValueError unless 0 <= square < 81."""
    if square not in SQUARES:
        raise ValueError(f"a square is from 0 to 80, not {square}")
    return f"{square // 9 + 1}{'abcdefghi'[square % 9]}"


def parse_square(name: str) -> int:
    """`"7g"` -> `60`. Raises ValueError for anything else than a file and a rank."""
    check_type("name", name, str)
    if len(name) != 2 or name[0] not in "123456789" or name[1] not in "abcdefghi":
        raise ValueError(f"a square is a file from 1 to 9 and a rank from a to i, not {name!r}")
    return 9 * (int(name[0]) - 1) + "abcdefghi".index(name[1])
