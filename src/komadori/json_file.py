"""JSON from files, which may be damaged or from others: all that is wrong is a ValueError. And
JSON of settings that callers gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from komadori.atomic import is_stream

#: Levels of nested objects and arrays, more than any file of this program has. Callers recurse over
#: what is read, several calls a level.
DEEPEST = 100


def dump_json(value: Any, **options: Any) -> str:
    """As `json.dumps`; NumPy's numbers, which settings may hold, are written as Python's."""
    return json.dumps(value, default=_plain, **options)


def as_json(value: Any) -> Any:
    """The value as it is read back from `dump_json`."""
    return json.loads(dump_json(value))


def _plain(value: Any) -> Any:
    if getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"no value of JSON: {type(value).__name__}")


def parse_json(text: str | bytes | bytearray, deepest: int = DEEPEST) -> Any:
    """Parse JSON. Raises ValueError, also for text that isn't UTF-8 and for a nesting of more than
    `deepest` levels."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("too deeply nested") from None
    if _brackets(text) > deepest and _is_deeper(value, deepest):
        raise ValueError("too deeply nested")
    return value


def _brackets(text: str | bytes | bytearray) -> int:
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")


def _is_deeper(value: Any, levels: int) -> bool:
    row = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        inside = (one.values() if isinstance(one, dict) else one for one in row)
        row = [item for items in inside for item in items if isinstance(item, dict | list)]
    return bool(row)


def parse_encodable(text: str, deepest: int = DEEPEST) -> Any:
    """As `parse_json`; lone surrogates (`\\ud800`), which UTF-8 can't represent, become `?`."""
    value = parse_json(text, deepest)
    try:
        return _encodable(value) if "\\ud" in text.lower() else value
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def parse_table(text: str | bytes | bytearray) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError."""
    table = parse_json(text)
    if not isinstance(table, dict):
        raise ValueError("a JSON object is expected")
    return table


def check_version(version: Any, newest: int) -> int:
    """Return a file's `format_version`; `newest` is the newest known. Raises ValueError."""
    if type(version) is not int or version < 1:
        found = repr(version)[:40]
        raise ValueError(f"format_version is {found}, a number from 1 to {newest} is needed")
    if version > newest:
        raise ValueError(
            f"format version {version}; this komadori reads up to {newest}, a newer one is needed"
        )
    return version


def read_table(path: Path) -> dict[str, Any]:
    """Read a file with one JSON object.

    Raises OSError, and ValueError without the file's name, also for a pipe: it could block.
    """
    if is_stream(path):
        raise ValueError("not a regular file")
    return parse_table(path.read_text(encoding="utf-8"))
