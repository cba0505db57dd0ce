"""Parsing of the CSA server protocol: game summaries, clocks, moves.

Source: "CSA server protocol 1.2.1" and floodgate's rules; scores and variations follow floodgate's
comment convention (centipawns in Black's view).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from komadori.usi.protocol import STARTPOS, quote

if TYPE_CHECKING:
    from komadori.rules import Board, Move

#: Seconds in a Time_Unit.
_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 0.001, "msec": 0.001, "m": 60.0, "min": 60.0}


#: Maximum plausible number of time units or moves.
MAX_NUMBER = 10**9

#: Maximum plausible time, in milliseconds: a year.
MAX_MS = 366 * 24 * 3600 * 1000


class CsaProtocolError(ValueError):
    """The server sent an invalid line. The message quotes it."""


@dataclass(frozen=True)
class CsaClock:
    """A side's clock settings, in milliseconds."""

    total_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    least_ms: int = 0
    """Minimum time subtracted per move."""
    unit_ms: int = 1000
    """Unit of the server's times."""


@dataclass(frozen=True)
class GameSummary:
    """A server's game summary."""

    game_id: str
    names: tuple[str, str]
    """Black's and White's."""
    color: int
    """Our side: 0 Black, 1 White."""
    clocks: tuple[CsaClock, CsaClock]
    max_moves: int = 0
    """The game is drawn after this many moves; 0: never."""
    sfen: str = STARTPOS
    moves: tuple[str, ...] = ()
    """Moves made before the game starts, in USI."""
    times_ms: tuple[int, ...] = ()
    """Time spent on these moves."""


def parse_summary(lines: Iterable[str]) -> GameSummary:
    """Parse the lines between `BEGIN Game_Summary` and `END Game_Summary`."""
    facts: dict[str, str] = {}
    times: dict[str, dict[str, str]] = {"": {}, "+": {}, "-": {}}
    position: list[str] = []
    block = ""
    for line in lines:
        word, _, name = line.partition(" ")
        if word == "BEGIN":
            block = name
        elif word == "END":
            block = ""
        elif block.startswith("Time"):
            key, _, value = line.partition(":")
            times[block[4:] if block[4:] in times else ""][key] = value
        elif block == "Position":
            position.append(line)
        else:
            key, _, value = line.partition(":")
            facts[key] = value
    missing = [key for key in ("Name+", "Name-", "Your_Turn") if key not in facts]
    if missing:
        raise CsaProtocolError(f"the game's summary lacks {', '.join(missing)}")
    if facts["Your_Turn"] not in ("+", "-"):
        raise CsaProtocolError(f"Your_Turn is {quote(facts['Your_Turn'])}, neither + nor -")
    clocks = {sign: _clock({**times[""], **times[sign]}) for sign in "+-"}
    sfen, moves, spent = _position(position, clocks)
    return GameSummary(
        game_id=facts.get("Game_ID", ""),
        names=(facts["Name+"], facts["Name-"]),
        color="+-".index(facts["Your_Turn"]),
        clocks=(clocks["+"], clocks["-"]),
        max_moves=int(_number(facts, "Max_Moves")),
        sfen=sfen,
        moves=moves,
        times_ms=spent,
    )


def _number(facts: dict[str, str], key: str) -> float:
    text = facts.get(key, "0").strip()
    try:
        number = float(text)
    except ValueError:
        raise CsaProtocolError(f"{key} is {quote(text)}, no number") from None
    if not 0 <= number <= MAX_NUMBER:
        raise CsaProtocolError(f"{key} is {quote(text)}, no number from 0 to {MAX_NUMBER}")
    return number


def _clock(facts: dict[str, str]) -> CsaClock:
    match = re.fullmatch(r"([0-9]{0,6})\s*([a-z]*)", facts.get("Time_Unit", "1sec").strip())
    if match is None or match[2] not in _UNITS or (match[1] and int(match[1]) == 0):
        raise CsaProtocolError(f"Time_Unit is {quote(facts.get('Time_Unit', ''))}")
    unit_ms = int(match[1] or 1) * _UNITS[match[2]] * 1000.0

    def milliseconds(key: str) -> int:
        return min(MAX_MS, round(_number(facts, key) * unit_ms))

    return CsaClock(
        total_ms=milliseconds("Total_Time"),
        byoyomi_ms=milliseconds("Byoyomi"),
        increment_ms=milliseconds("Increment"),
        least_ms=milliseconds("Least_Time_Per_Move"),
        unit_ms=max(1, round(unit_ms)),
    )


