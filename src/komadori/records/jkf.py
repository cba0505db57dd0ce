"""JKF: game records as JSON, read and written through rsshogi.

Comments are those of KIF without their `*`; scores in comments are from Black's view.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import rsshogi.record as rs

from komadori.json_file import parse_table
from komadori.records.ends import KIF_WORDS, word_of
from komadori.records.errors import RecordError
from komadori.records.game import NO_SCORE, NO_TIME, End, Game, Winner
from komadori.records.kif import HEADERS
from komadori.records.text import score_comment, take_scores
from komadori.rules import Board, Move

__all__ = ["documents", "read_game", "write_jkf"]

MAX_MS = 10**9

_ENDS = {
    "RESIGN": End.RESIGN,
    "MATE": End.MATE,
    "REPETITION_DRAW": End.SENNICHITE,
    "REPETITION_WIN": End.PERPETUAL_CHECK,
    "REPETITION_LOSE": End.PERPETUAL_CHECK,
    "WIN_BY_ILLEGAL_MOVE": End.ILLEGAL_MOVE,
    "LOSE_BY_ILLEGAL_MOVE": End.ILLEGAL_MOVE,
    "WIN_BY_DECLARATION": End.DECLARATION,
    "IMPASSE": End.IMPASSE,
    "TIMEOUT": End.TIME_UP,
    "MAX_MOVES": End.MAX_MOVES,
    "INTERRUPT": End.INTERRUPTED,
    "DRAW": End.ADJUDICATION,
    "WIN_BY_DEFAULT": End.ADJUDICATION,
    "LOSE_BY_DEFAULT": End.ADJUDICATION,
}
_KINDS = {
    End.RESIGN: "RESIGN",
    End.MATE: "MATE",
    End.SENNICHITE: "REPETITION_DRAW",
    End.ILLEGAL_MOVE: "WIN_BY_ILLEGAL_MOVE",
    End.DECLARATION: "WIN_BY_DECLARATION",
    End.IMPASSE: "IMPASSE",
    End.TIME_UP: "TIMEOUT",
    End.MAX_MOVES: "MAX_MOVES",
    End.INTERRUPTED: "INTERRUPT",
}
#: The comment at an interruption that tells who has won by a ruling.
_RULINGS = {
    "結果：先手の勝ち": Winner.BLACK,
    "結果：後手の勝ち": Winner.WHITE,
    "結果：引き分け": Winner.DRAW,
}
_FIELDS = {
    "event": "event",
    "site": "site",
    "black_player": "black",
    "white_player": "white",
    "start_date": "start_time",
    "end_date": "end_time",
}

#: Names of headers that rsshogi keeps as they are.
_NAMES = {"time_limit": "持ち時間", "opening": "戦型"}


def documents(text: str) -> Iterator[tuple[int, str | RecordError]]:
    """Split a text into games: one object, an array of objects, or consecutive objects.

    Yields the offset of each (in characters) and its JSON, or the error there; reading continues at
    the next line that begins an object.
    """
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at] in "\ufeff \t\r\n,[]":
            at += 1
        if at == len(text):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            is_number = not isinstance(error, (json.JSONDecodeError, RecursionError))
            reason = "a number with too many digits" if is_number else error
            yield at, RecordError(f"not JSON: {reason}")
            following = text.find("\n{", at)
            if following < 0:
                return
            at = following + 1
            continue
        if isinstance(value, dict) and isinstance(value.get("moves"), list):
            yield at, text[at:end]
        else:  # any other JSON would be read as a game without moves
            yield at, RecordError("not JKF: no list of moves")
        at = end


def read_game(document: str) -> Game:
    """Read the main line of a JKF object. Raises RecordError."""
    readable = document.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    try:
        record = rs.Record.from_jkf_str(readable)
        written: dict[str, Any] = parse_table(readable).get("header", {})
    except ValueError as error:
        raise RecordError(str(error)) from error
    headers = {
        key: value
        for field, key in _FIELDS.items()
        if (value := getattr(record.metadata, field)) is not None
    }
    headers |= {
        HEADERS.get(key, key): value for key, value in record.metadata.attributes.items() if value
    }
    for key, value in written.items():
        # rsshogi leaves out times that it can't parse, and the note
        if isinstance(value, str) and value and key != "手合割":
            headers.setdefault(HEADERS.get(key, key), value)
    moves = [(str(entry.move), entry.time_ms, entry.comment) for entry in record.moves]
    comments = {ply: comment for ply, (_, _, comment) in enumerate(moves, 1) if comment}
    if record.initial_comment:
        comments[0] = record.initial_comment
    terminal = record.main_terminal
    said = terminal.comment if terminal is not None else None
    ruled = _RULINGS.get(said or "")
    if said and ruled is None:
        comments[len(moves)] = "\n".join(part for part in (comments.get(len(moves)), said) if part)
    game = Game(
        initial_sfen=Board(record.init_position_sfen).sfen(),
        moves=np.array([Move.from_usi(usi).move16 for usi, _, _ in moves], np.uint16),
        scores_cp=np.full(len(moves), NO_SCORE, np.int32),
        times_ms=np.array(
            [NO_TIME if time is None else min(time, MAX_MS) for _, time, _ in moves], np.int32
        ),
        headers=headers,
        comments=comments,
    )
    if terminal is not None:
        game.end = _ENDS.get(terminal.kind, End.UNKNOWN)
        game.winner = _winner(terminal.result)
    if ruled is not None:
        game.end, game.winner = End.ADJUDICATION, ruled
    take_scores(game)
    return game


def _winner(result: rs.GameResult) -> Winner:
    if result.is_black_win():
        return Winner.BLACK
    if result.is_white_win():
        return Winner.WHITE
    return Winner.DRAW if result.is_draw() else Winner.UNKNOWN


def write_jkf(game: Game) -> str:
    """Write a game as a JKF object. Raises RulesError for an illegal move.

    An end without a word in JKF is written as interrupted, with a comment.
    """
    entries = []
    board = game.board()
    for ply, move16 in enumerate(game.moves, 1):
        move = board.move_from_move16(int(move16))
        board.push(move)
        time = int(game.times_ms[ply - 1])
        parts = [score_comment(game, ply), game.comments.get(ply)]
        entries.append(
            rs.MoveEntry(
                move.usi(),
                time_ms=None if time == NO_TIME else time,
                comment="\n".join(part for part in parts if part) or None,
            )
        )
    metadata = rs.RecordMetadata(
        event=game.headers.get("event"),
        site=game.headers.get("site"),
        black_player=game.headers.get("black"),
        white_player=game.headers.get("white"),
        start_date=game.headers.get("start_time"),
        end_date=game.headers.get("end_time"),
        attributes={
            _NAMES.get(key, key): value
            for key, value in game.headers.items()
            if key not in _FIELDS.values() and value
        },
    )
    record = rs.Record.from_main_line(
        game.initial_sfen,
        entries,
        terminal=_terminal(game, board.turn),
        metadata=metadata,
        initial_comment=game.comments.get(0),
    )
    return str(record.to_jkf())


def _terminal(game: Game, turn: int) -> rs.SpecialMoveEntry | None:
    if game.winner == Winner.UNKNOWN and game.end == End.UNKNOWN:
        return None
    end = game.end
    if word_of(KIF_WORDS, game.winner, end, turn) is None or end == End.ADJUDICATION:
        said = next((text for text, winner in _RULINGS.items() if winner == game.winner), None)
        return rs.SpecialMoveEntry("INTERRUPT", rs.GameResult.PAUSED, comment=said)
    if end == End.UNKNOWN:
        end = End.RESIGN
    name = {
        End.SENNICHITE: "DRAW_BY_REPETITION",
        End.IMPASSE: "DRAW_BY_IMPASSE",
        End.MAX_MOVES: "DRAW_BY_MAX_PLIES",
        End.INTERRUPTED: "PAUSED",
    }.get(end)
    if name is None:
        side = "BLACK_WIN" if game.winner == Winner.BLACK else "WHITE_WIN"
        name = side + {
            End.DECLARATION: "_BY_DECLARATION",
            End.ILLEGAL_MOVE: "_BY_ILLEGAL_MOVE",
            End.TIME_UP: "_BY_TIMEOUT",
        }.get(end, "")
    return rs.SpecialMoveEntry(_KINDS[end], getattr(rs.GameResult, name))
