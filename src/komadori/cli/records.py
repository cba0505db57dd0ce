"""`komadori records`: count, convert, split, deduplicate and show game records."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from komadori.atomic import is_stream
from komadori.cli import interrupt
from komadori.cli.console import say
from komadori.cli.outputs import OutputFile, check_distinct, check_outputs, force_option, holds
from komadori.cli.record_inputs import Inputs, with_inputs
from komadori.cli.records_sample import sample
from komadori.records import (
    FORMATS,
    NO_SCORE,
    STARTPOS,
    Game,
    GameWriter,
    RecordError,
    Samples,
    SampleWriter,
    samples_of,
)
from komadori.records.counts import DECIDED_CP, Counts
from komadori.records.formats import Format, find_format, guess_format
from komadori.records.parts import (
    PositionSet,
    SeenGames,
    fresh_rows,
    is_for_test,
    untrain,
    untrained_repeats,
)
from komadori.rules import Board, RulesError
from komadori.wording import counted

ENCODINGS = {"utf-8": "utf-8", "shift-jis": "cp932"}

_output = click.option(
    "--out", "-o", "output", required=True, type=OutputFile(), help="File to write."
)
_to = click.option(
    "--to",
    "target",
    type=click.Choice(list(FORMATS)),
    help="Output format. [default: by the output's suffix]",
)


@click.group()
def command() -> None:
    """Count, convert, split and show game records.

    FILE... are files or folders (searched recursively); .xz and .gz are decompressed and
    compressed. Formats with games: csa, kif, ki2, jkf, usi, hcpe3; with single positions:
    hcpe, hcpe2, apery, psv.

    Exit status: 0 everything was read, 1 some games were skipped (the report says which and
    why), 2 nothing was usable, or a usage error.
    """


class Output:
    """An output file for games or positions."""

    def __init__(self, path: Path, format: Format, encoding: str = "utf-8") -> None:
        self.path = path
        self.plies = 0
        self.left_out: Counter[str] = Counter()
        self.without_score = 0
        self.writer: GameWriter | SampleWriter
        if format.holds_games:
            self.writer = GameWriter(path, format.name, encoding=encoding)
        else:
            self.writer = SampleWriter(path, format.name)

    @property
    def format(self) -> Format:
        return self.writer.format

    def write(self, inputs: Inputs, item: Game | Samples) -> None:
        """Append; games that the format can't represent are counted as skipped."""
        if isinstance(item, Samples):
            if isinstance(self.writer, GameWriter):
                raise click.UsageError(
                    f"{self.format.name} stores games, but {inputs.path} holds single positions, "
                    "which can't be joined to games"
                )
            self.writer.write(item)
            self.plies += len(item)
            return
        try:
            if isinstance(self.writer, GameWriter):
                self.writer.write(item)
                self.left_out.update(self.format.lost(item))
            else:
                self.writer.write_game(item)
        except RecordError as error:
            inputs.skip(item, str(error))
            return
        self.plies += len(item)
        if self.format.needs_scores:
            self.without_score += int((item.scores_cp == NO_SCORE).sum())

    @property
    def is_empty(self) -> bool:
        writer = self.writer
        return not (writer.games if isinstance(writer, GameWriter) else writer.records)

    def summary(self) -> str:
        if isinstance(self.writer, GameWriter):
            plies = counted(self.writer.plies, "ply", "plies")
            return f"{self.path}: {counted(self.writer.games, 'game')}, {plies}"
        return f"{self.path}: {counted(self.writer.records, 'position')}"


#: The nouns of what a format lacks, by field of `Game`.
_NOUNS = {
    "headers": ("header",),
    "comments": ("comment",),
    "scores_cp": ("score",),
    "pvs": ("principal variation",),
    "candidates": ("ply's candidates", "plies' candidates"),
    "times_ms": ("time",),
    "bookmarks": ("bookmark",),
    "variations": ("variation",),
}


def _nouns(field: str, format: Format) -> tuple[str, ...]:
    if field == "pvs" and format.lines_need_scores:
        return "principal variation without a score", "principal variations without a score"
    return _NOUNS[field]


