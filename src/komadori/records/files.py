"""Files behind the readers and writers: mapped, decompressed, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from komadori import atomic
from komadori.records.errors import RecordError

__all__ = ["atomic_writer", "content", "plain_suffix"]

BUFFER_BYTES = 1 << 20
_COMPRESSED = {".xz": lzma, ".gz": gzip}


def plain_suffix(path: Path) -> str:
    """The lower-case suffix without the one of a compression: `.hcpe3` of `a.hcpe3.xz`."""
    name = path.name.lower()
    for packed in _COMPRESSED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def content(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, mapped read-only, or decompressed where it ends in .xz or .gz.

    Raises RecordError for damaged compression, OSError where the file can't be read.
    """
    packer = _COMPRESSED.get(path.suffix.lower())
    if packer is not None:
        try:
            with packer.open(path, "rb") as file:
                return np.frombuffer(file.read(), np.uint8)
        except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
            raise RecordError(f"{path}: damaged compression: {error}") from error
    if path.stat().st_size == 0:
        return np.empty(0, np.uint8)
    return np.memmap(path, np.uint8, "r")


@contextmanager
def atomic_writer(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream that becomes `path` when the block ends without an exception.

    Until then `path` is untouched. Compresses where `path` ends in .xz or .gz.
    """
    packer = _COMPRESSED.get(path.suffix.lower())
    with atomic.atomic_writer(path) as raw:
        if packer is None:
            yield raw
        else:
            with (
                cast(IO[bytes], packer.open(raw, "wb")) as packed,
                io.BufferedWriter(cast(io.RawIOBase, packed), BUFFER_BYTES) as buffered,
            ):
                yield buffered
