"""`komadori match A B`: paired games between any two players, Elo with its error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from komadori.cli import interrupt
from komadori.cli.console import console, say, say_skipped
from komadori.cli.everywhere import ray_option
from komadori.cli.failures import failure_lines
from komadori.cli.game_options import (
    GAMES,
    OPENING_PLIES,
    game_progress,
    with_conditions,
)
from komadori.cli.numbers import THREADS
from komadori.cli.resumed_folder import resumed_folder
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori import arena


@click.command()
@click.argument("a")
@click.argument("b")
@GAMES
@with_conditions
@click.option(
    "--openings",
    type=click.Path(path_type=Path),
    help="File of SFENs, USI moves or game records; or `sample`.",
)
@OPENING_PLIES
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--concurrency", "-j", default=1, show_default=True, type=THREADS, help="Games at a time."
)
@ray_option("Play on all machines of a Ray cluster.", "ray")
@click.option(
    "--sprt", nargs=2, type=float, metavar="ELO0 ELO1", help="Stop when the test decides."
)
@click.option(
    "--records",
    metavar="SUFFIX",
    multiple=True,
    help="Write each game to --out: kif, csa, usi, ...; repeatable.",
)
@resumed_folder(
    lambda out: "the same command resumes" if out else "with --out a match can be resumed",
    "Folder for games and page; an existing match is resumed.",
    required=False,
)
def command(
    a: str,
    b: str,
    games: int,
    conditions: arena.Conditions,
    openings: Path | None,
    opening_plies: int | None,
    seed: int,
    concurrency: int,
    ray: str | None,
    sprt: tuple[float, float] | None,
    records: tuple[str, ...],
    folder: Path | None,
) -> None:
    """Play A against B and print A's score, the Elo difference with its error, and p.

    A player is model:PATH, policy:PATH, one-ply:PATH, alphabeta, material, random, usi:COMMAND,
    gnushogi, gpsusi, sjaakii or fairy-stockfish, with options after it, as in
    "model:a.onnx?nodes=100" or "gnushogi?depth=3".
    """
    from komadori import arena
    from komadori.arena.openings import RANDOM_PLIES, distinct, source_text
    from komadori.arena.store import check_record_suffix
    from komadori.cluster import ClusterError
    from komadori.players import PlayerSpec, PlayerSpecError
    from komadori.usi.client import EngineError

    terminal = console()
    if records and folder is None:
        raise click.UsageError("--records needs --out")
    try:
        for spec in (a, b):
            PlayerSpec.parse(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for suffix in records:
        try:
            check_record_suffix(suffix)
        except ValueError as error:
            raise click.UsageError(f"--records {suffix}: {error}") from error
    try:
        test = arena.Sprt(*sprt) if sprt else None
    except ValueError as error:
        raise click.UsageError(f"--sprt: {error}") from error
    try:
        read = None
        if openings:
            read = distinct(arena.read_openings(openings, opening_plies, say_skipped))
            if len(read) < games // 2:
                say(
                    f"{openings}: {counted(len(read), 'different opening')} for "
                    f"{counted(games // 2, 'pair')} of games: some are played more than once",
                    err=True,
                )
        plies = min(len(one.moves) for one in read) if read else opening_plies
        if conditions.max_plies <= (RANDOM_PLIES if plies is None else plies):
            say(
                f"games end at ply {conditions.max_plies}, no later than the openings: some are "
                "drawn without a player's move",
                err=True,
            )
        with game_progress(terminal) as bar:
            task = bar.add_task("", total=games)

            def show(record: arena.GameRecord, result: arena.MatchResult) -> None:
                bar.update(task, completed=result.played, description=_running(result))

            result = interrupt.in_thread(
                lambda: arena.play_match(
                    a,
                    b,
                    games=games,
                    openings=read,
                    opening_plies=opening_plies,
                    seed=seed,
                    concurrency=concurrency,
                    conditions=conditions,
                    on_game=show,
                    out=folder,
                    records=records,
                    sprt=test,
                    ray=ray,
                )
            )
    except PlayerSpecError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, EngineError, arena.WorkerError, ClusterError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report(terminal, result, seed, source_text(openings, opening_plies), folder)


def _running(result: arena.MatchResult) -> str:
    return f"+{result.wins} -{result.losses} ={result.draws}  Elo {result.estimate}"


def _report(
    terminal: Console, result: arena.MatchResult, seed: int, openings: str, out: Path | None
) -> None:
    reasons = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in result.reasons.most_common())
    whites = result.played - result.draws - result.black_wins
    lines = [
        str(result),
        f"pairs by A's points 0, ½, 1, 1½, 2: {' '.join(map(str, result.pairs))}",
        f"Black won {result.black_wins}, White won {whites}; endings: {reasons}",
        f"conditions: {result.terms}; openings: {openings}, seed {seed}",
    ]
    if result.sprt:
        test = result.sprt
        lines.append(
            f"SPRT elo0 {test.elo0:g}, elo1 {test.elo1:g}: llr {result.llr:.2f} "
            f"in ({test.lower:.2f}, {test.upper:.2f}), {result.decision or 'undecided'}"
        )
    lines += failure_lines(result.games)
    if out:
        lines.append(f"page: {out / 'index.html'}")
    for line in lines:
        terminal.print(line, soft_wrap=True)