def _position(
    lines: list[str], clocks: dict[str, CsaClock]
) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Parse a Position block as a record, whose times are in seconds; return start position, moves
    and times."""
    if not lines:
        return STARTPOS, (), ()
    from komadori.records import FORMATS

    text = "\n".join(["V2.2", *_in_seconds(lines, clocks), "%CHUDAN", ""])
    read = FORMATS["csa"].read
    assert read is not None
    for chunk in read(np.frombuffer(text.encode(), np.uint8), Path("the server's position")):
        for game in chunk.games:
            spent = tuple(max(0, int(time_ms)) for time_ms in game.times_ms)
            return game.initial_sfen, tuple(game.usi_moves()), spent
        for skipped in chunk.skipped:
            raise CsaProtocolError(f"the server's position: {skipped.reason}")
    raise CsaProtocolError("the server's position can't be read")


def _in_seconds(lines: Iterable[str], clocks: dict[str, CsaClock]) -> Iterator[str]:
    """Convert the times of moves from the movers' units to seconds."""
    unit_ms = 1000

    def convert(statement: re.Match[str]) -> str:
        nonlocal unit_ms
        if statement[1]:
            unit_ms = clocks[statement[1]].unit_ms
            return statement[0]
        return f"T{min(MAX_MS, int(statement[2]) * unit_ms) / 1000:.3f}"

    for line in lines:
        statements, quotation, remark = line.partition("'")
        yield _STATEMENT.sub(convert, statements) + quotation + remark


@dataclass
class CsaTimes:
    """Both sides' clocks during a game."""

    summary: GameSummary
    left_ms: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.left_ms = [clock.total_ms for clock in self.summary.clocks]
        side = 0 if self.summary.sfen.split()[1] == "b" else 1
        for time_ms in self.summary.times_ms:
            self.spend(side, time_ms)
            side = 1 - side

    def spend(self, side: int, time_ms: int) -> None:
        """Subtract the server's time for a move; the increment is added before the move."""
        clock = self.summary.clocks[side]
        left = self.left_ms[side] + clock.increment_ms - time_ms
        self.left_ms[side] = max(0, left)


#: Times with more digits than this are ignored.
_MOVE_LINE = re.compile(r"([+-][0-9]{4}[A-Z]{2})(?:,T([0-9]{1,12})(?![0-9]))?")
_SPECIAL_LINE = re.compile(r"(%[A-Z+\-_]+)(?:,T([0-9]{1,12})(?![0-9]))?")
#: A move or a time of a Position block.
_STATEMENT = re.compile(r"(?<![^,])(?:([+-])[0-9]{4}[A-Z]{2}|T([0-9]{1,12}))(?![^,])")


@dataclass(frozen=True)
class ServerMove:
    """A move, or a special word like %TORYO, echoed by the server."""

    text: str
    time: int | None
    """Time in the clock's unit."""


def parse_play(line: str) -> ServerMove | None:
    """Parse a move or special word; None for any other line."""
    for pattern in (_MOVE_LINE, _SPECIAL_LINE):
        if match := pattern.match(line):
            return ServerMove(match[1], int(match[2]) if match[2] else None)
    return None


def comment(board: Board, score_cp: int | None, pv: Iterable[str]) -> str:
    """Format floodgate's comment on a move about to be made on `board`: score and line.

    `score_cp` is from the mover's view; `pv` starts with the move itself and is cut at the first
    illegal move.
    """
    if score_cp is None:
        return ""
    words = [str(score_cp if board.turn == 0 else -score_cp)]
    line = board.copy()
    for number, text in enumerate(pv):
        try:
            move: Move = line.parse_usi(text)
        except ValueError:
            break
        if number:
            words.append(line.csa(move))
        line.push(move)
    return ",'* " + " ".join(words)
