"""`komadori mate`: solve mate problems."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from komadori.cli.console import say
from komadori.cli.positions import board_of
from komadori.mate import MateResult, MateSolver, MateStatus, StopFlag
from komadori.records import RecordError, Skipped
from komadori.records.files import content
from komadori.records.text import encoding_of
from komadori.rules import Board, RulesError
from komadori.usi.protocol import one_line
from komadori.wording import counted

_WORDS = {
    MateStatus.MATE: "mate",
    MateStatus.NO_MATE: "no mate",
    MateStatus.UNKNOWN: "unknown",
}


def _problems(path: Path, faults: list[Skipped]) -> list[str]:
    """Return the SFENs of a file, one per line (or in a tab-separated column). Of a damaged archive
    the complete lines before the damage are read, and the damage is added to `faults`."""
    found = []
    known = len(faults)
    try:
        data = content(path, faults).tobytes()
        if len(faults) > known:
            data = data[: data.rfind(b"\n") + 1]
        text = data.decode(encoding_of(data))
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path}: neither UTF-8 nor UTF-16 text: {error}") from error
    except RecordError as error:
        raise click.ClickException(str(error)) from error
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        columns = [column for column in line.split("\t") if "/" in column]
        found.append((columns[0] if columns else line).strip())
    return found


def _solve_interruptibly(
    solver: MateSolver, board: Board, nodes: int, plies: int, time_ms: int, shortest: bool
) -> MateResult:
    """Solve a problem; Ctrl-C stops the solver."""
    stop = StopFlag()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(
            solver.solve, board, nodes, plies, time_ms=time_ms, shortest=shortest, stop=stop
        )
        try:
            return found.result()
        except KeyboardInterrupt:
            stop.set()
            raise


@click.command()
@click.argument("sfens", nargs=-1, metavar="[SFEN]...")
@click.option(
    "--file",
    "-f",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of problems, one SFEN per line (or in a tab-separated column).",
)
@click.option(
    "--nodes", default=0, type=click.IntRange(min=0), help="Maximum nodes per problem; 0: no limit."
)
@click.option(
    "--plies",
    default=0,
    type=click.IntRange(0, 1_000_000),
    help="Maximum length of the mate in plies; 0: any.",
)
@click.option(
    "--time",
    "seconds_each",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0, max=1e6),
    help="Maximum seconds per problem; 0: no limit.",
)
@click.option("--shortest", is_flag=True, help="Find the shortest mate.")
@click.option(
    "--hash",
    "hash_mb",
    default=256.0,
    show_default=True,
    type=click.FloatRange(min=0.0625, max=1 << 20),
    help="Size of the table, MiB.",
)
@click.option(
    "--quiet", "-q", is_flag=True, help="Print only problems without a mate and the totals."
)
def command(
    sfens: tuple[str, ...],
    files: tuple[Path, ...],
    nodes: int,
    plies: int,
    seconds_each: float,
    shortest: bool,
    hash_mb: float,
    quiet: bool,
) -> None:
    """Find a mate by the side to move in each SFEN, or in files of problems.

    An SFEN may be followed by moves, as in USI's `position`. Every printed mate has been replayed.
    """
    faults: list[Skipped] = []
    problems = [*sfens, *(sfen for path in files for sfen in _problems(path, faults))]
    for fault in faults:
        say(f"{fault.path}: {fault.reason}", err=True)
    if not problems:
        if files:
            raise click.UsageError(f"{', '.join(map(str, files))}: no problem in it")
        raise click.UsageError("give an SFEN, or --file")
    try:
        solver = MateSolver(hash_mb)
    except (ValueError, MemoryError) as error:
        raise click.UsageError(f"--hash {hash_mb:g}: {error or 'no such memory'}") from error
    time_ms = round(1000 * seconds_each)
    counts = dict.fromkeys(_WORDS, 0)
    refused = 0
    seconds = 0.0
    for number, sfen in enumerate(problems, 1):
        try:
            board = board_of(sfen)
            found = _solve_interruptibly(solver, board, nodes, plies, time_ms, shortest)
        except MemoryError as error:
            raise click.ClickException(f"--hash {hash_mb:g}: not enough memory") from error
        except RulesError as error:
            refused += 1
            say(f"{number}\trefused\t{one_line(sfen)}\t{error}", err=True)
            continue
        counts[found.status] += 1
        seconds += found.seconds
        if quiet and found.is_mate:
            continue
        line = " ".join(move.usi() for move in found.moves)
        length = f" in {len(found.moves)}" if found.is_mate else ""
        exact = " (shortest)" if found.is_shortest else ""
        say(
            f"{number}\t{_WORDS[found.status]}{length}{exact}\t{counted(found.nodes, 'node')}"
            f"\t{found.seconds * 1000:.1f} ms\t{line or sfen}"
        )
    parts = [f"{count} {_WORDS[status]}" for status, count in counts.items() if count]
    if refused:
        parts.append(f"{refused} refused")
    say(f"{counted(len(problems), 'problem')}: {', '.join(parts)}; {seconds:.3f} s")
    if refused or faults:
        raise SystemExit(1)
