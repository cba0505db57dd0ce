"""Speed of generating teacher games, compared to only searching the same positions.

    python bench/generate.py [--threads 2] [--eval nnue] [--weights FILE] [--games 40]
    python bench/generate.py --engine fairy-stockfish --nodes 1500

Plays games into a folder like `komadori generate teacher`, then only searches their positions again
with the same limits, on the same number of threads or engine processes. Prints the ratio of nodes
per second of CPU time, which other programs affect less, and by wall time. CPU time includes that
of the engine processes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from komadori import records
from komadori._core import alphabeta as core
from komadori.generate import (
    BuiltinGames,
    Evaluation,
    GameFolder,
    GameSource,
    Lines,
    SearchBounds,
    TeacherSettings,
    generate_games,
    segment_files,
)
from komadori.generate.usi_games import EngineSpec, UsiGames
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, make_engines


@dataclass
class Speed:
    nodes: int
    seconds: float
    cpu_seconds: float


class Clock:
    def __init__(self) -> None:
        self.wall, self.cpu, self.children = self._now()

    def _now(self) -> tuple[float, float, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter(), time.process_time(), ended.ru_utime + ended.ru_stime

    def speed(self, nodes: int) -> Speed:
        wall, cpu, children = self._now()
        return Speed(nodes, wall - self.wall, cpu - self.cpu + children - self.children)

    @property
    def children_seconds(self) -> float:
        """CPU time of child processes that have exited."""
        return self._now()[2] - self.children


def play(folder: Path, source: GameSource, games: int, threads: int) -> tuple[Speed, int]:
    """Return the speed of the generator and the number of scored positions."""
    with GameFolder(folder, {}, games) as out:
        clock = Clock()
        generate_games(out, source, games, threads=threads)
        counts = out.counts()
        return clock.speed(counts.nodes), counts.scored


def boards_of(folder: Path) -> list[list[Board]]:
    games = []
    for path in segment_files(folder):
        for game in records.read_games(path):
            assert game.candidates is not None
            scored = game.candidates.count > 0
            games.append(
                [b.copy() for (b, _), s in zip(game.positions(), scored, strict=True) if s]
            )
    return games


def search_only(
    games: list[list[Board]], settings: TeacherSettings, evaluation: Evaluation, threads: int
) -> Speed:
    options = AlphaBetaOptions(threads=1, hash_mb=settings.hash_mb, draw_ply=settings.max_plies)
    engines = make_engines(evaluation.name, evaluation.weights, options, threads)
    limits = core.Limits()
    limits.nodes, limits.depth = settings.searches[0].nodes, settings.searches[0].depth
    remaining = list(games)
    lock = threading.Lock()

    def run(engine: Any) -> int:
        nodes = 0
        while True:
            with lock:
                if not remaining:
                    return nodes
                boards = remaining.pop()
            for board in boards:
                engine.search(board, limits)
                nodes += engine.nodes

    clock = Clock()
    with ThreadPoolExecutor(threads) as pool:
        nodes = sum(pool.map(run, engines))
    return clock.speed(nodes)


def search_by_engine(
    games: list[list[Board]], spec: EngineSpec, nodes: int, processes: int
) -> Speed:
    """Return the speed by the engine processes' CPU time and the time from `go` to the answer."""
    remaining = list(games)
    lock = threading.Lock()

    def run(_: int) -> tuple[int, float]:
        engine = spec.start()
        total, spent = 0, 0.0
        while True:
            with lock:
                if not remaining:
                    break
                boards = remaining.pop()
            engine.new_game()
            for board in boards:
                moves = [move.usi() for move in board.moves]
                thought = engine.think(board.root().sfen(), moves, spec.request(nodes, 0), 60)
                total += thought.nodes
                spent += thought.time_ms / 1000
        engine.close()
        return total, spent

    clock = Clock()
    with ThreadPoolExecutor(processes) as pool:
        each = list(pool.map(run, range(processes)))
    total = sum(nodes for nodes, _ in each)
    return Speed(total, sum(spent for _, spent in each) / processes, clock.children_seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--games", type=int, default=12, help="at 1,500 nodes; fewer at more")
    parser.add_argument("--eval", default="nnue")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--nodes", type=int, nargs="*", default=[1000, 1500, 6000])
    parser.add_argument("--rounds", type=int, default=7, help="of --games each")
    parser.add_argument("--engine")
    arguments = parser.parse_args()
    evaluation = Evaluation(arguments.eval, arguments.weights)
    spec = EngineSpec(arguments.engine) if arguments.engine else None
    for nodes in arguments.nodes:
        settings = TeacherSettings(searches=(SearchBounds(nodes=nodes),))
        games = max(2 * arguments.threads, arguments.games * 1500 // nodes)

        def make(settings: TeacherSettings) -> GameSource:
            if spec:
                return UsiGames(settings, Lines(), spec, processes=arguments.threads)
            return BuiltinGames(settings, Lines(), evaluation, threads=arguments.threads)

        ratios, wall_ratios, per_cpu_s, per_wall_s, bare_speeds = [], [], [], [], []
        for number in range(arguments.rounds):
            settings = replace(settings, seed=1 + number)
            with tempfile.TemporaryDirectory() as folder:
                whole, positions = play(Path(folder), make(settings), games, arguments.threads)
                boards = boards_of(Path(folder))
            if spec:
                bare = search_by_engine(boards, spec, nodes, arguments.threads)
            else:
                bare = search_only(boards, settings, evaluation, arguments.threads)
            per_wall_s.append(positions / whole.seconds)
            per_cpu_s.append(positions / whole.cpu_seconds)
            bare_speeds.append(bare.nodes / bare.cpu_seconds)
            ratios.append(whole.nodes / whole.cpu_seconds / bare_speeds[-1])
            wall_ratios.append(whole.nodes / whole.seconds * bare.seconds / bare.nodes)
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        print(
            f"{nodes:>6} nodes: {median(per_wall_s):8,.0f} positions/s of wall time, "
            f"{median(per_cpu_s):,.0f} of CPU time; generator / bare search "
            f"{median(ratios):.3f} (of {len(ratios)}: {spread}) by CPU time, "
            f"{median(wall_ratios):.3f} by wall time; "
            f"{median(bare_speeds) / 1000:,.0f} knodes/s bare",
            flush=True,
        )


if __name__ == "__main__":
    main()
