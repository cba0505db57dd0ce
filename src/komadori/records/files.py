"""File access of readers and writers: memory-mapped or decompressed input, atomic output."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from komadori import atomic
from komadori._core.records import report_cut_files
from komadori.records.errors import RecordError, Skipped

__all__ = [
    "AtomicFile",
    "UnchangedFiles",
    "atomic_writer",
    "content",
    "map_file",
    "paths_of",
    "plain_suffix",
]

BUFFER_BYTES = 1 << 20
#: Largest decompressed content held in memory; larger content goes to a temporary file.
SPOOLED_BYTES = 1 << 26
_COMPRESSED = {".xz": lzma, ".gz": gzip}
#: Formats whose fields all have 16 bits (or a multiple), and xz's settings for them: contexts of
#: literals by the parity of the offset, and matches of two bytes (`bench/storage.py`).
_WORDS = (".hcpe", ".hcpe2", ".hcpe3", ".psv")
_WORD_CONTEXTS = {"lc": 3, "lp": 1, "pb": 1}
_PRESET = lzma.PRESET_DEFAULT | lzma.PRESET_EXTREME


def paths_of(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """One or several paths as a list."""
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def plain_suffix(path: Path) -> str:
    """The lower-case suffix without that of a compression: `.hcpe3` of `a.hcpe3.xz`."""
    name = path.name.lower()
    for packed in _COMPRESSED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def identify(paths: Iterable[Path]) -> list[list[Any]]:
    """Identify files without reading them whole: name, size and a digest of the first MiB of each.
    Raises OSError."""
    found: list[list[Any]] = []
    for path in paths:
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(1 << 20)).hexdigest()[:16]
        found.append([path.name, path.stat().st_size, digest])
    return found


class UnchangedFiles:
    """Files that are read more than once, or over a long time: none may change meanwhile."""

    def __init__(self) -> None:
        self._states: dict[Path, tuple[int, int, int]] = {}

    def check(self, path: Path) -> None:
        """Raise RecordError if the file was written or replaced since the first call; OSError."""
        about = path.stat()
        state = (about.st_ino, about.st_size, about.st_mtime_ns)
        if self._states.setdefault(path, state) != state:
            raise RecordError(f"{path}: changed while it was in use")


def content(path: Path, faults: list[Skipped] | None = None) -> NDArray[np.uint8]:
    """The content of a file: mapped read-only, or decompressed if its name ends in .xz or .gz.

    Large decompressed content goes to a temporary file, which is mapped. Of a damaged archive, the
    bytes before the damage are returned and the damage is added to `faults`; without `faults`, or
    if nothing precedes the damage, RecordError is raised, as for a pipe. Raises OSError if the file
    can't be read.
    """
    if path.is_fifo():
        raise RecordError(f"{path}: a pipe; save its content to a file first")
    packer = _COMPRESSED.get(path.suffix.lower())
    if packer is None:
        return np.empty(0, np.uint8) if path.stat().st_size == 0 else map_file(path)
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
        return map_file(cast(Any, spool)._file)


def map_file(file: Any, dtype: Any = np.uint8, shape: Any = None) -> NDArray[Any]:
    """The array in a file, mapped read-only. If another program cuts the file meanwhile, the
    process ends with a message (`report_cut_files`)."""
    report_cut_files()
    return np.memmap(file, dtype, "r", shape=shape)


def _unpack(path: Path, packer: Any, target: IO[bytes]) -> tuple[int, Exception | None]:
    """Decompress to the target; returns the number of bytes and the error that ended it early, if
    any."""
    size = 0
    with _unpacked(path, packer) as file:
        while True:
            try:
                data = file.read(BUFFER_BYTES)
            except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
                rest, damage = _last_bytes(path, packer, size)
                _spool(target, rest)
                return size + len(rest), damage or error
            if not data:
                return size, None
            _spool(target, data)
            size += len(data)


def _unpacked(path: Path, packer: Any) -> Any:
    """The decompressed content of a file, as a stream that can skip forwards."""
    return _XzStreams(path) if packer is lzma else packer.open(path, "rb")


class _XzStreams(io.RawIOBase):
    """The content of all streams of an .xz file. `lzma.open` silently ends at what isn't a stream,
    such as one whose header is damaged, and takes the zeros between streams for damage."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._stream = lzma.LZMADecompressor()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read1(self, size: int) -> bytes:
        data = b""
        while not data:
            if self._stream.eof:
                if not (packed := self._next_stream()):
                    break
                self._stream = lzma.LZMADecompressor()
            elif not self._stream.needs_input:
                packed = b""
            elif not (packed := self._file.read(io.DEFAULT_BUFFER_SIZE)):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            data = self._stream.decompress(packed, size)
        return data

    def _next_stream(self) -> bytes:
        """Return the first bytes of the next stream; none at the end of the file."""
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed and (read := self._file.read(io.DEFAULT_BUFFER_SIZE)):
            packed = read.lstrip(b"\0")
        return packed

    def seek(self, offset: int, _whence: int = io.SEEK_SET) -> int:
        at = 0
        while at < offset and (data := self.read1(min(offset - at, BUFFER_BYTES))):
            at += len(data)
        return at


def _spool(target: IO[bytes], data: bytes) -> None:
    """Write to a temporary file, which has no name of its own: errors name its folder."""
    try:
        target.write(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from error


def _last_bytes(path: Path, packer: Any, begin: int) -> tuple[bytes, Exception | None]:
    """Recover the bytes after `begin` that precede the damage, byte by byte if necessary."""
    parts: list[bytes] = []
    with _unpacked(path, packer) as file:
        try:
            file.seek(begin)
            while data := file.read1(1):
                parts.append(data)
        except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
            return b"".join(parts), error
    return b"".join(parts), None


@contextmanager
def atomic_writer(path: Path, xz_preset: int | None = None) -> Iterator[IO[bytes]]:
    """A binary stream that replaces `path` when the block ends without an exception.

    `path` is unchanged until then. Compresses if `path` ends in .xz or .gz. xz_preset: 0 (fast) to
    9; None for the library's default.
    """
    suffix = path.suffix.lower()
    packer = _COMPRESSED.get(suffix)
    options = _xz_options(path, xz_preset) if suffix == ".xz" else {}
    with atomic.atomic_writer(path) as raw:
        if packer is None:
            yield raw
        else:
            with (
                cast(IO[bytes], packer.open(raw, "wb", **options)) as packed,
                io.BufferedWriter(cast(io.RawIOBase, packed), BUFFER_BYTES) as buffered,
            ):
                yield buffered


def _xz_options(path: Path, preset: int | None) -> dict[str, Any]:
    """Keyword arguments of `lzma.open` for a file of this name."""
    if plain_suffix(path) not in _WORDS:
        return {"preset": lzma.PRESET_DEFAULT if preset is None else preset}
    finder = {"mf": lzma.MF_BT2} if preset is None else {}
    preset = _PRESET if preset is None else preset
    return {
        "filters": [{"id": lzma.FILTER_LZMA2, "preset": preset, **_WORD_CONTEXTS, **finder}],
    }


class AtomicFile:
    """Base class of writers: a context manager whose file appears when the block ends without an
    exception."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._context = atomic_writer(self.path)
        self._file = self._context.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file = None
        self._context.__exit__(kind, error, trace)

    def _append(self, data: bytes) -> None:
        if self._file is None:
            raise ValueError(f"{self.path} isn't open: write in the writer's `with` block")
        self._file.write(data)
