"""Settings of the learners of linear evaluations, as commands take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import click

T = TypeVar("T")


def read_settings(kind: type[T], given: Mapping[str, object], overrides: Iterable[str]) -> T:
    """The frozen dataclass `kind` with what was given (None: as it is) and KEY=VALUE overrides."""
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    types = {field.name: type(field.default) for field in fields(kind)}  # type: ignore[arg-type]
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals or name not in types:
            names = ", ".join(types)
            raise click.ClickException(f"--set {override}: KEY=VALUE with a key of {names}")
        try:
            changes[name] = _read(types[name], text)
        except (ValueError, KeyError):
            raise click.ClickException(
                f"--set {override}: {types[name].__name__} is needed"
            ) from None
    try:
        return kind(**changes)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _read(kind: type, text: str) -> object:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    return kind(text)
