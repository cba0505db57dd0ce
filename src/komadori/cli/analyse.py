"""`komadori analyse`: search whole games, annotate their records, write a page for each file."""

from __future__ import annotations

import contextlib
import locale
import math
import os
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from komadori.atomic import write_text
from komadori.cli import interrupt
from komadori.cli.analysis_engines import (
    AnalysisEngine,
    player_of,
    start,
)
from komadori.cli.console import console, progress, say, say_skipped
from komadori.cli.given import first_given
from komadori.cli.numbers import THREADS_OR_AUTO
from komadori.cli.outputs import (
    IsKind,
    OutputFolder,
    check_outputs,
    force_option,
    holds,
    is_page,
    page_title,
)
from komadori.rules import BLACK, Board
from komadori.search.defaults import ANALYSIS_LINES, ANALYSIS_NODES
from komadori.usi.models import DEFAULT_PLAYER, names_network
from komadori.wording import clean, counted

if TYPE_CHECKING:
    from komadori.analysis import AnalysedGame, Effort, Found, Journal, Mistake, PageOptions
    from komadori.analysis.strength import Strength
    from komadori.records import Game

#: Maximum number of a game's positions that are searched together and share their tree.
BLOCK = 32
#: Suffixes of this command's outputs, which are skipped as inputs, as are its pages.
_JOURNAL_SUFFIX = ".analysis.jsonl"
_INDEX = "analysis-index.html"
#: Options of the search and of the record that it annotates.
_OF_A_SEARCH = ("player", "model", "nodes", "seconds", "threads", "comments", "fresh")


@dataclass
class _Record:
    """A file to analyse: its games and output paths."""

    path: Path
    games: list[Game]
    is_csa: bool
    base: Path
    keys: list[list[str]] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.base.with_name(self.base.name + _JOURNAL_SUFFIX)

    @property
    def annotated(self) -> Path:
        from komadori.records.selection import ANALYSED

        return self.base.with_name(self.base.name + ANALYSED[0 if self.is_csa else 1])

    @property
    def page(self) -> Path:
        return self.base.with_name(self.base.name + ".html")


@dataclass(frozen=True)
class _Words:
    """What is printed of a game, in one language."""

    sides: tuple[str, str]
    headings: tuple[str, ...]
    """Of the table."""
    agreement: str
    """The first part of a side's summary: of a search, of a record's analysis."""
    of_record: str
    summary: str
    no_mistakes: str
    no_losses: str
    """No move has a score both before and after it."""
    wrote: str
    conjunction: str
    title: str
    semicolon: str


_WORDS: Mapping[str, _Words] = {
    "en": _Words(
        sides=("Black", "White"),
        headings=("move", "played", "better", "win rate", "lost", ""),
        agreement="{} of {} moves agree with the search; ",
        of_record="{} of {} moves agree with the record's lines; ",
        summary="{:.1f} points lost per move; accuracy {:.0f}%",
        no_mistakes="no move lost 5 points or more",
        no_losses="no losses are known: no move has a score both before and after it",
        wrote="wrote {}",
        conjunction=" and ",
        title="▲ {black} - △ {white}, {result}",
        semicolon="; ",
    ),
    "ja": _Words(
        sides=("先手", "後手"),
        headings=("手数", "実戦", "最善", "勝率", "損失", ""),
        agreement="最善手との一致{}/{}、",
        of_record="最善手との一致{}/{}、",
        summary="一手平均の損失{:.1f}ポイント、精度{:.0f}%",
        no_mistakes="5ポイント以上勝率を下げた手はありません",
        no_losses="前と後の評価がともに分かる手がなく、損失は分かりません",
        wrote="{}を書き出しました",
        conjunction="と",
        title="▲{black} 対 △{white}、{result}",
        semicolon="、",
    ),
}


