"""An analysis as one HTML page that needs nothing else: graph, turning points, all moves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from komadori.analysis.games import AnalysedGame, Mistake, in_japanese
from komadori.analysis.positions import Line
from komadori.rules import BLACK, WHITE

#: Turning points with a board, at most, the dearest ones.
BOARDS = 8

#: The graph, in units of the SVG.
_WIDTH, _HEIGHT = 900.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 12.0, 12.0, 26.0

_SIDES = {BLACK: "▲", WHITE: "△"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fdfcf9; --soft: #6b6862;
  --line: #d9d5cc; --black: #2c5a8c; --blunder: #b3261e; --mistake: #b85c00;
  --inaccuracy: #8a7400; --panel: #f4f1ea; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceae4; --paper: #1b1b1d; --soft: #a5a199;
  --line: #44423e; --black: #7fb2e5; --blunder: #ff8a80; --mistake: #ffb060;
  --inaccuracy: #e0cc60; --panel: #262628; } }
body { font: 16px/1.5 system-ui, "Noto Sans CJK JP", sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; padding: 1.5rem; max-width: 60rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin: 0 0 .4rem; }
.soft { color: var(--soft); } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } td.n, th.n { text-align: right; }
td:first-child { white-space: nowrap; }
.graph { width: 100%; min-width: 34rem; height: auto; display: block; }
.graph text { font-size: 12px; font-family: inherit; fill: var(--soft); }
.graph .rate { fill: none; stroke: var(--black); stroke-width: 2; }
.graph .area { fill: var(--black); opacity: .12; }
.graph .grid { stroke: var(--line); } .graph .even { stroke: var(--soft); stroke-dasharray: 4 4; }
.blunder { color: var(--blunder); fill: var(--blunder); }
.mistake { color: var(--mistake); fill: var(--mistake); }
.inaccuracy { color: var(--inaccuracy); fill: var(--inaccuracy); }
article { display: flex; flex-wrap: wrap; gap: 1.2rem; background: var(--panel); padding: 1rem;
  border-radius: .5rem; margin: 1rem 0; }
article > div { flex: 1 1 18rem; min-width: 0; } article > figure { flex: 0 1 22rem; margin: 0; }
article svg { width: 100%; height: auto; background: #fff; border-radius: .3rem; }
.pv { overflow-wrap: anywhere; } a { color: inherit; }
"""


