"""`komadori generate teacher`: self-play games of the alpha-beta search or a USI engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from komadori.cli.evaluation_options import check_evaluation, check_fv_scale
from komadori.cli.generated_games import (
    DECLARATION,
    GAMES,
    MAX_PLIES,
    RAY,
    SEED,
    SEGMENT_GAMES,
    settings_of,
)
from komadori.cli.given import first_given
from komadori.cli.numbers import FV_SCALE, THREADS
from komadori.cli.resumed_folder import games_folder
from komadori.cli.settings_command import SettingsCommand
from komadori.cpus import available_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from komadori.generate.settings import SearchBounds

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FRACTION = click.FloatRange(0, 1)
#: Settings that play a part in games of several lines only.
_OF_LINES = ("sampled_plies", "candidate_fraction")
#: Settings that are used only with at least one of others.
_NEEDED = {
    ("opening_fraction", "opening_plies"): ("openings",),
    ("inner_depth",): ("inner_fraction",),
    ("sample_temperature_cp", "sample_window_cp"): ("sampled_plies",),
    ("multipv", "candidate_temperature_cp", "candidate_minimum", "candidate_steps"): _OF_LINES,
}


class Plies(click.ParamType[tuple[int, int]]):
    name = "N[:M]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        first, _, last = str(value).partition(":")
        try:
            least, most = int(first), int(last or first)
        except ValueError:
            self.fail(f"{value!r}: N or N:M is needed", param, ctx)
        if not 0 <= least <= most:
            self.fail(f"{value!r}: a range from 0 upwards is needed", param, ctx)
        return least, most


class Bounds(click.ParamType["SearchBounds"]):
    name = "BOUNDS"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> SearchBounds:
        from komadori.generate.settings import SearchBounds

        if isinstance(value, SearchBounds):
            return value
        try:
            return SearchBounds.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(
    "teacher", cls=SettingsCommand, settings="komadori.generate.settings:TeacherSettings"
)
@games_folder()
@GAMES
@click.option("--threads", type=THREADS, help="Concurrent games. [default: all cores]")
@SEED
@RAY
# players
@click.option(
    "--eval",
    "evaluation",
    type=click.Choice(["nnue", "two-piece", "kpp", "material"]),
    help="Evaluation of the built-in search. [default: nnue]",
)
@click.option("--weights", type=_FILE, help="Weights of the evaluation. [default: bundled]")
@click.option("--fv-scale", type=FV_SCALE, help="FV_SCALE of an NNUE file. [default: 16]")
@click.option(
    "--hash", "hash_mb", type=click.IntRange(min=1), help="Transposition table per engine, in MiB."
)
@click.option(
    "--engine",
    "engine_command",
    metavar="COMMAND",
    help="USI engine to play instead of the built-in search.",
)
@click.option(
    "--option",
    "engine_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="USI option to set; repeatable.",
)
@click.option("--go", metavar="WORDS", help='Arguments of "go", instead of nodes or depth.')
@click.option(
    "--engine-timeout",
    "limit_s",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=60.0,
    show_default=True,
    help="Seconds without a move after which the engine counts as hung.",
)
@click.option(
    "--opponent-engine",
    metavar="COMMAND",
    help="USI engine that plays one side of --opponent-fraction games.",
)
@click.option(
    "--opponent-option",
    "opponent_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of --opponent-engine; repeatable.",
)
# search limits
@click.option("--nodes", type=click.IntRange(min=1), help="Nodes per search. [default: 1500]")
@click.option("--depth", type=click.IntRange(min=1), help="Depth of each search.")
@click.option(
    "--search",
    "searches",
    type=Bounds(),
    multiple=True,
    help="Limits as nodes=N,depth=N,weight=X; if repeated, one is drawn per game.",
)
# diversity
@click.option(
    "--openings",
    type=_FILE,
    multiple=True,
    help="Openings: USI or SFEN lines, or games in any format.",
)
@click.option(
    "--opening-fraction", type=_FRACTION, help="Fraction of games that start from an opening."
)
@click.option(
    "--opening-plies",
    type=Plies(),
    help="Moves of the opening that are played, drawn from N to M.",
)
@click.option(
    "--random-moves",
    type=click.IntRange(min=0),
    help="Maximum number of random moves after the opening; games without one play at least "
    "half of it.",
)
@click.option(
    "--multipv", type=click.IntRange(min=1), help="Number of lines to sample from and to store."
)
@click.option(
    "--sample-plies",
    "sampled_plies",
    type=click.IntRange(min=0),
    help="Maximum number of plies sampled among the lines.",
)
@click.option(
    "--sample-temperature",
    "sample_temperature_cp",
    type=click.FloatRange(min=0, min_open=True),
    help="Temperature of the sampled moves in centipawns. [default: 50]",
)
@click.option(
    "--sample-window",
    "sample_window_cp",
    type=click.IntRange(min=0),
    help="Sample only moves at most this many centipawns worse than the best. [default: 150]",
)
@click.option(
    "--candidates",
    "candidate_fraction",
    type=_FRACTION,
    help="Fraction of the other plies that store all lines as candidates.",
)
@click.option(
    "--candidate-temperature",
    "candidate_temperature_cp",
    type=click.FloatRange(min=0, min_open=True),
    help="Temperature of the candidates' probabilities in centipawns. [default: 100]",
)
@click.option(
    "--candidate-minimum", type=_FRACTION, help="Minimum probability of a stored candidate."
)
@click.option(
    "--candidate-steps",
    type=click.IntRange(min=0),
    help="Precision of candidates' visits, in steps per factor of two; 0: thousandths.",
)
@click.option(
    "--score-step",
    "score_step_cp",
    type=click.IntRange(min=0),
    help="Round scores to multiples of this, coarser beyond 1,058 cp; 0: exact.",
)
@click.option(
    "--opponent-fraction", type=_FRACTION, help="Fraction of games with the opponent on one side."
)
@click.option(
    "--opponent-eval",
    type=click.Choice(["nnue", "two-piece", "kpp", "material"]),
    help="Evaluation of the opponent.",
)
@click.option(
    "--opponent-weights",
    type=_FILE,
    help="Weights of the opponent: an older or weaker network, for example.",
)
@click.option(
    "--opponent-search",
    "opponent_searches",
    type=Bounds(),
    multiple=True,
    help="Bounds of the opponent's searches, as in --search; repeatable.",
)
@click.option(
    "--inner",
    "inner_fraction",
    type=_FRACTION,
    help="Fraction of plies that add a position from inside their search.",
)
@click.option(
    "--inner-depth",
    type=click.IntRange(min=1),
    help="Maximum depth of that position below the ply.",
)
# ends
@click.option(
    "--resign",
    "resign_cp",
    type=click.IntRange(min=1),
    help="Resign below this score, in centipawns.",
)
@click.option(
    "--resign-plies",
    type=click.IntRange(min=1),
    help="Consecutive plies beyond that score before a game is resigned.",
)
@click.option(
    "--play-on",
    "play_on_fraction",
    type=_FRACTION,
    help="Fraction of games played to the end without resignation.",
)
@click.option(
    "--repetitions", type=click.IntRange(2, 4), help="Occurrences of a position that end a game."
)
@DECLARATION
@MAX_PLIES
@SEGMENT_GAMES
def command(
    folder: Path,
    games: int,
    threads: int | None,
    address: str | None,
    evaluation: str | None,
    weights: Path | None,
    fv_scale: int | None,
    nodes: int | None,
    depth: int | None,
    searches: tuple[SearchBounds, ...],
    openings: tuple[Path, ...],
    engine_command: str | None,
    engine_options: tuple[str, ...],
    go: str | None,
    limit_s: float,
    opponent_engine: str | None,
    opponent_options: tuple[str, ...],
    opponent_eval: str | None,
    opponent_weights: Path | None,
    opponent_searches: tuple[SearchBounds, ...],
    segment_games: int,
    **given: Any,
) -> None:
    """Play training games: self-play of the built-in search or a USI engine.

    The same command resumes a folder; finished games are never lost. Ctrl-C ends it within a
    second.
    """
    from functools import partial

    from komadori.arena.openings import OpeningError
    from komadori.cli.console import say, say_skipped
    from komadori.cli.generate_run import run
    from komadori.cluster import ClusterError
    from komadori.generate.cluster_games import (
        ClusterGames,
        recover_games,
        remove_journals,
        teacher_job,
    )
    from komadori.generate.folder import GameFolder
    from komadori.generate.openings import Lines
    from komadori.generate.settings import SearchBounds, TeacherSettings
    from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
    from komadori.generate.teacher import teacher_card
    from komadori.generate.usi_games import EngineSpec, UsiGames, check_engine
    from komadori.linear.weights_file import WeightsError
    from komadori.usi.client import EngineError

    if nodes or depth:
        if searches:
            raise click.UsageError("--search replaces --nodes and --depth: give one or the other")
        try:
            searches = (SearchBounds(nodes=nodes or 0, depth=depth or 0),)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if engine_command and (evaluation or weights or opponent_eval or opponent_weights):
        raise click.UsageError("--engine takes no --eval and no --weights")
    if engine_command:
        if fv_scale:
            raise click.UsageError("--engine takes no --fv-scale")
        if given["hash_mb"]:
            raise click.UsageError("--engine takes no --hash: set its table by --option")
        if given["inner_fraction"]:
            raise click.UsageError("--engine takes no --inner: USI shows no positions of a search")
    else:
        own = evaluation or "nnue"
        check_evaluation(own, weights)
        if opponent_eval or opponent_weights:
            check_evaluation(opponent_eval or own, opponent_weights, prefix="--opponent-")
        if fv_scale:
            check_fv_scale(own, opponent_eval or own)
    for option, needs, is_given in (
        ("--opponent-engine", "--engine", opponent_engine and not engine_command),
        ("--option", "--engine", engine_options and not engine_command),
        ("--go", "--engine", go and not engine_command),
        ("--engine-timeout", "--engine", first_given("limit_s") and not engine_command),
        ("--opponent-option", "--opponent-engine", opponent_options and not opponent_engine),
    ):
        if is_given:
            raise click.UsageError(f"{option} needs {needs}")
    if go and (searches or opponent_searches):
        unused = first_given("nodes", "depth", "searches", "opponent_searches")
        raise click.UsageError(f"--go replaces {unused}: give one or the other")
    has_opponent = opponent_eval or opponent_weights or opponent_searches or opponent_engine
    if given["opponent_fraction"] and not has_opponent:
        raise click.UsageError(
            "--opponent-fraction: name the opponent by --opponent-eval, --opponent-weights, "
            "--opponent-engine or --opponent-search"
        )
    if has_opponent and not given["opponent_fraction"]:
        raise click.UsageError("an opponent needs --opponent-fraction: the games that it plays in")
    _refuse_unused({"openings": openings, **given})
    given |= {"searches": searches or None, "opponent_searches": opponent_searches or None}
    cores = threads or available_threads()
    try:
        settings = settings_of(TeacherSettings.from_mapping, given)
        lines = Lines(openings, say_skipped)
        if engine_command:
            engine = EngineSpec(engine_command, _pairs("--option", engine_options), go, limit_s)
            other_engine = None
            if opponent_engine:
                pairs = _pairs("--opponent-option", opponent_options)
                other_engine = EngineSpec(opponent_engine, pairs, go, limit_s)
            players = {
                "player": engine.card(check_engine(engine, settings.multipv)),
                "opponent": None
                if other_engine is None
                else other_engine.card(check_engine(other_engine, 1)),
            }

            def source() -> GameSource:
                return UsiGames(settings, lines, engine, other_engine, cores)

        else:
            player = Evaluation(evaluation or "nnue", weights, fv_scale or 16)
            opponent = None
            if opponent_eval or opponent_weights:
                opponent = Evaluation(
                    opponent_eval or player.name, opponent_weights, player.fv_scale
                )
                opponent.check()
            player.check()
            players = {
                "player": player.card(),
                "opponent": None if opponent is None else opponent.card(),
            }

            def source() -> GameSource:
                return BuiltinGames(settings, lines, player, opponent, cores)

        with GameFolder(folder, teacher_card(settings, lines, players), segment_games) as held:
            if address is None:
                run(held, source(), games, cores)
                return
            specs: tuple[Any, Any] = (
                (engine, other_engine) if engine_command else (player, opponent)
            )
            held.add(recover_games(folder))
            remove_journals(folder)
            job = teacher_job(folder, settings, lines, *specs)
            on_change = partial(say, err=True)
            machines = ClusterGames(address, folder, job, threads=threads, on_change=on_change)
            run(held, machines, games, machines.threads)
            remove_journals(folder)
    except (ValueError, OpeningError, WeightsError, EngineError, ClusterError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _refuse_unused(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that was given and that these games would ignore."""
    options = {one.name: one.opts[0] for one in click.get_current_context().command.params}
    for names, needed in _NEEDED.items():
        unused = [name for name in names if given[name] is not None]
        if unused and not any(given[name] for name in needed):
            needs = " or ".join(options[name] for name in needed)
            raise click.UsageError(f"{options[unused[0]]} needs {needs}")
    for name in _OF_LINES:
        if given[name] and (given["multipv"] or 1) < 2:
            raise click.UsageError(f"{options[name]} needs --multipv 2 or more")


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {one}: NAME=VALUE is needed")
        pairs[name] = value
    return pairs
