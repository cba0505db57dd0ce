"""What a network says of one position, in one call."""

from __future__ import annotations

from pathlib import Path

from komadori.encoding import encode_boards, move_probabilities
from komadori.inference.loading import DEFAULT, load
from komadori.inference.protocol import Evaluator, evaluate
from komadori.rules import Board, Move


def policy(position: Board | str, model: Evaluator | Path | str = DEFAULT) -> dict[Move, float]:
    """A probability for each legal move, the likeliest first.

    `position` and `model` as for `policy_and_value`.
    """
    return policy_and_value(position, model)[0]


def policy_and_value(
    position: Board | str, model: Evaluator | Path | str = DEFAULT
) -> tuple[dict[Move, float], float]:
    """The policy, and the win rate of the side to move, in [0, 1].

    `position`: a board, an SFEN or what follows USI's `position`. `model`: an evaluator, or what
    `load` takes, by default the network of the package, which is loaded for this call alone.
    Raises ModelError, or InferenceError where an output isn't a number.
    """
    board = Board(position) if isinstance(position, str) else position
    if isinstance(model, str | Path):
        evaluator = load(model, max_batch=1, slots=1)
        try:
            return policy_and_value(board, evaluator)
        finally:
            evaluator.close()
    logits, values = evaluate(model, *encode_boards([board], model.features))
    chances = move_probabilities(board, logits[0], model.labels)
    ordered = sorted(zip(chances.tolist(), board.legal_moves, strict=True), key=lambda row: -row[0])
    return {move: chance for chance, move in ordered}, float(values[0])