def _format_of(path: Path, name: str | None) -> Format:
    if name:
        return find_format(name)
    try:
        return guess_format(path)
    except RecordError as error:
        raise RecordError(f"{error}; --to names one") from error


@contextlib.contextmanager
def _writing(inputs: Inputs, force: bool, *outputs: Output) -> Iterator[None]:
    check_distinct(*(output.path for output in outputs))
    kinds = {
        output.path: (f"records of {output.format.name}", holds(output.format))
        for output in outputs
    }
    check_outputs(kinds, inputs.files, force=force)
    interrupt.hint("nothing was written")
    with ExitStack() as stack:
        for output in outputs:
            stack.enter_context(output.writer)
        yield
        for output in outputs:
            if output.is_empty:
                raise click.UsageError(
                    f"{output.path} would be empty: no position of the games is trained on; "
                    "nothing was written"
                )
    to_stderr = any(is_stream(output.path) for output in outputs)
    for output in outputs:
        say(output.summary(), err=to_stderr)
        lost = ", ".join(
            counted(number, *_nouns(field, output.format))
            for field in _NOUNS
            if (number := output.left_out[field])
        )
        if lost:
            say(f"{lost} left out: {output.format.name} has none", err=True)
        if results := output.left_out["winner"]:
            whose = "its end" if results == 1 else "their ends"
            what = counted(results, "result")
            say(f"{what} left out: {output.format.name} has no word for {whose}", err=True)
        if output.without_score:
            plies = counted(output.without_score, "ply has", "plies have")
            say(f"{plies} no score: {output.format.name} stores 0", err=True)
        replaced = output.writer.replaced if isinstance(output.writer, GameWriter) else 0
        if replaced:
            say(f"{counted(replaced, 'character')} written as ?: not in Shift-JIS", err=True)


@command.command()
@click.option("--distinct", is_flag=True, help="Also count distinct positions.")
@with_inputs
def stats(inputs: Inputs, distinct: bool) -> None:
    """Count games, plies, results, players, scores."""
    counts = Counts(count_distinct=distinct)
    for item in inputs:
        if isinstance(item, Game):
            counts.add_game(item)
        else:
            counts.add_samples(item)
    for line in _summary_lines(counts, len(inputs.files)):
        say(line)


def _summary_lines(counts: Counts, files: int) -> Iterator[str]:
    def fraction(part: int, whole: int) -> str:
        return f"{part:,} ({100 * part / whole:.1f} %)" if whole else "0"

    yield f"files      {files:,}"
    if counts.games:
        lengths = sorted(counts.lengths)
        yield f"games      {counts.games:,}"
        yield (
            f"plies      {counts.plies - counts.positions:,}: "
            f"{lengths[0]} to {lengths[-1]} per game, median {lengths[len(lengths) // 2]}"
        )
    if counts.positions:
        yield f"positions  {counts.positions:,}"
    elif not counts.games:
        yield "games      0"
    results = sum(counts.winners.values())
    for name, number in counts.winners.most_common():
        words = {"BLACK": "Black won", "WHITE": "White won", "DRAW": "drawn"}
        yield f"{words.get(name, 'no result'):<11}{fraction(number, results)}"
    for name, number in counts.ends.most_common():
        yield f"  {name.lower().replace('_', ' '):<16} {fraction(number, counts.games)}"
    yield f"trained on {fraction(counts.trained, counts.plies)}"
    if counts.distinct is not None:
        yield f"distinct   {fraction(counts.distinct, counts.trained)}"
    yield f"scored     {fraction(counts.scored, counts.plies)}"
    if counts.decided:
        yield (
            f"           |score| > {DECIDED_CP} cp agrees with the result in "
            f"{100 * counts.decided_right / counts.decided:.1f} %"
        )
    if counts.other_move:
        others = fraction(counts.other_move, counts.trained)
        yield f"best move differs from the move played in {others}"
    if counts.timed:
        yield f"timed      {fraction(counts.timed, counts.plies)}"
    if counts.ratings:
        yield f"ratings    {min(counts.ratings):.0f} to {max(counts.ratings):.0f}"
    if counts.players:
        yield f"players    {len(counts.players):,}, most games:"
        for name, number in counts.players.most_common(5):
            yield f"  {number:>6,}  {name}"


