"""The match page, one self-contained HTML file: result, graphs, every game on a board."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.arena import elo
from komadori.atomic import write_text
from komadori.pages import board_assets, join_modules, json_in_script, part
from komadori.wording import duration

if TYPE_CHECKING:
    from komadori.arena.game import GameRecord
    from komadori.arena.match import MatchResult

#: Maximum number of points of the Elo curve.
MAX_POINTS = 300


def write_page(path: Path, result: MatchResult) -> None:
    """Write the match's page atomically."""
    a, b = result.names
    board = {
        "SHARED": join_modules(part("dom.js"), part("board.js")),
        "STYLE": part("board.css"),
        "ASSETS": json_in_script(board_assets()),
    }
    write_text(path, fill_template("match.html", f"{a} – {b}", _data(result), board))


def fill_template(name: str, title: str, data: Any, parts: Mapping[str, str] | None = None) -> str:
    """Fill a template of `arena/templates`: title, data as JSON, and trusted parts by name."""
    template = resources.files("komadori.arena").joinpath("templates", name).read_text("utf-8")
    texts = {**(parts or {}), "TITLE": html.escape(title), "DATA": json_in_script(data)}
    return re.sub(r"__([A-Z]+)__", lambda found: texts[found[1]], template)


def _data(result: MatchResult) -> dict[str, Any]:
    a, b = result.names
    games = sorted(result.games, key=lambda game: game.index)
    summary = [
        str(result),
        f"A is {a}, B is {b}. Pairs by A's points 0, ½, 1, 1½, 2: "
        f"{', '.join(map(str, result.pairs))}.",
        f"Conditions: {result.terms or result.conditions}.",
    ]
    if result.sprt and result.llr is not None:
        test = result.sprt
        summary.append(
            f"SPRT of {test.elo0:g} against {test.elo1:g} Elo: log-likelihood ratio "
            f"{result.llr:.2f} in ({test.lower:.2f}, {test.upper:.2f}), "
            f"{result.decision or 'undecided'}."
        )
    return {
        "title": f"{a} – {b}",
        "summary": summary,
        "elo": elo_curve(result.games),
        "endings": _endings(games),
        "times": _times(result.names, games),
        "games": [_game(game) for game in games],
    }


def elo_curve(games: list[GameRecord]) -> list[list[float]]:
    """Return (games, Elo, low, high) over time, where both bounds are finite."""
    wins = draws = losses = 0
    step = max(1, len(games) // MAX_POINTS)
    rows: list[list[float]] = []
    for number, game in enumerate(games, 1):
        wins += game.points == 1.0
        draws += game.points == 0.5
        losses += game.points == 0.0
        if number >= 4 and (number % step == 0 or number == len(games)):
            estimate = elo.trinomial(wins, draws, losses)
            row = [number, estimate.elo, estimate.low, estimate.high]
            rows.append([max(-9999.0, min(9999.0, value)) for value in row])
    return rows if len(rows) > 1 else []  # a point is no curve


def _endings(games: list[GameRecord]) -> list[list[str]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for game in games:
        counts[game.reason][round(2 - 2 * game.points)] += 1
    ordered = sorted(counts.items(), key=lambda item: -sum(item[1]))
    return [[reason.replace("_", " "), *map(str, row)] for reason, row in ordered]


def _times(names: tuple[str, str], games: list[GameRecord]) -> str:
    """Return the mean thinking time per move of each player."""
    spent = [[0, 0], [0, 0]]  # moves, milliseconds
    for game in games:
        for i, time_ms in enumerate(game.times_ms):
            black_moved = (game.opening_plies + i) % 2 == (game.sfen.split()[1] == "w")
            side = 0 if black_moved == game.first_is_black else 1
            spent[side][0] += 1
            spent[side][1] += time_ms
    parts = [
        f"{name} {duration(total / moves / 1000)}"
        for name, (moves, total) in zip(names, spent, strict=True)
        if moves
    ]
    return f"Mean time per move: {', '.join(parts)}." if parts else ""


_RESULTS = {"black": "Black won", "white": "White won", "draw": "drawn"}


def _game(game: GameRecord) -> dict[str, Any]:
    return {
        "index": game.index,
        "names": list(game.names),
        "first_is_black": game.first_is_black,
        "sfen": game.sfen,
        "moves": game.moves,
        "opening": game.opening_plies,
        "result": f"{_RESULTS[game.winner]} ({game.reason.replace('_', ' ')})",
        "detail": game.detail,
        "scores": game.scores_cp,
        "times": game.times_ms,
    }
