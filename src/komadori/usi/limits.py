"""Convert `go` to a searcher's limits."""

from __future__ import annotations

from collections.abc import Sequence

from komadori.rules import Board, Move
from komadori.search.clock import delayed
from komadori.search.protocol import Limits
from komadori.usi.options import ServerOptions
from komadori.usi.protocol import GoCommand


def legal_searchmoves(go: GoCommand, board: Board) -> list[Move]:
    """Return the legal moves among the command's `searchmoves`."""
    named = [Move.from_usi(text) for text in go.searchmoves]
    return [move for move in named if move in board.legal_moves]


def search_limits(
    go: GoCommand, options: ServerOptions | None = None, searchmoves: Sequence[Move] = ()
) -> Limits:
    """Return the limits of a `go` under the server's options.

    `searchmoves` are the legal moves among those of the command.
    """
    options = options or ServerOptions()
    if options.constant_playouts and not (go.infinite or go.ponder):
        return Limits(nodes=options.constant_playouts, searchmoves=tuple(searchmoves))
    return delayed(
        Limits(
            nodes=options.nodes_limit or None if go.nodes is None else go.nodes,
            playouts=options.visit_limit or None,
            depth=options.depth_limit or None if go.depth is None else go.depth,
            movetime_ms=go.movetime_ms,
            btime_ms=go.btime_ms,
            wtime_ms=go.wtime_ms,
            byoyomi_ms=go.byoyomi_ms,
            binc_ms=go.binc_ms,
            winc_ms=go.winc_ms,
            infinite=go.infinite,
            ponder=go.ponder,
            searchmoves=tuple(searchmoves),
        ),
        options.network_delay_ms,
    )
