"""Tree-search analysis of game positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from komadori.inference import Evaluator
from komadori.rules import Board
from komadori.search.lines import RootLine
from komadori.search.many import ROOTS, Effort, ManySearch, Searched
from komadori.search.options import PuctOptions
from komadori.wording import names_arguments

__all__ = ["ROOTS", "Effort", "Found", "Line", "PositionAnalyser"]

Key = TypeVar("Key")

#: `Line.mate_plies` of a mate whose length the engine didn't tell.
UNKNOWN_LENGTH = 1 << 20


@dataclass(frozen=True)
class Line:
    """A move with its expected continuation, from the view of the side that makes it."""

    win_rate: float
    mate_plies: int | None
    """Plies to mate, or UNKNOWN_LENGTH: positive if the side to move wins, negative if it loses."""
    score_cp: int | None
    """None if `mate_plies` is set."""
    visits: int
    pv: tuple[str, ...]
    """USI moves, starting with the move itself."""
    depth: int | None = None
    """Depth of the search in plies; None if it has none or it is unknown."""


@dataclass(frozen=True)
class Found:
    """Analysis of a position, best line first, from the side to move's view."""

    win_rate: float
    visits: int
    lines: tuple[Line, ...]
    declares: bool = False
    """The side to move may declare a win."""

    @property
    def best(self) -> Line | None:
        """The best line; None if the game is over."""
        return self.lines[0] if self.lines else None


@names_arguments
class PositionAnalyser:
    """Searches several positions at once with one evaluator and one tree."""

    def __init__(
        self,
        evaluator: Evaluator,
        effort: Effort,
        options: PuctOptions | None = None,
        roots: int = ROOTS,
    ) -> None:
        """`options.multipv` is the number of lines per position."""
        self._search: ManySearch[Any] = ManySearch(evaluator, effort, options, roots)

    def analyse(self, positions: Iterable[tuple[Key, Board]]) -> Iterator[tuple[Key, Found]]:
        """Yield the result of each position, in the order in which they finish.

        The moves on a board count for repetitions. The iteration may be abandoned at any time.
        """
        for key, searched in self._search.search(positions):
            yield key, _found(searched)


def _found(searched: Searched) -> Found:
    lines = tuple(_line(line) for line in searched.lines)
    return Found(searched.win_rate, searched.visits, lines, searched.declares)


def _line(line: RootLine) -> Line:
    pv = tuple(move.usi() for move in line.pv)
    return Line(line.win_rate, line.mate_plies, line.score_cp, line.visits, pv)
