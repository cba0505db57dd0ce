"""Ablation of the search's repetition check (the diary, 千日手対応).

    python bench/repetition.py MODEL [--games 50] [--nodes 400] [--opponent SPEC] [--out FOLDER]

The same network with and without the check plays the same opponent with the same openings and
seeds. Prints how many games ended by repetition, and in how many of those the value of the
player's last search was above 0.6 (a won position thrown away). The opponent has the check and
fewer nodes, so it benefits from repetitions. With --out an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from komadori import arena
from komadori.arena import GameRecord
from komadori.encoding.value import DLSHOGI_COEF, win_rate_from_score

#: The option Eval_Coef is a whole number.
EVAL_COEF = round(DLSHOGI_COEF)
WON = 0.6


@dataclass(frozen=True)
class Count:
    """Repetitions of one variant: draws, losses by perpetual check, those from won positions."""

    draws: int
    perpetual: int
    from_won: int


def last_value(game: GameRecord) -> float:
    """Return the win rate in A's last search of a game; 0.5 if there was none."""
    own = [
        score
        for ply, score in enumerate(game.scores_cp, start=game.opening_plies)
        if (ply % 2 == 0) == game.first_is_black and score is not None
    ]
    return win_rate_from_score(own[-1], EVAL_COEF) if own else 0.5


def count(games: list[GameRecord]) -> Count:
    drawn = [game for game in games if game.reason == "repetition"]
    lost = [g for g in games if g.reason == "perpetual_check" and g.points == 0]
    return Count(len(drawn), len(lost), sum(last_value(g) > WON for g in drawn + lost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument(
        "--opponent", default="", help="[default: the model with a quarter of the nodes]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    common = f"model:{given.model}?Eval_Coef={EVAL_COEF}&UCT_Threads=1"
    opponent = given.opponent or f"{common}&nodes={max(given.nodes // 4, 1)}&name=opponent"
    print(
        f"{'check':<7}{'+':>5}{'-':>5}{'=':>5}{'repetitions':>13}{'perpetual':>11}{'from won':>10}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        for name, check in (("off", "false"), ("on", "true")):
            player = f"{common}&nodes={given.nodes}&Repetition_Check={check}&name={name}"
            result = arena.play_match(
                player,
                opponent,
                games=given.games,
                seed=given.seed,
                out=(given.out or Path(temporary)) / name,
            )
            found = count(result.games)
            print(
                f"{name:<7}{result.wins:>5}{result.losses:>5}{result.draws:>5}"
                f"{found.draws:>13}{found.perpetual:>11}{found.from_won:>10}",
                flush=True,
            )


if __name__ == "__main__":
    main()
