"""`komadori perft`: leaf counts of the legal move tree, and their speed."""

from __future__ import annotations

import time
from functools import partial

import click

from komadori.cli.console import say
from komadori.cli.interrupt import in_thread
from komadori.cli.positions import board_of
from komadori.rules import RulesError

#: Deeper than any machine can search.
MAX_DEPTH = 30


@click.command()
@click.argument("depth", type=click.IntRange(min=0, max=MAX_DEPTH))
@click.option(
    "--sfen",
    default="startpos",
    help="Root position: an SFEN, or as in USI's `position`: startpos moves 7g7f.",
    show_default=True,
)
@click.option("--divide", is_flag=True, help="Print the count below each root move.")
@click.option(
    "--repeat",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Run it this many times and print the best time.",
)
def command(depth: int, sfen: str, divide: bool, repeat: int) -> None:
    """Count the positions DEPTH plies below the root on one thread.

    Uses bulk counting at the last ply, like other engines.
    """
    try:
        board = board_of(sfen)
    except RulesError as error:
        raise click.BadParameter(str(error), param_hint="--sfen") from error
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        if divide and depth > 0:
            nodes = 0
            for move in board.legal_moves:
                board.push(move)
                below = in_thread(partial(board.perft, depth - 1))
                board.pop()
                nodes += below
                say(f"{move.usi():<6}{below:>16,}")
        else:
            nodes = in_thread(partial(board.perft, depth))
        seconds.append(time.perf_counter() - start)
    best = min(seconds)
    say(f"perft({depth}) = {nodes:,}")
    say(f"{best:.3f} s, {nodes / best:,.0f} nodes/s")
