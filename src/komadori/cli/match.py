"""`komadori match A B`: paired games between any two players, Elo with its error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from komadori.cli import interruptible

if TYPE_CHECKING:
    from komadori import arena

WIN_FIELDS = ("adjudicate_cp", "adjudicate_moves")
DRAW_FIELDS = ("adjudicate_draw_cp", "adjudicate_draw_moves", "adjudicate_draw_ply")


#: No clock runs longer than a week.
MAX_CLOCK_MS = 7 * 24 * 3600 * 1000


class _Clock(click.ParamType["dict[str, int]"]):
    """MAIN[+INCREMENT] or MAIN[/BYOYOMI], in seconds."""

    name = "clock"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        text = str(value)
        sign = "+" if "+" in text else "/"
        main, _, extra = text.partition(sign)
        try:
            main_ms, extra_ms = (round(1000 * float(text or 0)) for text in (main, extra))
            if not (0 <= main_ms <= MAX_CLOCK_MS and 0 <= extra_ms <= MAX_CLOCK_MS):
                raise ValueError
        except (ValueError, OverflowError):
            self.fail(f"{text!r}: expected MAIN, MAIN+INCREMENT or MAIN/BYOYOMI in seconds")
        key = "increment_ms" if sign == "+" else "byoyomi_ms"
        return {"main_ms": main_ms, key: extra_ms}


class _Numbers(click.ParamType["tuple[int, ...]"]):
    """Whole numbers with slashes between them, the later ones optional."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self._most = most

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        parts = str(value).split("/")
        if len(parts) > self._most or not all(re.fullmatch(r"[0-9]{1,6}", part) for part in parts):
            self.fail(f"{value!r}: expected {self.name}, whole numbers")
        return tuple(map(int, parts))


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--games", "-g", default=100, show_default=True, help="Even: openings are paired.")
@click.option("--nodes", type=click.IntRange(1), help="Nodes per move, for players that search.")
@click.option(
    "--depth", type=click.IntRange(1), help="Depth per move in plies, for players that can."
)
@click.option("--movetime", type=click.IntRange(1), help="Milliseconds per move.")
@click.option("--clock", type=_Clock(), help="Seconds: MAIN, MAIN+INCREMENT or MAIN/BYOYOMI.")
@click.option("--margin", default=0, show_default=True, help="Milliseconds forgiven on the clock.")
@click.option(
    "--openings",
    type=click.Path(path_type=Path),
    help="File of SFENs, USI moves or game records; or `sample`.",
)
@click.option("--opening-plies", default=8, show_default=True, help="Random plies, or of records.")
@click.option("--seed", default=0, show_default=True)
@click.option("--concurrency", "-j", default=1, show_default=True, help="Games at a time.")
@click.option(
    "--max-plies",
    default=320,
    show_default=True,
    help="Then the game is drawn; told to players that can know (Draw_Ply).",
)
@click.option(
    "--adjudicate",
    type=_Numbers("CP[/MOVES]", 2),
    help="Score a game as won once both players have agreed on CP for MOVES (5) moves of each.",
)
@click.option(
    "--adjudicate-draw",
    type=_Numbers("CP[/MOVES[/PLY]]", 3),
    help="Score a game as drawn once both stayed within CP for MOVES (20) moves, from PLY (160).",
)
@click.option("--sprt", nargs=2, type=float, metavar="ELO0 ELO1", help="Stop once decided.")
@click.option(
    "--records",
    metavar="SUFFIX",
    multiple=True,
    help="Write each game to --out: kif, csa, usi, ... May be given several times.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for games and page; resumes there."
)
def command(
    a: str,
    b: str,
    games: int,
    nodes: int | None,
    depth: int | None,
    movetime: int | None,
    clock: dict[str, int] | None,
    margin: int,
    openings: Path | None,
    opening_plies: int,
    seed: int,
    concurrency: int,
    max_plies: int,
    adjudicate: tuple[int, ...] | None,
    adjudicate_draw: tuple[int, ...] | None,
    sprt: tuple[float, float] | None,
    records: tuple[str, ...],
    out: Path | None,
) -> None:
    """Play A against B and print A's score, the Elo difference with its error, and p.

    \b
    A player is one of
      model:PATH   policy:PATH   one-ply:PATH   alphabeta   material   random
      usi:COMMAND  gnushogi  gpsusi  sjaakii  fairy-stockfish
    with options after it, as in  "model:a.onnx?nodes=100"  or  "gnushogi?depth=3".
    """
    from komadori import arena
    from komadori.players import PlayerSpec
    from komadori.usi.client import EngineError

    console = Console()
    clock = clock or {}
    try:
        for spec in (a, b):
            PlayerSpec.parse(spec)
        judged: dict[str, Any] = {
            **dict(zip(WIN_FIELDS, adjudicate or (), strict=False)),
            **dict(zip(DRAW_FIELDS, adjudicate_draw or (), strict=False)),
        }
        conditions = arena.Conditions(
            nodes=nodes,
            depth=depth,
            movetime_ms=movetime,
            margin_ms=margin,
            max_plies=max_plies,
            main_ms=clock.get("main_ms", 0),
            byoyomi_ms=clock.get("byoyomi_ms", 0),
            increment_ms=clock.get("increment_ms", 0),
            **judged,
        )
        read = arena.read_openings(openings, opening_plies) if openings else None
        test = arena.Sprt(*sprt) if sprt else None
        with progress(console) as bar:
            task = bar.add_task("", total=games)

            def show(record: arena.GameRecord, result: arena.MatchResult) -> None:
                bar.update(task, completed=result.played, description=_running(result))

            result = interruptible.run(
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
                    out=out,
                    records=records,
                    sprt=test,
                ),
                "The same command resumes." if out else "With --out a match can be resumed.",
                bar.stop,
            )
    except (ValueError, EngineError, arena.WorkerError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report(console, result, seed, str(openings or f"{opening_plies} random plies"), out)


def progress(console: Console) -> Progress:
    """A bar of games with the time left; its text is never markup."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


def _running(result: arena.MatchResult) -> str:
    return f"+{result.wins} -{result.losses} ={result.draws}  Elo {result.estimate}"


def _report(
    console: Console, result: arena.MatchResult, seed: int, openings: str, out: Path | None
) -> None:
    reasons = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in result.reasons.most_common())
    whites = result.played - result.draws - result.black_wins
    lines = [
        str(result),
        f"pairs by A's points 0, ½, 1, 1½, 2: {' '.join(map(str, result.pairs))}",
        f"Black won {result.black_wins}, White won {whites}; endings: {reasons}",
        f"conditions: {result.conditions}; openings: {openings}, seed {seed}",
    ]
    if result.sprt:
        test = result.sprt
        lines.append(
            f"SPRT elo0 {test.elo0:g}, elo1 {test.elo1:g}: llr {result.llr:.2f} "
            f"in ({test.lower:.2f}, {test.upper:.2f}), {result.decision or 'undecided'}"
        )
    if out:
        lines.append(f"page: {out / 'index.html'}")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
