"""Parsing and formatting of USI lines: position, go, setoption, info, option.

Pure functions over text, independent of the rules; imports only the standard library, so that
the engine's handshake is fast. Invalid text raises UsiSyntaxError, which names the word and its
place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

#: Maximum line length. A game of 2,000 plies needs about 10,000 characters.
MAX_LINE = 1 << 20

STARTPOS = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

_MOVE = re.compile(r"(?:[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])\Z")


class UsiSyntaxError(ValueError):
    """A line isn't valid USI. The message names the word and what was expected."""


def is_move_text(text: str) -> bool:
    """Return whether the text has the form of a USI move (7g7f, 8h2b+, B*5e), legal or not."""
    return _MOVE.match(text) is not None


@dataclass(frozen=True)
class PositionCommand:
    """`position`: the initial position (an SFEN of four fields) and the moves from there."""

    sfen: str
    moves: tuple[str, ...] = ()


def parse_position(arguments: str) -> PositionCommand:
    """Parse the words after `position`: `startpos|sfen <sfen> [moves ...]`.

    `moves` may be followed by no move; an SFEN may lack its ply. Moves are not checked.
    """
    words = arguments.split()
    if not words:
        raise UsiSyntaxError("position: expected startpos or sfen, found nothing")
    kind, rest = words[0], words[1:]
    if kind == "startpos":
        sfen = STARTPOS
    elif kind == "sfen":
        end = rest.index("moves") if "moves" in rest else len(rest)
        fields, rest = rest[:end], rest[end:]
        if len(fields) == 3:
            fields.append("1")
        if len(fields) != 4:
            raise UsiSyntaxError(f"position sfen: expected 4 fields, found {len(fields)}")
        sfen = " ".join(fields)
    else:
        raise UsiSyntaxError(f"position: expected startpos or sfen, found {quote(kind)}")
    if rest and rest[0] != "moves":
        raise UsiSyntaxError(f"position: expected moves, found {quote(rest[0])}")
    if not sfen.isascii():
        raise UsiSyntaxError(f"position sfen: {quote(sfen)} isn't a valid SFEN")
    return PositionCommand(sfen, tuple(rest[1:]))


@dataclass(frozen=True)
class GoCommand:
    """A `go` command; times in milliseconds, None if not given."""

    btime_ms: int | None = None
    wtime_ms: int | None = None
    byoyomi_ms: int | None = None
    binc_ms: int | None = None
    winc_ms: int | None = None
    movetime_ms: int | None = None
    nodes: int | None = None
    depth: int | None = None
    infinite: bool = False
    ponder: bool = False
    mate: bool = False
    mate_ms: int | None = None
    """Time for `go mate`; None: no limit."""
    searchmoves: tuple[str, ...] = ()

    @property
    def has_clock(self) -> bool:
        clock = (self.btime_ms, self.wtime_ms, self.byoyomi_ms, self.binc_ms, self.winc_ms)
        return any(value is not None for value in clock)

    @property
    def has_limit(self) -> bool:
        """Whether the command says when the search ends, if only by `stop`."""
        numbers = (self.movetime_ms, self.nodes, self.depth)
        is_open = self.infinite or self.mate
        return is_open or self.has_clock or any(value is not None for value in numbers)

    def after_ponderhit(self, given: GoCommand) -> GoCommand:
        """Return the command under the limits that came with `ponderhit`, if any did."""
        found = {k: v for k, v in vars(given).items() if v not in (None, ()) and v is not False}
        if given.has_clock:
            found.setdefault("movetime_ms", None)
        return replace(self, **{**found, "ponder": False})

    def __str__(self) -> str:
        """Format the command as a line, `searchmoves` last."""
        words = ["go"]
        if self.ponder:
            words.append("ponder")
        if self.mate:
            words += ["mate", "infinite" if self.mate_ms is None else str(self.mate_ms)]
        for word, name in _GO_NUMBERS.items():
            value = getattr(self, name)
            if value is not None:
                words += [word, str(value)]
        if self.infinite:
            words.append("infinite")
        if self.searchmoves:
            words += ["searchmoves", *self.searchmoves]
        return " ".join(words)


