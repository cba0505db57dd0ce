"""Files behind the readers and writers: mapped, decompressed, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import lzma
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from komadori import atomic
from komadori.records.errors import RecordError, Skipped

__all__ = ["atomic_writer", "content", "plain_suffix"]

BUFFER_BYTES = 1 << 20
#: Decompressed content up to this size is held in memory, more of it in a temporary file.
SPOOLED_BYTES = 1 << 26
_COMPRESSED = {".xz": lzma, ".gz": gzip}


def plain_suffix(path: Path) -> str:
    """The lower-case suffix without the one of a compression: `.hcpe3` of `a.hcpe3.xz`."""
    name = path.name.lower()
    for packed in _COMPRESSED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def content(path: Path, faults: list[Skipped] | None = None) -> NDArray[np.uint8]:
    """The bytes of a file, mapped read-only, or decompressed where it ends in .xz or .gz.

    What is large when decompressed goes to a temporary file and is mapped, too. Of a damaged
    archive the bytes before the damage are given, and `faults` says where they end; without
    `faults`, or with nothing before the damage, it is a RecordError. OSError where the file can't
    be read.
    """
    packer = _COMPRESSED.get(path.suffix.lower())
    if packer is None:
        return np.empty(0, np.uint8) if path.stat().st_size == 0 else np.memmap(path, np.uint8, "r")
    with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as spool:
        size, damage = _unpack(path, packer, spool)
        if damage is not None:
            reason = f"damaged compression: {damage}"
            if faults is None or not size:
                raise RecordError(f"{path}: {reason}")
            faults.append(Skipped(path, size, size, size, f"{reason}; what comes before is read"))
        spool.seek(0)
        if size <= SPOOLED_BYTES:
            return np.frombuffer(spool.read(), np.uint8)
        spool.rollover()
        spool.flush()
        return np.memmap(cast(Any, spool)._file, np.uint8, "r")


def _unpack(path: Path, packer: Any, target: IO[bytes]) -> tuple[int, Exception | None]:
    """Decompress to the target: how many bytes came, and what ended them early."""
    size = 0
    with packer.open(path, "rb") as file:
        while True:
            try:
                data = file.read(BUFFER_BYTES)
            except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
                rest, damage = _last_bytes(path, packer, size)
                target.write(rest)
                return size + len(rest), damage or error
            if not data:
                return size, None
            target.write(data)
            size += len(data)


def _last_bytes(path: Path, packer: Any, begin: int) -> tuple[bytes, Exception | None]:
    """What can still be had behind `begin`, where a whole buffer can't: byte by byte if need be."""
    parts: list[bytes] = []
    with packer.open(path, "rb") as file:
        try:
            file.seek(begin)
            while data := file.read1(1):
                parts.append(data)
        except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
            return b"".join(parts), error
    return b"".join(parts), None


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
