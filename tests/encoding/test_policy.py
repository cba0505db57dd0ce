"""From policy logits to move probabilities under every label scheme."""

from functools import partial
from itertools import islice

import numpy as np
import pytest
from positions import random_play

from komadori.encoding import (
    LABELS,
    EncodingError,
    legal_labels,
    move_probabilities,
    softmax,
)
from komadori.rules import Board

#: Two golds can move to 5h; scheme 1134 gives both moves the same label.
TWO_GOLDS = "4k4/9/9/9/9/9/9/3GSG3/4K4 b - 1"


def naive(board: Board, row: np.ndarray, scheme: str, temperature: float) -> np.ndarray:
    """The probability of each label or pair, split evenly among its moves."""
    labels = legal_labels(board, scheme)
    labels = labels.reshape(len(labels), -1)
    begins = np.cumsum([0, *(head.size for head in LABELS[scheme].heads)])[:-1]
    weight = {
        tuple(label): np.exp(
            sum(row[begin + part] for begin, part in zip(begins, label, strict=True)) / temperature
        )
        for label in labels
    }
    total = sum(weight.values())
    counts = {label: (labels == label).all(1).sum() for label in weight}
    return np.array([weight[tuple(m)] / total / counts[tuple(m)] for m in labels])


@pytest.mark.parametrize("scheme", LABELS)
@pytest.mark.parametrize("temperature", [1.0, 1.74])
def test_equal_to_naive(scheme: str, temperature: float) -> None:
    random = np.random.default_rng(3)
    for game, _ in islice(random_play(9, every=11), 40):
        board = Board(game.sfen())
        row = random.normal(0, 3, LABELS[scheme].size).astype(np.float32)
        found = move_probabilities(board, row, scheme, temperature=temperature)
        assert found.sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(found, naive(board, row, scheme, temperature), rtol=2e-4)


def test_moves_share_a_label() -> None:
    board = Board(TWO_GOLDS)
    moves = [move.usi() for move in board.legal_moves]
    labels = legal_labels(board, "1134")
    at = {usi: labels[moves.index(usi)] for usi in ("6h6g", "4h4g", "6h5g", "4h5g")}
    assert at["6h5g"] == at["4h5g"]
    row = np.full(1134, -30.0, np.float32)
    row[at["6h5g"]] = row[at["6h6g"]] = 4.0
    found = dict(zip(moves, move_probabilities(board, row, "1134"), strict=True))
    assert found["6h6g"] == pytest.approx(1 / 2)
    assert found["6h5g"] == found["4h5g"] == pytest.approx(1 / 4)


def test_logits_that_are_not_numbers() -> None:
    for bad in (np.nan, np.inf):
        found = move_probabilities(Board(), np.full(2187, bad, np.float32))
        np.testing.assert_allclose(found, 1 / 30)
    mate = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert not mate.legal_moves
    assert move_probabilities(mate, np.zeros(2187, np.float32)).shape == (0,)


def test_refusals() -> None:
    with pytest.raises(EncodingError, match="number of logits"):
        move_probabilities(Board(), np.zeros(2188, np.float32))
    batch = np.zeros((3, 2187), np.float32)  # a network's output
    for refuses in (softmax, partial(move_probabilities, Board())):
        with pytest.raises(EncodingError, match=r"^logits must be one row \[n\], not \[3, 2187\]$"):
            refuses(batch)
        with pytest.raises(EncodingError, match=r"^logits must be one row"):
            refuses(batch.tolist())
    with pytest.raises(EncodingError, match="temperature"):
        move_probabilities(Board(), np.zeros(2187, np.float32), temperature=0)


def test_softmax() -> None:
    logits = np.random.default_rng(1).normal(0, 5, 50)
    for temperature in (0.3, 1.0, 4.0):
        weights = np.exp((logits - logits.max()) / temperature)
        np.testing.assert_allclose(softmax(logits, temperature), weights / weights.sum(), rtol=2e-5)
    for value in (np.inf, np.nan):
        np.testing.assert_array_equal(softmax([0.0, value]), [0.5, 0.5])
    np.testing.assert_array_equal(softmax([-np.inf, -np.inf]), [0.5, 0.5])
    np.testing.assert_array_equal(softmax([0.0, -np.inf]), [1.0, 0.0])  # a mask
    assert softmax.__doc__ is not None
    assert "-inf, as of a mask" in softmax.__doc__
    with pytest.raises(ValueError, match="temperature must be greater than 0"):
        softmax([1.0, 2.0], 0.0)
    with pytest.raises(ValueError, match="softmax needs logits"):
        softmax([])