_GO_NUMBERS = {
    "btime": "btime_ms",
    "wtime": "wtime_ms",
    "byoyomi": "byoyomi_ms",
    "binc": "binc_ms",
    "winc": "winc_ms",
    "movetime": "movetime_ms",
    "nodes": "nodes",
    "depth": "depth",
}

_CLOCKS = ("btime", "wtime", "byoyomi", "binc", "winc")
_GO_WORDS = {*_GO_NUMBERS, "infinite", "ponder", "mate", "searchmoves"}

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
#: Upper limit of numbers in `go`: 30 years in milliseconds.
MAX_NUMBER = 10**12
DAY_MS = 86_400_000
#: Time of a search whose limits can't be read.
FALLBACK_MS = 1000


def parse_go(arguments: str) -> GoCommand:
    """Parse the words after `go`.

    Negative numbers count as zero, since a clock may have run out. Of a limit given twice the
    last counts.
    """
    values, problems = _go_values(arguments)
    if problems:
        raise UsiSyntaxError(problems[0])
    return GoCommand(**values)


def read_go(arguments: str) -> tuple[GoCommand, list[str]]:
    """Parse the words after `go` or `ponderhit` as far as possible, since each `go` is answered.

    Returns what can be read, and a message for everything else. A clock of more than a day counts
    as unreadable, since no move can be timed by it. Without one of the main times there is none:
    its side would have no time.
    """
    values, problems = _go_values(arguments)
    for word in _CLOCKS:
        if (values.get(_GO_NUMBERS[word]) or 0) > DAY_MS:
            problems.append(f"go {word}: a clock of more than a day")
            values[_GO_NUMBERS[word]] = None
    main_times = ("btime_ms", "wtime_ms")
    if any(name in values and values[name] is None for name in main_times):
        values.update(dict.fromkeys(main_times))
    return GoCommand(**values), problems


