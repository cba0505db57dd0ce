"""`komadori ladder`: players and their games in one file, ratings with errors."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from komadori.cli import interrupt
from komadori.cli.console import console, say, say_skipped
from komadori.cli.failures import failure_lines
from komadori.cli.game_options import (
    EVEN_GAMES,
    GAMES,
    OPENING_PLIES,
    game_progress,
    with_conditions,
)
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import OutputFile, check_outputs, force_option, holds
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.arena import Conditions, GameRecord
    from komadori.arena.ladder import Ladder
    from komadori.arena.ratings import Fit
    from komadori.records import Game


@click.group()
def command() -> None:
    """Rate many players: players and games in one SQLite file, ratings with errors.

    \b
      komadori ladder new strength.db --time 1
      komadori ladder add strength.db ours "model:my.onnx?UCT_Threads=1"
      komadori ladder add strength.db gpsfish "usi:/opt/gpsfish" --elo 0
      komadori ladder play strength.db --games 200 -j 2
      komadori ladder show strength.db
    """


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Report errors in one line."""
    from komadori.arena import MatchStoreError, WorkerError
    from komadori.arena.ladder import LadderRequestError
    from komadori.players import PlayerSpecError
    from komadori.usi.client import EngineError

    try:
        yield
    except (PlayerSpecError, LadderRequestError) as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, EngineError, WorkerError, MatchStoreError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _subcommand(name: str, kept: str = "") -> Callable[[Callable[..., None]], click.Command]:
    """Define a subcommand on a ladder file, with one-line errors; kept: the hint of interrupts."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def wrapped(*arguments: Any, **options: Any) -> None:
            interrupt.hint(kept)
            with _errors():
                function(*arguments, **options)

        path = click.argument("ladder", type=click.Path(path_type=Path, dir_okay=False))
        return command.command(name)(path(wrapped))

    return decorate


@_subcommand("new")
@with_conditions
@click.option("--openings", default="", help="File of SFENs, USI moves or games; or `sample`.")
@OPENING_PLIES
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
def new(
    ladder: Path, conditions: Conditions, openings: str, opening_plies: int | None, seed: int
) -> None:
    """Create a ladder. Its conditions and openings apply to all its games.

    A player's own limits (`?nodes=`, `?movetime=`) override the ladder's.
    """
    from komadori.arena.ladder import Ladder, make_settings

    settings = make_settings(conditions, openings, opening_plies, seed, say_skipped)
    Ladder.create(ladder, settings).close()
    say(f"{ladder}: {conditions}")


@_subcommand("add")
@click.argument("name")
@click.argument("spec")
@click.option(
    "--elo",
    type=click.FloatRange(-10_000, 10_000),
    help="Fix this player's rating; the others are relative to it.",
)
@click.option("--note", default="", help="A note, not shown in tables.")
def add(ladder: Path, name: str, spec: str, elo: float | None, note: str) -> None:
    """Add a player, specified as in `komadori match`."""
    from komadori.arena.ladder import Ladder

    with Ladder(ladder) as opened:
        opened.add(name, spec, elo, note)


@_subcommand("play", kept="the games that ended are kept")
@GAMES
@click.option("--player", "-p", "among", multiple=True, help="Only games of these players.")
@click.option("--against", "-a", multiple=True, help="Only games against these players.")
@click.option(
    "--block",
    default=10,
    show_default=True,
    type=EVEN_GAMES,
    help="Games before the next pairing, even.",
)
@click.option(
    "--concurrency",
    "-j",
    default=1,
    show_default=True,
    type=THREADS,
    help="Games at a time.",
)
def play(
    ladder: Path,
    games: int,
    among: tuple[str, ...],
    against: tuple[str, ...],
    block: int,
    concurrency: int,
) -> None:
    """Play more games, each between the two players whose result is most informative."""
    from komadori.arena.ladder import Ladder

    terminal = console()
    failed: list[GameRecord] = []
    with game_progress(terminal) as bar:
        task = bar.add_task("", total=games)

        def show(record: GameRecord, done: int) -> None:
            if record.reason == "engine_failure":
                failed.append(record)
            bar.update(task, completed=done, description=" – ".join(sorted(record.names)))

        def work() -> None:
            with Ladder(ladder) as opened:  # an SQLite connection belongs to one thread
                opened.play(
                    games,
                    among=among,
                    against=against,
                    block=block,
                    concurrency=concurrency,
                    on_game=show,
                )

        interrupt.in_thread(work)
    with Ladder(ladder) as opened:
        _show(terminal, opened)
    for line in failure_lines(failed):
        terminal.print(line, soft_wrap=True)


@_subcommand("import")
@click.argument("matches", nargs=-1, required=True, type=click.Path(path_type=Path))
def import_(ladder: Path, matches: tuple[Path, ...]) -> None:
    """Import the games of matches played with `komadori match --out`."""
    from komadori.arena.ladder import Ladder

    with Ladder(ladder) as opened:
        for folder in matches:
            new_games, known = opened.import_match(folder)
            say(f"{folder}: {counted(new_games, 'new game')}, {known} known")


@_subcommand("show")
@click.option("--pairs", is_flag=True, help="Show one row per pair of players.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
def show(ladder: Path, pairs: bool, markdown: bool) -> None:
    """Show the ratings with their 95 % errors, or the results of each pair of players."""
    from komadori.arena.ladder import Ladder

    with Ladder(ladder) as opened:
        if markdown:
            for line in _markdown(*(_pair_rows(opened) if pairs else _rating_rows(opened.fit()))):
                say(line)
        elif pairs:
            _print(console(), *_pair_rows(opened))
        else:
            _show(console(), opened)


@_subcommand("games")
@click.option("--player", "-p", help="Only this player's games.")
@click.option(
    "-o",
    "--out",
    "output",
    required=True,
    type=OutputFile(),
    help="kif, csa, usi, ...",
)
@force_option
def games(ladder: Path, player: str | None, output: Path, force: bool) -> None:
    """Export games to one record file."""
    from komadori.arena.ladder import Ladder
    from komadori.records import write_games
    from komadori.records.formats import guess_format

    format = guess_format(output)
    kind = (f"records of {format.name}", holds(format))
    check_outputs({output: kind}, [ladder], force=force)
    with Ladder(ladder) as opened, contextlib.closing(opened.games(player)) as records:
        first = next(records, None)
        if first is None:
            raise click.UsageError(f"{ladder} has no games yet; {output} is left as it is")
        numbered = enumerate(chain([first], records), 1)
        count = write_games(output, (_checked_game(ladder, i, one) for i, one in numbered))
    say(f"{output}: {counted(count, 'game')}")


def _checked_game(ladder: Path, number: int, record: GameRecord) -> Game:
    """Convert the stored game of that number. Raises ClickException if it is illegal."""
    from komadori.arena.store import to_game
    from komadori.rules import RulesError

    try:
        return to_game(record)
    except RulesError as error:
        players = " - ".join(record.names)
        raise click.ClickException(f"{ladder}: game {number} ({players}): {error}") from error


Rows = tuple[list[str], list[list[str]]]


def _signed(elo: float) -> str:
    """Round to an integer with its sign; zero is +0."""
    return f"{round(elo) + 0:+d}"


def _rating_rows(fit: Fit) -> Rows:
    """Return a table of ratings; LOS: likelihood that a player is stronger than the next one."""
    head = ["", "player", "Elo", "±", "games", "won", "drawn", "lost", "score", "LOS"]
    rows = []
    for i, rating in enumerate(fit.ratings):
        los = ""
        if i + 1 < len(fit.ratings):
            los = f"{100 * fit.superiority(rating.name, fit.ratings[i + 1].name):.0f} %"
        rows.append(
            [
                str(i + 1),
                rating.name,
                _signed(rating.elo),
                f"{rating.error:.0f}" if rating.error else "fixed",
                str(rating.games),
                str(rating.wins),
                str(rating.draws),
                str(rating.losses),
                f"{100 * rating.score:.1f} %" if rating.games else "",
                los,
            ]
        )
    return head, rows


def _pair_rows(ladder: Ladder) -> Rows:
    from komadori.arena.elo import trinomial

    counts: dict[tuple[str, str], list[int]] = {}
    for tally in ladder.tallies():
        a, b = tally.black, tally.white
        if (b, a) in counts:
            row, flip = counts[b, a], True
        else:
            row, flip = counts.setdefault((a, b), [0, 0, 0]), False
        won, lost = tally.black_wins, tally.white_wins
        for i, count in enumerate((lost, tally.draws, won) if flip else (won, tally.draws, lost)):
            row[i] += count
    head = ["A", "B", "games", "A won", "drawn", "B won", "A's score", "Elo (95 %)"]
    rows = []
    for (a, b), (won, drawn, lost) in counts.items():
        total = won + drawn + lost
        estimate = str(trinomial(won, drawn, lost)).replace(" (95 %)", "")
        score = f"{100 * (won + drawn / 2) / total:.1f} %"
        rows.append([a, b, *map(str, (total, won, drawn, lost)), score, estimate])
    return head, rows


def _print(terminal: Console, head: list[str], rows: list[list[str]]) -> None:
    table = Table()
    for i, name in enumerate(head):
        table.add_column(
            name, justify="left" if name in ("player", "A", "B") and i < 2 else "right"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    terminal.print(table)


def _show(terminal: Console, ladder: Ladder) -> None:
    fit = ladder.fit()
    _print(terminal, *_rating_rows(fit))
    lines = [f"{counted(count, 'game')} under {text}" for text, count in ladder.conditions()]
    lines.append(f"openings: {ladder.settings.opening_source}")
    if math.isfinite(fit.first_move_elo) and ladder.conditions():
        lines.append(
            f"Black is worth {_signed(fit.first_move_elo)} Elo; equals draw "
            f"{100 * fit.draw_fraction:.1f} % of their games"
        )
    for line in lines:
        terminal.print(line, soft_wrap=True)


def _markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = "|" + "|".join("---" if n in ("player", "A", "B") else "---:" for n in head) + "|"
    return [line(head), rule, *map(line, rows)]
