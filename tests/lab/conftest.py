"""A toy experiment (the module's TOY) and positions of the bundled games."""

import pytest

from komadori import records
from komadori.lab import experiment


@pytest.fixture(scope="module")
def samples():
    whole = records.load_samples(records.sample_path())
    return whole.take(slice(0, 2000))


@pytest.fixture
def toy(tmp_path, request):
    path = tmp_path / "toy.toml"
    path.write_text(request.module.TOY)
    return experiment.load(path)
