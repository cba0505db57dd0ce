"""dlshogi's planes and labels equal cshogi's on random positions."""

from collections.abc import Iterator
from itertools import islice

import cshogi
import cshogi.dlshogi
import numpy as np
import pytest
from positions import hcp_of, random_play

from komadori.encoding import FEATURES, encode_labels, encode_planes

CHUNK = 1000


@pytest.fixture(params=["dlshogi", "dlshogi-119"])
def features(request: pytest.FixtureRequest) -> Iterator[str]:
    cshogi.dlshogi.use_nyugyoku_features(request.param == "dlshogi-119")
    yield request.param
    cshogi.dlshogi.use_nyugyoku_features(False)


def compare(features: str, count: int, seed: int) -> None:
    shapes = [one.shape for one in FEATURES[features].inputs]
    positions = random_play(seed, every=3)
    for done in range(0, count, CHUNK):
        hcps = np.zeros((CHUNK, 32), np.uint8)
        moves = np.zeros(CHUNK, np.uint16)
        labels = np.zeros(CHUNK, np.int64)
        planes = [np.zeros((CHUNK, *shape), np.float32) for shape in shapes]
        for i, (board, move) in enumerate(islice(positions, CHUNK)):
            hcps[i] = hcp_of(board)
            moves[i] = cshogi.move16(move)
            labels[i] = cshogi.dlshogi.make_move_label(move, board.turn)
            cshogi.dlshogi.make_input_features(board, planes[0][i], planes[1][i])
        for ours, theirs in zip(encode_planes(hcps, features), planes, strict=True):
            differing = np.flatnonzero((ours != theirs).any(axis=(1, 2, 3)))
            assert differing.size == 0, f"{features}: rows {done + differing[:5]} differ"
        np.testing.assert_array_equal(encode_labels(hcps, moves, check_legal=True), labels)
        np.testing.assert_array_equal(encode_labels(hcps, moves), labels)


def test_planes_and_labels(features: str) -> None:
    compare(features, 5_000, seed=1)


@pytest.mark.slow
def test_planes_and_labels_of_many(features: str) -> None:
    compare(features, 100_000, seed=2)
