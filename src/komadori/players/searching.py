"""Searchers as players, and players as searchers for the USI front."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from komadori.players.player import Decision, Player, effective_limits
from komadori.players.spec import PlayerSpec
from komadori.search.protocol import Info, Limits, SearchResult
from komadori.usi.protocol import GoCommand

if TYPE_CHECKING:
    from komadori.rules import Board
    from komadori.search.protocol import Searcher

#: Nodes a move where neither the match nor the player says how long to think.
DEFAULT_NODES = 100


def to_limits(go: GoCommand) -> Limits:
    """A `go` as a searcher's limits; searchmoves are left to the USI front."""
    return Limits(
        nodes=go.nodes,
        depth=go.depth,
        movetime_ms=go.movetime_ms,
        btime_ms=go.btime_ms,
        wtime_ms=go.wtime_ms,
        byoyomi_ms=go.byoyomi_ms,
        binc_ms=go.binc_ms,
        winc_ms=go.winc_ms,
    )


class SearchPlayer:
    """Plays with a searcher, under its own limits or the match's."""

    def __init__(self, searcher: Searcher, name: str, limits: GoCommand | None = None) -> None:
        self.name = name
        self._searcher = searcher
        self._limits = limits

    def new_game(self, seed: int | None = None) -> None:
        self._searcher.new_game()

    def play(self, board: Board, go: GoCommand) -> Decision:
        go = effective_limits(self._limits, go)
        if go == GoCommand():
            go = GoCommand(nodes=DEFAULT_NODES)
        self._searcher.set_position(board)
        result = self._searcher.search(to_limits(go))
        info = result.infos[0] if result.infos else None
        return Decision(
            move=result.best_move,
            resigns=result.resign,
            declares_win=result.declare_win,
            score_cp=info.score_cp if info else None,
            mate_plies=info.mate_plies if info else None,
            depth=info.depth if info else None,
            nodes=info.nodes if info else None,
            pv=tuple(move.usi() for move in info.pv) if info else (),
        )

    def close(self) -> None:
        self._searcher.close()


class PlayerSearcher:
    """A player without a search behind the searcher's protocol: it answers at once."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._board: Board | None = None

    def set_position(self, board: Board) -> None:
        self._board = board

    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        board = self._board
        if board is None:
            raise RuntimeError("set_position comes before search")
        if board.can_declare_win():
            return SearchResult(best_move=None, declare_win=True)
        if not board.legal_moves:
            return SearchResult(best_move=None, resign=True)
        decision = self._player.play(board, GoCommand())
        if decision.move is None:
            return SearchResult(best_move=None, resign=True)
        info = Info(
            depth=1,
            seldepth=1,
            nodes=1,
            nps=0,
            time_ms=0,
            hashfull=0,
            multipv=1,
            score_cp=decision.score_cp,
            mate_plies=decision.mate_plies,
            win_rate=0.5,
            pv=[decision.move],
            visits=1,
        )
        return SearchResult(best_move=decision.move, infos=[info])

    def ponderhit(self, limits: Limits) -> None:
        """There is nothing to go on with: the answer is already there."""

    def new_game(self) -> None:
        self._player.new_game()

    def close(self) -> None:
        self._player.close()


def make_model_player(spec: PlayerSpec) -> SearchPlayer:
    """Build a `model:` player."""
    raise NotImplementedError
