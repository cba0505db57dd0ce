"""Some thousands of mutated inputs; tools/fuzz.py does more of them, `make sanitize` with
sanitizers."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "fuzz.py"
spec = importlib.util.spec_from_file_location("komadori_fuzz", PATH)
tool = importlib.util.module_from_spec(spec)
sys.modules["komadori_fuzz"] = tool
spec.loader.exec_module(tool)


@pytest.mark.parametrize("name", list(tool.TARGETS))
def test_mutated_inputs_are_read_or_rejected(name):
    counts = tool.fuzz(name, 1_000, seed=0)
    assert counts.total() == 1_000
    assert counts["read"] < 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", list(tool.TARGETS))
def test_many_mutated_inputs_are_read_or_rejected(name):
    assert tool.fuzz(name, 15_000, seed=1).total() == 15_000


def test_the_tool_notices_what_is_no_value_error(monkeypatch):
    def broken(data: bytes) -> None:
        raise KeyError(data)

    monkeypatch.setitem(tool.TARGETS, "broken", tool.Target(lambda rng: [b"x"], broken))
    with pytest.raises(KeyError) as error:
        tool.fuzz("broken", 1, seed=0)
    assert "the input was" in error.value.__notes__[0]
