"""The quickstart's page: learning curves, a board with the policy's moves, match results.

One self-contained HTML file: styles and pictures are inside, nothing is loaded.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Curve:
    """One line of a plot: `x` and `y` of equal length."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """One set of axes."""

    title: str
    x_label: str
    curves: Sequence[Curve]
    percent: bool = False


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


def plot_svg(plot: Plot) -> str:
    """A plot as an SVG element that takes its text colour from the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, PercentFormatter

    with mpl.rc_context({"svg.fonttype": "none", "font.size": 11, "svg.hashsalt": plot.title}):
        figure = Figure(figsize=(5.4, 3.2), layout="constrained")
        axes = figure.subplots()
        for curve, colour in zip(plot.curves, ("#b5482f", "#2f6f8f", "#6b8e23"), strict=False):
            axes.plot(curve.x, curve.y, color=colour, linewidth=2, label=curve.label)
        axes.set_title(plot.title, loc="left", fontsize=12)
        axes.set_xlabel(plot.x_label)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
        if plot.percent:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        if len(plot.curves) > 1:
            axes.legend(frameon=False)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("#000000", "currentColor")


def render(page: Page) -> str:
    """The page as HTML text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("quickstart.html.j2")
    return template.render(page=page, plots=[plot_svg(plot) for plot in page.plots])