@command.command()
@_output
@_to
@force_option
@click.option(
    "--encoding",
    type=click.Choice(list(ENCODINGS)),
    default="utf-8",
    show_default=True,
    help="Encoding of text formats.",
)
@with_inputs
def convert(inputs: Inputs, output: Path, target: str | None, force: bool, encoding: str) -> None:
    """Write the games or positions of all files to one file in another format.

    Games become positions: one per ply that is trained on, with the best candidate as its move.
    """
    written = Output(output, _format_of(output, target), ENCODINGS[encoding])
    with _writing(inputs, force, written):
        for item in inputs:
            written.write(inputs, item)
        inputs.exit_if_empty()


def _check_not_empty(part: Output, why: str) -> None:
    if not part.plies:
        raise click.UsageError(f"{part.path} would be empty: {why}; nothing was written")


@command.command()
@click.option("--train", required=True, type=OutputFile(), help="File to write.")
@click.option("--test", required=True, type=OutputFile(), help="File to write.")
@_to
@force_option
@click.option(
    "--ratio",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Fraction of the games for the test part.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--disjoint",
    is_flag=True,
    help="Remove positions of the training part from the test part.",
)
@with_inputs
def split(
    inputs: Inputs,
    train: Path,
    test: Path,
    target: str | None,
    force: bool,
    ratio: float,
    seed: int,
    disjoint: bool,
) -> None:
    """Split games into a training part and a test part, and report common positions.

    A game's part depends only on its number and the seed. In files of single positions,
    consecutive positions one legal move apart count as a game.
    """
    parts = [Output(train, _format_of(train, target)), Output(test, _format_of(test, target))]
    if disjoint and parts[1].format.holds_games and parts[1].format.name != "hcpe3":
        raise click.UsageError("--disjoint needs hcpe3 or a format of positions for the test part")
    held_back: list[Game | Samples] = []
    seen = PositionSet()
    games = 0
    with _writing(inputs, force, *parts):
        for item in inputs:
            if isinstance(item, Game):
                pieces: list[tuple[int, Game | Samples]] = [(games, item)]
                games += 1
            else:
                pieces = _games_of(item, games)
                games += len(pieces)
            for number, piece in pieces:
                if is_for_test(number, ratio, seed):
                    held_back.append(piece)
                    continue
                seen.add(_positions(piece))
                parts[0].write(inputs, piece)
        shared = total = 0
        for piece in held_back:
            known = seen.contains(_positions(piece))
            shared += int(known.sum())
            total += len(known)
            if not disjoint:
                parts[1].write(inputs, piece)
            elif isinstance(piece, Game):
                parts[1].write(inputs, untrain(piece, known))
            else:
                parts[1].write(inputs, piece.take(~known))
        inputs.exit_if_empty()
        _check_not_empty(parts[0], f"no game was assigned to it (--ratio {ratio:g} of {games:,})")
        _check_not_empty(parts[1], f"no game was assigned to it (--ratio {ratio:g} of {games:,})")
        if disjoint and shared == total:
            raise click.UsageError(
                f"{test} would be empty: all its positions are in the training part; "
                "nothing was written"
            )
    what = "dropped" if disjoint else "shared: --disjoint drops them"
    common = f"{shared:,} of the {total:,} positions for tests are in the training part"
    say(f"{common}, {what}", err=is_stream(train) or is_stream(test))


def _games_of(samples: Samples, first: int) -> list[tuple[int, Game | Samples]]:
    starts = [0, *((samples.game[1:] != samples.game[:-1]).nonzero()[0] + 1).tolist()]
    ends = [*starts[1:], len(samples)]
    return [
        (first + i, samples.take(slice(begin, end)))
        for i, (begin, end) in enumerate(zip(starts, ends, strict=True))
        if end > begin
    ]


