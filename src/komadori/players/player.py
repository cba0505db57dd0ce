"""The player protocol: something that is asked for a move in a game.

A player is used by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from komadori.usi.protocol import GoCommand

if TYPE_CHECKING:
    from komadori.rules import Board, Move


@dataclass(frozen=True)
class Decision:
    """A player's answer: a move, or a resignation, or a claim of a win by declaration.

    `illegal` holds the text of an answer that is no legal move here. Scores are the side to
    move's: centipawns, or plies to mate (negative where it is mated).
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
        """The score that a record holds: centipawns, `records.MATE_CP` for a mate."""
        from komadori.records import MATE_CP

        if self.mate_plies is not None:
            return MATE_CP if self.mate_plies > 0 else -MATE_CP
        return self.score_cp


class Named:
    """Players that say their name in their repr."""

    name: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Player(Protocol):
    """Anyone who can be asked for a move."""

    name: str

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        """Forget the last game. `seed` seeds the next game's random choices; it is drawn after
        `draw_ply` plies (0: no limit). A player may have a draw ply of its own.
        """

    def play(self, board: Board, go: GoCommand) -> Decision:
        """Choose in the position of `board`, which has its history and at least one legal move.

        The board is unchanged afterwards. A player with limits of its own may ignore those
        of `go`, but never its clock. Raises EngineError where an engine outside failed.
        """

    def close(self) -> None:
        """Give back processes and devices. May be called twice."""


@runtime_checkable
class Tunable(Protocol):
    """A player whose options can change between games."""

    def set_options(self, values: Mapping[str, str]) -> None:
        """Set options of the searcher or engine by name, before `new_game`.

        Raises ValueError or EngineError for an option it hasn't and for a bad value.
        """


def effective_limits(own: GoCommand | None, given: GoCommand) -> GoCommand:
    """A player's own limits where it has any, with the match's clock; else the match's."""
    if own is None:
        return given
    clock = ("btime_ms", "wtime_ms", "byoyomi_ms", "binc_ms", "winc_ms")
    return GoCommand(**{**vars(own), **{name: getattr(given, name) for name in clock}})
