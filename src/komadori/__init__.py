"""komadori: a deep-learning shogi laboratory and engine.

Importing the package loads neither torch nor openvino; each subpackage imports
what it needs when it is used: `import komadori; komadori.rules.Board()` works.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__version__ = "0.1.0"

_SUBPACKAGES = (
    "analysis",
    "arena",
    "cluster",
    "encoding",
    "generate",
    "inference",
    "lab",
    "linear",
    "mate",
    "nets",
    "players",
    "quickstart",
    "records",
    "report",
    "rules",
    "search",
    "training",
    "usi",
    "web",
)


def __getattr__(name: str) -> ModuleType:
    """Import subpackages on first access."""
    if name in _SUBPACKAGES:
        return importlib.import_module(f"komadori.{name}")
    raise AttributeError(f"module 'komadori' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBPACKAGES})
