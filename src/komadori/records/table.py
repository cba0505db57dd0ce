"""Conversion between `Game` and the columns of the core."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.records.checking import check_game
from komadori.records.game import Candidates, End, Game, Source, Winner
from komadori.records.text import add_header, decode, encodable
from komadori.wording import check_type

__all__ = ["games_of", "table_of"]

_WINNERS = tuple(Winner)
_ENDS = tuple(End)
_NOTHING: NDArray[np.uint16] = np.empty(0, np.uint16)


def games_of(columns: dict[str, Any], path: Path) -> list[Game]:
    """Convert a reader's columns to games, whose arrays are views into them."""
    first_ply = columns["first_ply"].tolist()
    winners, ends = columns["winner"].tolist(), columns["end"].tolist()
    opponents, offsets = columns["opponent"].tolist(), columns["offset"].tolist()
    end_times = columns["end_time_ms"].tolist()
    move16, scores, times = columns["move16"], columns["score_cp"], columns["time_ms"]
    counts, first_candidate = columns["candidates"], columns["first_candidate"]
    games = []
    for g, sfen in enumerate(columns["sfen"]):
        first, last = first_ply[g], first_ply[g + 1]
        candidates = None
        if last > first and counts[first] != _core.NO_CANDIDATES:
            begin, end = int(first_candidate[first]), int(first_candidate[last])
            candidates = Candidates(
                counts[first:last],
                columns["candidate_move16"][begin:end],
                columns["candidate_visits"][begin:end],
            )
        games.append(
            Game(
                initial_sfen=sfen,
                moves=move16[first:last],
                scores_cp=scores[first:last],
                times_ms=times[first:last],
                winner=_WINNERS[winners[g]],
                end=_ENDS[ends[g]],
                candidates=candidates,
                opponent=opponents[g],
                source=Source(path, offsets[g]),
                end_time_ms=end_times[g],
            )
        )
    for g, ply, raw_key, raw in columns["texts"]:
        key, text = decode(raw_key), decode(raw)
        if ply < 0:
            add_header(games[g].headers, key, text)
        elif key == "pv":
            games[g].pvs[ply] = text
        elif key == "bookmark":
            games[g].bookmarks[ply] = text
        elif ply in games[g].comments:
            games[g].comments[ply] += "\n" + text
        else:
            games[g].comments[ply] = text
    return games


def table_of(games: Iterable[Game]) -> _core.GameTable:
    """Convert games to columns of the core. Raises RecordError for inconsistent columns."""
    table = _core.GameTable()
    for game in games:
        check_type("games", game, Game)
        check_game(game)
        texts = [(-1, key, text) for key, text in game.headers.items()]
        texts += [(ply, "", text) for ply, text in game.comments.items()]
        texts += [(ply, "pv", text) for ply, text in game.pvs.items()]
        texts += [(ply, "bookmark", text) for ply, text in game.bookmarks.items()]
        known = game.candidates
        table.append(
            sfen=game.initial_sfen,
            winner=game.winner,
            end=game.end,
            opponent=game.opponent,
            end_time_ms=game.end_time_ms,
            move16=np.ascontiguousarray(game.moves, np.uint16),
            score_cp=np.ascontiguousarray(game.scores_cp, np.int32),
            time_ms=np.ascontiguousarray(game.times_ms, np.int32),
            candidates=np.ascontiguousarray(known.count) if known else None,
            candidate_move16=np.ascontiguousarray(known.move16) if known else _NOTHING,
            candidate_visits=np.ascontiguousarray(known.visits) if known else _NOTHING,
            texts=[(int(ply), encodable(key), encodable(text)) for ply, key, text in texts],
        )
    return table
