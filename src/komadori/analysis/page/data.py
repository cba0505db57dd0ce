"""Analysed games as plain JSON: all that the page shows, notation included."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from komadori.analysis.comments import annotated, without_analysis, without_scores
from komadori.analysis.games import (
    GRADES,
    LOSS_BINS,
    AnalysedGame,
    SideSummary,
    grade_of,
    in_ki2,
    in_western,
)
from komadori.analysis.positions import UNKNOWN_LENGTH, Found, Line
from komadori.analysis.strength import Strength, statement, stronger_players
from komadori.records.game import NO_TIME, Game
from komadori.records.kif import write_kif
from komadori.rules import COLORS, HANDICAPS, Board, Handicap
from komadori.wording import check_type, names_arguments

VERSION = 1

#: Moves of a line that are kept.
LINE_PLIES = 16

#: Headers that the page shows under their own names, in this order; the players stand above.
_HEADERS = ("event", "site", "date", "start_time", "end_time", "time_limit", "opening")


@dataclass(frozen=True)
class IndexEntry:
    """A page in an index of several."""

    href: str
    title: str
    games: Sequence[AnalysedGame]


@names_arguments
def page_data(
    games: Sequence[AnalysedGame],
    title: str,
    note: str | Mapping[str, str] = "",
    strength: Strength | None = None,
) -> dict[str, Any]:
    """What a page shows, as JSON. Win rates are Black's, in [0, 1], scores Black's, in cp.

    note: how they were analysed, the same in all languages or by language. strength: the
    engine's; players who may be stronger are named.
    """
    return {
        "version": VERSION,
        "title": title,
        "note": note if isinstance(note, str) else dict(note),
        "strength": {} if strength is None else statement(strength),
        "grades": [[grade.name, grade.japanese, grade.loss] for grade in GRADES],
        "bins": list(LOSS_BINS),
        "unknownLength": UNKNOWN_LENGTH,
        "games": [game_data(game, strength) for game in games],
    }


def index_data(
    entries: Sequence[IndexEntry], title: str, note: str | Mapping[str, str] = ""
) -> dict[str, Any]:
    """The data of an index: a row per game, without moves."""
    rows = []
    for entry in entries:
        for number, analysed in enumerate(entry.games, 1):
            anchor = f"#g{number}" if len(entry.games) > 1 else ""
            head = _head(analysed)
            rows.append({"href": entry.href + anchor, "file": entry.title, **head})
    return {
        "version": VERSION,
        "title": title,
        "note": note if isinstance(note, str) else dict(note),
        "grades": [[grade.name, grade.japanese, grade.loss] for grade in GRADES],
        "index": rows,
    }


def handicap_of(game: Game) -> Handicap | None:
    """The handicap that the game began with; None in an even game."""
    found = next((h for h in HANDICAPS.values() if h.sfen == game.initial_sfen), None)
    return None if found is None or found.name == "even" else found


def game_data(analysed: AnalysedGame, strength: Strength | None = None) -> dict[str, Any]:
    """One game of `page_data`."""
    check_type("games", analysed, AnalysedGame)
    game = analysed.game
    usi = game.usi_moves()
    start = analysed.boards[0]
    grades = [None if loss is None else grade_of(loss) for loss in analysed.losses]
    return {
        **_head(analysed),
        "headers": _headers(game),
        "sfen": game.initial_sfen,
        "moves": usi,
        "ki2": in_ki2(start, usi),
        "west": in_western(start, usi),
        "times": _times(game),
        "comments": _comments(analysed),
        "rates": [_rounded(analysed.black_win_rate(ply)) for ply in range(len(game) + 1)],
        "losses": [_rounded_down(loss) for loss in analysed.losses],
        "marks": [None if grade is None else GRADES.index(grade) for grade in grades],
        "phases": [int(phase) for phase in analysed.phases],
        "lines": [
            [] if found is None else [_line(board, line) for line in found.lines]
            for board, found in zip(analysed.boards, analysed.found, strict=True)
        ],
        "over": [_over(found) for found in analysed.found],
        "stronger": [
            {"turn": one.turn, "name": one.name, "reason": one.reason, "rating": one.rating}
            for one in stronger_players(game, None if strength is None else strength.rating)
        ],
        "kif": write_kif(annotated(analysed, language="ja")),
    }


def _headers(game: Game) -> list[list[str]]:
    values = game.headers if game.headers.get("start_time") else game.headers | {"date": game.date}
    return [[key, values[key]] for key in _HEADERS if values.get(key)]


def _times(game: Game) -> list[int | None]:
    """The milliseconds spent on each move. Programs that don't know them write 0 for every move."""
    known = bool((game.times_ms > 0).any())
    return [int(ms) if known and ms != NO_TIME else None for ms in game.times_ms]


def _comments(analysed: AnalysedGame) -> dict[str, str]:
    """The comments by ply, without earlier analyses and without scores shown on the page."""
    texts = {}
    for ply, text in analysed.game.comments.items():
        rest = without_analysis(text)
        if analysed.is_of_record and rest == text:  # its players' score is the one shown
            rest = without_scores(text)
        if rest:
            texts[str(ply)] = rest
    return texts


def _head(analysed: AnalysedGame) -> dict[str, Any]:
    game = analysed.game
    handicap = handicap_of(game)
    return {
        "black": game.black,
        "white": game.white,
        "ratings": [game.rating(turn) for turn in COLORS],
        "event": game.headers.get("event", ""),
        "date": game.date,
        "plies": len(game),
        "first": game.first_turn,
        "handicap": None if handicap is None else [handicap.name, handicap.kif],
        "winner": int(game.winner),
        "end": game.end.name.lower(),
        "engine": analysed.engine,
        "sides": [_side(analysed.side(turn)) for turn in COLORS],
    }


def _side(side: SideSummary) -> dict[str, Any]:
    return {
        "moves": side.moves,
        "same": side.same,
        "compared": side.compared,
        "accuracy": None if math.isnan(side.accuracy) else round(side.accuracy, 3),
        # Of the digits that are shown: rounded twice, 0.55 would differ from the terminal's.
        "loss": round(side.mean_loss, 3),
        "mistakes": list(side.mistakes),
        "histogram": list(side.histogram),
        "phases": [[p.moves, round(p.mean_loss, 3), list(p.mistakes)] for p in side.phases],
    }


def _line(board: Board, line: Line) -> dict[str, Any]:
    sign = 1 if board.turn == 0 else -1
    usi = list(line.pv[:LINE_PLIES])
    rate = line.win_rate if board.turn == 0 else 1 - line.win_rate
    return {
        "rate": _rounded(rate),
        "cp": None if line.score_cp is None else sign * line.score_cp,
        "mate": None if line.mate_plies is None else sign * line.mate_plies,
        "visits": line.visits,
        "usi": usi,
        "ki2": in_ki2(board, usi),
        "west": in_western(board, usi),
        "more": len(line.pv) > LINE_PLIES,
    }


def _over(found: Found | None) -> str | None:
    """Why a position has no lines: it is unknown, may be declared won, or the game has ended."""
    if found is None:
        return "unknown"
    if found.declares:
        return "declares"
    return None if found.lines else "ended"


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def _rounded_down(loss: float | None) -> float | None:
    """A loss that is below a grade's stays below it."""
    return None if loss is None else math.floor(10_000 * loss) / 10_000
