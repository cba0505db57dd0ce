from pathlib import Path

import pytest
from training_toys import ToyEncoder, ToySamples, make_samples

from komadori import records


@pytest.fixture
def samples() -> ToySamples:
    return make_samples()


@pytest.fixture
def encoder() -> ToyEncoder:
    return ToyEncoder()


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few games of the bundled sample in an hcpe3 file."""
    path = tmp_path_factory.mktemp("games") / "few.hcpe3"
    records.write_games(path, list(records.read_games(records.sample_path()))[:4])
    return path
