"""`komadori analyse`: whole games searched, annotated, and shown on a page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.atomic import write_text
from komadori.rules import Board

if TYPE_CHECKING:
    from komadori.analysis import AnalysedGame, Effort, Found, Journal
    from komadori.inference import Evaluator
    from komadori.records import Game
    from komadori.usi.options import OptionTable

#: Playouts a position where neither nodes nor time is given.
DEFAULT_NODES = 800
#: Lines kept of each position.
LINES = 2


@dataclass
class _Record:
    """A file to analyse: its games and where the results go."""

    path: Path
    games: list[Game]
    is_csa: bool
    base: Path
    keys: list[list[str]] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.base.with_name(self.base.name + ".analysis.jsonl")

    @property
    def annotated(self) -> Path:
        return self.base.with_name(
            self.base.name + (".analysed.csa" if self.is_csa else ".analysed.kif")
        )

    @property
    def page(self) -> Path:
        return self.base.with_name(self.base.name + ".html")


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--model", default="", help="The network. [default: the engine's]")
@click.option("--nodes", type=click.IntRange(min=1), help="Playouts a position. [default: 800]")
@click.option("--time", "seconds", type=float, help="Seconds a position, in place of playouts.")
@click.option("--threads", default=0, type=click.IntRange(min=0), help="Of the network.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to. [default: beside each file]",
)
@click.option("--fresh", is_flag=True, help="Don't go on with an analysis that was broken off.")
def command(
    files: tuple[Path, ...],
    model: str,
    nodes: int | None,
    seconds: float | None,
    threads: int,
    output: Path | None,
    fresh: bool,
) -> None:
    """Analyse the games in FILE..., records of any format.

    Beside each file: NAME.analysed.kif (of CSA records .csa) with the score and the expected line
    after each move and a word on each mistake, and NAME.html with the win-rate graph, boards at
    the turning points and every move. Broken off and run again with the same settings it
    goes on where it was. All games are searched at once, so that they share the network's batches.
    """
    from komadori import inference
    from komadori.analysis import AnalysedGame, Effort, html_report

    if nodes is not None and seconds is not None:
        raise click.UsageError("--nodes or --time, not both")
    try:
        effort = Effort(None, seconds) if seconds is not None else Effort(nodes or DEFAULT_NODES)
    except ValueError as error:
        raise click.UsageError(f"--time: {error}") from error
    chosen = [_read(path, output) for path in files]
    names = [record.base for record in chosen]
    if len(set(names)) < len(names):
        raise click.UsageError("two files would be written to the same place; give them folders")
    evaluator, options, facts = _load(model, threads)
    try:
        found = _search(chosen, evaluator, effort, options, facts, fresh)
    except (inference.InferenceError, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        evaluator.close()
    note = f"komadori analyse, {facts['model']}, {effort} a position"
    for record in chosen:
        games = [
            AnalysedGame(game, [found[key] for key in keys])
            for game, keys in zip(record.games, record.keys, strict=True)
        ]
        _write(record, games)
        write_text(record.page, html_report(games, record.path.name, note))
        for game in games:
            _print(game)
        click.echo(f"wrote {record.annotated} and {record.page}")


def _read(path: Path, output: Path | None) -> _Record:
    from komadori import records
    from komadori.records.formats import guess_format

    try:
        games = records.read_games(path)
        is_csa = guess_format(path).name == "csa"
    except (records.RecordError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for skipped in games.skipped:
        click.echo(f"skipped: {skipped}", err=True)
    usable = [game for game in games if len(game)]
    if not usable:
        raise click.ClickException(f"{path}: no game with moves")
    base = (output or path.parent) / path.name.removesuffix(path.suffix)
    record = _Record(path, usable, is_csa, base)
    record.keys = [_keys(game) for game in usable]
    return record


def _keys(game: Game) -> list[str]:
    """The position after each number of moves: its SFEN without the move number."""
    boards = [board.sfen() for board, _ in game.positions()]
    return [sfen.rpartition(" ")[0] for sfen in (*boards, game.final_board().sfen())]


def _load(model: str, threads: int) -> tuple[Evaluator, OptionTable, dict[str, str]]:
    """The network, the options that it brings, and what it is: results hold for this one only."""
    from komadori import inference
    from komadori.players.searching import load_evaluator
    from komadori.usi.models import ModelDefaultsError, find_model
    from komadori.usi.options import option_table

    options = option_table("model")
    path = Path(model)
    options.set("DNN_Model", str(path.resolve()) if model and path.exists() else model)
    options.set("UCT_Threads", str(threads))
    try:
        found = Path(find_model(options.value("DNN_Model")))
        evaluator = load_evaluator(options)
        facts = {"model": found.name, "evaluator": evaluator.name}
        if found.is_file():
            facts["sha256"] = inference.digest(found)
        return evaluator, options, facts
    except (inference.ModelError, ModelDefaultsError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _search(
    chosen: list[_Record],
    evaluator: Evaluator,
    effort: Effort,
    options: OptionTable,
    facts: Mapping[str, str],
    fresh: bool,
) -> dict[str, Found]:
    """What is found of every position of every file; each result is kept at once."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from komadori.analysis import Journal, PositionAnalyser
    from komadori.search import PuctOptions

    own = options.settings()  # what the model brings
    settings = {**facts, "effort": str(effort), "lines": LINES, "options": own}
    found: dict[str, Found] = {}
    wanted: dict[str, list[Journal]] = {}
    with contextlib.ExitStack() as journals:
        for record in chosen:
            journal = journals.enter_context(Journal(record.journal, settings, fresh=fresh))
            if journal.known:
                click.echo(f"{record.path.name}: {len(journal.known):,} positions known", err=True)
            found |= journal.known
            for key in {key for keys in record.keys for key in keys} - journal.known.keys():
                wanted.setdefault(key, []).append(journal)
        for key in wanted.keys() & found.keys():  # known of another file
            for journal in wanted.pop(key):
                journal.add(key, found[key])
        search = PuctOptions(**{**own, "multipv": LINES})  # type: ignore[arg-type]
        analyser = PositionAnalyser(evaluator, effort, search)
        console = Console(stderr=True)
        with Progress(
            TextColumn("positions"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        ) as progress:
            task = progress.add_task("", total=len(wanted))
            try:
                for key, result in analyser.analyse(_positions(chosen, set(wanted))):
                    found[key] = result
                    for journal in wanted[key]:
                        journal.add(key, result)
                    progress.advance(task)
            except KeyboardInterrupt:
                click.echo("stopped; the same command goes on from here", err=True)
                raise
    return found


def _positions(chosen: list[_Record], wanted: set[str]) -> Iterator[tuple[str, Board]]:
    """The positions wanted, each once, game after game from the end to the start: what is found
    later in a game helps to judge what comes before. They are searched without the moves that led
    to them: with these a line that comes back to a position of the game with a pawn more in hand
    would count as won, as it does in play.
    """
    for record in chosen:
        for keys in record.keys:
            for key in reversed(keys):
                if key in wanted:
                    wanted.remove(key)
                    yield key, Board(f"{key} 1")


def _write(record: _Record, games: list[AnalysedGame]) -> None:
    from komadori.analysis import annotated
    from komadori.records import GameWriter

    record.annotated.parent.mkdir(parents=True, exist_ok=True)
    with GameWriter(record.annotated, "csa" if record.is_csa else "kif") as writer:
        for game in games:
            writer.write(annotated(game, is_csa=record.is_csa))


def _print(analysed: AnalysedGame) -> None:
    """The table of mistakes, the dearest marked by their grade."""
    from rich.console import Console
    from rich.table import Table

    from komadori.analysis.games import in_japanese
    from komadori.rules import BLACK

    game = analysed.game
    table = Table(title=f"▲ {game.black or '?'} - △ {game.white or '?'}, {game.result_text()}")
    for name in ("move", "played", "better", "win rate", "lost", ""):
        table.add_column(name, justify="right" if name in ("move", "lost") else "left")
    for mistake in analysed.mistakes():
        board = analysed.boards[mistake.ply - 1]
        table.add_row(
            str(mistake.ply),
            in_japanese(board, [mistake.played.usi()]),
            in_japanese(board, mistake.best.pv[:3]),
            f"{100 * mistake.before:.0f}% → {100 * mistake.after:.0f}%",
            f"{100 * mistake.loss:.0f}",
            mistake.grade,
        )
    console = Console()
    console.print(table)
    for turn in (0, 1):
        same, made = analysed.agreement(turn)
        console.print(
            f"{'▲' if turn == BLACK else '△'} {same} of {made} moves were the search's own; "
            f"{100 * analysed.mean_loss(turn):.1f} points lost a move",
            highlight=False,
        )
