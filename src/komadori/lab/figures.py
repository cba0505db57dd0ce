"""Pictures of figures, as SVG text that follows the page's colours, or as PNG."""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COLOURS = ("#b5482f", "#2f6f8f", "#6b8e23", "#8a5aa3")


@dataclass(frozen=True)
class Curve:
    """One line of a plot: `x` and `y` of equal length."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """One set of axes. percent: of the y axis. kind: line, bar, or calibration, whose x is in
    per cent too and which has the diagonal. ticks: names of the bars' places."""

    title: str
    x_label: str
    curves: Sequence[Curve]
    percent: bool = False
    kind: str = "line"
    ticks: Sequence[str] = ()


@dataclass(frozen=True)
class DotRow:
    """One row of a dot plot: what was measured, a dot a seed, and the diary's figure."""

    label: str
    measured: Sequence[float]
    diary: float | None


@dataclass(frozen=True)
class Mark:
    """One network of a picture of what is had for what: its place, and a value a seed."""

    label: str
    x: float
    values: Sequence[float]
    on_line: bool

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


def plot_svg(plot: Plot, *, alone: bool = False) -> str:
    """A plot as an SVG element that takes its text colour from the page, or as a file."""
    return _svg(lambda: _figure(plot), plot.title, transparent=not alone)


def plot_png(plot: Plot) -> bytes:
    """The same as a PNG on white."""
    buffer = io.BytesIO()
    _figure(plot).savefig(buffer, format="png", dpi=160)
    return buffer.getvalue()


def dots_svg(rows: Sequence[DotRow], title: str) -> str:
    """Variants one under another with their shares; a standalone SVG."""

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

    return _svg(draw, title, transparent=False)


def trade_svg(
    marks: Sequence[Mark], title: str, x_label: str, line_label: str, percent: bool
) -> str:
    """What is had (y) for what it costs (x, by its logarithm): networks as dots with their names,
    the sizes of one network as a line; a standalone SVG."""

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

    return _svg(draw, title, transparent=False)


def _name(axes: Any, places: Mapping[str, tuple[float, float]]) -> None:
    """Write names beside their places, each where it covers no other name or place if it can."""
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


def _figure(plot: Plot) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, PercentFormatter

    figure = Figure(figsize=(5.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(plot.curves):
        colour = COLOURS[number % len(COLOURS)]
        if plot.kind == "bar":
            width = 0.8 / len(plot.curves)
            places = [x + (number - (len(plot.curves) - 1) / 2) * width for x in curve.x]
            axes.bar(places, curve.y, width, color=colour, label=curve.label)
        else:
            marker = "o" if len(curve.x) < 30 else ""
            axes.plot(curve.x, curve.y, marker=marker, ms=4, color=colour, lw=2, label=curve.label)
    if plot.kind == "calibration":
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle=":")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    elif plot.kind == "bar" and plot.ticks:
        ticks = [tick.replace(" in ", " in\n") for tick in plot.ticks]
        axes.set_xticks(range(len(ticks)), ticks, multialignment="center")
    elif plot.kind == "line":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_title(plot.title, loc="left", fontsize=12)
    axes.set_xlabel(plot.x_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    if plot.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if plot.kind == "bar":  # above the bars, which leave no room beside them
        highest = max((y for c in plot.curves for y in c.y if y == y), default=1.0)
        axes.set_ylim(0, 1.25 * highest)
        if plot.percent:
            axes.set_yticks([y for y in axes.get_yticks() if y <= 1])
    if len(plot.curves) > 1:
        place = {"loc": "upper center", "ncols": len(plot.curves), "fontsize": 9}
        axes.legend(frameon=False, **(place if plot.kind == "bar" else {}))
    return figure


def _svg(draw: Callable[[], Any], salt: str, *, transparent: bool = True) -> str:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "font.size": 11, "svg.hashsalt": salt}):
        buffer = io.StringIO()
        draw().savefig(buffer, format="svg", transparent=transparent, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    if not transparent:
        return svg
    return svg[svg.index("<svg") :].replace("#000000", "currentColor")