@dataclass(frozen=True)
class _Output:
    """Output settings."""

    language: Literal["auto", "ja", "en"]
    pieces: Literal["auto", "kanji", "western"]
    comments: Literal["shogihome", "shogigui"]

    @property
    def own_language(self) -> Literal["ja", "en"]:
        """Language of the terminal and of records."""
        if self.language != "auto":
            return self.language
        named = next(
            (
                value
                for name in ("LC_ALL", "LC_MESSAGES", "LANG")
                if (value := os.environ.get(name))
            ),
            locale.getlocale()[0] or "",
        )
        return "ja" if named.lower().startswith(("ja", "japanese")) else "en"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--player",
    type=click.Choice(tuple(ANALYSIS_NODES)),
    help="The search: alpha-beta with the bundled NNUE, or the tree search with a network. "
    f"[default: {DEFAULT_PLAYER}; model if --model is given]",
)
@click.option("--model", default="", help="Network of the tree search.")
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    help="Nodes per position. [default: "
    + ", ".join(f"{nodes} ({player})" for player, nodes in ANALYSIS_NODES.items())
    + "]",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    help="Seconds per position, instead of nodes.",
)
@click.option(
    "--threads", default=0, type=THREADS_OR_AUTO, help="CPU threads. [default: all cores]"
)
@click.option(
    "-o",
    "--out",
    "output",
    type=OutputFolder(),
    help="Output folder. [default: beside each file]",
)
@click.option(
    "--lang",
    type=click.Choice(("auto", "ja", "en")),
    default="auto",
    show_default=True,
    help="Language of pages, tables and comments; auto: that of the browser or terminal.",
)
@click.option(
    "--pieces",
    type=click.Choice(("auto", "kanji", "western")),
    default="auto",
    show_default=True,
    help="Pieces on pages; auto: kanji in Japanese, Western in English.",
)
@click.option(
    "--comments",
    type=click.Choice(("shogihome", "shogigui")),
    default="shogihome",
    show_default=True,
    help="Format of analysis comments in KIF records.",
)
@click.option(
    "--from-comments",
    is_flag=True,
    help="Make the page from the records' analysis comments, without a search.",
)
@click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
@force_option
def command(
    files: tuple[Path, ...],
    player: str | None,
    model: str,
    nodes: int | None,
    seconds: float | None,
    threads: int,
    output: Path | None,
    lang: Literal["auto", "ja", "en"],
    pieces: Literal["auto", "kanji", "western"],
    comments: Literal["shogihome", "shogigui"],
    from_comments: bool,
    fresh: bool,
    force: bool,
) -> None:
    """Analyse the games in FILE..., records of any format, or folders of them.

    Writes beside each file: NAME.analysed.kif (.csa for CSA records) with the score and the
    expected line after each move and a comment on each mistake, and NAME.html, a page to step
    through the game. Several files get an index, analysis-index.html. An interrupted analysis
    resumes with the same settings. Files written by the command are skipped.
    """
    if not from_comments:
        interrupt.hint("the same command starts over" if fresh else "the same command resumes")
    from komadori.analysis import AnalysedGame, Effort

    if nodes is not None and seconds is not None:
        raise click.UsageError("--nodes or --time, not both")
    if from_comments and (unused := first_given(*_OF_A_SEARCH)):
        raise click.UsageError(f"--from-comments takes no search options: leave out {unused}")
    player = player_of(player, model)
    effort = Effort(None if seconds is not None else nodes or ANALYSIS_NODES[player], seconds)
    paths = _inputs(files, own=from_comments)
    _check_targets(paths, output, only_pages=from_comments, force=force)
    settings = _Output(lang, pieces, comments)
    strength: Strength | None = None
    note: str | Mapping[str, str]
    if from_comments:
        chosen = _read_all(paths, output)
        analysed = [_from_comments(record) for record in chosen]
        note = "komadori analyse --from-comments"
    else:
        # Report a network that can't be loaded before reading the files.
        engine = start(player, model, threads)
        with contextlib.closing(engine):
            chosen = _read_all(paths, output)
            found, note = _searched(chosen, engine, effort, fresh)
        strength = _strength(player, model)
        analysed = [
            [
                AnalysedGame(game, [found[key] for key in keys])
                for game, keys in zip(record.games, record.keys, strict=True)
            ]
            for record in chosen
        ]
    for record, games in zip(chosen, analysed, strict=True):
        _write(record, games, note, strength, settings, only_page=from_comments)
        for game in games:
            _print(game, settings.own_language)
        wrote = [record.page] if from_comments else [record.annotated, record.page]
        words = _WORDS[settings.own_language]
        say(words.wrote.format(words.conjunction.join(map(str, wrote))))
    if len(chosen) > 1:
        _write_index(chosen, analysed, note, settings)
    if missing := len(paths) - len(chosen):
        raise click.ClickException(f"{counted(missing, 'file')} skipped: no game could be read")