def _positions(item: Game | Samples) -> NDArray[np.uint8]:
    """Return the hcps of the item's samples."""
    if isinstance(item, Samples):
        return item.hcp
    with contextlib.suppress(RulesError):
        return samples_of([item]).hcp
    return samples_of([]).hcp


@command.command()
@_output
@_to
@force_option
@click.option(
    "--by",
    type=click.Choice(["game", "position"]),
    default="game",
    show_default=True,
    help="game: drop games with the same position and moves as another. position: keep each "
    "position once (hcpe3 keeps the games and marks duplicate plies).",
)
@with_inputs
def dedupe(inputs: Inputs, output: Path, target: str | None, force: bool, by: str) -> None:
    """Remove duplicates, keeping the first."""
    written = Output(output, _format_of(output, target))
    marks = written.format.name == "hcpe3" or not written.format.holds_games
    if by == "position" and not marks:
        raise click.UsageError("--by position needs hcpe3 or a format of positions")
    seen_games, seen = SeenGames(), PositionSet()
    repeats = 0
    with _writing(inputs, force, written):
        for item in inputs:
            if isinstance(item, Samples):
                if by == "game":
                    raise click.UsageError(f"{inputs.path} holds positions: use --by position")
                fresh = fresh_rows(item, seen)
                repeats += len(item) - len(fresh)
                written.write(inputs, fresh)
            elif by == "position":
                try:
                    game, known = untrained_repeats(item, seen)
                except RulesError as error:
                    inputs.skip(item, str(error))
                    continue
                repeats += known
                written.write(inputs, game)
            elif seen_games.add(item):
                written.write(inputs, item)
            else:
                repeats += 1
        inputs.exit_if_empty()
    say(f"{counted(repeats, f'duplicate {by}')} dropped", err=is_stream(output))


@command.command()
@click.option(
    "--games",
    "-n",
    "number",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of games.",
)
@click.option("--ply", type=click.IntRange(min=0), help="Show the board after this many moves.")
@with_inputs
def head(inputs: Inputs, number: int, ply: int | None) -> None:
    """Show the first games: players, result, moves with scores, the last board."""
    shown = 0
    for item in inputs:
        if isinstance(item, Game):
            for line in _game_lines(item, ply):
                say(line)
            shown += 1
        else:
            for line in _position_lines(item, number - shown):
                say(line)
            shown += min(number - shown, len(item))
        if shown >= number:
            break


command.add_command(sample)


def _game_lines(game: Game, ply: int | None) -> Iterator[str]:
    yield f"{game.source}  {counted(len(game), 'ply', 'plies')}, {game.result_text()}"
    for key, value in game.headers.items():
        yield f"  {key}: {value}"
    if game.initial_sfen != STARTPOS:
        yield f"  from {game.initial_sfen}"
    moves = []
    for number, (usi, score) in enumerate(
        zip(game.usi_moves(), game.scores_cp.tolist(), strict=True), 1
    ):
        moves.append(f"{number}.{usi}" + (f"({score:+})" if score != NO_SCORE else ""))
    for row in range(0, len(moves), 8):
        yield "  " + " ".join(moves[row : row + 8])
    board = game.board()
    for move16 in game.moves[: len(game) if ply is None else ply]:
        board.push(board.move_from_move16(int(move16)))
    yield from str(board).splitlines()
    yield ""


def _position_lines(samples: Samples, number: int) -> Iterator[str]:
    for row in range(min(number, len(samples))):
        board = Board.from_hcp(samples.hcp[row].tobytes(), max(int(samples.ply[row]), 1))
        move16 = int(samples.move16[row])
        move = board.move_from_move16(move16).usi() if move16 else "none"
        result = {1.0: "won", 0.0: "lost"}.get(float(samples.result[row]), "drawn")
        yield f"{board.sfen()}"
        yield f"  move {move}, score {int(samples.score_cp[row]):+} cp, {result}"
        yield from str(board).splitlines()
        yield ""
