import pytest
from training_toys import ToyEncoder, ToySamples, make_samples


@pytest.fixture
def samples() -> ToySamples:
    return make_samples()


@pytest.fixture
def encoder() -> ToyEncoder:
    return ToyEncoder()
