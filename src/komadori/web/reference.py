"""Markdown reference of the messages, for the documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any, get_args

from komadori.web import protocol, shapes
from komadori.web.shapes import Shape


def messages_markdown() -> str:
    """Return tables of all messages in both directions, and of the types they contain."""
    client = [_message(kind) for kind in _union(protocol.ClientMessage)]
    server = [_message(kind) for kind in _union(protocol.ServerMessage)]
    parts = [
        kind
        for _, kind in inspect.getmembers(shapes, inspect.isclass)
        if issubclass(kind, Shape) and kind is not Shape
    ]
    return "\n".join(
        [
            "### From the page\n",
            *client,
            "### From the server\n",
            *server,
            "### Shapes\n",
            *(_section(kind.__name__, kind) for kind in parts),
        ]
    )


def _union(annotated: Any) -> tuple[type[Shape], ...]:
    return get_args(get_args(annotated)[0])


def _message(kind: type[Shape]) -> str:
    name = kind.model_fields["type"].default
    if not isinstance(name, str):
        name = get_args(kind.model_fields["type"].annotation)[0]
    return _section(f"`{name}`", kind)


def _section(title: str, kind: type[Shape]) -> str:
    text = inspect.cleandoc(kind.__doc__ or "").replace("\n", " ")
    rows = list(_rows(kind))
    table = ["| field | type | default | |", "|---|---|---|---|", *rows] if rows else []
    return "\n".join([f"**{title}** — {text}\n", *table, ""])


def _rows(kind: type[Shape]) -> Iterable[str]:
    schema = kind.model_json_schema(mode="serialization")
    for name, field in kind.model_fields.items():
        if name in ("type", "id") and kind.__module__ == protocol.__name__:
            continue
        about = schema["properties"][name]
        default = "" if field.is_required() else _default(field)
        yield _row(name, about, default, field.description or "")
    for name in kind.model_computed_fields:
        about = schema["properties"][name]
        yield _row(name, about, "", about.get("description", ""))


def _row(name: str, about: dict[str, Any], default: str, description: str) -> str:
    text = re.sub(r"\s+", " ", description).replace("|", "\\|")
    return f"| `{name}` | {_type(about)} | {default} | {text} |"


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    text = str(value).lower() if isinstance(value, bool) else f"{value}"
    return "null" if value is None else f"`{text}`" if text else '""'


def _type(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "const" in about:
        return f'"{about["const"]}"'
    if "enum" in about:
        return ", ".join(f'"{value}"' for value in about["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in about:
            return " or ".join(_type(option) for option in about[key])
    if about.get("type") == "array":
        return f"[{_type(about.get('items', {}))}]"
    if about.get("type") == "object":
        extra = about.get("additionalProperties")
        return f"{{{_type(extra)}}}" if isinstance(extra, dict) else "object"
    low, high = about.get("minimum", about.get("exclusiveMinimum")), about.get("maximum")
    bounds = f" {low} to {high}" if high is not None else f" from {low}" if low is not None else ""
    return str(about.get("type", "any")) + bounds
