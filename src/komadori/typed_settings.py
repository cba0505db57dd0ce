"""Settings as dataclasses: built from TOML tables or JSON objects, and range checks.

Every error is a ValueError whose text names the setting.
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from komadori.whole_file import read_whole
from komadori.wording import not_expected

T = TypeVar("T")

#: What a value must be an instance of, by the annotation of its field.
_NUMBERS: dict[str, type] = {"int": Integral, "float": Real, "bool": bool}

#: Maximum depth of tables and arrays within each other in a TOML file.
MAX_DEPTH = 100


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises OSError, and ValueError that names the file for all that is wrong in
    it, also for a number of thousands of digits or nesting beyond `MAX_DEPTH`."""
    try:
        text = read_whole(path).decode()
        return parse_toml(text.replace("\r\n", "\n").replace("\r", "\n"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError."""
    if _DEEP_KEY.search(text):
        raise ValueError(_TOO_DEEP)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise
        raise ValueError(_TOO_LONG) from error
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        items = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        # Hexadecimal numbers of any length are read, but can't be shown as decimal ones.
        if any(type(item) is int and item.bit_length() > _MAX_BITS for item in items):
            raise ValueError(_TOO_LONG)
        level = [item for item in items if isinstance(item, dict | list)]
        if not level:
            return table
    raise ValueError(_TOO_DEEP)


#: A key of more than MAX_DEPTH parts, for which tomllib takes quadratic time.
_DEEP_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}")
_MAX_BITS = 10_000
_TOO_LONG = "a number has too many digits"
_TOO_DEEP = f"tables or arrays are nested more than {MAX_DEPTH} deep"


def build(
    cls: type[T], table: Any, where: str = "", *, renamed: Mapping[str, str] | None = None
) -> T:
    """Build the dataclass from a table; nested tables build nested dataclasses.

    where: key of the table itself, for errors. renamed: older names of keys of this table.
    Raises ValueError for an unknown or missing key and for a value of the wrong type.
    """
    if not isinstance(table, Mapping):
        raise ValueError(f"{where or 'the settings'} must be a table, not {table!r}")
    hints = typing.get_type_hints(cls)
    fields = {one.name: one for one in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for given, value in table.items():
        name = (renamed or {}).get(given, given)
        full = f"{where}.{name}" if where else str(name)
        if name not in fields:
            raise ValueError(f"unknown key {full!r}; known: {', '.join(fields)}")
        values[name] = convert(value, hints[name], full)
    for name, one in fields.items():
        is_required = one.default is one.default_factory is dataclasses.MISSING
        if is_required and name not in values:
            raise ValueError(f"missing key {f'{where}.{name}' if where else name!r}")
    return cls(**values)


def build_part(cls: type[T], table: Mapping[str, Any]) -> tuple[T, dict[str, Any]]:
    """Build the dataclass from those keys of a table that are its fields; return it and the rest.

    Raises ValueError as `build`.
    """
    names = {one.name for one in dataclasses.fields(cls)}  # type: ignore[arg-type]
    own = {name: value for name, value in table.items() if name in names}
    return build(cls, own), {name: value for name, value in table.items() if name not in names}


def convert(value: Any, hint: Any, key: str) -> Any:
    """The value as the type of a setting: lists become tuples, integers floats, tables dataclasses.

    A string is accepted for a tuple of strings. Raises ValueError for other types, infinity, NaN,
    integers beyond 64 bits and texts with a NUL character.
    """
    kind, items = typing.get_origin(hint), typing.get_args(hint)
    if kind is tuple:
        if isinstance(value, str) and items[0] is str:
            return (convert(value, str, key),)
        is_any_length = items[-1] is Ellipsis
        if isinstance(value, list | tuple) and (is_any_length or len(value) == len(items)):
            each = [items[0]] * len(value) if is_any_length else items
            return tuple(convert(v, h, key) for v, h in zip(value, each, strict=True))
    elif isinstance(hint, types.UnionType):
        raise TypeError(f"{key}: settings have one type each")
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return value if isinstance(value, hint) else build(hint, value, key)
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int):  # it may have too many digits for a float
            value = convert(value, int, key)
        if not math.isfinite(value):
            raise ValueError(f"{key} must be finite, not {value}")
        return float(value)
    elif hint is int and type(value) is int and abs(value) >= 2**63:
        bits = value.bit_length()
        number = f"{value:.3g}" if bits < 1000 else f"about 2^{bits}"  # floats end at 2^1024
        raise ValueError(f"{key} must be below 2^63, not {number}")
    elif hint is str and isinstance(value, str) and "\0" in value:  # no path has one
        raise ValueError(f"{key} has a NUL character: {value[:60]!r}")
    elif type(value) is hint or (kind is Mapping and isinstance(value, Mapping)):
        return value
    raise ValueError(f"{key} must be {_expected(hint)}, not {value!r}")


def _expected(hint: Any) -> str:
    """The type of a setting, in words that don't need Python's names of modules."""
    kind, items = typing.get_origin(hint), typing.get_args(hint)
    if kind is tuple and items[-1] is Ellipsis:
        return f"array of {_expected(items[0])}"
    if kind is tuple:
        return f"array of {len(items)}: {', '.join(_expected(item) for item in items)}"
    if kind is Mapping or dataclasses.is_dataclass(hint):
        return "table"
    return getattr(hint, "__name__", str(hint))


def numbers(settings: Any) -> None:
    """Check the fields of a dataclass that are int, float or bool, or one of them or None.

    Raises TypeError for a value of another kind (NumPy's count as Python's), ValueError for
    infinity and NaN.
    """
    for one in dataclasses.fields(settings):
        hint, _, rest = str(one.type).partition(" | ")
        kind = _NUMBERS.get(hint)
        value = getattr(settings, one.name)
        if kind is None or (value is None and rest == "None"):
            continue
        if not isinstance(value, kind) and not (kind is bool and _is_bool(value)):
            raise not_expected(one.name, value, f"{hint} or None" if rest else hint)
        if hint == "float" and not _is_finite(value):
            raise ValueError(f"{one.name} is {value}, a finite number is needed")


def _is_finite(value: Any) -> bool:
    """Whether a float can hold the number."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_bool(value: object) -> bool:
    """Whether it is NumPy's bool, which isn't imported for this."""
    return type(value).__name__ in ("bool", "bool_")


def at_least(settings: Any, **lowest: float) -> None:
    """Raises ValueError for the first of these settings that is below its lowest value."""
    for name, low in lowest.items():
        if not getattr(settings, name) >= low:
            raise ValueError(f"{name} is {getattr(settings, name)}, at least {low} is needed")


def at_most(settings: Any, **highest: float) -> None:
    """Raises ValueError for the first of these settings that is above its highest value."""
    for name, high in highest.items():
        if not getattr(settings, name) <= high:
            raise ValueError(f"{name} is {getattr(settings, name)}, at most {high} is possible")


def positive(settings: Any, *names: str) -> None:
    """Raises ValueError for the first of these settings that isn't above 0."""
    for name in names:
        if not getattr(settings, name) > 0:
            raise ValueError(f"{name} is {getattr(settings, name)}, more than 0 is needed")


def fractions(settings: Any, *names: str) -> None:
    """Raises ValueError for the first of these settings that isn't in [0, 1]."""
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} is {getattr(settings, name)}, 0 to 1 is needed")


def one_of(settings: Any, name: str, known: typing.Iterable[str]) -> None:
    """Raises ValueError if the setting is none of the known names."""
    value, names = getattr(settings, name), list(known)
    if value not in names:
        raise ValueError(f"{name} is {value!r}, one of {', '.join(names)} is needed")
