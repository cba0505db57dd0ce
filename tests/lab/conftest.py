"""A toy experiment (the module's TOY) and positions of the bundled games."""

import numpy as np
import pytest

from komadori import records, training
from komadori.lab import experiment
from komadori.rules import Board


@pytest.fixture(scope="module")
def samples():
    whole = records.load_samples(records.sample_path())
    return whole.take(slice(0, 2000))


@pytest.fixture(scope="module")
def candidates(samples):
    """The samples with two candidates each: the move made, and the first of the legal moves."""
    played = samples.move16
    first = [next(iter(Board.from_hcp(hcp.tobytes()).legal_moves)).move16 for hcp in samples.hcp]
    moves = np.stack([played, np.array(first, np.uint16)], axis=1).reshape(-1)
    weights = np.tile(np.array([1.0, 3.0], np.float32), len(played))
    probs = training.MoveProbs(
        np.arange(0, len(moves) + 1, 2, dtype=np.int64), moves, weights, played=played
    )
    return training.Part.whole(samples, probs)


@pytest.fixture
def toy(tmp_path, request):
    path = tmp_path / "toy.toml"
    path.write_text(request.module.TOY)
    return experiment.load(path)
