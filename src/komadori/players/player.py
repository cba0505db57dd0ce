"""The player protocol: a player returns moves in a game.

Only one thread may use a player at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from komadori.usi.protocol import GoCommand, OptionLine

if TYPE_CHECKING:
    from komadori.rules import Board, Move


@dataclass(frozen=True)
class Decision:
    """A player's answer: a move, a resignation, or a declaration of a win.

    `illegal` is the text of an answer that isn't a legal move. Scores are from the side to move's
    view: centipawns, or plies to mate (negative if it is mated).
    """

    move: Move | None = None
    resigns: bool = False
    declares_win: bool = False
    illegal: str = ""
    score_cp: int | None = None
    mate_plies: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: tuple[str, ...] = ()

    @property
    def recorded_cp(self) -> int | None:
        """The score to record (`records.score_to_record`), None without one."""
        from komadori.records import score_to_record

        if self.mate_plies is None and self.score_cp is None:
            return None
        return score_to_record(self.score_cp, self.mate_plies)


class Named:
    """Mixin: a repr with the player's name."""

    name: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Player(Protocol):
    """Anything that chooses moves."""

    name: str

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        """Start a new game. `seed` seeds its random choices; it is drawn after `draw_ply` plies
        (0: no limit), unless the player has its own setting.
        """

    def play(self, board: Board, go: GoCommand) -> Decision:
        """Choose a move in the position of `board`, which has its history; without a legal move,
        resign.

        The board is unchanged afterwards. A player with its own limits may ignore those
        of `go`, but not its clock. Raises EngineError if an external engine fails.
        """

    def close(self) -> None:
        """Release processes and devices. May be called twice."""


@runtime_checkable
class Tunable(Protocol):
    """A player whose options can change between games."""

    def set_options(self, values: Mapping[str, str]) -> None:
        """Set options of the searcher or engine by name, before `new_game`.

        Raises ValueError or EngineError for an unknown option or a bad value.
        """

    def option_range(self, name: str) -> OptionRange:
        """Return the numbers that an option takes.

        Raises ValueError or EngineError for an unknown option, one that can't change between games,
        or one that takes no numbers.
        """


GameResult = Literal["win", "lose", "draw"]


@runtime_checkable
class Told(Protocol):
    """A player that is told how its games end."""

    def game_over(self, result: GameResult) -> None:
        """Take note of the result of the game, from its own view; raises nothing."""


def tell(player: Player, result: GameResult) -> None:
    """Tell a player the result of its game, if it wants to know."""
    if isinstance(player, Told):
        player.game_over(result)


@dataclass(frozen=True)
class OptionRange:
    """The numbers that an option takes, from `min` to `max`; None: the engine declares no bound."""

    min: int | None = None
    max: int | None = None
    is_integer: bool = True

    def __str__(self) -> str:
        low = "-inf" if self.min is None else self.min
        return f"{low} to {'inf' if self.max is None else self.max}"


def option_range(line: OptionLine) -> OptionRange:
    """Return the numbers that a declared option takes: those of a spin, any number for a string.

    Raises ValueError for other types.
    """
    if line.kind == "spin":
        return OptionRange(line.min, line.max)
    if line.kind == "string":
        return OptionRange(is_integer=False)
    raise ValueError(f"option {line.name} is of type {line.kind} and takes no numbers")


def effective_limits(own: GoCommand | None, given: GoCommand) -> GoCommand:
    """Return a player's own limits with the match's clock; without own limits, the match's."""
    if own is None:
        return given
    clock = ("btime_ms", "wtime_ms", "byoyomi_ms", "binc_ms", "winc_ms")
    return GoCommand(**{**vars(own), **{name: getattr(given, name) for name in clock}})
