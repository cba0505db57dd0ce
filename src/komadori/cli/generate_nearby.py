"""`komadori generate nearby`: positions near those of any files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.evaluation_options import check_evaluation, check_fv_scale
from komadori.cli.generate_teacher import Bounds, Plies
from komadori.cli.given import as_options, first_given
from komadori.cli.interrupt import InterruptError, interrupt_sets
from komadori.cli.numbers import FV_SCALE, THREADS
from komadori.cli.resumed_folder import games_folder
from komadori.cli.sample_files import sources_argument
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from komadori.generate.settings import SearchBounds

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("nearby")
@sources_argument()
@games_folder()
@click.option(
    "--plies",
    type=Plies(),
    default=(1, 3),
    help="Number of random moves from each position, drawn from N to M. [default: 1:3]",
)
@click.option(
    "--tactical",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Fraction of random moves that are captures or promotions, if possible.",
)
@click.option(
    "--per-position",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Positions to draw from each source position.",
)
@click.option(
    "--search",
    type=Bounds(),
    default="nodes=120",
    show_default=True,
    help="Limits of each search, as nodes=N,depth=N.",
)
@click.option(
    "--evaluated-every",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Write every Nth position that the searches evaluate, with its static evaluation, instead "
    "of the searched ones.",
)
@click.option(
    "--label-nodes",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="With --evaluated-every: score these positions by searches of N nodes. Drops positions "
    "whose best move is a capture or promotion.",
)
@click.option(
    "--limit",
    "limit_cp",
    type=click.IntRange(min=0),
    default=4000,
    show_default=True,
    help="Maximum absolute score, in centipawns; 0: no limit.",
)
@click.option(
    "--eval",
    "evaluation",
    type=click.Choice(["nnue", "two-piece", "kpp", "material"]),
    default="nnue",
    show_default=True,
    help="Evaluation of the built-in search.",
)
@click.option("--weights", type=_FILE, help="Weights of the evaluation. [default: bundled]")
@click.option(
    "--fv-scale",
    type=FV_SCALE,
    default=16,
    show_default=True,
    help="FV_SCALE of an NNUE file.",
)
@click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the random numbers.",
)
@click.option(
    "--segment",
    type=click.IntRange(min=1),
    help="Positions of the sources per output file. [default: 131,072]",
)
def command(
    sources: tuple[Path, ...],
    folder: Path,
    plies: tuple[int, int],
    tactical: float,
    per_position: int,
    search: SearchBounds,
    evaluated_every: int,
    label_nodes: int,
    limit_cp: int,
    evaluation: str,
    weights: Path | None,
    fv_scale: int,
    threads: int | None,
    seed: int,
    segment: int | None,
) -> None:
    """Write positions a few random moves from those of SOURCES, with score and best move.

    With --evaluated-every, write positions from inside these searches, with their static
    evaluation: an NNUE network then learns a stronger evaluation where a search needs it.

    Each gets the result of its source game; train on the scores. SOURCES are files, folders or
    quoted patterns, of games or positions in any format. The output depends on the options and the
    sources, not on the threads; the same command resumes.
    """
    import threading

    from komadori.cli.console import console, say, say_skipped
    from komadori.cli.generate_run import segments_bar
    from komadori.generate import nearby
    from komadori.generate.folder import FolderError
    from komadori.generate.segments import nothing_usable
    from komadori.generate.sources import Evaluation
    from komadori.linear.weights_file import WeightsError
    from komadori.records import RecordError
    from komadori.records.files import identify

    if label_nodes and not evaluated_every:
        raise click.UsageError("--label-nodes needs --evaluated-every")
    check_evaluation(evaluation, weights)
    if first_given("fv_scale"):
        check_fv_scale(evaluation)
    if search.weight != 1.0:
        raise click.UsageError("--search: weight is for limits of which one is drawn")
    stop = threading.Event()
    size = segment or nearby.SEGMENT_POSITIONS
    try:
        settings = nearby.NearbySettings(
            seed,
            plies,
            tactical,
            per_position,
            search,
            limit_cp,
            evaluated_every=evaluated_every,
            label_nodes=label_nodes,
        )
    except ValueError as error:
        names = ("per_position", "limit_cp")
        raise click.UsageError(as_options(str(error), names)) from error
    try:
        player = Evaluation(evaluation, weights, fv_scale)
        generator = nearby.Nearby(settings, player, threads or available_threads())
        card = nearby.nearby_card(settings, identify(sources), player, size)
        with (
            nearby.NearbyFolder(folder, card) as segments,
            interrupt_sets(stop),
            segments_bar(console(err=True)) as show,
        ):
            counts = nearby.generate_nearby(
                sources,
                segments,
                generator,
                segment_positions=size,
                on_progress=show,
                on_skipped=say_skipped,
                stop=stop.is_set,
            )
    except (FolderError, RecordError, WeightsError, ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if counts is None:
        raise InterruptError
    if not counts.drawn:
        raise click.ClickException(nothing_usable(counts.skipped))
    for line in counts.lines():
        say(line)
