"""Parsing of JSON files that others wrote, as it can be sent to pages."""

from __future__ import annotations

from typing import Any

from komadori import json_file


def parse_json(text: str) -> Any:
    """Parse JSON; lone surrogates (`\\ud800`), which UTF-8 can't represent, become `?`.

    Raises ValueError, for too deep a nesting, too.
    """
    value = json_file.parse_json(text)
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
