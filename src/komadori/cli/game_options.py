"""Options for game conditions, shared by match, ladder and tune."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress

from komadori.cli.console import progress
from komadori.search.defaults import MAX_GAMES, PLAYER_NODES

if TYPE_CHECKING:
    from komadori.arena import Conditions

WIN_FIELDS = ("adjudicate_cp", "adjudicate_moves")
DRAW_FIELDS = ("adjudicate_draw_cp", "adjudicate_draw_moves", "adjudicate_draw_ply")

#: Maximum clock time: a week.
MAX_CLOCK_S = 7 * 24 * 3600
MAX_CLOCK_MS = MAX_CLOCK_S * 1000
#: Time margin in seconds; larger values are probably milliseconds by mistake.
MARGIN = click.FloatRange(0, 10)


class _EvenGames(click.IntRange):
    """A number of games, of which each opening takes two."""

    def __init__(self) -> None:
        super().__init__(2, MAX_GAMES)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        games = super().convert(value, param, ctx)
        if games % 2:
            self.fail(f"{games} is odd: each opening is played twice", param, ctx)
        return games


#: Parameter type of `--games` of matches.
EVEN_GAMES = _EvenGames()

GAMES = click.option(
    "--games",
    "-g",
    default=100,
    show_default=True,
    type=EVEN_GAMES,
    help="Number of games, even.",
)
OPENING_PLIES = click.option(
    "--opening-plies",
    type=click.IntRange(min=0),
    help="Number of opening plies. [default: 8 random moves; whole lines of a text file; the first "
    "24 moves of records]",
)


def parse_clock(text: str) -> dict[str, int]:
    """Parse MAIN, MAIN+INCREMENT or MAIN/BYOYOMI in seconds to fields of `arena.Conditions`.

    Raises ValueError.
    """
    sign = "+" if "+" in text else "/"
    main, _, extra = text.partition(sign)
    try:
        main_ms, extra_ms = (round(1000 * float(part or 0)) for part in (main, extra))
        if not (0 <= main_ms <= MAX_CLOCK_MS and 0 <= extra_ms <= MAX_CLOCK_MS):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r}: expected MAIN, MAIN+INCREMENT or MAIN/BYOYOMI in seconds, "
            f"each at most {MAX_CLOCK_S}"
        ) from None
    if not (main_ms or extra_ms):  # as no clock at all
        raise ValueError(f"{text!r}: a clock without time")
    return {"main_ms": main_ms, "increment_ms" if sign == "+" else "byoyomi_ms": extra_ms}


class _Clock(click.ParamType["dict[str, int]"]):
    name = "clock"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        try:
            return parse_clock(str(value))
        except ValueError as error:
            self.fail(str(error))


class _Numbers(click.ParamType["tuple[int, ...]"]):
    """Integers separated by slashes, the later ones optional."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self._most = most

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        parts = str(value).split("/")
        if len(parts) > self._most or not all(re.fullmatch(r"[0-9]{1,6}", part) for part in parts):
            self.fail(f"{value!r}: expected {self.name}, integers of at most 6 digits")
        return tuple(map(int, parts))


_OPTIONS = (
    click.option(
        "--nodes",
        type=click.IntRange(1),
        help="Nodes per move, for players with a search. Without any limit other engines get a "
        f"plain `go`. [default without any limit: {PLAYER_NODES}]",
    ),
    click.option("--depth", type=click.IntRange(1), help="Depth per move in plies."),
    click.option(
        "--time", "seconds", type=click.FloatRange(0.001, MAX_CLOCK_S), help="Seconds per move."
    ),
    click.option("--movetime", type=click.IntRange(1), hidden=True),  # the same in milliseconds
    click.option("--clock", type=_Clock(), help="Seconds: MAIN, MAIN+INCREMENT or MAIN/BYOYOMI."),
    click.option(
        "--margin",
        default=0.0,
        show_default=True,
        type=MARGIN,
        help="Seconds of overtime tolerated with --clock; --time isn't enforced.",
    ),
    click.option(
        "--max-plies",
        default=320,
        show_default=True,
        type=click.IntRange(1),
        help="Plies until a draw; sent to players that support it (Draw_Ply).",
    ),
    click.option(
        "--adjudicate",
        type=_Numbers("CP[/MOVES]", 2),
        help="Adjudicate a win when both players agree on CP for MOVES (5) moves each.",
    ),
    click.option(
        "--adjudicate-draw",
        type=_Numbers("CP[/MOVES[/PLY]]", 3),
        help="Adjudicate a draw when both stay within CP for MOVES (20) moves, from PLY (160).",
    ),
)


def with_conditions(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options above to a command, which gets `conditions`, an `arena.Conditions`."""

    @functools.wraps(function)
    def command(
        *arguments: Any,
        nodes: int | None,
        depth: int | None,
        seconds: float | None,
        movetime: int | None,
        clock: dict[str, int] | None,
        margin: float,
        max_plies: int,
        adjudicate: tuple[int, ...] | None,
        adjudicate_draw: tuple[int, ...] | None,
        **others: Any,
    ) -> None:
        from komadori.arena import Conditions

        if seconds is not None and movetime is not None:
            raise click.UsageError("--time and --movetime set the same limit: give only one")
        values: dict[str, Any] = {
            **dict(zip(WIN_FIELDS, adjudicate or (), strict=False)),
            **dict(zip(DRAW_FIELDS, adjudicate_draw or (), strict=False)),
            **(clock or {}),
        }
        try:
            conditions = Conditions(
                nodes=nodes,
                depth=depth,
                movetime_ms=movetime if seconds is None else round(1000 * seconds),
                margin_ms=round(1000 * margin),
                max_plies=max_plies,
                **values,
            )
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        function(*arguments, conditions=conditions, **others)

    made: Callable[..., None] = command
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def as_options(conditions: Conditions) -> list[str]:
    """Return the command-line options that give these conditions."""
    default = type(conditions)()
    words: list[str] = []
    if conditions.has_clock:
        extra = f"/{conditions.byoyomi_ms / 1000:g}" if conditions.byoyomi_ms else ""
        extra = f"+{conditions.increment_ms / 1000:g}" if conditions.increment_ms else extra
        words += ["--clock", f"{conditions.main_ms / 1000:g}{extra}"]
    for name in ("nodes", "depth"):
        if (value := getattr(conditions, name)) is not None:
            words += [f"--{name}", str(value)]
    if conditions.movetime_ms is not None:
        words += ["--time", f"{conditions.movetime_ms / 1000:g}"]
    if conditions.margin_ms:
        words += ["--margin", f"{conditions.margin_ms / 1000:g}"]
    if conditions.max_plies != default.max_plies:
        words += ["--max-plies", str(conditions.max_plies)]
    for option, fields in (("--adjudicate", WIN_FIELDS), ("--adjudicate-draw", DRAW_FIELDS)):
        values = [getattr(conditions, name) for name in fields]
        if values[0]:
            words += [option, "/".join(map(str, values))]
    return words


def in_shell(word: str) -> str:
    """Quote a word of a command for a shell, in double quotes where those suffice."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII):
        return word
    return shlex.quote(word) if set(word) & set('"$`\\!') else f'"{word}"'


def game_progress(on: Console) -> Progress:
    """Create a progress bar for games, with the time left."""
    return progress(on)
