"""The quickstart's page: learning curves, boards with the policy's moves, match results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from komadori.report.figures import Plot, plot_svg
from komadori.report.html import render_template


@dataclass(frozen=True)
class Candidate:
    """A move the policy proposes; `probability` is over the legal moves, in [0, 1]."""

    move: str
    """As P-7f."""
    japanese: str
    """As in KIF."""
    probability: float
    is_teacher: bool


@dataclass(frozen=True)
class PositionView:
    """A position of a held-out game; `win_rate` is the network's, of the side to move. `boards`:
    pictures by the style of their pieces."""

    caption: str
    boards: Mapping[str, str]
    candidates: Sequence[Candidate]
    win_rate: float


@dataclass(frozen=True)
class MatchView:
    """A match from the trained network's side; `elo` is the difference with its 95 % error."""

    opponent: str
    wins: int
    draws: int
    losses: int
    elo: str
    p_value: float

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class Page:
    """The page's content."""

    title: str
    verdict: str
    passed: bool
    figures: Mapping[str, str]
    plots: Sequence[Plot]
    positions: Sequence[PositionView]
    matches: Sequence[MatchView]
    facts: Mapping[str, str]
    next_commands: Sequence[tuple[str, str]]


def render(page: Page) -> str:
    """The page as HTML text."""
    plots = [plot_svg(plot) for plot in page.plots]
    return render_template("quickstart.html.j2", page=page, plots=plots)
