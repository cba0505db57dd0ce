"""Searchers behind one protocol.

    from komadori import search
    result = search.search("startpos", nodes=800)  # or with "model.onnx"
    print(result.best_move, [move.usi() for move in result.infos[0].pv])

Importing this package loads no numerical library; creating a searcher does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from komadori.search.protocol import Info, Limits, Searcher, SearchResult, StopEvent

if TYPE_CHECKING:
    from komadori.search.options import PuctOptions
    from komadori.search.puct import PuctSearcher
    from komadori.search.quick import search
    from komadori.search.simple import OnePlySearcher, PolicySearcher

_LAZY = {
    "OnePlySearcher": "simple",
    "PolicySearcher": "simple",
    "PuctOptions": "options",
    "PuctSearcher": "puct",
    "search": "quick",
}

__all__ = [
    "Info",
    "Limits",
    "OnePlySearcher",
    "PolicySearcher",
    "PuctOptions",
    "PuctSearcher",
    "SearchResult",
    "Searcher",
    "StopEvent",
    "search",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
