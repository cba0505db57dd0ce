"""The words for the end of a game in text formats, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from komadori.records.game import End, Winner
from komadori.rules import BLACK

__all__ = ["KIF_WORDS", "USI_WORDS", "EndWord", "Outcome", "winner_for", "word_of"]


class Outcome(Enum):
    """The outcome of an end, from the side to move's view."""

    LOSS = "loss"
    WIN = "win"
    DRAW = "draw"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EndWord:
    """A word and its meaning. Writers use the first row of an (end, outcome)."""

    word: str
    end: End
    outcome: Outcome


KIF_WORDS = (
    EndWord("投了", End.RESIGN, Outcome.LOSS),
    EndWord("詰み", End.MATE, Outcome.LOSS),
    EndWord("詰", End.MATE, Outcome.LOSS),
    EndWord("千日手", End.SENNICHITE, Outcome.DRAW),
    EndWord("反則負け", End.ILLEGAL_MOVE, Outcome.LOSS),
    EndWord("反則勝ち", End.ILLEGAL_MOVE, Outcome.WIN),
    EndWord("反則", End.ILLEGAL_MOVE, Outcome.LOSS),
    EndWord("入玉勝ち", End.DECLARATION, Outcome.WIN),
    EndWord("入玉宣言", End.DECLARATION, Outcome.WIN),
    EndWord("宣言勝ち", End.DECLARATION, Outcome.WIN),
    EndWord("入玉", End.DECLARATION, Outcome.WIN),
    EndWord("トライ", End.DECLARATION, Outcome.WIN),
    EndWord("持将棋", End.IMPASSE, Outcome.DRAW),
    EndWord("切れ負け", End.TIME_UP, Outcome.LOSS),
    EndWord("時間切れ", End.TIME_UP, Outcome.LOSS),
    EndWord("最大手数", End.MAX_MOVES, Outcome.DRAW),
    EndWord("裁定引分", End.ADJUDICATION, Outcome.DRAW),
    EndWord("引き分け", End.ADJUDICATION, Outcome.DRAW),
    EndWord("不戦敗", End.ADJUDICATION, Outcome.LOSS),
    EndWord("不戦勝", End.ADJUDICATION, Outcome.WIN),
    EndWord("中断", End.INTERRUPTED, Outcome.UNKNOWN),
    EndWord("封じ手", End.INTERRUPTED, Outcome.UNKNOWN),
    EndWord("不詰", End.UNKNOWN, Outcome.UNKNOWN),
)

#: Behind the moves of a `position` line: rsshogi's words.
USI_WORDS = (
    EndWord("resign", End.RESIGN, Outcome.LOSS),
    EndWord("sennichite", End.SENNICHITE, Outcome.DRAW),
    EndWord("repetition", End.SENNICHITE, Outcome.DRAW),
    EndWord("rep_draw", End.SENNICHITE, Outcome.DRAW),
    EndWord("win", End.DECLARATION, Outcome.WIN),
    EndWord("jishogi", End.IMPASSE, Outcome.DRAW),
    EndWord("time_up", End.TIME_UP, Outcome.LOSS),
    EndWord("timeout", End.TIME_UP, Outcome.LOSS),
    EndWord("max_moves", End.MAX_MOVES, Outcome.DRAW),
    EndWord("draw", End.ADJUDICATION, Outcome.DRAW),
    EndWord("interrupt", End.INTERRUPTED, Outcome.UNKNOWN),
)


def winner_for(outcome: Outcome, turn: int) -> Winner:
    """The winner, if `turn` is the side to move."""
    if outcome is Outcome.DRAW:
        return Winner.DRAW
    if outcome is Outcome.UNKNOWN:
        return Winner.UNKNOWN
    return Winner.BLACK if (outcome is Outcome.WIN) == (turn == BLACK) else Winner.WHITE


def word_of(words: tuple[EndWord, ...], winner: Winner, end: End, turn: int) -> str | None:
    """The word for an end; None if the format has none."""
    if end == End.UNKNOWN and winner == winner_for(Outcome.LOSS, turn):
        end = End.RESIGN
    if end == End.UNKNOWN and winner == Winner.UNKNOWN:
        return None  # 不詰, read as no end, isn't one to write
    for row in words:
        if row.end == end and winner_for(row.outcome, turn) == winner:
            return row.word
    return None
