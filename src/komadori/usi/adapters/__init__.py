"""Adapters for engines that don't follow plain USI, by the name of the program.

`start(name, options)` finds the program on PATH or in Debian's folders for games and starts it.
Options are those of the engine; each adapter's docstring lists the useful ones.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from komadori.usi.client import EngineError, ExternalEngine, find_program
from komadori.usi.protocol import GoCommand

#: adapter -> (module, class, program)
ADAPTERS: dict[str, tuple[str, str, str]] = {
    "gnushogi": ("gnushogi", "GnuShogi", "gnushogi"),
    "gpsusi": ("gpsusi", "GpsUsi", "gpsusi"),
    "sjaakii": ("sjaakii", "SjaakII", "sjaakii"),
    "fairy-stockfish": ("fairy_stockfish", "FairyStockfish", "fairy-stockfish"),
}


def program(name: str) -> str | None:
    """Return the path of an adapter's program; None if it isn't installed."""
    return find_program(ADAPTERS[name][2])


def unsupported(name: str, go: GoCommand) -> str:
    """Return why an adapter's engine doesn't support a command's limits; "" if it does or isn't
    known not to."""
    return _problem(name, "unsupported", go)


def unsupported_start(name: str, sfen: str) -> str:
    """Return why an adapter's engine doesn't play games from a position; "" if it does or isn't
    known not to."""
    return _problem(name, "unsupported_start", sfen)


def _problem(name: str, function: str, argument: GoCommand | str) -> str:
    """Return what a function of an adapter's module finds; "" without such a function."""
    if name not in ADAPTERS:
        return ""
    module = importlib.import_module(f"{__name__}.{ADAPTERS[name][0]}")
    check = getattr(module, function, None)
    return str(check(argument)) if check else ""


def start(name: str, options: Mapping[str, str] | None = None, path: str = "") -> ExternalEngine:
    """Start the engine of adapter `name`. Raises EngineError if it isn't installed."""
    if name not in ADAPTERS:
        raise EngineError(f"no adapter {name!r}; there are {', '.join(ADAPTERS)}")
    module, class_name, default_program = ADAPTERS[name]
    found = find_program(path or default_program)
    if found is None:
        raise EngineError(f"{path or default_program} isn't installed (see `komadori doctor`)")
    adapter = getattr(importlib.import_module(f"{__name__}.{module}"), class_name)
    engine: ExternalEngine = adapter([found], options)
    return engine
