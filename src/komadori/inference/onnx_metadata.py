"""Reads the metadata and the operator sets of an ONNX file without the onnx package.

Only the top level of the protobuf message is parsed; the graph, nearly all of the file, is skipped.
Format: onnx.proto, ModelProto.metadata_props (field 14) and opset_import (field 8).
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_METADATA_PROPS, _OPSET_IMPORT = 14, 8
_KEY, _VALUE = 1, 2
_VERSION = 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

#: The longest entry that is read; of a longer one one byte more.
_LARGEST_ENTRY = 16 << 20


def read_metadata(path: Path) -> dict[str, str]:
    """Read metadata_props; {} if the file is no ONNX file or damaged."""
    try:
        entries = _entries(path, _METADATA_PROPS)
        return dict(_string_entry(entry) for entry in entries if len(entry) <= _LARGEST_ENTRY)
    except (OSError, ValueError):
        return {}


def opset_versions(path: Path) -> list[int]:
    """The versions in opset_import; [] if the file is no ONNX file or damaged.

    Raises ValueError for an entry that can't be read: others may find a version in it.
    """
    try:
        entries = list(_entries(path, _OPSET_IMPORT))
    except (OSError, ValueError):
        return []
    return [_opset_version(entry) for entry in entries]


def _entries(path: Path, wanted: int) -> Iterator[bytes]:
    """The bytes of each field of this number."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            field, entry = _next_field(file, size, wanted)
            if field == wanted and entry:
                yield entry


def _next_field(file: BinaryIO, size: int, wanted: int) -> tuple[int, bytes]:
    """The next field's number, and its bytes if it is the wanted one."""
    tag = _varint(file)
    field, kind = tag >> 3, tag & 7
    if kind == _BYTES:
        length = _varint(file)
        if length > size - file.tell():
            raise ValueError("a field ends beyond the file")
        entry = file.read(min(length, _LARGEST_ENTRY + 1)) if field == wanted else b""
        file.seek(length - len(entry), os.SEEK_CUR)
        return field, entry
    elif kind == _VARINT:
        _varint(file)
    elif kind in (_FIXED64, _FIXED32):
        file.seek(8 if kind == _FIXED64 else 4, os.SEEK_CUR)
    else:
        raise ValueError(f"unknown wire type {kind}")
    return field, b""


def _varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 64, 7):
        byte = file.read(1)
        if not byte:
            raise ValueError("the file ends in a number")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise ValueError("a number of more than 64 bits")


def _opset_version(data: bytes) -> int:
    """The version of an OperatorSetIdProto: the last one, as protobuf reads it."""
    file, version = io.BytesIO(data), 0
    while (start := file.tell()) < len(data):
        is_version = _varint(file) == _VERSION << 3 | _VARINT
        if is_version:
            version = _varint(file)
        else:
            file.seek(start)
            _next_field(file, len(data), wanted=0)
    return version


def _string_entry(data: bytes) -> tuple[str, str]:
    """Key and value of a StringStringEntryProto."""
    file = io.BytesIO(data)
    parts = {_KEY: "", _VALUE: ""}
    while file.tell() < len(data):
        tag, length = _varint(file), _varint(file)
        if tag & 7 != _BYTES:
            raise ValueError("not a string")
        parts[tag >> 3] = file.read(length).decode("utf-8", "replace")
    return parts[_KEY], parts[_VALUE]
