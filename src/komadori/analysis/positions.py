"""What a search finds of the positions of games."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from komadori.inference import Evaluator
from komadori.rules import Board
from komadori.search.lines import RootLine
from komadori.search.many import ROOTS, Effort, ManySearch, Searched
from komadori.search.options import PuctOptions

__all__ = ["ROOTS", "Effort", "Found", "Line", "PositionAnalyser"]

Key = TypeVar("Key")


@dataclass(frozen=True)
class Line:
    """A move and what is expected after it, in the view of the side that makes it."""

    win_rate: float
    mate_plies: int | None
    """Plies to a mate: positive where the side to move wins, negative where it loses."""
    score_cp: int | None
    """None where `mate_plies` says it."""
    visits: int
    pv: tuple[str, ...]
    """USI moves, the line's own first."""


@dataclass(frozen=True)
class Found:
    """What was found in a position, best line first; in the view of the side to move."""

    win_rate: float
    visits: int
    lines: tuple[Line, ...]
    declares: bool = False
    """The side to move may declare a win."""

    @property
    def best(self) -> Line | None:
        """None where the game is over."""
        return self.lines[0] if self.lines else None


class PositionAnalyser:
    """Searches positions, several at once, on one evaluator and one tree."""

    def __init__(
        self,
        evaluator: Evaluator,
        effort: Effort,
        options: PuctOptions | None = None,
        roots: int = ROOTS,
    ) -> None:
        """`options.multipv` is how many lines are kept of each position."""
        self._search: ManySearch[Any] = ManySearch(evaluator, effort, options, roots)

    def analyse(self, positions: Iterable[tuple[Key, Board]]) -> Iterator[tuple[Key, Found]]:
        """What is found of each position, in the order in which they are finished.

        A board's path counts for repetitions. The iteration may be left at any time.
        """
        for key, searched in self._search.search(positions):
            yield key, _found(searched)


def _found(searched: Searched) -> Found:
    lines = tuple(_line(line) for line in searched.lines)
    return Found(searched.win_rate, searched.visits, lines, searched.declares)


def _line(line: RootLine) -> Line:
    pv = tuple(move.usi() for move in line.pv)
    return Line(line.win_rate, line.mate_plies, line.score_cp, line.visits, pv)