def _inputs(files: Sequence[Path], *, own: bool) -> list[Path]:
    """Return each file once, those of folders too, without those written by this command, except
    annotated records if their comments are used."""
    from komadori.records.selection import match_files

    try:
        found = match_files(map(str, files), with_analysed=True)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    named = list({path.absolute(): path for path in found}.values())
    kept = [path for path in named if not _is_own(path, records=not own)]
    skipped = len(named) - len(kept)
    if skipped:
        say(f"skipped {counted(skipped, 'file')} that this command wrote", err=True)
    if not kept:
        raise click.ClickException(
            "the files were all written by this command; --from-comments shows the analysis in "
            "its records"
        )
    return kept


def _is_own(path: Path, *, records: bool) -> bool:
    """Return whether this command wrote a file: a journal, a page, with `records` a record."""
    from komadori.records.selection import ANALYSED

    if path.name.endswith((_JOURNAL_SUFFIX, *(ANALYSED if records else ()))):
        return True
    try:
        return path.suffix == ".html" and is_page(path)
    except OSError:
        return False


def _check_targets(
    paths: Sequence[Path], output: Path | None, *, only_pages: bool, force: bool
) -> None:
    """Raise UsageError if an output would replace another, an input or a file of another kind."""
    from komadori.records import RecordError
    from komadori.records.formats import find_format, guess_format

    records = [_Record(path, [], False, _base(path, output)) for path in paths]
    first: dict[Path, Path] = {}
    for record in records:
        if (other := first.setdefault(record.base, record.path)) is not record.path:
            raise click.UsageError(
                f"{other} and {record.path} would both be written to {record.base}.html: analyse "
                "them one at a time, with different --out folders"
            )
        _check_page(record, force=force)
    outputs: dict[Path, tuple[str, IsKind]] = {r.page: ("komadori page", is_page) for r in records}
    if len(records) > 1:
        outputs[_index_path(records)] = ("komadori page", is_page)
    if not only_pages:
        from komadori.analysis import is_journal

        for record in records:
            outputs[record.journal] = ("results of an analysis", is_journal)
            try:
                record.is_csa = guess_format(record.path).name == "csa"
            except RecordError as error:
                raise click.ClickException(str(error)) from error
            format = find_format("csa" if record.is_csa else "kif")
            outputs[record.annotated] = (f"{format.name} record", holds(format))
    check_outputs(outputs, paths, force=force)


def _check_page(record: _Record, *, force: bool) -> None:
    """Raise UsageError if the page shows the analysis of a file of another name."""
    with contextlib.suppress(OSError):
        if force or not is_page(record.page):
            return
        shown = page_title(record.page)
        if shown and shown != clean(record.path.name):
            raise click.UsageError(
                f"{record.page} shows the analysis of {shown}: give another --out folder for "
                f"{record.path}, or replace it with --force"
            )


def _searched(
    chosen: list[_Record], engine: AnalysisEngine, effort: Effort, fresh: bool
) -> tuple[dict[str, Found], Mapping[str, str]]:
    """Search all positions; return the results and how they were made, by language."""
    from komadori import inference

    try:
        found = _search(chosen, engine, effort, fresh)
    except inference.InferenceError as error:
        reason = str(error).removeprefix(f"{engine.name}: ")
        raise click.ClickException(f"{engine.name}: {reason}") from error
    except OSError as error:
        raise click.ClickException(str(error)) from error
    return found, {
        "en": f"komadori analyse, {clean(engine.name)}, {effort.in_english()} per position",
        "ja": f"komadori analyse、{clean(engine.name)}、{effort.in_japanese()}",
    }


def _strength(player: str, model: str) -> Strength:
    """Return the engine's measured strength."""
    from komadori.analysis.strength import UNKNOWN, measured

    own = player != "model" or not names_network(model)
    return measured(player) if own else UNKNOWN


def _read_all(paths: Sequence[Path], output: Path | None) -> list[_Record]:
    """Read the files; one of several that holds no game is reported and left out."""
    if len(paths) == 1:
        return [_read(paths[0], output)]
    records = []
    for path in paths:
        try:
            records.append(_read(path, output))
        except click.ClickException as error:
            say(f"skipped: {error.message}", err=True)
    if not records:
        raise click.ClickException("no game in any of the files")
    return records


