"""How a game ends by the rules alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from komadori._core.rules import declaration_rules

#: Points that Black and White need to declare a win, by rule; 0: no declaration.
DECLARATION_POINTS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(declaration_rules())


class Termination(Enum):
    """What ended the game. Resignation, time and declaration are the players' acts, not here."""

    CHECKMATE = "checkmate"
    NO_LEGAL_MOVES = "no legal moves"  #: not in check, and loses all the same
    SENNICHITE = "sennichite"  #: the fourth occurrence: a draw
    PERPETUAL_CHECK = "perpetual check"  #: the fourth occurrence, one side always giving check


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a game: `winner` is a colour, None for a draw."""

    termination: Termination
    winner: int | None


class Declaration(Enum):
    """What an entering-king declaration would bring the side to move."""

    NONE = "none"  #: the conditions aren't met; declaring loses
    DRAW = "draw"  #: 24-point rule only: 24 to 30 points
    WIN = "win"
