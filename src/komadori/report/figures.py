"""Plots as SVG in the colours of the page, or as PNG."""

from __future__ import annotations

import importlib
import io
import logging
import re
import sys
from collections.abc import Callable, Sequence
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
    """A plot with one set of axes. percent: format of the y axis. kind: line, bar, or calibration
    (x in per cent, with the diagonal). ticks: names of the bars."""

    title: str
    x_label: str
    curves: Sequence[Curve]
    percent: bool = False
    kind: str = "line"
    ticks: Sequence[str] = ()


def plot_svg(plot: Plot, *, alone: bool = False) -> str:
    """A plot as an SVG element in the page's text colour, or (alone) as an SVG file."""
    return figure_svg(lambda: _figure(plot), plot.title, transparent=not alone)


def plot_png(plot: Plot) -> bytes:
    """A plot as PNG on white."""
    buffer = io.BytesIO()
    _figure(plot).savefig(buffer, format="png", dpi=160)
    return buffer.getvalue()


def _load_matplotlib() -> Any:
    """Import matplotlib and return it, without its log lines about folders that it can't write: it
    then uses a temporary one, and its user has nothing to do."""
    log = logging.getLogger("matplotlib")
    level = log.level
    if "matplotlib" not in sys.modules:
        log.setLevel(logging.ERROR)
    try:
        importlib.import_module("matplotlib.figure")  # and the fonts, which it keeps in a file
        return importlib.import_module("matplotlib")
    finally:
        log.setLevel(level)


def _figure(plot: Plot) -> Any:
    _load_matplotlib()
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
        axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.4g}%")
    if plot.kind == "bar":  # room for the legend above the bars
        highest = max((y for c in plot.curves for y in c.y if y == y), default=1.0)
        axes.set_ylim(0, 1.25 * highest)
        if plot.percent:
            axes.set_yticks([y for y in axes.get_yticks() if y <= 1])
    if len(plot.curves) > 1:
        place = {"loc": "upper center", "ncols": len(plot.curves), "fontsize": 9}
        axes.legend(frameon=False, **(place if plot.kind == "bar" else {}))
    return figure


def figure_svg(draw: Callable[[], Any], salt: str, *, transparent: bool = True) -> str:
    """Render a matplotlib figure as SVG text, reproducible for the same `salt`. transparent: an
    element in the page's text colour, instead of a file."""
    with _load_matplotlib().rc_context(
        {"svg.fonttype": "none", "font.size": 11, "svg.hashsalt": salt}
    ):
        buffer = io.StringIO()
        draw().savefig(buffer, format="svg", transparent=transparent, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    if not transparent:
        return svg
    return svg[svg.index("<svg") :].replace("#000000", "currentColor")