def html_report(games: Sequence[AnalysedGame], title: str, note: str = "") -> str:
    """The page of one or several games. `note` says how they were analysed."""
    parts = [_game(number, game) for number, game in enumerate(games, 1)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="soft">{escape(note)}</p>\n'
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _game(number: int, analysed: AnalysedGame) -> str:
    game = analysed.game
    mistakes = analysed.mistakes()
    dearest = sorted(mistakes, key=lambda m: -m.loss)[:BOARDS]
    turning = sorted(dearest, key=lambda m: m.ply)
    players = f"▲ {game.black or '?'} - △ {game.white or '?'}"
    return "\n".join(
        [
            f"<section><h2>{escape(players)}</h2>",
            f'<p class="soft">{len(game)} moves, {escape(game.result_text())}</p>',
            _summary(analysed, mistakes),
            _graph(number, analysed, mistakes),
            "<h2>Turning points</h2>" if turning else "<p>No move lost much.</p>",
            *(_turning_point(number, analysed, mistake) for mistake in turning),
            _all_moves(analysed, mistakes),
            "</section>",
        ]
    )


def _summary(analysed: AnalysedGame, mistakes: Sequence[Mistake]) -> str:
    rows = []
    for turn, mark in _SIDES.items():
        name = analysed.game.black if turn == BLACK else analysed.game.white
        same, made = analysed.agreement(turn)
        counts = [
            sum(m.turn == turn and m.grade == grade for m in mistakes)
            for grade in ("inaccuracy", "mistake", "blunder")
        ]
        share = f"{100 * same / made:.0f}%" if made else "-"
        cells = [share, f"{100 * analysed.mean_loss(turn):.1f}", *map(str, counts)]
        rows.append(
            f"<tr><td>{mark} {escape(name or '?')}</td>"
            + "".join(f'<td class="n">{cell}</td>' for cell in cells)
            + "</tr>"
        )
    heads = ("best move", "points lost a move", "inaccuracies", "mistakes", "blunders")
    return (
        '<div class="scroll"><table><tr><th>side</th>'
        + "".join(f'<th class="n">{head}</th>' for head in heads)
        + f"</tr>{''.join(rows)}</table></div>"
    )


def _graph(number: int, analysed: AnalysedGame, mistakes: Sequence[Mistake]) -> str:
    """Black's win rate over the moves, mistakes marked and linked to their boards."""
    last = max(len(analysed.game), 1)

    def x(ply: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ply / last

    def y(rate: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - rate)

    rates = [analysed.black_win_rate(ply) for ply in range(len(analysed.game) + 1)]
    points = " ".join(f"{x(ply):.1f},{y(rate):.1f}" for ply, rate in enumerate(rates))
    parts = [
        f'<svg class="graph" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" '
        'aria-label="Black\'s win rate, move by move">'
    ]
    for per_cent in (0, 25, 50, 75, 100):
        height = y(per_cent / 100)
        kind = "even" if per_cent == 50 else "grid"
        parts.append(
            f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" '
            f'y1="{height:.1f}" y2="{height:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{per_cent}%</text>'
        )
    step = next(s for s in (5, 10, 20, 50, 100, 1000) if last / s <= 12)
    parts += [
        f'<text x="{x(ply):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{ply}</text>'
        for ply in range(0, last + 1, step)
    ]
    base = y(0.5)
    parts.append(
        f'<polygon class="area" points="{x(0):.1f},{base:.1f} {points} '
        f'{x(len(rates) - 1):.1f},{base:.1f}"/><polyline class="rate" points="{points}"/>'
    )
    for mistake in mistakes:
        at = f'cx="{x(mistake.ply):.1f}" cy="{y(rates[mistake.ply]):.1f}"'
        radius = {"blunder": 6, "mistake": 5}.get(mistake.grade, 3.5)
        told = f"{mistake.ply}. {_played(analysed, mistake)}: {mistake.grade}"
        parts.append(
            f'<a href="#g{number}m{mistake.ply}"><circle class="{mistake.grade}" {at} '
            f'r="{radius}"><title>{escape(told)}</title></circle></a>'
        )
    parts.append("</svg>")
    return (
        f'<figure style="margin:1.2rem 0"><div class="scroll">{"".join(parts)}</div>'
        '<figcaption class="soft">'
        "Black's win rate by the number of moves made; dots are moves that lost at least 5 points."
        "</figcaption></figure>"
    )


def _played(analysed: AnalysedGame, mistake: Mistake) -> str:
    return in_japanese(analysed.boards[mistake.ply - 1], [mistake.played.usi()])


def _turning_point(number: int, analysed: AnalysedGame, mistake: Mistake) -> str:
    before = analysed.boards[mistake.ply - 1]
    after = analysed.boards[mistake.ply]
    arrows = [(mistake.best.pv[0], 1.0), (mistake.played.usi(), 0.35)]
    picture = before.svg(arrows=arrows, labels=False, width=360)
    reply = mistake.reply.pv if mistake.reply else ()
    lines = [
        f'<h3>{mistake.ply}. {_played(analysed, mistake)} <span class="{mistake.grade}">'
        f"{mistake.grade}</span></h3>",
        f"<p>{_SIDES[mistake.turn]} {100 * mistake.before:.0f}% → {100 * mistake.after:.0f}% "
        f"({100 * mistake.loss:.0f} points lost)</p>",
        f'<p class="pv"><b>Better</b> ({_worth(mistake.best)}): '
        f"{in_japanese(before, mistake.best.pv)}</p>",
    ]
    if reply:
        assert mistake.reply is not None
        lines.append(
            f'<p class="pv"><b>After the move played</b> ({_worth(mistake.reply)} for the other '
            f"side): {in_japanese(after, reply)}</p>"
        )
    return (
        f'<article id="g{number}m{mistake.ply}"><figure>{picture}'
        '<figcaption class="soft">Strong arrow: the better move; faint: the move played.'
        "</figcaption>"
        f"</figure><div>{''.join(lines)}</div></article>"
    )


def _worth(line: Line) -> str:
    if line.mate_plies is not None:
        return f"{'mates' if line.mate_plies > 0 else 'is mated'} in {abs(line.mate_plies)}"
    return f"{100 * line.win_rate:.0f}%"


def _all_moves(analysed: AnalysedGame, mistakes: Sequence[Mistake]) -> str:
    grades = {mistake.ply: mistake.grade for mistake in mistakes}
    rows = []
    for i, move in enumerate(analysed.moves):
        best = analysed.found[i].best
        better = in_japanese(analysed.boards[i], best.pv[:1]) if best else ""
        grade = grades.get(i + 1, "")
        rows.append(
            f'<tr><td class="n">{i + 1}</td>'
            f"<td>{in_japanese(analysed.boards[i], [move.usi()])}</td>"
            f'<td>{better}</td><td class="n">{100 * analysed.black_win_rate(i + 1):.1f}%</td>'
            f'<td class="{grade}">{grade}</td></tr>'
        )
    return (
        "<details><summary>All moves</summary>"
        '<div class="scroll"><table><tr><th class="n">#</th><th>played</th><th>best</th>'
        f'<th class="n">▲ wins</th><th></th></tr>{"".join(rows)}</table></div></details>'
    )
