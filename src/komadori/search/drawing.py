"""Random move selection by visits, for variety in the opening."""

from __future__ import annotations

import random

from komadori._core.tree import Proof, RootMove
from komadori.search.options import PuctOptions


def draw_move(
    moves: list[RootMove], ply: int, options: PuctOptions, rng: random.Random
) -> int | None:
    """Draw a move (move16) with probability proportional to visits^(1 / temperature), among moves
    with a win rate close to that of the best move. None: play the best move.
    """
    temperature = options.random_temperature - options.random_temperature_drop * (ply - 1)
    if ply > options.random_plies or temperature <= 0 or not moves:
        return None
    best = moves[0]
    if best.proof in (Proof.WIN, Proof.LOSS):
        return None
    candidates = [
        m
        for m in moves
        if m.visits and m.proof == Proof.NONE and m.value >= best.value - options.random_cutoff
    ]
    if not candidates:
        return None
    most = max(m.visits for m in candidates)
    weights = [(m.visits / most) ** (1 / temperature) for m in candidates]
    return rng.choices(candidates, weights)[0].move16
