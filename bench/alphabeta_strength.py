"""A match of the alpha-beta engine against another at the same mean time per move.

    python bench/alphabeta_strength.py [--opponent gnushogi?depth=3] [--games 40] [--eval material]

Calibration games measure the opponent's mean time per move, t; then the engine gets the same time
on one thread. With `--by cpu` (the default) t is CPU time, converted to a number of nodes, so that
other programs don't affect it. With `--by wall` the engine gets t ms per move of
wall time; on a busy machine this favours an opponent with a fixed depth. Prints the score, the
reasons of the games' ends, and the time that each side used.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from komadori.arena import Conditions, GameRecord, MatchResult, play_match


@dataclass
class Spent:
    """Milliseconds per move of the engine and of the opponent."""

    cpu: tuple[float, float]
    wall: tuple[float, float]
    longest: tuple[int, int]


def times(games: Iterable[GameRecord]) -> tuple[list[int], list[int]]:
    """Return the wall time in ms of each move of A and of B."""
    ours: list[int] = []
    theirs: list[int] = []
    for game in games:
        for i, spent in enumerate(game.times_ms):
            black = (game.opening_plies + i) % 2 == 0
            (ours if black == game.first_is_black else theirs).append(spent)
    return ours, theirs


def children_s() -> float:
    """Return the CPU time of finished child processes."""
    return os.times().children_user + os.times().children_system


def print_score(game: GameRecord, result: MatchResult) -> None:
    score = f"+{result.wins} -{result.losses} ={result.draws}"
    print(f"\r{score} ({game.reason}, {len(game.moves)} plies)".ljust(50), end="", flush=True)


def play(
    own: str, opponent: str, games: int, seed: int, out: Path | None = None
) -> tuple[MatchResult, Spent]:
    """Play a match in this process; the opponent's process is started and ended with it."""
    cpu, children = time.process_time(), children_s()
    result = play_match(
        own, opponent, games=games, seed=seed, conditions=Conditions(), on_game=print_score, out=out
    )
    print()
    cpu, children = time.process_time() - cpu, children_s() - children
    ours, theirs = times(result.games)
    return result, Spent(
        (1000 * cpu / len(ours), 1000 * children / len(theirs)),
        (sum(ours) / len(ours), sum(theirs) / len(theirs)),
        (max(ours), max(theirs)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--opponent", default="gnushogi?depth=3")
    parser.add_argument("--eval", default="material")
    parser.add_argument("--weights", help="the evaluation's file")
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--by", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--calibration", type=int, default=4, help="games; even")
    parser.add_argument("--nodes", type=int, default=40_000, help="per move during calibration")
    parser.add_argument(
        "--draw", type=int, default=470, help="value of a draw for the engine, per mille"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for the match's games")
    arguments = parser.parse_args()
    own = f"alphabeta?eval={arguments.eval}"
    if arguments.weights:
        own += f"&weights={arguments.weights}"
    own += f"&Draw_Value_Black={arguments.draw}&Draw_Value_White={arguments.draw}"

    trial = f"{own}&nodes={arguments.nodes}"
    _, spent = play(trial, arguments.opponent, arguments.calibration, arguments.seed + 1)
    if arguments.by == "cpu":
        nodes = round(arguments.nodes * spent.cpu[1] / spent.cpu[0])
        limit = f"nodes={nodes}"
        print(f"t = {spent.cpu[1]:.1f} ms of CPU time: {nodes:,} nodes")
    else:
        limit = f"movetime={round(spent.wall[1])}"
        print(f"t = {spent.wall[1]:.1f} ms")
    result, spent = play(
        f"{own}&{limit}", arguments.opponent, arguments.games, arguments.seed, arguments.out
    )
    print(result)
    endings = ", ".join(f"{reason} {n}" for reason, n in result.reasons.most_common())
    print(
        f"score {100 * result.score:.1f} %; endings: {endings}; on time: {result.reasons['time']}"
    )
    print(f"ms per move, CPU: {spent.cpu[0]:.1f} against {spent.cpu[1]:.1f}")
    print(
        f"ms per move, wall: {spent.wall[0]:.1f} against {spent.wall[1]:.1f}, "
        f"longest {spent.longest[0]} against {spent.longest[1]}"
    )


if __name__ == "__main__":
    main()
