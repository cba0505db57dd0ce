"""Files that are read whole: a device, which may have no end, is refused."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from komadori.arena.openings import read_openings
from komadori.generate.sources import Evaluation
from komadori.inference import digest
from komadori.linear.nnue_weights import NnueWeights
from komadori.nets.tensor_file import read_tensors
from komadori.typed_settings import read_toml
from komadori.whole_file import read_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no /dev/null, no FIFOs")


def card_of_weights(path: Path) -> dict[str, Any]:
    return Evaluation("nnue", path).card()


@pytest.mark.parametrize(
    "read",
    [NnueWeights.load, card_of_weights, digest, read_openings, read_tensors, read_toml],
)
def test_devices_are_refused(read: Callable[[Path], Any]) -> None:
    with pytest.raises(Exception, match="a device, not a file"):
        read(Path("/dev/null"))


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * 100_000,))
    writer.start()
    assert read_whole(pipe) == b"x" * 100_000
    writer.join()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_toml_takes_any_line_ends(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(f"a = 1{end}b = 2{end}".encode())
    assert read_toml(path) == {"a": 1, "b": 2}
