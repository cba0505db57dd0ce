"""The alpha-beta engine against another at the same mean time a move.

    python bench/alphabeta_strength.py [--opponent gnushogi?depth=4] [--games 40] [--eval material]

First a few games find the opponent's mean time a move, t; in the match the engine then gets t ms a
move on one thread. Printed are the score, the mean time that each side really took in the match,
and how games ended. A fixed time a move has no clock to overstep: what counts as late is a move
that took more than --late times t, and the games with such a move of ours are printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterable

from komadori.arena import Conditions, GameRecord, MatchResult, play_match


def times(games: Iterable[GameRecord]) -> tuple[list[int], list[int]]:
    """Milliseconds of each move of A and of B."""
    ours: list[int] = []
    theirs: list[int] = []
    for game in games:
        for i, spent in enumerate(game.times_ms):
            black = (game.opening_plies + i) % 2 == 0
            (ours if black == game.first_is_black else theirs).append(spent)
    return ours, theirs


def say(game: GameRecord, result: MatchResult) -> None:
    print(
        f"\r+{result.wins} -{result.losses} ={result.draws} ({game.reason}, "
        f"{len(game.moves)} plies)          ",
        end="",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--opponent", default="gnushogi?depth=4")
    parser.add_argument("--eval", default="material")
    parser.add_argument("--weights", help="the evaluation's file")
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--calibration", type=int, default=4, help="games; even")
    parser.add_argument("--guess", type=int, default=50, help="ms a move while t is found")
    parser.add_argument(
        "--draw", type=int, default=470, help="what a draw is worth to the engine, per mille"
    )
    parser.add_argument("--late", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    own = f"alphabeta?Threads=1&eval={arguments.eval}"
    own += f"&Draw_Value_Black={arguments.draw}&Draw_Value_White={arguments.draw}"
    if arguments.weights:
        own += f"&weights={arguments.weights}"

    def play(games: int, ms: int, seed: int) -> MatchResult:
        result = play_match(
            f"{own}&movetime={ms}",
            arguments.opponent,
            games=games,
            seed=seed,
            conditions=Conditions(),
            on_game=say,
        )
        print()
        return result

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    trial = play(arguments.calibration, arguments.guess, arguments.seed + 1)
    t = round(statistics.mean(times(trial.games)[1]))
    print(f"{arguments.opponent}: {t} ms a move in {arguments.calibration} games")
    result = play(arguments.games, t, arguments.seed)
    ours, theirs = times(result.games)
    late = [game.index for game in result.games if max(times([game])[0]) > arguments.late * t]
    print(result)
    print(f"score {100 * result.score:.1f} %; endings: {dict(result.reasons)}")
    print(
        f"mean ms a move: {statistics.mean(ours):.1f} (longest {max(ours)}) against "
        f"{statistics.mean(theirs):.1f} (longest {max(theirs)}); load before {load:.1f}"
    )
    print(f"games with a move of ours beyond {arguments.late:g} t: {late or 'none'}")


if __name__ == "__main__":
    main()
