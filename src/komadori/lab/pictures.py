"""Pictures of an experiment's records, as standalone SVG."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from komadori.report.figures import COLOURS, figure_svg


@dataclass(frozen=True)
class DotRow:
    """One row of a dot plot: a dot per seed, and the diary's figure."""

    label: str
    measured: Sequence[float]
    diary: float | None


@dataclass(frozen=True)
class Mark:
    """One network of a trade-off plot: its x, and a value per seed."""

    label: str
    x: float
    values: Sequence[float]
    on_line: bool

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


def dots_svg(rows: Sequence[DotRow], title: str) -> str:
    """One row per variant; a standalone SVG."""

    def draw() -> Any:
        from matplotlib.figure import Figure
        from matplotlib.ticker import PercentFormatter

        figure = Figure(figsize=(7.2, 0.9 + 0.34 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            here = [place] * len(row.measured)
            axes.plot(row.measured, here, "o", color=COLOURS[0], alpha=0.8, markersize=7)
            if row.diary is not None:
                axes.plot([row.diary], [place], "D", color=COLOURS[1], fillstyle="none")
        axes.plot([], [], "o", color=COLOURS[0], label="measured")
        if any(row.diary is not None for row in rows):
            axes.plot([], [], "D", color=COLOURS[1], fillstyle="none", label="diary")
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_title(title, loc="left", fontsize=11)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.25)
        figure.legend(frameon=False, fontsize=9, loc="outside lower right", ncols=2)
        return figure

    return figure_svg(draw, title, transparent=False)


def trade_svg(
    marks: Sequence[Mark], title: str, x_label: str, line_label: str, percent: bool
) -> str:
    """A measure (y) over a cost (x, logarithmic): networks as named dots, the sizes of one network
    as a line; a standalone SVG."""

    def draw() -> Any:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FixedLocator, NullFormatter, PercentFormatter

        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.subplots()
        for mark in marks:
            colour = COLOURS[1 if mark.on_line else 0]
            axes.plot([mark.x] * len(mark.values), mark.values, "o", color=colour, alpha=0.3, ms=4)
            axes.plot([mark.x], [mark.mean], "o", color=colour, ms=7)
        line = sorted((mark.x, mark.mean) for mark in marks if mark.on_line)
        axes.plot([x for x, _ in line], [y for _, y in line], "-", color=COLOURS[1], lw=2)
        axes.plot([], [], "-o", color=COLOURS[1], label=f"sizes of the {line_label}")
        axes.plot([], [], "o", color=COLOURS[0], label="others")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 4]))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(x=0.14, y=0.12)
        if percent:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel(x_label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        figure.legend(frameon=False, fontsize=9, loc="outside lower right", ncols=2)
        figure.draw_without_rendering()  # places are known from here on
        _name(axes, {mark.label: (mark.x, mark.mean) for mark in marks})
        return figure

    return figure_svg(draw, title, transparent=False)


def _name(axes: Any, places: Mapping[str, tuple[float, float]]) -> None:
    """Annotate each place with its name, avoiding overlaps where possible."""
    from matplotlib.transforms import Bbox

    at = {label: axes.transData.transform(place) for label, place in places.items()}
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in at.values()]
    sides = [
        {"xytext": (8 * right, 5 * up), "ha": ("right", "center", "left")[right + 1], "va": va}
        for right, up, va in [
            (1, 0, "center"),
            (0, -2, "top"),
            (0, 2, "bottom"),
            (-1, 0, "center"),
            (1, -1, "top"),
            (1, 1, "bottom"),
            (-1, -1, "top"),
            (-1, 1, "bottom"),
        ]
    ]
    for label, place in places.items():
        for side in sides:
            text = axes.annotate(label, place, textcoords="offset points", fontsize=9, **side)
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
            text.remove()
        else:
            text = axes.annotate(label, place, textcoords="offset points", fontsize=9, **sides[0])
            box = text.get_window_extent()
        taken.append(box)
