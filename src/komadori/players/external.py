"""External engines as players."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from komadori.players.player import (
    Decision,
    GameResult,
    Named,
    OptionRange,
    effective_limits,
    option_range,
)
from komadori.usi.client import EngineError, ExternalEngine, UsiEngine
from komadori.usi.protocol import STARTPOS, GoCommand, is_move_text
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board

#: An engine counts as hung if it exceeds its time by more than this.
HANG_GRACE_S = 15.0

#: Options for the ply after which a game is drawn: dlshogi's, YaneuraOu's.
DRAW_PLY_OPTIONS = ("Draw_Ply", "MaxMovesToDraw")

#: YaneuraOu's option for the rule of declarations, and its value for each of ours.
DECLARATION_OPTION = "EnteringKingRule"
DECLARATION_RULES = {"27": "CSARule27", "24": "CSARule24", "none": "NoEnteringKing"}

#: Time limit of commands without one (depth, nodes).
DEFAULT_LIMIT_S = 600.0


@names_arguments
class EnginePlayer(Named):
    """Plays with an external engine, under its own limits or the match's.

    Sends the whole game for each move, as in USI. If an engine supports only the start position,
    openings must be given as moves, not as positions.
    """

    def __init__(
        self,
        engine: ExternalEngine,
        name: str = "",
        limits: GoCommand | None = None,
        own_options: Collection[str] = (),
    ) -> None:
        """`own_options`: names of the engine options set by the user."""
        self._engine = engine
        self._own_options = own_options
        self._draw_ply = 0
        self.name = name or engine.name
        self._limits = limits

    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        if draw_ply != self._draw_ply:
            self._set_draw_ply(draw_ply)
        self._engine.new_game()

    def set_options(self, values: Mapping[str, str]) -> None:
        self._engine_with_options().set_known_options(values)

    def option_range(self, name: str) -> OptionRange:
        line = self._engine_with_options().declared_option(name)
        try:
            return option_range(line)
        except ValueError as error:
            raise EngineError(f"{self.name}: {error}") from error

    def _engine_with_options(self) -> UsiEngine:
        if not isinstance(self._engine, UsiEngine):
            raise EngineError(f"{self.name} has no options that can be set")
        return self._engine

    def _set_draw_ply(self, draw_ply: int) -> None:
        """Set the draw ply if the engine has an option for it that the user hasn't set."""
        self._draw_ply = draw_ply
        if not isinstance(self._engine, UsiEngine) or set(DRAW_PLY_OPTIONS) & set(
            self._own_options
        ):
            return
        for name in DRAW_PLY_OPTIONS:
            option = self._engine.declared.get(name)
            if option is None or option.kind != "spin":
                continue
            most = draw_ply if option.max is None else min(draw_ply, option.max)
            self._engine.set_option(name, str(most) if draw_ply else option.default)
            return

    def set_declaration(self, rule: str) -> None:
        """Set the rule of declarations, a key of `rules.DECLARATION_POINTS`, if the engine has
        YaneuraOu's option for it with this rule, and the user hasn't set it.
        """
        engine, name = self._engine, DECLARATION_OPTION
        if not isinstance(engine, UsiEngine) or name.lower() in map(str.lower, self._own_options):
            return
        with contextlib.suppress(EngineError):
            engine.set_known_options({name: DECLARATION_RULES[rule]})

    def play(self, board: Board, go: GoCommand) -> Decision:
        moves = [move.usi() for move in board.moves]
        request = effective_limits(self._limits, go)
        thought = self._engine.think(
            start_sfen(board), moves, request, time_limit_s(request, board.turn)
        )
        info = thought.last_info
        text = thought.best.move
        score = info.score if info else None
        mate = score.mate_plies if score else None
        if score is not None and mate is None and score.mate_sign:
            mate = score.mate_sign
        decision = Decision(
            score_cp=score.cp if score else None,
            mate_plies=mate,
            depth=info.depth if info else None,
            nodes=info.nodes if info else None,
            pv=info.pv if info else (),
        )
        if text == "resign":
            return replace(decision, resigns=True)
        if text == "win":
            return replace(decision, declares_win=True)
        if is_move_text(text):
            with contextlib.suppress(ValueError):
                return replace(decision, move=board.parse_usi(text))
        return replace(decision, illegal=text)

    def game_over(self, result: GameResult) -> None:
        if isinstance(self._engine, UsiEngine):
            with contextlib.suppress(EngineError):  # an engine that failed
                self._engine.game_over(result)

    def close(self) -> None:
        self._engine.close()


def start_sfen(board: Board) -> str:
    """Return the position before the board's first move."""
    start = board.copy()
    for _ in range(len(board.moves)):
        start.pop()
    sfen = start.sfen()
    return STARTPOS if sfen == STARTPOS else sfen


def time_limit_s(go: GoCommand, turn: int) -> float:
    """Return the time after which an engine counts as hung, in seconds from its `go`."""
    if go.movetime_ms is not None:
        return go.movetime_ms / 1000.0 + HANG_GRACE_S
    if not go.has_clock or go.nodes is not None or go.depth is not None:
        return DEFAULT_LIMIT_S
    main = (go.btime_ms if turn == 0 else go.wtime_ms) or 0
    increment = (go.binc_ms if turn == 0 else go.winc_ms) or 0
    return (main + increment + (go.byoyomi_ms or 0)) / 1000.0 + HANG_GRACE_S
