"""`komadori bench alphabeta`: nodes/s of the alpha-beta search, beside Fairy-Stockfish."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import say
from komadori.cli.evaluation_options import check_evaluation
from komadori.cli.numbers import THREADS

if TYPE_CHECKING:
    from komadori.usi.client import ExternalEngine

#: Time limit of Fairy-Stockfish's searches.
_PEER_LIMIT_S = 600.0


@click.command()
@click.option(
    "--nodes",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(1000),
    help="Nodes of each search.",
)
@click.option(
    "--eval",
    "evaluation",
    default="material",
    show_default=True,
    help="The evaluation: material, two-piece, kpp, nnue.",
)
@click.option(
    "--weights", type=click.Path(exists=True, path_type=Path), help="Weights of the evaluation."
)
@click.option(
    "--threads", default=1, show_default=True, type=THREADS, help="Threads of each search."
)
@click.option(
    "--yardstick/--no-yardstick",
    default=True,
    help="Also run Fairy-Stockfish, if installed.",
)
def command(
    nodes: int, evaluation: str, weights: Path | None, threads: int, yardstick: bool
) -> None:
    """Search ten named positions; every move made counts as a node.

    Speeds are per second of CPU time, summed over all threads. Fairy-Stockfish (one thread)
    searches each position right afterwards, so that both run under the same conditions.
    """
    from komadori.search.measure_alphabeta import measure

    check_evaluation(evaluation, weights)
    with contextlib.ExitStack() as stack:
        peer = _start_peer() if yardstick else None
        if peer:
            stack.callback(peer.close)
        head = f"{'position':<14}{'depth':>6}{'nodes':>13}{'nodes/s':>13}{'wall clock':>13}"
        own, peer_total = _Sum(), _Sum()
        try:
            for speed in measure(nodes, evaluation, weights, threads):
                if not own.nodes:  # the weights are loaded
                    if peer:
                        say(f"peer: {peer.name}")
                    say(head + (f"{'peer nodes/s':>14}{'ratio':>8}" if peer else ""))
                line = _Sum(speed.nodes, speed.cpu_s, speed.wall_s)
                own.add(line)
                peer_line = _search(peer, speed.position, max(nodes // 4, 1000)) if peer else None
                if peer_line:
                    peer_total.add(peer_line)
                say(_row(speed.position, str(speed.depth), line, peer_line))
        except (ValueError, OSError) as error:
            raise click.ClickException(str(error)) from error
        say(_row("all", "", own, peer_total if peer else None))


@dataclass
class _Sum:
    nodes: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def add(self, other: _Sum) -> None:
        self.nodes += other.nodes
        self.cpu_s += other.cpu_s
        self.wall_s += other.wall_s

    @property
    def nps(self) -> float:
        return self.nodes / max(self.cpu_s, 1e-9)


def _row(name: str, depth: str, own: _Sum, peer: _Sum | None) -> str:
    wall = own.nodes / max(own.wall_s, 1e-9)
    row = f"{name:<14}{depth:>6}{own.nodes:>13,}{own.nps:>13,.0f}{wall:>13,.0f}"
    if peer is None:
        return row
    if peer.cpu_s <= 0:  # less than a tick of the system's clock
        return row + f"{'-':>14}{'-':>8}"
    return row + f"{peer.nps:>14,.0f}{own.nps / peer.nps:>8.1f}"


def _start_peer() -> ExternalEngine | None:
    from komadori.usi import adapters
    from komadori.usi.client import EngineError

    try:
        return adapters.start("fairy-stockfish", {"Hash": "64"})
    except EngineError as error:
        say(f"no peer: {error}", err=True)
        return None


def _search(engine: ExternalEngine, position: str, nodes: int) -> _Sum:
    from komadori.search.measure_alphabeta import POSITIONS
    from komadori.usi.protocol import GoCommand

    engine.new_game()
    before = _children_cpu_s()
    thought = engine.think(POSITIONS[position], [], GoCommand(nodes=nodes), _PEER_LIMIT_S)
    after = _children_cpu_s()
    counted = thought.nodes
    wall_s = thought.time_ms / 1000.0
    cpu_s = wall_s if before is None or after is None else after - before
    return _Sum(counted, cpu_s, wall_s)


def _children_cpu_s() -> float | None:
    """Return the CPU time of running child processes; None without /proc."""
    try:
        ticks = 0
        for path in Path("/proc/self/task").glob("*/children"):
            for pid in path.read_text().split():
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None