def _go_values(arguments: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a GoCommand, None for an unreadable number, and all problems."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    moves: list[str] = []
    words = arguments.split()
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        following = words[i] if i < len(words) else ""
        is_value = following not in _GO_WORDS and following != ""
        if word in _GO_NUMBERS:
            i += is_value
            if _INTEGER.match(following):
                values[_GO_NUMBERS[word]] = _number(following)
            else:
                found = quote(following) if following else "nothing"
                problems.append(f"go {word}: expected a number, found {found}")
                values.setdefault(_GO_NUMBERS[word], None)
        elif word in ("infinite", "ponder"):
            values[word] = True
        elif word == "mate":
            values["mate"] = True
            i += is_value or following == "infinite"
            if _INTEGER.match(following):
                values["mate_ms"] = _number(following)
            elif is_value:
                problems.append(f"go mate: expected milliseconds, found {quote(following)}")
                values["mate_ms"] = FALLBACK_MS
        elif word == "searchmoves":
            values["searchmoves"] = ()
            while i < len(words) and words[i] not in _GO_WORDS:
                if is_move_text(words[i]):
                    moves.append(words[i])
                else:
                    problems.append(f"go searchmoves: {quote(words[i])} isn't a USI move")
                i += 1
        else:
            problems.append(f"go: unknown word {quote(word)}")
    if "searchmoves" in values:
        values["searchmoves"] = tuple(moves)
    return values, problems


def _number(text: str) -> int:
    """Convert the text of an integer to a number from 0 to MAX_NUMBER."""
    if not _NUMBER.match(text):  # too long for any clock
        return 0 if text[0] == "-" else MAX_NUMBER
    return max(0, min(int(text), MAX_NUMBER))


_VALUE = re.compile(r"(?<=\s)value(?!\S)")


def parse_setoption(arguments: str) -> tuple[str, str]:
    """Parse the words after `setoption`: `name <name> [value <value>]`, as (name, value).

    Names may contain blanks, as in UCI; the value keeps its inner blanks and is empty for a
    button.
    """
    words = arguments.split(maxsplit=1)
    if len(words) < 2 or words[0] != "name":
        raise UsiSyntaxError(
            f"setoption: expected name <name> value <value>, found {quote(arguments.strip())}"
        )
    name, *value = _VALUE.split(words[1], maxsplit=1)
    return name.strip(), "".join(value).strip()


# ---------------------------------------------------------------------------- engine output


@dataclass(frozen=True)
class Score:
    """A score from the side to move's view: centipawns, or plies to mate.

    `mate_plies` is positive if the side to move mates, negative if it is mated; with
    `mate_sign` +1 or -1 the length is unknown.
    """

    cp: int | None = None
    mate_plies: int | None = None
    mate_sign: int = 0
    bound: Literal["", "lowerbound", "upperbound"] = ""

    def __str__(self) -> str:
        if self.mate_plies is not None:
            text = f"mate {self.mate_plies}"
        elif self.mate_sign:
            text = "mate +" if self.mate_sign > 0 else "mate -"
        else:
            text = f"cp {self.cp or 0}"
        return f"{text} {self.bound}" if self.bound else text


@dataclass
class InfoLine:
    """An `info` line; None and empty fields are absent."""

    depth: int | None = None
    seldepth: int | None = None
    nodes: int | None = None
    nps: int | None = None
    time_ms: int | None = None
    hashfull: int | None = None
    multipv: int | None = None
    score: Score | None = None
    pv: tuple[str, ...] = ()
    string: str = ""

    def __str__(self) -> str:
        if self.string:
            return f"info string {one_line(self.string)}"
        parts = ["info"]
        for word, value in (
            ("depth", self.depth),
            ("seldepth", self.seldepth),
            ("nodes", self.nodes),
            ("nps", self.nps),
            ("time", self.time_ms),
            ("hashfull", self.hashfull),
            ("multipv", self.multipv),
            ("score", self.score),
        ):
            if value is not None:
                parts.append(f"{word} {value}")
        if self.pv:
            parts.append("pv " + " ".join(self.pv))
        return " ".join(parts)


_INFO_NUMBERS = {
    "depth": "depth",
    "seldepth": "seldepth",
    "nodes": "nodes",
    "nps": "nps",
    "time": "time_ms",
    "hashfull": "hashfull",
    "multipv": "multipv",
}


#: Longer numbers can't be counts, and sums of them would overflow.
_COUNT = re.compile(r"\+?[0-9]{1,15}\Z")


def parse_info(arguments: str) -> InfoLine:
    """Parse the words after `info`. Unknown words and invalid numbers are ignored."""
    info = InfoLine()
    words = arguments.split()
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        following = words[i] if i < len(words) else ""
        if word == "string":
            info.string = arguments.split("string", 1)[1].strip()
            break
        if word == "pv":
            info.pv = tuple(words[i:])
            break
        if word in _INFO_NUMBERS and _COUNT.match(following):
            setattr(info, _INFO_NUMBERS[word], int(following))
            i += 1
        elif word == "score":
            info.score, i = _parse_score(words, i)
    return info


def _parse_score(words: list[str], i: int) -> tuple[Score | None, int]:
    kind = words[i] if i < len(words) else ""
    value = words[i + 1] if i + 1 < len(words) else ""
    bound: Literal["", "lowerbound", "upperbound"] = ""
    end = i + 2
    if end < len(words):
        if words[end] == "lowerbound":
            bound, end = "lowerbound", end + 1
        elif words[end] == "upperbound":
            bound, end = "upperbound", end + 1
    if kind == "cp" and _NUMBER.match(value):
        return Score(cp=int(value), bound=bound), end
    if kind == "mate" and _NUMBER.match(value):
        return Score(mate_plies=int(value), bound=bound), end
    if kind == "mate" and value in ("+", "-"):
        return Score(mate_sign=1 if value == "+" else -1, bound=bound), end
    return None, i


@dataclass(frozen=True)
class BestMove:
    """`bestmove`: a move, `resign` or `win`, and the expected reply."""

    move: str
    ponder: str = ""

    def __str__(self) -> str:
        return f"bestmove {self.move}" + (f" ponder {self.ponder}" if self.ponder else "")


def parse_bestmove(arguments: str) -> BestMove:
    """Parse the words after `bestmove`."""
    words = arguments.split()
    if not words:
        raise UsiSyntaxError("bestmove: expected a move, found nothing")
    if len(words) >= 3 and words[1] == "ponder" and words[2] not in ("(none)", "none"):
        return BestMove(words[0], words[2])
    return BestMove(words[0])


OptionKind = Literal["check", "spin", "combo", "button", "string", "filename"]


@dataclass(frozen=True)
class OptionLine:
    """An `option` line."""

    name: str
    kind: OptionKind
    default: str = ""
    min: int | None = None
    max: int | None = None
    choices: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        parts = [f"option name {self.name} type {self.kind}"]
        if self.kind != "button":
            parts.append(f"default {self.default or '<empty>'}")
        if self.min is not None:
            parts.append(f"min {self.min}")
        if self.max is not None:
            parts.append(f"max {self.max}")
        parts += [f"var {choice}" for choice in self.choices]
        return " ".join(parts)

    def check(self, value: str) -> tuple[str, str]:
        """Return the normalised value, and an error message or ""."""
        value = "" if value == "<empty>" else value
        problem = ""
        if self.kind == "spin":
            if not _INTEGER.match(value):
                problem = f"{quote(value)} isn't an integer"
            elif self.min is not None and self.max is not None:
                if not _NUMBER.match(value):  # too long for any option
                    problem = f"{quote(value)} isn't between {self.min} and {self.max}"
                elif self.min <= int(value) <= self.max:
                    value = str(int(value))
                else:
                    problem = f"{value} isn't between {self.min} and {self.max}"
        elif self.kind == "check":
            value = value.lower()
            if value not in ("true", "false"):
                problem = f"{quote(value)} is neither true nor false"
        elif self.kind == "combo" and value not in self.choices:
            problem = f"{quote(value)} isn't one of {', '.join(self.choices)}"
        elif "\0" in value:
            problem = f"{quote(value)} contains a NUL character"
        return value, f"option {self.name}: {problem}" if problem else ""


_OPTION_WORDS = re.compile(r"(?<=\s)(type|default|min|max|var)(?!\S)")


def parse_option(arguments: str) -> OptionLine:
    """Parse the words after `option`: name (blanks allowed), type, default, min, max, var."""
    if not arguments.lstrip().startswith("name "):
        raise UsiSyntaxError(f"option: expected name, found {quote(arguments)}")
    pieces = _OPTION_WORDS.split(" " + arguments.strip().removeprefix("name").strip())
    name = pieces[0].strip()
    kind, default, choices = "string", "", []
    bounds: dict[str, int] = {}
    for word, text in zip(pieces[1::2], pieces[2::2], strict=True):
        value = text.strip()
        if word == "type":
            kind = value
        elif word == "default":
            default = "" if value == "<empty>" else value
        elif word == "var":
            choices.append(value)
        elif _NUMBER.match(value):
            bounds[word] = int(value)
    if kind not in ("check", "spin", "combo", "button", "string", "filename"):
        raise UsiSyntaxError(f"option {quote(name)}: unknown type {quote(kind)}")
    return OptionLine(
        name,
        kind,  # type: ignore[arg-type]
        default,
        bounds.get("min"),
        bounds.get("max"),
        tuple(choices),
    )


def one_line(text: str, limit: int = 400) -> str:
    """Convert text to one printable line of at most `limit` characters."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 3] + "..."


def quote(text: str) -> str:
    """Quote a word of input for a message: printable and short."""
    return "'" + one_line(text, 60) + "'"
