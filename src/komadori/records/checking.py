"""Checks of a game's fields before a writer or the core uses them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from komadori.records.errors import RecordError
from komadori.records.game import End, Game, Winner
from komadori.wording import counted

__all__ = ["check_game"]


def check_game(game: Game) -> None:
    """Raise RecordError, which names the field, unless every field has a value of its type.

    A game made by hand may have columns of another length than its moves, or other values.
    """
    if not isinstance(game.initial_sfen, str):
        raise _not_expected("initial_sfen", game.initial_sfen, "str")
    plies = _column("moves", game.moves, np.uint16)
    for name in ("scores_cp", "times_ms"):
        values = _column(name, getattr(game, name), np.int32)
        if values != plies:
            raise RecordError(
                f"columns of a game differ in length: {name} has {counted(values, 'value')} for "
                f"{counted(plies, 'move')}"
            )
    _choice("winner", game.winner, Winner)
    _choice("end", game.end, End)
    for name in ("opponent", "end_time_ms"):
        _integer(name, getattr(game, name), np.int32)
    _texts("headers", game.headers, str)
    for name in ("comments", "bookmarks", "pvs"):
        _texts(name, getattr(game, name), Integral)
    _variations(game.variations)


def _not_expected(name: str, value: object, expected: str) -> RecordError:
    return RecordError(f"{name}: expected {expected}, got {type(value).__name__}")


def _column(name: str, values: Any, dtype: DTypeLike) -> int:
    """Check a column of integers; return its length."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and values.ndim == 1:
        return len(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "biuf"):
        raise RecordError(f"{name}: expected one integer per move, got {type(values).__name__}")
    limits = np.iinfo(dtype)
    wrong = array[~((array >= limits.min) & (array <= limits.max))]  # NaN too
    if wrong.size:
        raise RecordError(f"{name}: {wrong[0]} is not from {limits.min:,} to {limits.max:,}")
    return len(array)


def _integer(name: str, value: object, dtype: DTypeLike) -> None:
    if not isinstance(value, Integral):
        raise _not_expected(name, value, "int")
    _column(name, [int(value)], dtype)


def _choice(name: str, value: object, choices: type[IntEnum]) -> None:
    if not isinstance(value, Integral):
        raise _not_expected(name, value, choices.__name__)
    if value not in choices._value2member_map_:
        raise RecordError(f"no such {name}: {value}")


def _texts(name: str, texts: Any, key_type: type) -> None:
    if not isinstance(texts, Mapping):
        raise _not_expected(name, texts, "dict")
    for key, text in texts.items():
        for part, kind in ((key, key_type), (text, str)):
            if not isinstance(part, kind):
                expected = "int" if kind is Integral else kind.__name__
                raise _not_expected(f"{name}[{key!r:.40}]", part, expected)


def _variations(variations: Any) -> None:
    if not isinstance(variations, Mapping):
        raise _not_expected("variations", variations, "dict")
    for ply, games in variations.items():
        if not isinstance(ply, Integral) or not isinstance(games, list | tuple):
            raise RecordError("variations: expected lists of games by the number of moves")
        for game in games:
            if not isinstance(game, Game):
                raise _not_expected(f"variations[{ply}]", game, "Game")
            check_game(game)
