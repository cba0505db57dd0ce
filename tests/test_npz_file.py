"""Arrays of hostile .npz files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from komadori.npz_file import read_array

WANTED, OTHER = np.arange(4), np.zeros(5000)


def _npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize("names", [["a.npy", "a"], ["a", "a.npy"], ["a.npy", "a.npy.npy"]])
def test_the_array_read_is_the_one_whose_size_was_checked(names: list[str], tmp_path: Path) -> None:
    """numpy looks for a member of the very name first: one of 7 MB unpacked to 6 GB."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as made:
        for name in names:
            made.writestr(name, _npy(WANTED if name == "a.npy" else OTHER))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert np.array_equal(read_array(file, "a", 100), WANTED)


def test_an_array_larger_than_allowed_is_not_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=OTHER)
    with (
        np.load(tmp_path / "a.npz", allow_pickle=False) as file,
        pytest.raises(ValueError, match="a: larger than 100 bytes"),
    ):
        read_array(file, "a", 100)


def test_a_lost_block_is_damage_and_no_error_of_the_disk(tmp_path: Path) -> None:
    """The file's directory then leads to before its start."""
    path = tmp_path / "a.npz"
    np.savez(path, a=WANTED, b=OTHER)
    content = path.read_bytes()
    path.write_bytes(content[:1000] + content[1100:])
    with (
        np.load(path, allow_pickle=False) as file,
        pytest.raises(ValueError, match="a: outside the file"),
    ):
        read_array(file, "a", 100)
