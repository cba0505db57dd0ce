"""Evaluate a single position with one call."""

from __future__ import annotations

from pathlib import Path

from komadori.encoding import encode_boards, move_probabilities
from komadori.inference.loading import DEFAULT, load
from komadori.inference.protocol import Evaluator, check_evaluator, evaluate
from komadori.rules import Board, Move
from komadori.wording import check_type


def policy(position: Board | str, model: Evaluator | Path | str = DEFAULT) -> dict[Move, float]:
    """The probability of each legal move, most probable first.

    `position` and `model` as in `policy_and_value`.
    """
    return policy_and_value(position, model)[0]


def policy_and_value(
    position: Board | str, model: Evaluator | Path | str = DEFAULT
) -> tuple[dict[Move, float], float]:
    """The policy of a position, and the side to move's win rate in [0, 1].

    position: a board, an SFEN, or the arguments of USI's `position`. model: an evaluator or an
    argument of `load`; by default the network shipped with the package, loaded for this call only.
    Raises ModelError, or InferenceError if an output isn't valid.
    """
    board = Board(position) if isinstance(position, str) else position
    if isinstance(model, str | Path):
        evaluator = load(model, max_batch=1, slots=1)
        try:
            return policy_and_value(board, evaluator)
        finally:
            evaluator.close()
    check_type("position", board, Board)
    check_evaluator("model", model)
    logits, values = evaluate(model, *encode_boards([board], model.features))
    chances = move_probabilities(board, logits[0], model.labels)
    ordered = sorted(zip(chances.tolist(), board.legal_moves, strict=True), key=lambda row: -row[0])
    return {move: chance for chance, move in ordered}, float(values[0])
