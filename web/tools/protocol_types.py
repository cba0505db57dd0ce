"""Writes src/protocol.ts, the TypeScript of what the server takes and gives, from
`komadori.web.protocol` and `komadori.web.http_shapes`.
"""

from pathlib import Path
from typing import Any

from komadori.web import http_shapes, protocol
from komadori.web.shapes import Shape

OUT = Path(__file__).parent.parent / "src/protocol.ts"
HEAD = """// The messages of the server, written by tools/protocol_types.py from komadori.web.
// Don't edit by hand.
"""


def name_of(ref: str) -> str:
    return ref.rsplit("/", 1)[1]


def ts(schema: dict[str, Any]) -> str:
    """The type of a value."""
    if "$ref" in schema:
        return name_of(schema["$ref"])
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return " | ".join(repr(v) for v in schema["enum"])
    if "anyOf" in schema or "oneOf" in schema:
        return " | ".join(dict.fromkeys(ts(s) for s in schema.get("anyOf") or schema["oneOf"]))
    match schema.get("type"):
        case "array":
            item = ts(schema.get("items", {}))
            return f"({item})[]" if "|" in item else f"{item}[]"
        case "object":
            extra = schema.get("additionalProperties")
            return f"Record<string, {ts(extra) if isinstance(extra, dict) else 'unknown'}>"
        case "string":
            return "string"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "boolean"
        case "null":
            return "null"
    return "unknown"


def interface(name: str, schema: dict[str, Any], optional: bool) -> str:
    """`optional`: fields with a default may be left out (what the page sends)."""
    required = set(schema.get("required", ()))
    lines = [f"export interface {name} {{"]
    for field, value in schema.get("properties", {}).items():
        absent = optional and field not in required and "const" not in value
        lines.append(f"  {field}{'?' if absent else ''}: {ts(value)};")
    return "\n".join([*lines, "}"])


def union(name: str, schema: dict[str, Any]) -> str:
    return f"export type {name} =\n" + "\n".join(f"  | {ts(s)}" for s in schema["oneOf"]) + ";"


def http_definitions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in vars(http_shapes).values():
        if isinstance(model, type) and issubclass(model, Shape) and model is not Shape:
            schema = model.model_json_schema(mode="serialization")
            found |= schema.pop("$defs", {}) | {model.__name__: schema}
    return found


def text() -> str:
    both = protocol.json_schema()
    client, server = both["client"]["$defs"], both["server"]["$defs"]
    server = http_definitions() | server
    parts = [HEAD, f"export const VERSION = {protocol.VERSION};"]
    parts += [
        interface(n, s, n not in server)
        for n, s in sorted((client | server).items())
        if "properties" in s
    ]
    parts += [
        f"export type {n} = {ts(s)};"
        for n, s in sorted((client | server).items())
        if "properties" not in s
    ]
    parts += [union("ClientMessage", both["client"]), union("ServerMessage", both["server"])]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    OUT.write_text(text(), encoding="utf-8")
