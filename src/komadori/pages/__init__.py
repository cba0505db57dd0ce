"""Parts of the self-contained HTML pages.

dom.js     elements
board.js   a position from SFEN and USI moves, and its picture
board.css  the picture's style
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from komadori.rules.svg import PieceStyle, all_symbols, board_grid

_STYLES: tuple[PieceStyle, ...] = ("kanji", "western")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const|class)", re.MULTILINE)


def part(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("komadori.pages").joinpath(name).read_text("utf-8")


def join_modules(*texts: str) -> str:
    """Join JavaScript modules into one script, in the order of their imports."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


@cache
def board_assets() -> Mapping[str, Any]:
    """Pieces and empty boards as SVG, by style: what `defineSymbols` of board.js takes."""
    return {
        "symbols": "".join(all_symbols(style) for style in _STYLES),
        "grids": {style: [board_grid(style), board_grid(style, flipped=True)] for style in _STYLES},
    }


def json_in_script(value: object) -> str:
    """JSON that can stand in a script element: it can't end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
