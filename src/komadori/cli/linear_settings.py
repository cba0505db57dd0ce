"""Settings of the learners of linear evaluations, from command options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import click

from komadori.cli.given import as_options, first_given

T = TypeVar("T")
_EXPECTED = {
    bool: "true or false",
    int: "an integer of at most 64 bits",
    float: "a finite number",
    str: "a text",
}


def read_settings(kind: type[T], given: Mapping[str, object], overrides: Iterable[str]) -> T:
    """Create the dataclass `kind` from options (None: default) and KEY=VALUE overrides."""
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    optional = set(changes)
    types = {field.name: type(field.default) for field in fields(kind)}  # type: ignore[arg-type]
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals or name not in types:
            names = ", ".join(types)
            raise click.UsageError(f"--set {override}: KEY=VALUE with a key of {names}")
        if name in given and (option := first_given(name)):
            raise click.UsageError(f"{option} and --set {override}: give one of them")
        try:
            changes[name] = _read(types[name], text)
            optional.discard(name)
        except (ValueError, KeyError):
            raise click.UsageError(
                f"--set {override}: {_EXPECTED[types[name]]} is needed"
            ) from None
    try:
        return kind(**changes)
    except ValueError as error:
        raise click.UsageError(as_options(str(error), optional)) from error


def _read(kind: type, text: str) -> object:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    value = kind(text)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("beyond 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    return value
