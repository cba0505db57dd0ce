"""Named tensors in the safetensors layout, written atomically.

The layout (huggingface/safetensors, README "Format"): u64 header length, JSON header
`{name: {dtype, shape, data_offsets}}`, then raw little-endian data. Implemented here because
training must run with numpy and torch only; the safetensors library reads and writes the same
files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from komadori.atomic import atomic_writer
from komadori.json_file import parse_table
from komadori.whole_file import read_whole
from komadori.wording import names_arguments

_DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
#: The entry of a header that is no tensor.
_METADATA = "__metadata__"
_HEADER_LIMIT = 100_000_000  # the library's own limit
#: Limits of a tensor: more dimensions than any network has, and the elements that torch can count.
_MAX_DIMENSIONS, _MAX_NUMBERS = 16, 1 << 59


class TensorFileError(ValueError):
    """Not a complete, valid safetensors file; the text names file and reason."""


@names_arguments
def write_tensors(
    path: Path | str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write the tensors (any device) atomically. Raises TensorFileError for a type that the layout
    lacks, and for the name of the layout's own entry.
    """
    header: dict[str, Any] = {}
    if metadata:
        header[_METADATA] = dict(metadata)
    blobs: list[NDArray[np.uint8]] = []
    offset = 0
    for name, tensor in tensors.items():
        if name == _METADATA:
            raise TensorFileError(f"{path}: no tensor can be named {name}")
        if tensor.dtype not in _NAMES:
            raise TensorFileError(f"{path}: {name} is {tensor.dtype}, which can't be stored")
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        blob = flat.view(torch.uint8).numpy()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_writer(Path(path)) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for blob in blobs:
            file.write(blob.data)


@names_arguments
def read_tensors(path: Path | str) -> dict[str, Tensor]:
    """The file's tensors, copied to the CPU."""
    path = Path(path)
    try:
        data = bytearray(read_whole(path))
    except OSError as error:
        raise TensorFileError(f"{path}: {error.strerror or error}") from error
    if len(data) < 8:
        raise TensorFileError(f"{path}: truncated: {len(data)} bytes, no header length")
    length = int.from_bytes(data[:8], "little")
    if length > _HEADER_LIMIT:
        raise TensorFileError(f"{path}: not a safetensors file (header of {length} bytes)")
    if len(data) < 8 + length:
        raise TensorFileError(f"{path}: truncated: {len(data)} bytes, header needs {8 + length}")
    try:
        header = parse_table(data[8 : 8 + length])
        entries = [(k, v) for k, v in header.items() if k != _METADATA]
        return dict(_tensors(entries, memoryview(data)[8 + length :], path))
    except TensorFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as e:
        raise TensorFileError(f"{path}: broken safetensors header: {_reason(e)}") from e


def _reason(error: Exception) -> str:
    """What is wrong with a header. Errors of a wrong form need their type: the text of a KeyError
    is a name. The text of a UnicodeError doesn't hold the bytes, which its repr does."""
    text = str(error) if isinstance(error, ValueError) else repr(error)
    return _shortened(" ".join(text.split()))


def _short(value: Any) -> str:
    """Return a value of a header for a message."""
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."


def _tensors(
    entries: Iterable[tuple[str, Any]], data: memoryview, path: Path
) -> Iterable[tuple[str, Tensor]]:
    read = 0
    for name, entry in entries:
        tensor = f"tensor {_short(name)}"
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise TensorFileError(f"{path}: {tensor} has unknown dtype {_short(entry['dtype'])}")
        if len(entry["shape"]) > _MAX_DIMENSIONS:  # their product could take hours
            raise TensorFileError(f"{path}: {tensor} has {len(entry['shape']):,} dimensions")
        shape = tuple(int(n) for n in entry["shape"])
        start, end = entry["data_offsets"]
        if not 0 <= start <= end <= len(data):
            raise TensorFileError(
                f"{path}: truncated: {tensor} ends at byte {_short(end)} of {len(data)}"
            )
        if (
            end - start != math.prod(shape) * dtype.itemsize
            or min(shape, default=0) < 0
            or math.prod(n or 1 for n in shape) > _MAX_NUMBERS  # torch counts empty ones, too
        ):
            raise TensorFileError(f"{path}: {tensor}: size and shape {_short(shape)} disagree")
        read += end - start
        if read > len(data):
            raise TensorFileError(f"{path}: {tensor} overlaps others")
        if start == end:
            yield name, torch.empty(shape, dtype=dtype)
        else:
            raw = bytearray(data[start:end])
            yield name, torch.frombuffer(raw, dtype=dtype).reshape(shape)
