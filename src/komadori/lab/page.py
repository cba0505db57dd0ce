"""The quickstart's page: learning curves, a board with the policy's moves, match results.

One self-contained HTML file: styles and pictures are inside, nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from komadori.lab.figures import Plot, plot_svg


@dataclass(frozen=True)
class Candidate:
    """A move the policy proposes; `probability` is over the legal moves, in [0, 1]."""

    move: str
    probability: float
    is_teacher: bool


@dataclass(frozen=True)
class PositionView:
    """A position of a held-out game as the network sees it; `win_rate` is the side to move's."""

    caption: str
    board_svg: str
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
        """How many games were played."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class Page:
    """Everything the page shows."""

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


def render_template(name: str, **values: object) -> str:
    """A page of `lab/templates` as HTML text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)
