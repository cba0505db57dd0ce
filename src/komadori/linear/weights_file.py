"""Files of weights: npz archives whose header names the evaluation and the format's version."""

from __future__ import annotations

import lzma
import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori.atomic import atomic_writer
from komadori.npz_file import read_array

#: What numpy raises for an .npz file that is damaged, of another kind or without an array; a
#: missing password and an unknown compression are a RuntimeError. A member that is no array is
#: bytes, and a file with a single array is that array: they lack attributes.
DAMAGE = (
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    TypeError,
    AttributeError,
    OverflowError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


class WeightsError(ValueError):
    """Not a weights file, or weights that break the evaluation's symmetries."""


def check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: type) -> None:
    """Raise WeightsError, which names the array, if its shape or type is another."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        raise WeightsError(f"{name} has another shape or type")


#: Largest array of a header.
_HEADER_BYTES = 1000


@dataclass(frozen=True)
class WeightsFormat:
    """A file format. name, version: stored in the header. evaluation: for error messages.
    max_bytes: of an array."""

    name: str
    version: int
    evaluation: str
    max_bytes: int
    compressed: bool = False

    def write(self, path: Path | str, **arrays: NDArray[Any]) -> None:
        """Write the header and the arrays atomically."""
        save = np.savez_compressed if self.compressed else np.savez
        header: dict[str, Any] = {"format": self.name, "format_version": self.version}
        with atomic_writer(Path(path)) as file:
            save(file, **(header | arrays))

    def read(self, path: Path | str, *names: str) -> list[NDArray[Any]]:
        """Read arrays by name. Raises WeightsError for a file of another kind, a newer version or
        a damaged one, OSError for an unreadable one.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                if str(read_array(file, "format", _HEADER_BYTES)) != self.name:
                    raise WeightsError(f"{path}: not weights of {self.evaluation}")
                version = int(read_array(file, "format_version", _HEADER_BYTES))
                if version > self.version:
                    raise WeightsError(
                        f"{path}: format version {version}; this komadori reads up to "
                        f"{self.version}, a newer one is needed"
                    )
                return [read_array(file, name, self.max_bytes) for name in names]
        except WeightsError:
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise WeightsError(f"{path}: not weights of {self.evaluation}") from error  # bz2
        except DAMAGE as error:
            raise WeightsError(f"{path}: not weights of {self.evaluation}") from error
