"""How a game ends by the rules alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
