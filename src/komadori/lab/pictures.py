"""Pictures of an experiment's records, as standalone SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from komadori.lab.claims import Value, value_of
from komadori.lab.experiment import Claim, Experiment
from komadori.lab.measures import PERCENT, measure_of
from komadori.lab.results import Record
from komadori.report.figures import COLOURS, figure_svg


def picture(experiment: Experiment, records: Sequence[Record]) -> str:
    """The SVG of one experiment: a dot per seed, or accuracy over cost for `at_equal` claims."""
    traded = next((claim for claim in experiment.claims if claim.at_equal), None)
    measure = traded.measure if traded else experiment.kind.picture
    title = measure_of(measure).title
    title += f" by {measure_of(traded.at_equal).title}" if traded else ", held-out games"

    def draw() -> Any:
        from matplotlib.figure import Figure

        height = 4.6 if traded else 0.9 + 0.34 * len(experiment.variants)
        figure = Figure(figsize=(7.2, height), layout="constrained")
        axes = figure.subplots()
        values = {v.name: value_of(records, v.name, measure) for v in experiment.variants}
        if traded:
            _trade(axes, traded, records, values)
        else:
            _dots(axes, experiment, values, measure)
        axes.set_title(title, loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="both" if traded else "x", alpha=0.25)
        figure.legend(frameon=False, fontsize=9, loc="outside lower right", ncols=2)
        if traded:
            figure.draw_without_rendering()  # labels are placed in pixels
            _name(axes, _places(traded, records, values))
        return figure

    return figure_svg(draw, title, transparent=False)


def _dots(axes: Any, experiment: Experiment, values: Mapping[str, Value], measure: str) -> None:
    """A row per variant: a dot per seed, and the diary's figure."""
    for place, variant in enumerate(experiment.variants):
        found = list(values[variant.name].by_seed.values())
        axes.plot(found, [place] * len(found), "o", color=COLOURS[0], alpha=0.8, markersize=7)
        diary = variant.diary.get(measure)
        if isinstance(diary, float):
            axes.plot([diary], [place], "D", color=COLOURS[1], fillstyle="none")
    axes.plot([], [], "o", color=COLOURS[0], label="measured")
    if any(isinstance(v.diary.get(measure), float) for v in experiment.variants):
        axes.plot([], [], "D", color=COLOURS[1], fillstyle="none", label="diary")
    axes.set_yticks(range(len(values)), [variant.title for variant in experiment.variants])
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.4g}%")


def _places(
    claim: Claim, records: Sequence[Record], values: Mapping[str, Value]
) -> dict[str, tuple[float, float]]:
    """(cost, mean) of the variants that have both."""
    costs = {name: value_of(records, name, claim.at_equal).mean for name in values}
    return {
        name: (costs[name], value.mean)
        for name, value in values.items()
        if value.by_seed and math.isfinite(costs[name])
    }


def _trade(axes: Any, claim: Claim, records: Sequence[Record], values: Mapping[str, Value]) -> None:
    """The claim's measure over its cost, logarithmic: the sizes of one network as a line."""
    from matplotlib.ticker import FixedLocator, NullFormatter, PercentFormatter

    places = _places(claim, records, values)
    for name, (x, mean) in places.items():
        colour, found = COLOURS[name in claim.sizes], list(values[name].by_seed.values())
        axes.plot([x] * len(found), found, "o", color=colour, alpha=0.3, ms=4)
        axes.plot([x], [mean], "o", color=colour, ms=7)
    line = sorted(place for name, place in places.items() if name in claim.sizes)
    axes.plot([x for x, _ in line], [y for _, y in line], "-", color=COLOURS[1], lw=2)
    axes.plot([], [], "-o", color=COLOURS[1], label=f"sizes of the {claim.sizes_of}")
    axes.plot([], [], "o", color=COLOURS[0], label="others")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 4]))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.14, y=0.12)
    if measure_of(claim.measure).form == PERCENT:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    axes.set_xlabel(measure_of(claim.at_equal).title)


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
