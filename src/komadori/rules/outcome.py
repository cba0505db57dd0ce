"""The end of a game by the rules."""

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
    """The reason why a game ended. Resignation, time and declaration are acts of the players and
    not included."""

    CHECKMATE = "checkmate"
    NO_LEGAL_MOVES = "no legal moves"  #: not in check; a loss in shogi
    SENNICHITE = "sennichite"  #: the fourth occurrence: a draw
    PERPETUAL_CHECK = "perpetual check"  #: the fourth occurrence by checks of one side only


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a game. winner: a colour, None for a draw."""

    termination: Termination
    winner: int | None


class Declaration(Enum):
    """The result of an entering-king declaration by the side to move."""

    NONE = "none"  #: the conditions aren't met; a declaration loses
    DRAW = "draw"  #: 24-point rule only: 24 to 30 points
    WIN = "win"
