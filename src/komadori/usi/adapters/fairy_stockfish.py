"""Fairy-Stockfish: plays shogi after `usi`; early variations may omit the `+` of a promotion.

Version 11 (Debian) names its options `UCI_Variant`, `Hash`, `Threads`; newer builds
`USI_Variant` and `USI_Hash`. A caller may use either name; the adapter translates it to the one
that the engine declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from komadori.usi.client import UsiEngine

_SYNONYMS = (("UCI_Variant", "USI_Variant"), ("Hash", "USI_Hash"), ("Ponder", "USI_Ponder"))


class FairyStockfish(UsiEngine):
    DEFAULT_OPTIONS: ClassVar[Mapping[str, str]] = {
        "UCI_Variant": "shogi",
        "Hash": "16",
        "Threads": "1",
    }

    def _set_options(self, options: Mapping[str, str], required: set[str]) -> None:
        translated = {self.declared_name(name): value for name, value in options.items()}
        super()._set_options(translated, {self.declared_name(name) for name in required})

    def declared_name(self, name: str) -> str:
        for names in _SYNONYMS:
            if name in names:
                return next((known for known in names if known in self.declared), name)
        return name
