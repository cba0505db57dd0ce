"""The page of a loop: Elo over generations with errors, and a table of the generations."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from komadori.atomic import write_text
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.generate.loop.folder import Loop, Rating

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 320, 56, 34, 14

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto;
       max-width: 52rem; padding: 0 1rem; }
h1 { font-size: 1.35rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { white-space: nowrap; text-align: right; padding: .2rem .7rem;
         border-bottom: 1px solid #ddd; }
th { font-weight: 600; } td.text, th.text { text-align: left; }
.axis { stroke: #999; } .grid { stroke: #e5e5e5; } .line { stroke: #1f6feb; fill: none;
stroke-width: 2; } .error { stroke: #1f6feb; opacity: .45; } .taken { fill: #1f6feb; }
.dropped { fill: #fff; stroke: #888; stroke-width: 1.5; } text { font-size: 12px; fill: #555; }
.level { stroke: #b35900; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181c; }
th, td { border-color: #333; } .grid { stroke: #2a2d33; } text { fill: #aaa; }
.dropped { fill: #16181c; } }
"""


@names_arguments
def write_page(loop: Loop) -> None:
    """Write index.html of the loop's folder."""
    write_text(loop.folder / "index.html", page(loop))


def page(loop: Loop) -> str:
    config = loop.config
    ratings = loop.ratings()
    drawing = (
        f'<div class="wide">{chart(ratings)}</div>'
        "<p>Elo relative to generation 0, summed over the gating matches; bars are 95 % errors, "
        "which accumulate. Filled: promoted. Hollow: rejected.</p>"
        if len(ratings) > 1
        else f"<p>{_why_empty(loop)}</p>"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Loop of {escape(config.learner)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Loop: {escape(config.learner)}, {escape(config.games.kind)} games, "
        f"{config.games.games:,} per generation</h1><h2>Elo over generations</h2>{drawing}"
        f'<h2>Generations</h2><div class="wide">{_table(loop, ratings)}</div></body></html>\n'
    )


def _why_empty(loop: Loop) -> str:
    """Say why there is no generation to plot beside the first."""
    if not loop.config.gate.games:
        return "This loop plays no gating matches."
    if not any(verdict.games for n in loop.judged() if (verdict := loop.verdict(n))):
        return "No gating match has been decided yet."
    return "The gating matches so far have no finite error: too few games, or all won or all lost."


def _table(loop: Loop, ratings: list[Rating]) -> str:
    by_number = {rating.generation: rating for rating in ratings}
    references = loop.config.gate.references
    heads = ["generation", "games", "positions", "played by", "match", "Elo of match", "verdict"]
    heads += ["Elo vs. 0", *(f"against {name}" for name in references)]
    rows = []
    number = 1
    while (loop.generation(number)).exists():
        rows.append(_row(loop, number, by_number.get(number), references))
        number += 1
    head = "".join(f'<th class="text">{escape(name)}</th>' for name in heads)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _row(loop: Loop, number: int, rating: Rating | None, references: tuple[str, ...]) -> str:
    games, verdict = loop.facts(number, "games"), loop.verdict(number)
    cells = [str(number)]
    cells += (
        [f"{games['games']:,}", f"{games['positions']:,}", str(games["by"])]
        if games
        else ["", "", ""]
    )
    if verdict is None:
        cells += ["", "", _current_stage(loop, number), ""]
    else:
        match, elo = "", ""
        if verdict.games:
            match = result_text(verdict.wins, verdict.draws, verdict.losses)
            elo = (
                "all won or all lost"
                if verdict.elo is None
                else elo_with_error(verdict.elo, verdict.error)
            )
        cells += [
            match,
            elo,
            "promoted" if verdict.promoted else "rejected",
            elo_with_error(rating.elo, rating.error) if rating else "",
        ]
    played = loop.facts(number, "references") or {}
    for name in references:
        score = played.get(name)
        cells.append(result_text(score["wins"], score["draws"], score["losses"]) if score else "")
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _current_stage(loop: Loop, number: int) -> str:
    if loop.facts(number, "train") is not None:
        return "gating match"
    if loop.is_labelled(number):
        return "training"
    return "playing" if loop.facts(number, "games") is None else "relabelling"


def _signed(elo: float) -> str:
    return f"{elo:+.0f}" if round(elo) else "0"


def result_text(wins: int, draws: int, losses: int) -> str:
    """Format a result so that draws aren't taken for losses: `+5 =3 -2`, as the browser does."""
    return f"+{wins} ={draws} -{losses}"


def elo_with_error(elo: float, error: float | None) -> str:
    """Format Elo with its 95 % error; alone if that isn't finite (None)."""
    return _signed(elo) + ("" if error is None else f" ± {error:.0f}")


def chart(ratings: list[Rating], levels: Mapping[str, float] | None = None) -> str:
    """Plot Elo over the generations as SVG. `levels`: other players, as horizontal lines."""
    levels = levels or {}
    last = max(rating.generation for rating in ratings)
    low = min([0.0, *(r.elo - r.error for r in ratings), *levels.values()])
    high = max([10.0, *(r.elo + r.error for r in ratings), *levels.values()])
    step = _step(high - low)
    low, high = step * (low // step), step * -(-high // step)

    def x(generation: float) -> float:
        return _LEFT + (generation / max(last, 1)) * (_WIDTH - _LEFT - 20)

    def y(elo: float) -> float:
        return _TOP + (high - elo) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Elo over generations">']
    elo = low
    while elo <= high:
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y(elo):.1f}" '
            f'y2="{y(elo):.1f}"/><text x="{_LEFT - 8}" y="{y(elo) + 4:.1f}" '
            f'text-anchor="end">{_signed(elo)}</text>'
        )
        elo += step
    every = max(1, last // 12)
    parts += [
        f'<text x="{x(g):.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{g}</text>'
        for g in range(0, last + 1, every)
    ]
    parts += [
        f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y(elo):.1f}" y2="{y(elo):.1f}"/>'
        f'<text x="{_WIDTH - 24}" y="{y(elo) - 5:.1f}" text-anchor="end">{escape(name)}</text>'
        for name, elo in levels.items()
    ]
    promoted = [r for r in ratings if r.promoted]
    points = " ".join(f"{x(r.generation):.1f},{y(r.elo):.1f}" for r in promoted)
    parts.append(f'<polyline class="line" points="{points}"/>')
    for r in ratings:
        parts.append(
            f'<line class="error" x1="{x(r.generation):.1f}" x2="{x(r.generation):.1f}" '
            f'y1="{y(r.elo - r.error):.1f}" y2="{y(r.elo + r.error):.1f}"/>'
            f'<circle class="{"taken" if r.promoted else "dropped"}" r="4" '
            f'cx="{x(r.generation):.1f}" cy="{y(r.elo):.1f}"><title>generation {r.generation}: '
            f"{r.elo:+.0f} ± {r.error:.0f}</title></circle>"
        )
    parts.append("</svg>")
    return "".join(parts)


def _step(span: float) -> float:
    step = 10.0
    while span / step > 8:
        step *= 2.5 if f"{step:g}"[0] == "2" else 2
    return step
