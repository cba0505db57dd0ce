"""`komadori book`: opening books made from games."""

from __future__ import annotations

from pathlib import Path

import click

from komadori.atomic import is_stream
from komadori.cli.console import say
from komadori.cli.outputs import OutputFile, begins_with, check_outputs, force_option
from komadori.cli.record_inputs import Inputs, with_inputs
from komadori.rules import Board, RulesError
from komadori.wording import counted


@click.group()
def command() -> None:
    """Make opening books and show their moves."""


@command.command()
@with_inputs
@click.option(
    "-o",
    "--out",
    "output",
    required=True,
    type=OutputFile(),
    help="The book, in YaneuraOu's text format.",
)
@click.option(
    "--plies",
    default=40,
    show_default=True,
    type=click.IntRange(min=1),
    help="Plies used of each game.",
)
@click.option(
    "--min-count",
    default=2,
    show_default=True,
    type=click.IntRange(min=1),
    help="Minimum number of times a move was played.",
)
@force_option
@click.option("--winner", is_flag=True, help="Only moves of the side that won.")
def make(
    inputs: Inputs, output: Path, plies: int, min_count: int, winner: bool, force: bool
) -> None:
    """Make a book from the openings of the games in FILE...

    A move's score is its mean score in the games; its count is how often it was played.
    """
    from komadori.usi.book import BookError, BookMaker, check_path, write_book

    try:
        check_path(output)
    except BookError as error:
        raise click.UsageError(str(error)) from error
    is_book = begins_with(b"#YANEURAOU-DB2016")
    check_outputs({output: ("opening book", is_book)}, inputs.files, force=force)
    maker = BookMaker(plies, winner)
    for game in inputs.games():
        try:
            maker.add(game)
        except RulesError as error:
            inputs.skip(game, str(error))
    inputs.exit_if_empty()
    entries = [entry for entry in maker.entries(min_count) if entry[1]]
    if not entries:
        raise click.UsageError(
            f"no move of {counted(maker.games, 'game')} was played {min_count} times "
            "(--min-count); nothing was written"
        )
    positions, moves = write_book(output, entries)
    counts = counted(positions, "position"), counted(moves, "move")
    what = f"{', '.join(counts)} of {counted(maker.games, 'game')}"
    say(f"wrote {output}: {what}", err=is_stream(output))


@command.command()
@click.argument("book", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("position", nargs=-1)
def show(book: Path, position: tuple[str, ...]) -> None:
    """Print BOOK's moves in a position (as in USI: startpos moves 7g7f ...)."""
    from komadori.usi.book import Book, BookError

    try:
        board = Board.from_usi(" ".join(position) or "startpos")
    except RulesError as error:
        raise click.UsageError(str(error)) from error
    try:
        moves = Book(book).moves(board)
    except (BookError, RulesError) as error:
        raise click.ClickException(str(error)) from error
    if not moves:
        say("not in the book")
    for move in moves:
        score = "-" if move.score_cp is None else f"{move.score_cp:+} cp"
        say(f"{move.usi:<6}{move.count:>8,}  {score:>9}  {move.ponder or '-'}")