def _read(path: Path, output: Path | None) -> _Record:
    from komadori import records
    from komadori.records.formats import guess_format

    try:
        games = records.read_games(path)
        is_csa = guess_format(path).name == "csa"
    except (records.RecordError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for skipped in games.skipped:
        say_skipped(skipped)
    usable = [game for game in games if len(game)]
    if not usable:
        raise click.ClickException(f"{path}: no game with moves")
    record = _Record(path, usable, is_csa, _base(path, output))
    record.keys = [_keys(game) for game in usable]
    return record


def _base(path: Path, output: Path | None) -> Path:
    """Return the prefix of the output names."""
    return (output or path.parent) / path.name.removesuffix(path.suffix)


def _from_comments(record: _Record) -> list[AnalysedGame]:
    from komadori.analysis import from_comments

    games = [from_comments(game) for game in record.games]
    known = [game for game in games if game is not None]
    if not known:
        raise click.ClickException(f"{record.path}: no comment holds a score")
    return known


def _keys(game: Game) -> list[str]:
    """Return the positions of a game, as SFENs without move numbers."""
    boards = [board.sfen() for board, _ in game.moving_board()]
    return [sfen.rpartition(" ")[0] for sfen in (*boards, game.final_board().sfen())]


def _search(
    chosen: list[_Record],
    engine: AnalysisEngine,
    effort: Effort,
    fresh: bool,
) -> dict[str, Found]:
    """Search every position of every file; store each result at once."""
    from komadori.analysis import Journal, is_journal

    settings = {**engine.facts, "effort": str(effort), "lines": ANALYSIS_LINES, "block": BLOCK}
    found: dict[str, Found] = {}
    missing_in: dict[str, list[Journal]] = {}
    with contextlib.ExitStack() as journals:
        for record in chosen:
            # Another kind of file is there only with --force.
            starts_over = fresh or (record.journal.exists() and not is_journal(record.journal))
            journal = journals.enter_context(Journal(record.journal, settings, fresh=starts_over))
            if journal.damage:
                say(f"{journal.damage}; such positions are searched again", err=True)
            if journal.known:
                known = counted(len(journal.known), "position")
                say(f"{record.path}: {known} known", err=True)
            found |= journal.known
            for key in {key for keys in record.keys for key in keys} - journal.known.keys():
                missing_in.setdefault(key, []).append(journal)
        for key in missing_in.keys() & found.keys():  # known from another file
            for journal in missing_in.pop(key):
                journal.add(key, found[key])
        whole = engine.shares_tree and effort.seconds is None
        blocks = _blocks(chosen, found.keys(), whole=whole)
        again = "the same command without --fresh" if fresh else "the same command"
        interrupt.hint(f"{again} resumes")
        analyser = engine.begin(effort)
        with progress(console(err=True)) as bar:
            task = bar.add_task("positions", total=len(missing_in))
            for block in blocks:
                for key, result in analyser.analyse((key, Board(f"{key} 1")) for key in block):
                    if key in found:
                        continue  # already searched: its block was interrupted
                    found[key] = result
                    for journal in missing_in[key]:
                        journal.add(key, result)
                    bar.advance(task)
    return found


def _blocks(chosen: list[_Record], known: Collection[str], *, whole: bool) -> list[list[str]]:
    """Return the positions to search, each once, in blocks whose searches share a tree: game by
    game from the last position to the first, so that the tree contains the continuation.

    With `whole`, an interrupted block is searched again completely, so that results don't depend
    on interruptions. Otherwise, and for searches by time, which aren't reproducible, only missing
    positions are searched. Positions are searched without their history: with it, a line that
    returns to a position of the game with a pawn more in hand would count as won, as in play.
    """
    seen: set[str] = set()
    blocks = []
    for record in chosen:
        for keys in record.keys:
            own = [key for key in dict.fromkeys(reversed(keys)) if key not in seen]
            seen.update(own)
            count = -(-len(own) // BLOCK)
            cuts = [len(own) * i // count for i in range(count + 1)] if count else []
            for first, last in pairwise(cuts):
                block = own[first:last]
                missing = [key for key in block if key not in known]
                if missing:
                    blocks.append(block if whole else missing)
    return blocks


def _write(
    record: _Record,
    games: list[AnalysedGame],
    note: str | Mapping[str, str],
    strength: Strength | None,
    settings: _Output,
    *,
    only_page: bool,
) -> None:
    from komadori.analysis import annotated, html_report
    from komadori.records import GameWriter

    record.annotated.parent.mkdir(parents=True, exist_ok=True)
    if not only_page:
        with GameWriter(record.annotated, "csa" if record.is_csa else "kif") as writer:
            for game in games:
                writer.write(
                    annotated(
                        game,
                        is_csa=record.is_csa,
                        style=settings.comments,
                        language=settings.own_language,
                    )
                )
    name = clean(record.path.name)
    page = html_report(games, name, note, strength=strength, options=_page_options(settings))
    write_text(record.page, page)


def _page_options(settings: _Output) -> PageOptions:
    from komadori.analysis import PageOptions

    pieces = None if settings.pieces == "auto" else settings.pieces
    return PageOptions(settings.language, pieces)


def _write_index(
    chosen: list[_Record],
    analysed: list[list[AnalysedGame]],
    note: str | Mapping[str, str],
    settings: _Output,
) -> None:
    """Write the index of all games to the common folder of the pages."""
    from urllib.parse import quote

    from komadori.analysis import IndexEntry, html_index

    index = _index_path(chosen)
    entries = []
    for record, games in zip(chosen, analysed, strict=True):
        path = os.path.relpath(record.page.resolve(), index.parent).replace(os.sep, "/")
        # Files of several folders may have one name.
        name = clean(posixpath.join(posixpath.dirname(path), record.path.name))
        # File names may not be UTF-8; links contain their bytes.
        entries.append(IndexEntry(quote(os.fsencode(path)), name, games))
    write_text(index, html_index(entries, "komadori", note, options=_page_options(settings)))
    shown = index if chosen[0].page.is_absolute() else os.path.relpath(index)
    say(_WORDS[settings.own_language].wrote.format(shown))


def _index_path(chosen: Sequence[_Record]) -> Path:
    """Return the path of the index, in the common folder of the pages."""
    folders = [record.page.resolve().parent for record in chosen]
    return Path(os.path.commonpath(folders)) / _INDEX


def _print(analysed: AnalysedGame, language: Literal["ja", "en"]) -> None:
    """Print the table of mistakes and a summary line per side."""
    from rich.table import Table
    from rich.text import Text

    from komadori.analysis import result_text

    game = analysed.game
    words = _WORDS[language]
    terminal = console()
    result = result_text(game, language)
    black, white = game.black or words.sides[0], game.white or words.sides[1]
    title = Text(words.title.format(black=black, white=white, result=result))
    mistakes = analysed.mistakes()
    table = Table(title=title)
    for number, name in enumerate(words.headings):
        side = "right" if number in (0, 4) else "left"
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for mistake in mistakes:
        table.add_row(*map(Text, _row(analysed, mistake, language, terminal.width)))
    if mistakes:
        terminal.print(table)
    else:
        is_judged = any(loss is not None for loss in analysed.losses)
        found = words.no_mistakes if is_judged else words.no_losses
        terminal.print(title + words.semicolon + found, soft_wrap=True)
    for turn in (0, 1):
        side_ = analysed.side(turn)
        if math.isnan(side_.accuracy):  # no move of this side was judged
            continue
        agreement = words.of_record if analysed.is_of_record else words.agreement
        terminal.print(
            ("▲ " if turn == BLACK else "△ ")
            + (agreement.format(side_.same, side_.compared) if side_.compared else "")
            + words.summary.format(100 * side_.mean_loss, side_.accuracy)
        )


def _row(
    analysed: AnalysedGame, mistake: Mistake, language: Literal["ja", "en"], width: int
) -> tuple[str, ...]:
    """Return a mistake's cells, with as many moves of the better line as fit."""
    from rich.cells import cell_len

    from komadori.analysis.games import grade_of, in_ki2, in_western, points_lost

    notation = in_ki2 if language == "ja" else in_western
    board = analysed.boards[mistake.ply - 1]
    grade = grade_of(mistake.loss)
    assert grade is not None
    played = notation(board, [mistake.played.usi()])[0]
    rates = f"{100 * mistake.before:.0f}% → {100 * mistake.after:.0f}%"
    name = grade.japanese if language == "ja" else grade.name
    cells = [str(mistake.ply), played, rates, points_lost(mistake.loss), name]
    # The widest cells of the other columns, their borders and padding.
    available = (
        width - 19 - sum(map(max, zip(map(cell_len, cells), (4, 12, 9, 4, 13), strict=True)))
    )
    better = ""
    for move in notation(board, mistake.best.pv[:4]):
        longer = f"{better} {move}".strip()
        if better and cell_len(longer) > available:
            break
        better = longer
    return (cells[0], cells[1], better, *cells[2:])
